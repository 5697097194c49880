// SPDX-License-Identifier: Apache-2.0
#include <strata/schedule/schedule.hpp>

#include <cstddef>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/slow_simulator.hpp"

namespace schedule_schedule_test {

using namespace strata;
using namespace strata::test;

TEST_CASE("schedule: runs_of lists the runs, replays included, and skips the frees")
{
    schedule const s{{run(0), run(1), free(0), run(0), free(1)}};
    CHECK(runs_of(s) == run_order{0, 1, 0});
    CHECK(runs_of({}).empty());
}

TEST_CASE("schedule: free_early frees each tensor right after its last use and keeps the target")
{
    auto const p = make(chain_spec(3));
    CHECK(free_early(p, index_order(p)) == schedule{{run(0), run(1), free(0), run(2), free(1)}});
    auto const d = make(diamond_spec());
    CHECK(free_early(d, index_order(d)) == schedule{{run(0), run(1), run(2), free(0), run(3), free(2), free(1)}});
}

TEST_CASE("schedule: free_early frees an output that nobody reads at once")
{
    auto s = chain_spec(2);
    auto const unused = add_tensor(s, 7);
    s.ops[0].outputs.push_back(unused);
    auto const p = make(s);
    CHECK(free_early(p, index_order(p)) == schedule{{run(0), free(unused), run(1), free(0)}});
}

TEST_CASE("schedule: free_early ends a life before the tensor is produced again")
{
    auto const p = make(u_net_spec(2)); // down 0, 1; bottom 2; up 3 (reads 1, 2), 4 (reads 0, 3)
    std::vector<op_id> const order{0, 1, 2, 3, 0, 4};
    CHECK(free_early(p, order) ==
          schedule{{run(0), run(1), free(0), run(2), run(3), free(2), free(1), run(0), run(4), free(3), free(0)}});
}

TEST_CASE("schedule: free_early keeps a gradient from the first op that adds into it to its last use")
{
    auto const p = make(shared_gradient_spec());
    CHECK(free_early(p, index_order(p)) == schedule{{run(0), run(1), run(2), run(3), free(0), run(4), free(1)}});
    auto s = shared_gradient_spec();
    s.ops.pop_back(); // nobody reads it
    s.tensors.pop_back();
    s.targets.clear();
    auto const q = make(s);
    CHECK(free_early(q, index_order(q)) == schedule{{run(0), run(1), run(2), run(3), free(1), free(0)}});
}

TEST_CASE("schedule: free_early never touches resident tensors")
{
    auto const p = make(training_chain_spec(3));
    for (auto const& x : free_early(p, index_order(p)).steps) {
        CHECK((x.action == action::run || !p.resident(x.id)));
    }
}

TEST_CASE("schedule: no other place for the frees needs fewer bytes at any run")
{
    // Delaying any one free, step by step, never lowers the bytes of a run; moving it forward past a run breaks a rule.
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        auto const p = varied_problem(seed, 10);
        auto const early = free_early(p, index_order(p));
        auto const base = slow_simulate(p, early);
        INFO("seed " << seed);
        REQUIRE(base.ok());
        for (std::size_t k = 1; k < early.steps.size(); ++k) {
            if (early.steps[k].action != action::free) {
                continue;
            }
            auto sooner = early.steps;
            auto j = k;
            for (; j > 0 && sooner[j - 1].action == action::free; --j) {
                std::swap(sooner[j], sooner[j - 1]);
            }
            std::swap(sooner[j], sooner[j - 1]); // now before the run that uses or produces it
            CHECK_FALSE(slow_simulate(p, {sooner}).ok());
            auto later = early.steps;
            std::rotate(later.begin() + static_cast<std::ptrdiff_t>(k),
                        later.begin() + static_cast<std::ptrdiff_t>(k) + 1,
                        later.end());
            CHECK(slow_simulate(p, {later}).peak >= base.peak);
        }
    }
}

} // namespace schedule_schedule_test
