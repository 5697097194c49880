// SPDX-License-Identifier: Apache-2.0
#include <strata/bound/regression.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/search.hpp>

#include <chrono>
#include <cstdint>

#include "tests/support/brute_force.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace bound_regression_test {

using namespace strata;
using namespace strata::test;
using strata::detail::regressed;
using strata::detail::regression;
using strata::detail::regression_options;

TEST_CASE("regression: arrives at an order of the fewest bytes, and nowhere with a byte less")
{
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        auto const p = varied_problem(seed, 10);
        auto const least = brute_force(p).minimum_budget();
        CAPTURE(seed);
        for (double const latest : {0.0, 1.0, 100.0}) {
            for (double const noise : {0.0, 0.5}) {
                regression back(p);
                regression_options const how{
                    .window = p.op_count(), .most = 1'000'000, .latest = latest, .noise = noise, .seed = seed};
                REQUIRE(back(p.op_count(), least - p.resident_bytes(), how) == regressed::arrived);
                auto const order = back.runs();
                REQUIRE(is_run_order(p, order));
                REQUIRE(validate(p, free_early(p, order), least).ok());
                REQUIRE(back(p.op_count(), least - 1 - p.resident_bytes(), how) == regressed::unreachable);
                REQUIRE(back.runs().empty());
            }
        }
    }
}

TEST_CASE("regression: an op that one order reaches within a capacity is reachable")
{
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        auto const p = varied_problem(seed, 60);
        auto const room = peak_of(p, index_order(p)) - p.resident_bytes();
        regression back(p, room / 50);
        CAPTURE(seed);
        for (op_id o = 0; o <= p.op_count(); ++o) {
            REQUIRE(back(o, room, {.window = 10}) != regressed::unreachable);
        }
    }
}

TEST_CASE("regression: gives up after so many states, and when time is up, and draws decide what chance does")
{
    auto const p = varied_problem(5, 60);
    auto const room = peak_of(p, index_order(p)) - p.resident_bytes();
    regression back(p);
    CHECK(back(p.op_count(), room, {.window = p.op_count(), .most = 0}) == regressed::gave_up);
    stop_watch const none({.deadline = std::chrono::nanoseconds(0)});
    CHECK(back(p.op_count(), room, {.window = p.op_count()}, none) == regressed::gave_up);
    CHECK(back.states() == 0);
    regression_options const how{.window = p.op_count(), .most = 100'000, .noise = 1, .seed = 3};
    REQUIRE(back(p.op_count(), room, how) == regressed::arrived);
    auto const once = back.runs();
    auto const states = back.states();
    CHECK(states > 0);
    REQUIRE(back(p.op_count(), room, how) == regressed::arrived);
    CHECK(back.runs() == once);
    CHECK(back.states() == 2 * states);
}

} // namespace bound_regression_test
