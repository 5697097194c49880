// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What adaptors hand on of an upstream cost, and how an operator object of unknown shape is looked into.
#pragma once

#include <strata/units.hpp>

#include <type_traits>
#include <utility>
#include <variant>

namespace strata::detail {

/// Any answer of a cost model as a number wide enough for all of them.
template <class N>
[[nodiscard]] constexpr auto price(N const& n) -> long double
{
    if constexpr (std::is_arithmetic_v<N>) {
        return static_cast<long double>(n);
    } else {
        return static_cast<long double>(static_cast<cost_t>(n));
    }
}

template <class Op>
inline constexpr bool is_variant = false;
template <class... Ops>
inline constexpr bool is_variant<std::variant<Ops...>> = true;

/// `f` called with what `op` holds if it is a std::variant, else with `op` itself.
template <class Op, class F>
[[nodiscard]] constexpr auto visit_op(Op const& op, F&& f) -> decltype(auto)
{
    if constexpr (is_variant<Op>) {
        return std::visit(std::forward<F>(f), op);
    } else {
        return std::forward<F>(f)(op);
    }
}

} // namespace strata::detail
