// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The solver that plans unless told otherwise.
#pragma once

#include <strata/solve/budgeted.hpp>
#include <strata/solve/cut.hpp>
#include <strata/solve/exhaustive.hpp>
#include <strata/solve/greedy.hpp>
#include <strata/solve/minimum_memory.hpp>
#include <strata/solve/near_cuts.hpp>
#include <strata/solve/out_of_reach.hpp>
#include <strata/solve/polish.hpp>
#include <strata/solve/search.hpp>

#include <string_view>

namespace strata {

/// Cuts, then greedy, and of small problems the optimum; where that ends more than 1.5 % of the step's cost above the bound,
/// a few walks within the budget, and where nothing fits, a short look for what needs few bytes. `thorough` looks longer.
/// `plan` polishes what is found as long as a deadline allows.
struct default_solver {
    strata::polish polish = {0, true};

    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "default"; }
    template <class = void>
    void solve(search& on) const
    {
        cut{.one_shot = true}.solve(on);
        out_of_reach{}.solve(on);
        budgeted{.runs = 20'000, .worth_it = 0.015, .random_keys = false}.solve(on);
        if (!on.done()) {
            cut{}.solve(on);
        }
        if (!on.done()) {
            greedy{}.solve(on);
        }
        if (!on.done()) {
            exhaustive{}.solve(on);
        }
        near_cuts{.runs = 50'000, .worth_it = 0.005}.solve(on);
        minimum_memory{.runs = 30'000, .states = 5'000}.solve(on);
    }
};

} // namespace strata
