// SPDX-License-Identifier: Apache-2.0
#include <strata/schedule/profile.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_order.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/slow_simulator.hpp"

namespace schedule_profile_test {

using namespace strata;
using namespace strata::test;

TEST_CASE("live_bytes: a chain holds an op's input and output")
{
    auto const p = make(chain_spec(4));
    CHECK(live_bytes(p, index_order(p)) == std::vector<bytes_t>{1, 2, 2, 2});
    CHECK(peak_of(p, index_order(p)) == 2);
    CHECK(cost_of(p, index_order(p)) == 4);
}

TEST_CASE("live_bytes: a tensor made again is absent between its lives")
{
    // op1 of the chain reads op0's output; then the same once more.
    problem_spec s;
    auto const a = add_tensor(s, 10);
    auto const b = add_tensor(s, 1);
    auto const c = add_tensor(s, 1);
    auto const d = add_tensor(s, 1);
    add_op(s, 5, {}, {a});
    add_op(s, 1, {a}, {b}, {}, 3);
    add_op(s, 1, {b}, {c});
    add_op(s, 1, {a, c}, {d});
    s.targets = {d};
    auto const p = make(s);
    CHECK(live_bytes(p, run_order{0, 1, 2, 3}) == std::vector<bytes_t>{10, 14, 12, 12});
    CHECK(live_bytes(p, run_order{0, 1, 2, 0, 3}) == std::vector<bytes_t>{10, 14, 2, 11, 12});
    CHECK(cost_of(p, run_order{0, 1, 2, 0, 3}) == 13);
}

TEST_CASE("live_bytes: a target stays to the end, also one that is made again")
{
    problem_spec s;
    auto const a = add_tensor(s, 4);
    auto const b = add_tensor(s, 1);
    add_op(s, 1, {}, {a});
    add_op(s, 1, {}, {b});
    s.targets = {a, b};
    auto const p = make(s);
    CHECK(live_bytes(p, run_order{0, 1}) == std::vector<bytes_t>{4, 5});
    CHECK(live_bytes(p, run_order{0, 1, 0}) == std::vector<bytes_t>{4, 1, 5});
}

TEST_CASE("live_bytes: a gradient lives from its first producer to its last reader")
{
    auto const p = make(shared_gradient_spec());
    CHECK(live_bytes(p, index_order(p)) == std::vector<bytes_t>{2, 5, 5, 5, 4});
}

TEST_CASE("live_bytes: an empty order holds the resident bytes")
{
    auto const p = make(training_chain_spec(2));
    CHECK(live_bytes(p, {}).empty());
    CHECK(peak_of(p, {}) == 1);
    CHECK(cost_of(p, {}) == 0);
}

TEST_CASE("live_bytes: equals the slow simulator on random orders with replays")
{
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        auto const p = varied_problem(seed, 25);
        dice d(seed);
        auto const order = random_order(p, d, static_cast<int>(d.below(20)));
        auto const s = free_early(p, order);
        auto const slow = slow_simulate(p, s);
        CAPTURE(seed);
        REQUIRE(slow.ok());
        std::vector<bytes_t> expected;
        for (std::size_t k = 0; k < s.steps.size(); ++k) {
            if (s.steps[k].action == action::run) {
                expected.push_back(slow.live[k]);
            }
        }
        REQUIRE(live_bytes(p, order) == expected);
        REQUIRE(peak_of(p, order) == slow.peak);
        REQUIRE(cost_of(p, order) == slow.cost);
    }
}

} // namespace schedule_profile_test
