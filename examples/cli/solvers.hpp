// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The solvers of the program, by name.
#pragma once

#include <strata/result.hpp>
#include <strata/solve/concepts.hpp>
#include <strata/solve/polish.hpp>
#include <strata/solve/search.hpp>

#include <span>
#include <string>
#include <string_view>

namespace cli {

/// A solver that can be asked for by name, whatever its type: `plan` is compiled once for all of them.
struct solver_entry {
    std::string_view label;
    std::string_view what; ///< one line for people
    void (*run)(strata::search&);
    strata::polish polish; ///< see `strata::plan`

    [[nodiscard]] auto name() const noexcept -> std::string_view { return label; }
    void solve(strata::search& on) const { run(on); }
};
static_assert(strata::solver<solver_entry>);

/// All of them; the first is the default.
[[nodiscard]] auto solvers() -> std::span<solver_entry const>;

/// Errors: `invalid_argument` listing the names there are.
[[nodiscard]] auto find_solver(std::string const& name) -> strata::result<solver_entry>;

} // namespace cli
