// SPDX-License-Identifier: Apache-2.0
#include <strata/schedule/profile.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/keep_all.hpp>
#include <strata/solve/replay_annealer.hpp>

#include <chrono>
#include <cstdint>

#include "tests/support/brute_force.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_replay_annealer_test {

using namespace strata;
using namespace strata::test;

auto budget_of(problem const& p, double share) -> bytes_t
{
    auto const dynamic = peak_of(p, keep_all_order(p)) - p.resident_bytes();
    return p.resident_bytes() + static_cast<bytes_t>(share * static_cast<double>(dynamic));
}

TEST_CASE("replay_annealer: what it finds is valid, costs what it says, and is the same again")
{
    int found = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        CAPTURE(seed);
        auto const p = varied_problem(seed, 40);
        auto const bytes = budget_of(p, 0.8);
        replay_annealer a(p, keep_all_order(p), bytes, seed);
        replay_annealer b(p, keep_all_order(p), bytes, seed);
        a.run(100'000, {});
        b.run(100'000, {});
        REQUIRE(a.best() == b.best());
        if (a.best().empty()) {
            continue;
        }
        ++found;
        REQUIRE(cost_of(p, a.best()) == a.best_cost());
        REQUIRE(peak_of(p, a.best()) <= bytes);
        auto const cost = a.best_cost();
        auto const live = live_bytes(p, a.best());
        a.smooth(50'000, {});
        REQUIRE(a.best_cost() == cost);
        REQUIRE(cost_of(p, a.best()) == cost);
        REQUIRE(peak_of(p, a.best()) <= bytes);
    }
    CHECK(found > 10);
}

TEST_CASE("replay_annealer: an order other than the one given is as cheap as the best in the order given, or cheaper")
{
    int as_cheap = 0;
    int asked = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        auto const p = varied_problem(seed, 10);
        brute_force truth(p);
        auto const bytes = truth.minimum_budget() + (budget_of(p, 1) - truth.minimum_budget()) / 3;
        auto const best = truth.solve(bytes);
        if (best && best->cost > p.base_cost()) {
            ++asked;
            replay_annealer a(p, keep_all_order(p), bytes, seed);
            a.run(1'000'000, {});
            as_cheap += a.best_cost() <= best->cost ? 1 : 0;
        }
    }
    CAPTURE(asked, as_cheap);
    CHECK(asked > 5);
    CHECK(as_cheap * 10 >= asked * 8);
}

TEST_CASE("replay_annealer: where time runs out, it has an order or none, in time")
{
    auto const p = varied_problem(3, 200);
    limits lim;
    lim.deadline = std::chrono::milliseconds(20);
    auto const begin = std::chrono::steady_clock::now();
    replay_annealer a(p, keep_all_order(p), budget_of(p, 0.8), 1);
    a.run(1'000'000'000'000, stop_watch(lim));
    a.smooth(1'000'000'000'000, stop_watch(lim).part(0.5));
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
}

} // namespace solve_replay_annealer_test
