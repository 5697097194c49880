// SPDX-License-Identifier: Apache-2.0
// Solvers of one type, so that the entry points are compiled once for all of them.
#pragma once

#include <strata/solve/polish.hpp>
#include <strata/solve/search.hpp>

#include <string_view>

namespace strata::test {

/// Runs a solver whose type is not part of its own; polishes as the default does.
struct any_solver {
    std::string_view label;
    void (*run)(search&);
    strata::polish polish = {0, true};

    [[nodiscard]] auto name() const noexcept -> std::string_view { return label; }
    void solve(search& on) const { run(on); }
};

/// The solver `S` with its default settings.
template <class S>
constexpr auto any(std::string_view label) -> any_solver
{
    return {label, [](search& on) { S{}.solve(on); }};
}

} // namespace strata::test
