// SPDX-License-Identifier: Apache-2.0
// The integer program on cbc against enumeration: the optimum, feasibility, and what the relaxation proves.
#include <strata/cbc/cbc.hpp>
#include <strata/solve/checkmate.hpp>

#include <cstdint>

#include "tests/support/broken_laws.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/checkmate_laws.hpp"
#include "tests/support/random_problem.hpp"

namespace {

using namespace strata;
using namespace strata::test;

TEST_CASE("checkmate on cbc: equals the enumeration of its class under every telling budget, with any number of cuts")
{
    met seen;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        CAPTURE(seed);
        auto const p = varied_problem(seed, 9);
        for (int closure_every : {0, 1, 4}) {
            check_against_enumeration(
                p,
                cbc{},
                {.passes = 1 + static_cast<int>(seed % 2), .lazy = false, .closure_every = closure_every},
                seen);
        }
    }
    CHECK(seen.infeasible > 40);
    CHECK(seen.with_replays > 40);
}

TEST_CASE("checkmate on cbc: with the passes it takes by itself, equals the enumeration of all orders")
{
    met seen;
    for (std::uint64_t seed = 1000; seed < 1000 + 20; ++seed) {
        CAPTURE(seed);
        check_against_enumeration(varied_problem(seed, 9), cbc{}, {.passes = 3}, seen);
    }
    CHECK(seen.above_all_orders == 0);
    CHECK(seen.with_replays > 20 / 4);
}

TEST_CASE("checkmate on cbc: closure cuts raise the relaxation's bound, never above the optimum")
{
    int raised = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        CAPTURE(seed);
        random_options o;
        o.ops = 12;
        o.training = seed % 2 == 1;
        o.effects = o.state = 0;
        auto const p = random_problem(seed, o);
        for (auto budget : telling_budgets(p)) {
            raised += check_relaxation(p, cbc{}, budget, 1) ? 1 : 0;
        }
    }
    CHECK(raised > 2);
}

TEST_CASE("checkmate on cbc: is never worse than an order that is known")
{
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        CAPTURE(seed);
        auto const p = varied_problem(seed, 9);
        auto const least = brute_force(p).minimum_budget();
        for (auto budget : {least, (least + keep_all_peak(p)) / 2}) {
            check_known_order(p, cbc{}, budget);
        }
    }
}

} // namespace
