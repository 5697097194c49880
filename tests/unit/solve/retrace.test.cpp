// SPDX-License-Identifier: Apache-2.0
#include <strata/schedule/profile.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/order_editor.hpp>
#include <strata/solve/repair.hpp>
#include <strata/solve/retrace.hpp>
#include <strata/solve/search.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_retrace_test {

using namespace strata;
using namespace strata::test;

/// What greedy dropping makes of the plain order under `capacity` bytes; nothing if it fails.
auto seed_order(problem const& p, bytes_t capacity) -> std::optional<run_order>
{
    order_editor e(p, index_order(p));
    repair mend(p);
    return mend(e, capacity, {}, {}) ? std::optional(e.order()) : std::nullopt;
}

TEST_CASE("retrace: what it finds is an order that fits and costs no more, and the draws decide it")
{
    int cheaper = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        auto const p = varied_problem(seed, 60);
        auto const capacity = (peak_of(p, index_order(p)) - p.resident_bytes()) * 7 / 10;
        auto order = seed_order(p, capacity);
        if (!order) {
            continue;
        }
        CAPTURE(seed);
        retrace once(p, capacity);
        retrace again(p, capacity);
        random_draws draw(seed);
        random_draws same(seed);
        for (int i = 0; i < 10; ++i) {
            auto const how = once.drawn(*order, draw);
            auto const like = again.drawn(*order, same);
            REQUIRE(how.has_value() == like.has_value());
            if (!how) {
                break;
            }
            REQUIRE(0 <= how->from);
            REQUIRE(how->from < how->to);
            REQUIRE(how->to <= p.op_count());
            auto const other = once(*order, *how, draw, {});
            REQUIRE(again(*order, *like, same, {}) == other);
            if (!other) {
                continue;
            }
            REQUIRE(is_run_order(p, *other));
            REQUIRE(validate(p, free_early(p, *other), capacity + p.resident_bytes()).ok());
            REQUIRE(cost_of(p, *other) <= cost_of(p, *order));
            REQUIRE(*other != *order);
            cheaper += cost_of(p, *other) < cost_of(p, *order) ? 1 : 0;
            order = other;
        }
    }
    CHECK(cheaper > 5);
}

TEST_CASE("retrace: a stretch that is the whole of a chain is searched to the cheapest order")
{
    // Every size a tenth of the capacity or more, so that none counts as small.
    auto const p = make(training_chain_spec(6));
    auto const order = seed_order(p, 5);
    REQUIRE(order);
    auto worse = *order; // a replay twice in a row
    for (std::size_t k = 0; k + 1 < worse.size(); ++k) {
        if (std::find(worse.begin(), worse.begin() + static_cast<std::ptrdiff_t>(k), worse[k]) !=
            worse.begin() + static_cast<std::ptrdiff_t>(k)) {
            worse.insert(worse.begin() + static_cast<std::ptrdiff_t>(k), worse[k]);
            break;
        }
    }
    retrace all(p, 5);
    random_draws draw(1);
    auto const found = all(worse, {.from = 0, .to = p.op_count(), .width = 100'000}, draw, {});
    REQUIRE(found);
    CHECK(validate(p, free_early(p, *found), 5 + p.resident_bytes()).ok());
    CHECK(cost_of(p, *found) <= cost_of(p, *order));
}

TEST_CASE("retrace: without replays there is nothing to plan anew, and time that is up ends it")
{
    auto const p = make(training_chain_spec(12));
    retrace back(p, 1000);
    random_draws draw(1);
    CHECK_FALSE(back.drawn(index_order(p), draw));
    CHECK_FALSE(back(index_order(p), {.from = 0, .to = p.op_count()}, draw, {}));
    auto const order = seed_order(p, 8);
    REQUIRE(order);
    retrace tight(p, 8);
    CHECK_FALSE(tight(*order, {.from = 0, .to = p.op_count()}, draw, stop_watch::grace(std::chrono::nanoseconds(0))));
}

} // namespace solve_retrace_test
