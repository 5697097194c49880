// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The integer program of a level on a backend against enumeration, checked inside a test case.
#pragma once

#include <strata/merge/block_graph.hpp>
#include <strata/merge/expand.hpp>
#include <strata/merge/promise.hpp>
#include <strata/merge/rules.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/hierarchical_ilp.hpp>
#include <strata/solve/mip_backend.hpp>
#include <strata/solve/search.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/brute_block_plans.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random_block_graph.hpp"
#include "tests/support/random_problem.hpp"

namespace strata::test {

/// Some budgets from next to none up to all that `g` can use.
inline auto some_budgets(block_graph const& g, int n) -> std::vector<bytes_t>
{
    auto const& p = g.subject();
    auto const most = promise_of(g, once_each(g, std::vector<int>(g.size(), 0))).peak - p.resident_bytes();
    std::vector<bytes_t> r;
    for (int k = 1; k <= n; ++k) {
        auto const b = p.resident_bytes() + most * k / n;
        if (r.empty() || r.back() != b) {
            r.push_back(b);
        }
    }
    return r;
}

/// Requires that `plan` obeys every rule, fits and is worth what was said.
inline void judge_block_plan(block_graph const& g, block_plan const& plan, bytes_t budget, cost_t cost)
{
    auto const& p = g.subject();
    REQUIRE(is_block_plan(g, plan));
    auto const promise = promise_of(g, plan);
    REQUIRE(promise.peak <= budget);
    REQUIRE(promise.cost == cost);
    auto const order = expand(g, plan);
    REQUIRE(cost_of(p, order) == cost);
    REQUIRE(peak_of(p, order) == promise.peak);
    auto const given = in_first_run_order(p, order);
    REQUIRE(is_run_order(p, given));
    REQUIRE(validate(p, free_early(p, given), max_bytes).ok());
}

/// Equals the enumeration of plans on random levels under budgets of every kind, with any number of closure cuts.
template <mip_backend B>
void check_class_of_plans(B const& backend, std::uint64_t seeds)
{
    int infeasible = 0;
    int dearer = 0;
    int again = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        auto const x = make_random_level(seed, 16);
        if (!x.level) {
            continue;
        }
        brute_block_plans const brute(*x.level);
        if (brute.tensors() > 10) {
            continue;
        }
        auto const budgets = some_budgets(*x.level, 9);
        auto const least = brute.solve(max_bytes);
        REQUIRE(least);
        for (auto budget : budgets) {
            CAPTURE(seed, budget);
            auto const truth = brute.solve(budget);
            auto const found =
                solve_hierarchical(*x.level, budget, backend, {.closure_every = static_cast<int>(seed % 3)});
            if (!truth) {
                REQUIRE_FALSE(found);
                CHECK(found.error().code == errc::infeasible);
                ++infeasible;
                continue;
            }
            REQUIRE(found);
            judge_block_plan(*x.level, found->plan, budget, found->cost);
            REQUIRE(found->cost == *truth);
            CHECK(found->optimal);
            CHECK(found->bound <= found->cost);
            dearer += found->cost > *least ? 1 : 0;
            again += found->plan.size() > x.level->items().size() ? 1 : 0;
        }
    }
    CHECK(infeasible > static_cast<int>(seeds / 2));
    CHECK(dearer > static_cast<int>(seeds / 4));
    CHECK(again > static_cast<int>(seeds / 8));
}

} // namespace strata::test
