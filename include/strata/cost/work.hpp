// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief How much an op computes and moves: what a roofline is fed with.
///
/// `work::flops(g, o)` asks the graph (`g.flops(o)`, `flops(g, o)`), else the operator object (`op.flops()`, the data
/// member `op.flops`, `flops(op)`); a std::variant is asked for what it holds. `bytes_moved` and `op_class` ask
/// likewise and have defaults.
#pragma once

#include <strata/cost/price.hpp>
#include <strata/graph/access.hpp>
#include <strata/graph/concepts.hpp>
#include <strata/graph/to_spec.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace strata::work {

namespace detail {

#define STRATA_WORK_POINT(NAME, RESULT)                                                                                \
    namespace NAME##_                                                                                                  \
    {                                                                                                                  \
        void NAME() = delete;                                                                                          \
        template <class G>                                                                                             \
        concept graph_member = requires(G const& g, op_id o) {                                                         \
            {                                                                                                          \
                g.NAME(o)                                                                                              \
            } -> std::convertible_to<RESULT>;                                                                          \
        };                                                                                                             \
        template <class G>                                                                                             \
        concept graph_function = requires(G const& g, op_id o) {                                                       \
            {                                                                                                          \
                NAME(g, o)                                                                                             \
            } -> std::convertible_to<RESULT>;                                                                          \
        };                                                                                                             \
        template <class Op>                                                                                            \
        concept op_member = requires(Op const& op) {                                                                   \
            {                                                                                                          \
                op.NAME()                                                                                              \
            } -> std::convertible_to<RESULT>;                                                                          \
        };                                                                                                             \
        template <class Op>                                                                                            \
        concept op_data = requires(Op const& op) {                                                                     \
            {                                                                                                          \
                op.NAME                                                                                                \
            } -> std::convertible_to<RESULT>;                                                                          \
        };                                                                                                             \
        template <class Op>                                                                                            \
        concept op_function = requires(Op const& op) {                                                                 \
            {                                                                                                          \
                NAME(op)                                                                                               \
            } -> std::convertible_to<RESULT>;                                                                          \
        };                                                                                                             \
        template <class G>                                                                                             \
        constexpr auto ask_graph(G const& g, op_id o)->RESULT                                                          \
        {                                                                                                              \
            if constexpr (graph_member<G>) {                                                                           \
                return static_cast<RESULT>(g.NAME(o));                                                                 \
            } else {                                                                                                   \
                return static_cast<RESULT>(NAME(g, o));                                                                \
            }                                                                                                          \
        }                                                                                                              \
        template <class Op>                                                                                            \
        constexpr auto ask_op(Op const& op)->RESULT                                                                    \
        {                                                                                                              \
            if constexpr (op_member<Op>) {                                                                             \
                return static_cast<RESULT>(op.NAME());                                                                 \
            } else if constexpr (op_data<Op>) {                                                                        \
                return static_cast<RESULT>(op.NAME);                                                                   \
            } else {                                                                                                   \
                return static_cast<RESULT>(NAME(op));                                                                  \
            }                                                                                                          \
        }                                                                                                              \
        template <class G>                                                                                             \
        concept answered_by_graph = graph_member<G> || graph_function<G>;                                              \
        template <class Op>                                                                                            \
        concept answered_by_op = op_member<Op> || op_data<Op> || op_function<Op>;                                      \
    }

STRATA_WORK_POINT(flops, double)
STRATA_WORK_POINT(bytes_moved, double)
STRATA_WORK_POINT(op_class, std::string)
#undef STRATA_WORK_POINT

/// Never complete: named in the error for an operator type that does not say its flops.
template <class Op>
struct flops_unknown_for;

/// Bytes of distinct inputs, of distinct outputs that are no views, and of tensors changed in place (written once more).
template <class G>
[[nodiscard]] auto bytes_of_operands(G const& g, op_id o) -> double
{
    auto reads = strata::detail::to_ids(access::inputs(g, o));
    auto writes = strata::detail::to_ids(access::outputs(g, o));
    bool const makes_something = !writes.empty();
    std::erase_if(writes, [&](tensor_id t) { return access::detail::to_id(access::view_of(g, t)) != none; });
    auto const changed = strata::detail::to_ids(access::mutates(g, o));
    writes.insert(writes.end(), changed.begin(), changed.end());
    if (writes.empty() && makes_something) {
        return 0; // it makes views and nothing else
    }
    double sum = 0;
    for (auto* ids : {&reads, &writes}) {
        std::sort(ids->begin(), ids->end());
        ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
        for (auto t : *ids) {
            sum += static_cast<double>(access::tensor_bytes(g, t));
        }
    }
    return sum;
}

} // namespace detail

/// Floating point operations of op `o`. An operator type that does not say is a compile-time error that names it.
template <class G>
[[nodiscard]] auto flops(G const& g, op_id o) -> double
{
    if constexpr (detail::flops_::answered_by_graph<G>) {
        return detail::flops_::ask_graph(g, o);
    } else {
        return strata::detail::visit_op(access::op(g, o), [](auto const& held) -> double {
            using op_type = std::remove_cvref_t<decltype(held)>;
            if constexpr (detail::flops_::answered_by_op<op_type>) {
                return detail::flops_::ask_op(held);
            } else {
                static_assert(detail::flops_::answered_by_op<op_type>,
                              "strata::roofline_cost: needs `op.flops()`, `op.flops` or `flops(op)` for every operator "
                              "type, convertible to double");
                return sizeof(detail::flops_unknown_for<op_type>);
            }
        });
    }
}

/// Bytes op `o` reads and writes. Default: its distinct inputs, outputs that are no views, and tensors changed in place;
/// 0 for an op that only makes views.
template <class G>
[[nodiscard]] auto bytes_moved(G const& g, op_id o) -> double
{
    if constexpr (detail::bytes_moved_::answered_by_graph<G>) {
        return detail::bytes_moved_::ask_graph(g, o);
    } else if constexpr (requires { access::op(g, o); }) {
        return strata::detail::visit_op(access::op(g, o), [&](auto const& held) -> double {
            if constexpr (detail::bytes_moved_::answered_by_op<std::remove_cvref_t<decltype(held)>>) {
                return detail::bytes_moved_::ask_op(held);
            } else {
                return detail::bytes_of_operands(g, o);
            }
        });
    } else {
        return detail::bytes_of_operands(g, o);
    }
}

/// The class that picks the efficiency of op `o`. Default: its type name.
template <class G>
[[nodiscard]] auto op_class(G const& g, op_id o) -> std::string
{
    if constexpr (detail::op_class_::answered_by_graph<G>) {
        return detail::op_class_::ask_graph(g, o);
    } else if constexpr (requires { access::op(g, o); }) {
        return strata::detail::visit_op(access::op(g, o), [&](auto const& held) -> std::string {
            if constexpr (detail::op_class_::answered_by_op<std::remove_cvref_t<decltype(held)>>) {
                return detail::op_class_::ask_op(held);
            } else {
                return std::string(std::string_view(access::type_name(g, o)));
            }
        });
    } else {
        return std::string(std::string_view(access::type_name(g, o)));
    }
}

} // namespace strata::work
