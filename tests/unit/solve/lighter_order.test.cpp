// SPDX-License-Identifier: Apache-2.0
#include <strata/problem/precedence.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/solve/keep_all.hpp>
#include <strata/solve/lighter_order.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_lighter_order_test {

using namespace strata;
using namespace strata::test;

auto excess(problem const& p, run_order const& order, bytes_t budget) -> double
{
    double sum = 0;
    for (auto b : live_bytes(p, order)) {
        sum += static_cast<double>(std::max<bytes_t>(0, b - budget));
    }
    return sum;
}

/// The least excess of all orders of first runs.
auto least_excess(problem const& p, bytes_t budget) -> double
{
    auto order = keep_all_order(p);
    auto least = std::numeric_limits<double>::infinity();
    do {
        if (is_first_run_order(p, order)) {
            least = std::min(least, excess(p, order, budget));
        }
    } while (std::next_permutation(order.begin(), order.end()));
    return least;
}

TEST_CASE(
    "lighter_order: an order of first runs that exceeds the budget by what it says, and by no more than the one given")
{
    int lighter = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        auto const p = varied_problem(seed, 40);
        auto const given = keep_all_order(p);
        auto const budget = p.resident_bytes() + (peak_of(p, given) - p.resident_bytes()) * 7 / 10;
        order_annealer job(p, given, budget, seed);
        REQUIRE(job.least_excess() == excess(p, given, budget));
        job.run(3000, {});
        CAPTURE(seed);
        REQUIRE(is_first_run_order(p, job.best()));
        REQUIRE(job.least_excess() == excess(p, job.best(), budget));
        REQUIRE(job.least_excess() <= excess(p, given, budget));
        lighter += job.least_excess() < excess(p, given, budget) ? 1 : 0;
    }
    CHECK(lighter > 20);
}

TEST_CASE("lighter_order: finds the least excess of nearly all small problems")
{
    int least = 0;
    int all = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        auto const p = varied_problem(seed, 7);
        auto const given = keep_all_order(p);
        auto const budget = p.resident_bytes() + (peak_of(p, given) - p.resident_bytes()) / 2;
        auto const truth = least_excess(p, budget);
        auto const found = excess(p, lighter_order(p, budget, 2000), budget);
        CAPTURE(seed);
        REQUIRE(found >= truth);
        ++all;
        least += found == truth ? 1 : 0;
    }
    CHECK(all == 60);
    CHECK(least >= 57);
}

TEST_CASE("lighter_order: the seed decides all, what fits stays as it is, and no time gives the order given")
{
    auto const p = varied_problem(5, 60);
    auto const given = keep_all_order(p);
    auto const half = p.resident_bytes() + (peak_of(p, given) - p.resident_bytes()) / 2;
    CHECK(lighter_order(p, half, 2000, 3) == lighter_order(p, half, 2000, 3));
    CHECK(lighter_order(p, peak_of(p, given)) == given);
    limits now;
    now.deadline = std::chrono::nanoseconds(0);
    CHECK(lighter_order(p, half, 2000, 3, stop_watch(now)) == given);
}

} // namespace solve_lighter_order_test
