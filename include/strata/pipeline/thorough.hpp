// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Everything that is quick: the seeds of the default solver, and blocks under dynamic programming.
#pragma once

#include <strata/partition/at_cut_points.hpp>
#include <strata/partition/repeated.hpp>
#include <strata/partition/whole.hpp>
#include <strata/pipeline/hierarchical.hpp>
#include <strata/solve/block_dp.hpp>
#include <strata/solve/budgeted.hpp>
#include <strata/solve/cut.hpp>
#include <strata/solve/default_solver.hpp>
#include <strata/solve/minimum_memory.hpp>
#include <strata/solve/near_cuts.hpp>
#include <strata/solve/polish.hpp>
#include <strata/solve/portfolio.hpp>
#include <strata/solve/priced_cuts.hpp>
#include <strata/solve/retrace.hpp>
#include <strata/solve/search.hpp>
#include <strata/solve/tree_width.hpp>
#include <strata/units.hpp>

#include <string_view>

namespace strata {

/// A portfolio for budgets where the default's seeds end far from their bound: priced cuts know where else memory is short;
/// below 30 % of deep networks, layers under dynamic programming come closer; at the smallest budgets, separators find what
/// others do not. Where the default reaches the bound, this costs no more than it does.
struct thorough {
    strata::polish polish = {0, true}; ///< see `plan`

    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "thorough"; }
    template <class = void>
    void solve(search& on) const
    {
        using rows = hierarchical<at_cut_points<whole>, quick_solver, block_dp>;
        using layers = hierarchical<repeated<whole>, quick_solver, block_dp>;
        portfolio(default_solver{},
                  cut{.points = 5, .fine = true},
                  priced_cuts{},
                  rows{.label = "at_cut_points"},
                  layers{.label = "repeated"})
            .solve(on);
        budgeted{.runs = 100'000, .worth_it = 0.01}.solve(on);
        near_cuts{.runs = 150'000, .salt = 1}.solve(on);
        // On longer steps a stretch is too small a part for this to tell, and separators cost more than all others together
        // and are ahead only where those find nothing.
        constexpr op_id short_step = 1000;
        if (on.subject().op_count() <= short_step) {
            retrace_stretches{}.solve(on);
        }
        minimum_memory{.runs = 100'000}.solve(on);
        if (!on.done() && (!on.best() || on.subject().op_count() <= short_step)) {
            tree_width{}.solve(on);
        }
    }
};

} // namespace strata
