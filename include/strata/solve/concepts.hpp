// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What a solver is.
#pragma once

#include <strata/solve/search.hpp>

#include <concepts>
#include <string_view>

namespace strata {

namespace detail {

// clang-format off
template <class S>
concept named_solver = requires(S const& s) {
    { s.name() } -> std::convertible_to<std::string_view>;
};
template <class S>
concept proposing_solver = requires(S const& s, search& on) {
    { s.solve(on) } -> std::same_as<void>;
};
// clang-format on

} // namespace detail

/// A strategy that proposes run orders for a problem under a budget.
///
/// Given `S const& s` and a `search& on`:
///   - `s.name()`    → convertible to `std::string_view`; stays valid while `s` lives
///   - `s.solve(on)` → void; calls `on.propose(…)` any number of times, reading the problem and budget from `on`
///
/// Laws:       every proposed order runs each op, in first-run order, with inputs produced before they are read; the same
///             problem, budget and seed give the same proposals.
/// Not needed: a proposal that fits the budget (`search` repairs it), or is good (`search` keeps the best).
/// Cost:       `solve` runs once per plan; a maker of a proposal may run on another thread.
/// Models:     `budgeted`, `chain_dp`, `checkmate<B>`, `cut`, `default_solver`, `exhaustive`, `greedy`,
///             `hierarchical<P, S, M>`, `keep_all`, `minimum_memory`, `pipeline<P, S, M, R>`, `polish`,
///             `portfolio<S...>`, `priced_cuts`, `recompute_all`, `sqrt_checkpoint`, `thorough`, `tree_width`.
/// Near miss:  a solver whose `solve` is not const, or returns the order instead of proposing it.
template <class S>
concept solver = detail::named_solver<S> && detail::proposing_solver<S>;

/// Names the part of `solver` that `S` lacks. Call it at the head of a template that takes a solver.
template <class S>
consteval void require_solver()
{
    static_assert(detail::named_solver<S>, "strata::solver: needs `s.name()`, const, convertible to std::string_view");
    static_assert(detail::proposing_solver<S>, "strata::solver: needs `s.solve(search&)`, const, returning void");
}

} // namespace strata
