// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Checks a solver against the laws of tests/support/broken_laws.hpp inside a test case.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/broken_laws.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random_problem.hpp"

namespace strata::test {

/// Checks every law of `broken_solver_laws` for one problem and one budget.
/// `solve(problem const&, bytes_t)` returns a `result` of `certified_plan`, `schedule` or `run_order`.
template <class Solve>
void check_solver_laws(problem const& p, bytes_t budget, Solve const& solve, law_options const& options = {})
{
    auto const broken = broken_solver_laws(p, budget, solve, options);
    for (auto const& b : broken) {
        UNSCOPED_INFO(b);
    }
    CHECK(broken.empty());
}

/// The same over `count` varied random problems of at most `max_ops` (<= 12) ops and all telling budgets of each.
/// A seed that fails is printed; `varied_problem(seed, max_ops)` makes its problem again.
template <class Solve>
void check_solver_laws_at_random(
    Solve const& solve, std::uint64_t count, int max_ops = 9, law_options const& options = {}, std::uint64_t from = 0)
{
    std::uint64_t failures = 0;
    for (auto seed = from; seed < from + count && failures < 5; ++seed) {
        auto const p = varied_problem(seed, max_ops);
        for (auto b : telling_budgets(p)) {
            for (auto const& broken : broken_solver_laws(p, b, solve, options)) {
                ++failures;
                UNSCOPED_INFO("seed " << seed << ", at most " << max_ops << " ops: " << broken);
            }
        }
    }
    CHECK(failures == 0);
}

/// Checks that a larger budget never gets a costlier plan.
template <class Solve>
void check_monotone_law(problem const& p, std::vector<bytes_t> const& budgets, Solve const& solve)
{
    auto const broken = broken_monotone_law(p, budgets, solve);
    for (auto const& b : broken) {
        UNSCOPED_INFO(b);
    }
    CHECK(broken.empty());
}

} // namespace strata::test
