// SPDX-License-Identifier: Apache-2.0
#include <strata/schedule/profile.hpp>
#include <strata/solve/cut_seeds.hpp>
#include <strata/solve/keep_all.hpp>
#include <strata/solve/search.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_cut_seeds_test {

using namespace strata;
using namespace strata::test;

/// The order for `budget`, from seeds that have seen no other.
auto fresh(problem const& p, op_id o, bytes_t budget, double tilt = 0.1) -> std::optional<run_order>
{
    cut_seeds seeds(p, o, tilt);
    auto const c = seeds.choose(budget);
    return c ? std::optional(seeds.order(*c)) : std::nullopt;
}

/// Live bytes at the first run of `o`.
auto live_at(problem const& p, run_order const& order, op_id o) -> bytes_t
{
    auto const k = std::find(order.begin(), order.end(), o) - order.begin();
    return live_bytes(p, order)[static_cast<std::size_t>(k)];
}

TEST_CASE("cut_seeds: keeps as much as the room allows at the point, and pays no more than it must there")
{
    auto const p = make(training_chain_spec(20)); // unit bytes and costs: the cut's arithmetic is plain
    auto const fixed = time_cut(p, 20).fixed();
    cut_seeds all(p, 20, 0.1);
    for (bytes_t budget = fixed; budget <= fixed + 18; ++budget) {
        CAPTURE(budget);
        auto const c = all.choose(budget);
        REQUIRE(c);
        for (auto const& order : {fresh(p, 20, budget).value(), all.order(*c)}) {
            CHECK(is_run_order(p, order));
            CHECK(live_at(p, order, 20) <= budget);
            CHECK(cost_of(p, order) == 40 + 18 - (budget - fixed));
        }
    }
}

TEST_CASE("cut_seeds: no room is no order, all room is keep-all")
{
    auto const p = make(training_chain_spec(20));
    auto const fixed = time_cut(p, 20).fixed();
    CHECK_FALSE(fresh(p, 20, fixed - 1));
    CHECK_FALSE(fresh(p, 20, 0));
    CHECK(fresh(p, 20, max_bytes) == index_order(p));
}

TEST_CASE("cut_seeds: what is needed last is dropped first among equals")
{
    auto const p = make(training_chain_spec(10));
    auto const order = fresh(p, 10, time_cut(p, 10).fixed() + 6, 0.3);
    REQUIRE(order);
    // Of x1…x8 two must go; x1 is read last.
    CHECK(*order == run_order{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 0, 1, 17, 18, 19});
}

TEST_CASE("cut_seeds: gives an order that fits at the point, or nothing, at every op, whatever was asked before")
{
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        auto const p = varied_problem(seed, 20);
        auto const peak = peak_of(p, keep_all_order(p));
        for (op_id o = 0; o < p.op_count(); ++o) {
            cut_seeds seeds(p, o, 0.1);
            for (int percent : {90, 60, 30, 75, 45, 100}) {
                auto const budget = peak * percent / 100;
                auto const alone = fresh(p, o, budget);
                auto const c = seeds.choose(budget);
                CAPTURE(seed, o, percent);
                REQUIRE(c.has_value() == alone.has_value());
                if (!c) {
                    continue;
                }
                auto const order = seeds.order(*c);
                REQUIRE(is_run_order(p, order));
                REQUIRE(live_at(p, order, o) <= budget);
                REQUIRE(is_run_order(p, *alone));
                REQUIRE(live_at(p, *alone, o) <= budget);
                REQUIRE(cost_of(p, order) == cost_of(p, *alone));
            }
        }
    }
}

} // namespace solve_cut_seeds_test
