// SPDX-License-Identifier: Apache-2.0
#include <strata/schedule/profile.hpp>
#include <strata/solve/cut.hpp>
#include <strata/solve/keep_all.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace {

using namespace strata;
using namespace strata::test;

TEST_CASE("cut_order: keeps as much as the room allows at the point, and pays no more than it must there")
{
    auto const p = make(training_chain_spec(20)); // unit bytes and costs: the cut's arithmetic is plain
    time_cut cut(p, 20);
    for (bytes_t budget = cut.fixed(); budget <= cut.fixed() + 18; ++budget) {
        auto const order = cut_order(p, cut, budget, {.at = 20});
        REQUIRE(order);
        CAPTURE(budget);
        CHECK(is_run_order(p, *order));
        CHECK(live_bytes(p, *order)[20] <= budget);
        CHECK(cost_of(p, *order) == 40 + 18 - (budget - cut.fixed()));
    }
}

TEST_CASE("cut_order: no room is no order, all room is keep-all")
{
    auto const p = make(training_chain_spec(20));
    time_cut cut(p, 20);
    CHECK_FALSE(cut_order(p, cut, cut.fixed() - 1, {.at = 20}));
    CHECK_FALSE(cut_order(p, cut, 0, {.at = 20}));
    CHECK_FALSE(cut_order(p, cut, cut.fixed(), {.at = 20, .slack = 0.5}));
    CHECK(cut_order(p, cut, max_bytes, {.at = 20}) == index_order(p));
    CHECK(cut_order(p, cut, max_bytes, {.at = 20, .slack = 0.5}) == index_order(p));
}

TEST_CASE("cut_order: what is needed last is dropped first among equals")
{
    auto const p = make(training_chain_spec(10));
    time_cut cut(p, 10);
    auto const order = cut_order(p, cut, cut.fixed() + 6, {.at = 10, .tilt = 0.3});
    REQUIRE(order);
    // Of x1…x8 two must go; x1 is read last.
    CHECK(*order == run_order{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 0, 1, 17, 18, 19});
}

TEST_CASE("cut_order: gives an order, or nothing, at every op of random problems")
{
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        auto const p = varied_problem(seed, 20);
        auto const peak = peak_of(p, keep_all_order(p));
        for (op_id o = 0; o < p.op_count(); ++o) {
            time_cut cut(p, o);
            for (int percent : {30, 60, 90}) {
                auto const budget = peak * percent / 100;
                auto const order = cut_order(p, cut, budget, {.at = o});
                CAPTURE(seed, o, percent);
                if (!order) {
                    continue;
                }
                REQUIRE(is_run_order(p, *order));
                auto const live = live_bytes(p, *order);
                std::size_t k = 0;
                while ((*order)[k] != o) {
                    ++k;
                }
                REQUIRE(live[k] <= budget);
            }
        }
    }
}

} // namespace
