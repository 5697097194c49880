// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Several solvers on one search, one after the other: the best proposal of all wins.
#pragma once

#include <strata/solve/concepts.hpp>
#include <strata/solve/cut.hpp>
#include <strata/solve/exhaustive.hpp>
#include <strata/solve/greedy.hpp>

#include <string_view>
#include <tuple>
#include <utility>

namespace strata {

/// Solvers of different types behind one. Later members are spared when an earlier one reached the proven bound.
template <class... S>
class portfolio {
public:
    constexpr explicit portfolio(S... members)
        : members_(std::move(members)...)
    {
        (require_solver<S>(), ...);
    }

    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "portfolio"; }
    template <class Lazy>
    void solve(basic_search<Lazy>& on) const
    {
        std::apply([&](auto const&... s) { ((on.done() ? void() : s.solve(on)), ...); }, members_);
    }

private:
    std::tuple<S...> members_;
};

/// What `plan` uses unless told otherwise: cuts, then greedy, and of small problems the optimum.
struct default_solver {
    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "default"; }
    template <class Lazy>
    void solve(basic_search<Lazy>& on) const
    {
        portfolio(cut{}, greedy{}, exhaustive{}).solve(on);
    }
};

} // namespace strata
