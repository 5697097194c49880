// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief `task_graph`: what a type must answer for `lower` to plan it.
#pragma once

#include <strata/graph/access.hpp>
#include <strata/graph/near_misses.hpp>
#include <strata/problem/effects.hpp>
#include <strata/units.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>

namespace strata {

namespace detail {

// One named group per requirement, so that a compiler names the part that failed.
// clang-format off
template <class G>
concept counts_ops = requires(G const& g) {
    { access::op_count(g) } -> std::convertible_to<std::int64_t>;
};

template <class G>
concept counts_tensors = requires(G const& g) {
    { access::tensor_count(g) } -> std::convertible_to<std::int64_t>;
};

template <class G>
concept lists_inputs = requires(G const& g, op_id o) {
    { access::inputs(g, o) } -> access::detail::id_range;
};

template <class G>
concept lists_outputs = requires(G const& g, op_id o) {
    { access::outputs(g, o) } -> access::detail::id_range;
};

template <class G>
concept sizes_tensors = requires(G const& g, tensor_id t) {
    { access::tensor_bytes(g, t) } -> std::convertible_to<bytes_t>;
};

// Points that `G` does not answer have a default of the right type.
template <class G>
concept types_its_options = requires(G const& g, std::int32_t i) {
    { access::kind_of(g, i) } -> std::convertible_to<tensor_kind>;
    { access::view_of(g, i) } -> std::convertible_to<tensor_id>;
    { access::mutates(g, i) } -> access::detail::id_range;
    { access::effects_of(g, i) } -> std::convertible_to<effects>;
    { access::op_workspace(g, i) } -> std::convertible_to<bytes_t>;
    { access::phase_of(g, i) } -> std::convertible_to<phase>;
    { access::backward_of(g, i) } -> std::convertible_to<op_id>;
    { access::targets(g) } -> access::detail::id_range;
    { access::graph_name(g) } -> std::convertible_to<std::string_view>;
    { access::op_name(g, i) } -> std::convertible_to<std::string_view>;
    { access::tensor_name(g, i) } -> std::convertible_to<std::string_view>;
    { access::type_name(g, i) } -> std::convertible_to<std::string_view>;
};

template <class G>
concept spells_its_options =
    !misses_kind_of<G> && !misses_view_of<G> && !misses_mutates<G> && !misses_effects_of<G> &&
    !misses_op_workspace<G> && !misses_phase_of<G> && !misses_backward_of<G> && !misses_targets<G>;
// clang-format on

} // namespace detail

/// A step whose ops and tensors are numbered, ops in first-run order.
///
/// Given `G const& g`, an op number `o`, a tensor number `t`; each as a member or as a function found by ADL:
///   - `op_count(g)`, `tensor_count(g)`  → integers
///   - `inputs(g, o)`, `outputs(g, o)`   → ranges of tensor numbers, by value or by reference
///   - `tensor_bytes(g, t)`              → convertible to `bytes_t`
///   - optional, with the default in brackets: `kind_of(g, t)` [by use], `view_of(g, t)` [none], `mutates(g, o)` [none],
///     `effects_of(g, o)` [pure], `op_workspace(g, o)` [0], `phase_of(g, o)` [other], `backward_of(g, o)` [none],
///     `targets(g)` [none], `graph_name(g)`, `op_name(g, o)`, `tensor_name(g, t)`, `type_name(g, o)` [empty]
///
/// Laws:       equal questions get equal answers while `g` is planned; the rules of `check_aliases` hold.
/// Not needed: copying, default construction, any operator type, any storage of edges, thread safety.
/// Cost:       O(1) and O(length of the range) each; `lower` asks each question once per op or tensor.
/// Models:     `training_graph<Op>`.
/// Near miss:  a graph whose `tensor_bytes` is not const; a graph that spells an optional answer `effects(o)`.
// clang-format off
template <class G>
concept task_graph = detail::counts_ops<G> && detail::counts_tensors<G> && detail::lists_inputs<G> &&
                     detail::lists_outputs<G> && detail::sizes_tensors<G> && detail::types_its_options<G> &&
                     detail::spells_its_options<G>;
// clang-format on

/// Compiles exactly if `G` models `task_graph`; otherwise the first message names what is missing.
template <class G>
consteval void require_task_graph()
{
    static_assert(detail::counts_ops<G>,
                  "strata::task_graph: needs `g.op_count()` or `op_count(g)`, const, convertible to std::int64_t");
    static_assert(
        detail::counts_tensors<G>,
        "strata::task_graph: needs `g.tensor_count()` or `tensor_count(g)`, const, convertible to std::int64_t");
    static_assert(detail::lists_inputs<G>,
                  "strata::task_graph: needs `g.inputs(o)` or `inputs(g, o)`, const, a range of tensor numbers");
    static_assert(detail::lists_outputs<G>,
                  "strata::task_graph: needs `g.outputs(o)` or `outputs(g, o)`, const, a range of tensor numbers");
    static_assert(
        detail::sizes_tensors<G>,
        "strata::task_graph: needs `g.tensor_bytes(t)` or `tensor_bytes(g, t)`, const, convertible to strata::bytes_t");
    static_assert(
        detail::types_its_options<G>,
        "strata::task_graph: an optional answer has the wrong type; the list is in strata/graph/concepts.hpp");
    static_assert(!detail::misses_kind_of<G>,
                  "strata::task_graph: the kind of a tensor is spelled `kind_of(t)`, const, and returns tensor_kind");
    static_assert(!detail::misses_view_of<G>,
                  "strata::task_graph: the base of a view is spelled `view_of(t)`, const, and returns a tensor number");
    static_assert(!detail::misses_mutates<G>,
                  "strata::task_graph: tensors changed in place are spelled `mutates(o)`, const, a range of numbers");
    static_assert(!detail::misses_effects_of<G>,
                  "strata::task_graph: effects are spelled `effects_of(o)`, const, and return strata::effects");
    static_assert(!detail::misses_op_workspace<G>,
                  "strata::task_graph: scratch bytes are spelled `op_workspace(o)`, const, and return bytes_t");
    static_assert(!detail::misses_phase_of<G>,
                  "strata::task_graph: the phase is spelled `phase_of(o)`, const, and returns strata::phase");
    static_assert(!detail::misses_backward_of<G>,
                  "strata::task_graph: the forward op of a backward op is spelled `backward_of(o)`, const");
    static_assert(!detail::misses_targets<G>,
                  "strata::task_graph: tensors needed at the end are spelled `targets()`, const, a range of numbers");
}

} // namespace strata
