// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The integer program on a backend against enumeration, checked inside a test case.
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/checkmate.hpp>
#include <strata/solve/mip_backend.hpp>
#include <strata/solve/recompute_all.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/support/broken_laws.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random_problem.hpp"

namespace strata::test {

/// Counts over many problems, so that a test can require that it met every kind.
struct met {
    int infeasible = 0;
    int with_replays = 0;
    int above_all_orders = 0; ///< the class of orders misses the optimum of all, or finds none
};

/// Solves `p` under every telling budget and compares with enumeration of the same class of orders, and of all orders.
template <mip_backend B>
void check_against_enumeration(problem const& p, B const& backend, checkmate_options const& how, met& seen)
{
    brute_force anywhere(p);
    brute_force in_class(p, first_runs::in_index_order, how.passes);
    for (auto budget : telling_budgets(p, anywhere.minimum_budget())) {
        CAPTURE(budget, how.passes, how.closure_every);
        auto const truth = in_class.solve(budget);
        auto const any = anywhere.solve(budget);
        auto const found = solve_checkmate(p, budget, backend, how);
        if (!truth) {
            REQUIRE_FALSE(found);
            CHECK(found.error().code == errc::infeasible);
            CHECK(found.error().limit.has_value());
            ++seen.infeasible;
            seen.above_all_orders += any ? 1 : 0;
            continue;
        }
        REQUIRE(found);
        auto const judged = validate(p, free_early(p, found->order), budget);
        REQUIRE(judged.ok());
        CHECK(judged.cost == found->cost);
        CHECK(is_run_order(p, found->order));
        CHECK(found->cost == truth->cost);
        CHECK(found->optimal);
        CHECK(found->bound <= found->cost);
        CHECK(found->bound >= p.base_cost());
        if (found->optimal_anywhere) {
            CHECK(found->cost == any->cost);
        }
        seen.with_replays += found->cost > p.base_cost() ? 1 : 0;
        seen.above_all_orders += found->cost > any->cost ? 1 : 0;
    }
}

/// The bound of the linear relaxation without closure cuts, with some, with all: each at least the one before, and at most
/// the optimum. Returns: whether all of them prove more than none.
template <mip_backend B>
auto check_relaxation(problem const& p, B const& backend, bytes_t budget, int passes) -> bool
{
    auto const best = brute_force(p, first_runs::in_index_order, passes).solve(budget);
    std::vector<double> bounds;
    for (int closure_every : {0, 3, 1}) {
        CAPTURE(budget, passes, closure_every);
        auto const bound = checkmate_relaxation(p, budget, backend, {.passes = passes, .closure_every = closure_every});
        if (!bound) { // may be proven without whole numbers, and must be true
            CHECK(bound.error().code == errc::infeasible);
            CHECK_FALSE(best);
            return false;
        }
        auto const noise = 1e-6 * (1 + *bound);
        CHECK((bounds.empty() || *bound >= bounds.back() - noise));
        if (best) {
            CHECK(*bound <= static_cast<double>(best->cost - p.base_cost()) + noise);
        }
        bounds.push_back(*bound);
    }
    return bounds.back() > bounds.front() + 1e-3 * (1 + bounds.front());
}

/// With an order known from elsewhere the answer is never worse than it, and as good as without.
template <mip_backend B>
void check_known_order(problem const& p, B const& backend, bytes_t budget)
{
    checkmate_options how{.passes = 2};
    auto const plain = solve_checkmate(p, budget, backend, how);
    auto const all = brute_force(p).solve(budget);
    REQUIRE(all);
    how.known = runs_of(all->schedule);
    auto const started = solve_checkmate(p, budget, backend, how);
    REQUIRE(started);
    CHECK(started->cost == all->cost);
    CHECK(started->optimal);
    CHECK(validate(p, free_early(p, started->order), budget).ok());
    if (plain && plain->cost > all->cost) {
        return; // an order outside of the class
    }
    how.known = recompute_all_order(p, p.op_count() / 2);
    if (peak_of(p, *how.known) <= budget && is_run_order(p, *how.known)) {
        auto const improved = solve_checkmate(p, budget, backend, how);
        REQUIRE(improved);
        CHECK(improved->cost == all->cost);
    }
}

/// Equals the enumeration of its class under every telling budget, with any number of closure cuts.
template <mip_backend B>
void check_classes_of_orders(B const& backend, std::uint64_t seeds)
{
    met seen;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        CAPTURE(seed);
        auto const p = varied_problem(seed, 9);
        for (int closure_every : {0, 1, 4}) {
            check_against_enumeration(
                p,
                backend,
                {.passes = 1 + static_cast<int>(seed % 2), .lazy = false, .closure_every = closure_every},
                seen);
        }
    }
    CHECK(seen.infeasible > static_cast<int>(seeds));
    CHECK(seen.with_replays > static_cast<int>(seeds));
}

/// With the passes it takes by itself, equals the enumeration of all orders.
template <mip_backend B>
void check_all_orders(B const& backend, std::uint64_t seeds)
{
    met seen;
    for (std::uint64_t seed = 1000; seed < 1000 + seeds; ++seed) {
        CAPTURE(seed);
        check_against_enumeration(varied_problem(seed, 9), backend, {.passes = 3}, seen);
    }
    CHECK(seen.above_all_orders == 0);
    CHECK(seen.with_replays > static_cast<int>(seeds / 4));
}

/// Closure cuts raise the relaxation's bound, never above the optimum.
template <mip_backend B>
void check_closure_cuts(B const& backend, std::uint64_t seeds)
{
    int raised = 0;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        CAPTURE(seed);
        random_options o;
        o.ops = 12;
        o.training = seed % 2 == 1;
        o.effects = o.state = 0;
        auto const p = random_problem(seed, o);
        for (auto budget : telling_budgets(p)) {
            raised += check_relaxation(p, backend, budget, 1) ? 1 : 0;
        }
    }
    CHECK(raised > 2);
}

/// Is never worse than an order that is known.
template <mip_backend B>
void check_known_orders(B const& backend, std::uint64_t seeds)
{
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        CAPTURE(seed);
        auto const p = varied_problem(seed, 9);
        auto const least = brute_force(p).minimum_budget();
        for (auto budget : {least, (least + keep_all_peak(p)) / 2}) {
            check_known_order(p, backend, budget);
        }
    }
}

} // namespace strata::test
