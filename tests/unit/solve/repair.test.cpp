// SPDX-License-Identifier: Apache-2.0
#include <strata/bound/minimum_budget.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/repair.hpp>
#include <strata/solve/search.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_order.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_repair_test {

using namespace strata;
using namespace strata::test;

TEST_CASE("repair: what it brings under the capacity fits, and what it gives up on is still an order")
{
    int fitted = 0;
    int failed = 0;
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
        auto const p = varied_problem(seed, 40);
        dice d(seed);
        auto const order = random_order(p, d, static_cast<int>(d.below(5)));
        auto const peak = peak_of(p, order) - p.resident_bytes();
        repair mend(p);
        for (int percent : {95, 80, 60, 40}) {
            for (double spread : {0.0, 0.5, 1.0}) {
                order_editor e(p, order);
                auto const capacity = peak * percent / 100;
                bool const ok = mend(e, capacity, {.spread = spread}, {});
                CAPTURE(seed, percent, spread);
                REQUIRE(is_run_order(p, e.order()));
                auto const judged = validate(p, free_early(p, e.order()), max_bytes);
                REQUIRE(judged.ok());
                REQUIRE(judged.cost == e.cost());
                REQUIRE(judged.peak == e.peak() + p.resident_bytes());
                if (ok) {
                    REQUIRE(judged.peak <= capacity + p.resident_bytes());
                } else {
                    REQUIRE(judged.peak > capacity + p.resident_bytes());
                }
                (ok ? fitted : failed) += 1;
            }
        }
    }
    CHECK(fitted > 200);
    CHECK(failed > 50);
}

TEST_CASE("repair: what it remembers of earlier drops does not change the next")
{
    int several = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        auto const p = varied_problem(seed, 60);
        dice d(seed);
        auto const order = random_order(p, d, static_cast<int>(d.below(5)));
        repair mend(p);
        for (int percent : {80, 60, 45}) {
            CAPTURE(seed, percent);
            order_editor at_once(p, order);
            auto const capacity = (peak_of(p, order) - p.resident_bytes()) * percent / 100;
            if (!mend(at_once, capacity, {}, {})) {
                continue;
            }
            order_editor one_by_one(p, order);
            int calls = 1;
            while (!mend(one_by_one, capacity, {.give_up_at = one_by_one.cost() + 1}, {})) {
                REQUIRE(++calls < 1000);
            }
            REQUIRE(one_by_one.order() == at_once.order());
            several += calls > 5 ? 1 : 0;
        }
    }
    CHECK(several > 50);
}

TEST_CASE("repair: one byte less than a chain keeps costs one unit, whatever the spread")
{
    auto const p = make(training_chain_spec(8));
    for (double spread : {0.0, 0.5, 1.0}) {
        order_editor e(p, index_order(p));
        REQUIRE(e.peak() == 9);
        CHECK(repair(p)(e, 8, {.spread = spread}, {}));
        CHECK(e.cost() == 17);
    }
}

TEST_CASE("repair: an order that fits is left alone")
{
    auto const p = make(training_chain_spec(8));
    order_editor e(p, index_order(p));
    CHECK(repair(p)(e, 9, {}, {}));
    CHECK(e.order() == index_order(p));
}

TEST_CASE("repair: gives up on a capacity that nothing fits")
{
    for (int n : {1, 5, 200}) {
        auto const p = make(training_chain_spec(n));
        for (bytes_t capacity : {bytes_t{-1}, bytes_t{0}, minimum_budget(p).bytes - p.resident_bytes() - 1}) {
            order_editor e(p, index_order(p));
            CAPTURE(n, capacity);
            CHECK_FALSE(repair(p)(e, capacity, {}, {}));
            CHECK(e.run_count() <= static_cast<std::size_t>(order_editor::most_runs(p)) + 402);
        }
    }
}

TEST_CASE("repair: gives up when nothing may be made again, or nothing has bytes")
{
    auto s = training_chain_spec(6);
    for (auto& o : s.ops) {
        o.effects |= effect::once;
    }
    auto const stuck = make(s);
    order_editor e(stuck, index_order(stuck));
    CHECK_FALSE(repair(stuck)(e, e.peak() - 1, {}, {}));
    CHECK(e.order() == index_order(stuck));
    auto empty = training_chain_spec(6);
    for (auto& t : empty.tensors) {
        t.bytes = 0;
    }
    auto const p = make(empty);
    order_editor f(p, index_order(p));
    CHECK(f.peak() == 0);
    CHECK(repair(p)(f, 0, {}, {}));
    CHECK_FALSE(repair(p)(f, -1, {}, {}));
}

TEST_CASE("repair: stops at the cost it is told to give up at")
{
    auto const p = make(training_chain_spec(30));
    order_editor e(p, index_order(p));
    CHECK_FALSE(repair(p)(e, 12, {.give_up_at = 65}, {}));
    CHECK(e.cost() >= 65);
    CHECK(e.cost() < 65 + 30); // one drop replays at most the chain
    order_editor f(p, index_order(p));
    CHECK(repair(p)(f, 12, {}, {}));
    CHECK(f.cost() > 65);
}

TEST_CASE("repair: an expired watch stops it before the first drop")
{
    auto const p = make(training_chain_spec(30));
    limits lim;
    lim.deadline = std::chrono::nanoseconds(0);
    order_editor e(p, index_order(p));
    CHECK_FALSE(repair(p)(e, 12, {}, stop_watch(lim)));
    CHECK(e.order() == index_order(p));
}

TEST_CASE("repair: patience bounds the drops without a new lowest peak")
{
    auto const p = make(training_chain_spec(40));
    order_editor e(p, index_order(p));
    CHECK_FALSE(repair(p)(e, 0, {.patience = 0}, {}));
    CHECK(e.run_count() < 400);
}

} // namespace solve_repair_test
