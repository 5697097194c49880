// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief `cost_model`: what a type must answer for the ops of a graph to have a price.
#pragma once

#include <strata/units.hpp>

#include <concepts>

namespace strata {

/// A type that says how long each op of a graph takes, in one unit per graph (nanoseconds by convention).
///
/// Given `C const& c`, `G const& g` and an op number `o`:
///   - `c.cost(g, o)` → convertible to `cost_t`; cost of running `o` once. Floating point is rounded to nearest.
///
/// Laws:       equal questions get equal answers for the life of `c`; no answer is negative, which says "unknown" and
///             makes `lower` refuse the graph, naming the op.
/// Not needed: copying, default construction, noexcept, any order of calls.
/// Cost:       O(1); `lower` asks once per op.
/// Models:     `table_cost`, `roofline_cost`, `by_type_cost<...>`, `scaled_cost<C>`, `overridden_cost<C>`.
/// Near miss:  a model whose `cost` is not const, takes the op alone, or returns text.
// clang-format off
template <class C, class G>
concept cost_model = requires(C const& c, G const& g, op_id o) {
    { c.cost(g, o) } -> std::convertible_to<cost_t>;
};
// clang-format on

/// Compiles exactly if `C` models `cost_model` for graphs of type `G`; otherwise the message says what is missing.
template <class C, class G>
consteval void require_cost_model()
{
    static_assert(cost_model<C, G>,
                  "strata::cost_model: needs `c.cost(g, o)`, const, for this graph, convertible to strata::cost_t");
}

} // namespace strata
