// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What a merger is.
#pragma once

#include <strata/merge/block_graph.hpp>
#include <strata/solve/limits.hpp>
#include <strata/units.hpp>

#include <concepts>
#include <optional>
#include <string_view>

namespace strata {

namespace detail {

// clang-format off
template <class M>
concept named_merger = requires(M const& m) {
    { m.name() } -> std::convertible_to<std::string_view>;
};
template <class M>
concept choosing_merger = requires(M const& m, block_graph const& g, bytes_t budget, stop_watch const& stop) {
    { m.merge(g, budget, stop) } -> std::same_as<std::optional<block_plan>>;
};
// clang-format on

} // namespace detail

/// A way to make one plan of a step out of the options of its parts.
///
/// Given `M const& m`, a `block_graph const& g`, a budget in bytes, resident ones included, and a `stop_watch const& stop`:
///   - `m.name()`                 → convertible to `std::string_view`; stays valid while `m` lives
///   - `m.merge(g, budget, stop)` → `std::optional<block_plan>`; nothing when it has no plan, or does not take such levels
///
/// Optional:
///   - `m.merge_each(l, budgets, stop)` → a range of `std::optional<block_plan>`, one per budget of a
///     `std::span<bytes_t const>`, largest first: for a merger to which several budgets cost little more than one
///
/// Laws:       plans obey the rules of `block_plan`; the same graph of blocks and budget, without a deadline, give the same plan; a
///             request to stop is answered within a moment.
/// Not needed: a plan that fits (whoever asks looks at `promise_of`), or is good.
/// Cost:       called once per budget for the step, and for each kind of block that is cut further as often as its frontier
///             is worth; on several threads at once.
/// Models:     `one_option_each`, `block_dp`, `hierarchical_ilp<B>`.
/// Near miss:  a `merge` that is not const, or that returns a run order.
template <class M>
concept merger = detail::named_merger<M> && detail::choosing_merger<M>;

/// Names the part of `merger` that `M` lacks. Call it at the head of a template that takes a merger.
template <class M>
consteval void require_merger()
{
    static_assert(detail::named_merger<M>, "strata::merger: needs `m.name()`, const, convertible to std::string_view");
    static_assert(detail::choosing_merger<M>,
                  "strata::merger: needs `m.merge(block_graph const&, bytes_t, stop_watch const&)`, const, returning "
                  "std::optional<block_plan>");
}

} // namespace strata
