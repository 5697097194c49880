// SPDX-License-Identifier: Apache-2.0
// Bounds against the exact optimum of small problems: a bound is never above it, and "infeasible" is never wrong.
#include <strata/bound/lower_bound.hpp>
#include <strata/bound/minimum_budget.hpp>
#include <strata/bound/time_cut.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/support/broken_laws.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace bound_bounds_test {

using namespace strata;
using namespace strata::test;

/// Value of the curve at `kept` bytes; nothing below its first point.
auto on_curve(std::vector<cut_point> const& curve, bytes_t kept) -> std::optional<long double>
{
    if (kept < curve.front().kept) {
        return {};
    }
    for (std::size_t i = 0; i + 1 < curve.size(); ++i) {
        if (kept < curve[i + 1].kept) {
            auto const share = static_cast<long double>(kept - curve[i].kept) /
                               static_cast<long double>(curve[i + 1].kept - curve[i].kept);
            return static_cast<long double>(curve[i].recomputed) +
                   share * static_cast<long double>(curve[i + 1].recomputed - curve[i].recomputed);
        }
    }
    return static_cast<long double>(curve.back().recomputed);
}

/// Checks every op of `p` as time point under `budget`. Returns: the strongest bound above the base cost.
auto check_budget(problem const& p, bytes_t budget, std::optional<optimum> const& best) -> cost_t
{
    cost_t strongest = 0;
    for (op_id o = 0; o < p.op_count(); ++o) {
        time_cut cut(p, o);
        auto const bound = cut.lower_bound(budget);
        auto const curve = cut.curve();
        auto const line = budget < cut.fixed() ? std::nullopt : on_curve(curve, budget - cut.fixed());
        CAPTURE(o, budget);
        if (best) {
            auto const extra = best->cost - p.base_cost();
            REQUIRE(bound);
            REQUIRE(*bound <= extra);
            REQUIRE(*bound >= 0);
            REQUIRE(line);
            REQUIRE(*line <= static_cast<long double>(extra) + 1e-9L * static_cast<long double>(p.base_cost()));
            strongest = std::max(strongest, *bound);
        }
    }
    return strongest;
}

void check_problem(problem const& p, int& exact, int& missed)
{
    brute_force brute(p);
    auto const least = brute.minimum_budget();
    CHECK(minimum_budget(p).bytes <= least);
    for (auto b : telling_budgets(p, least)) {
        auto const best = brute.solve(b);
        auto const strongest = check_budget(p, b, best);
        auto const all = lower_bound(p, b, index_order(p));
        if (best) {
            REQUIRE_FALSE(all.infeasible);
            REQUIRE(all.cost == p.base_cost() + strongest);
            (all.cost == best->cost ? exact : missed) += 1;
        }
    }
}

TEST_CASE("bounds: at most the optimum on random problems, under every telling budget, at every op")
{
    int exact = 0;
    int missed = 0;
    for (std::uint64_t seed = 0; seed < 250; ++seed) {
        CAPTURE(seed);
        check_problem(varied_problem(seed, 9), exact, missed);
    }
    CHECK(exact > 2 * missed); // a bound that proves nothing would be useless
}

TEST_CASE("bounds: of any order at most the optimum over all orders, and no more than of the order given")
{
    int exact = 0;
    int missed = 0;
    int lower = 0; // than the bound of the order given
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
        CAPTURE(seed);
        auto const p = varied_problem(seed, 8);
        brute_force brute(p, first_runs::in_any_order);
        auto const least = brute.minimum_budget();
        for (auto b : telling_budgets(p, least)) {
            CAPTURE(b);
            auto const best = brute.solve(b);
            auto const given = lower_bound(p, b, index_order(p));
            auto const any = lower_bound(p, b, index_order(p), first_run_orders::any);
            REQUIRE(any.orders == first_run_orders::any);
            REQUIRE((!any.infeasible || given.infeasible));
            if (best) {
                REQUIRE_FALSE(any.infeasible);
                REQUIRE(any.cost <= best->cost);
                (any.cost == best->cost ? exact : missed) += 1;
                lower += !given.infeasible && any.cost < given.cost ? 1 : 0;
            }
        }
    }
    CAPTURE(exact, missed, lower);
    CHECK(exact > 2 * missed);
    CHECK(lower > 0);
}

TEST_CASE("bounds: at most the optimum where costs are too large for the cut's arithmetic to be exact")
{
    int exact = 0;
    int missed = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        random_options o;
        o.ops = 9;
        o.training = seed % 2 == 0;
        o.effects = 5;
        o.state = 0;
        o.cost = seed % 3 == 0 ? 700'000'000'000'000'000 : 10'000'000'000'000;
        o.zero_cost = 20;
        CAPTURE(seed);
        check_problem(random_problem(seed, o), exact, missed);
    }
}

TEST_CASE("bounds: at most the optimum where sizes are too large for a double")
{
    int exact = 0;
    int missed = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        random_options o;
        o.ops = 8;
        o.training = seed % 2 == 0;
        o.effects = 30;
        o.state = 0;
        o.bytes = 80'000'000'000'000'000;
        o.aligned = false;
        CAPTURE(seed);
        check_problem(random_problem(seed, o), exact, missed);
    }
}

} // namespace bound_bounds_test
