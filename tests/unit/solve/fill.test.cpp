// SPDX-License-Identifier: Apache-2.0
#include <strata/schedule/profile.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/fill.hpp>
#include <strata/solve/just_in_time.hpp>
#include <strata/solve/search.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_order.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_fill_test {

using namespace strata;
using namespace strata::test;

TEST_CASE("fill: never raises the cost, nor the peak above the capacity or what it was")
{
    int saved = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        auto const p = varied_problem(seed, 40);
        dice d(seed);
        auto const order = random_order(p, d, static_cast<int>(d.below(30)));
        for (int percent : {0, 60, 90, 100, 120}) {
            order_editor e(p, order);
            auto const before = e.peak();
            auto const cost = e.cost();
            auto const capacity = before * percent / 100;
            fill(e, capacity, {});
            CAPTURE(seed, percent);
            REQUIRE(is_run_order(p, e.order()));
            auto const judged = validate(p, free_early(p, e.order()), max_bytes);
            REQUIRE(judged.ok());
            REQUIRE(judged.cost == e.cost());
            REQUIRE(e.cost() <= cost);
            REQUIRE(judged.peak - p.resident_bytes() == e.peak());
            REQUIRE(e.peak() <= std::max(before, capacity));
            saved += e.cost() < cost ? 1 : 0;
        }
    }
    CHECK(saved > 200);
}

TEST_CASE("fill: with room for everything no replay is left")
{
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        auto const p = varied_problem(seed, 30);
        dice d(seed);
        order_editor e(p, random_order(p, d, 5));
        fill(e, max_bytes, {});
        CAPTURE(seed);
        CHECK(e.order() == index_order(p));
    }
}

TEST_CASE("fill: undoes a needless replay, and only as many as there is room for")
{
    auto const p = make(training_chain_spec(8));
    auto const all_again = just_in_time(p, 8, [](tensor_id) { return false; });
    order_editor roomy(p, all_again);
    REQUIRE(roomy.cost() == 16 + 8);
    fill(roomy, 9, {});
    CHECK(roomy.order() == index_order(p));
    // One replay is what makes 8 bytes enough; of two, the other one is needless.
    auto const two_again = just_in_time(p, 8, [](tensor_id t) { return t > 2; });
    order_editor tight(p, two_again);
    REQUIRE(tight.peak() <= 8);
    REQUIRE(tight.cost() == 18);
    fill(tight, 8, {});
    CHECK(tight.peak() == 8);
    CHECK(tight.cost() == 17);
}

TEST_CASE("fill: an expired watch leaves the order alone")
{
    auto const p = make(training_chain_spec(8));
    auto const order = just_in_time(p, 8, [](tensor_id) { return false; });
    limits lim;
    lim.deadline = std::chrono::nanoseconds(0);
    order_editor e(p, order);
    fill(e, max_bytes, stop_watch(lim));
    CHECK(e.order() == order);
}

} // namespace solve_fill_test
