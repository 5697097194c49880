// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The solvers of the program, by name.
#pragma once

#include <strata/pipeline/certificate.hpp>
#include <strata/problem/problem.hpp>
#include <strata/result.hpp>
#include <strata/solve/limits.hpp>
#include <strata/units.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// A solver that can be asked for by name.
struct solver_entry {
    std::string_view name;
    std::string_view what; ///< one line for people
    auto (*plan)(strata::problem const&, strata::limits const&) -> strata::result<strata::certified_plan>;
    auto (*frontier)(strata::problem const&, std::vector<strata::bytes_t>, strata::limits const&)
        -> strata::result<std::vector<strata::certified_plan>>;
};

/// All of them; the first is the default.
[[nodiscard]] auto solvers() -> std::span<solver_entry const>;

/// Errors: `invalid_argument` listing the names there are.
[[nodiscard]] auto find_solver(std::string const& name) -> strata::result<solver_entry>;

} // namespace cli
