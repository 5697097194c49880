// SPDX-License-Identifier: Apache-2.0
#include <strata/bound/minimum_budget.hpp>
#include <strata/pipeline/planner.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/keep_all.hpp>
#include <strata/solve/minimum_memory.hpp>

#include <chrono>
#include <cstdint>

#include "tests/support/brute_force.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_minimum_memory_test {

using namespace strata;
using namespace strata::test;

TEST_CASE("a chain is walked within few bytes more than its largest op needs")
{
    auto const p = make(training_chain_spec(64));
    auto const least = minimum_budget(p).bytes;
    auto const known = peak_of(p, keep_all_order(p));
    auto const peak = least_walk_peak(p, least, known);
    CHECK(peak >= least);
    CHECK(peak <= least + 6); // of 66; at most four runs an op rule out fewer checkpoints
    CHECK(least_walk_peak(p, least, least) == least);
    CHECK(least_walk_peak(p, least, known, stop_watch({.deadline = std::chrono::nanoseconds(0)})) == known);
}

TEST_CASE("minimum_memory: finds what needs a fetch, and does nothing when there is a plan")
{
    auto const p = make(late_use_spec());
    strata::detail::planner const with(p);
    auto const ask = [&](bytes_t bytes) {
        return with.best_order(bytes, with.analyse(bytes, {}).value(), {}, {}, minimum_memory{}, nullptr);
    };
    auto const tight = ask(8);
    REQUIRE(tight);
    CHECK(tight->name == "minimum_memory");
    CHECK(peak_of(p, tight->order) == 8);
    auto const roomy = ask(9);
    REQUIRE(roomy);
    CHECK(roomy->name == "keep_all");
}

TEST_CASE("minimum_memory: finds a plan of the fewest bytes that short steps can do with")
{
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        auto const p = varied_problem(seed, 10);
        auto const bytes = brute_force(p).minimum_budget();
        strata::detail::planner const with(p);
        auto const found =
            with.best_order(bytes, with.analyse(bytes, {}).value(), {}, {}, minimum_memory{.runs = 1000}, nullptr);
        CAPTURE(seed);
        REQUIRE(found);
        REQUIRE(validate(p, free_early(p, found->order), bytes).ok());
    }
}

} // namespace solve_minimum_memory_test
