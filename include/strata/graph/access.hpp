// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The questions the library asks a graph: customisation points, so that a user's own graph type answers them.
///
/// `strata::access::inputs(g, o)` calls the member `g.inputs(o)`, else the function `inputs(g, o)` found by
/// argument-dependent lookup, else, for the optional points, gives a default. Ops and tensors are numbered from 0, ops
/// in first-run order; ids are passed as 32-bit integers, and a graph may take and give them as any integer type.
#pragma once

#include <strata/problem/effects.hpp>
#include <strata/units.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <string_view>

// A graph that takes ids as std::size_t is as good as any other; the conversion made here is not its user's fault.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"

namespace strata::access {

namespace detail {

/// A number given by a graph as an id: `none` for -1 of any integer type, -2, which is no id, when it does not fit.
template <class I>
[[nodiscard]] constexpr auto to_id(I const& i) -> std::int32_t
{
    if constexpr (std::integral<I>) {
        if (i == static_cast<I>(-1)) {
            return none;
        }
        return i >= I(0) && static_cast<std::uint64_t>(i) <= 0x7fffffffU ? static_cast<std::int32_t>(i) : -2;
    } else {
        return i;
    }
}

template <class R>
concept id_range = requires(R&& r) {
    *std::begin(r);
    static_cast<std::int32_t>(*std::begin(r));
    static_cast<bool>(std::begin(r) != std::end(r));
};

/// A point without default: callable exactly for the graphs that answer it.
template <class Point>
struct required {
    using point = Point;
    template <class G>
        requires(Point::template answered<G>)
    constexpr auto operator()(G const& g) const -> decltype(auto)
    {
        return Point::ask(g);
    }
    template <class G>
        requires(Point::template answered<G, std::int32_t>)
    constexpr auto operator()(G const& g, std::int32_t i) const -> decltype(auto)
    {
        return Point::ask(g, i);
    }
};

/// A point with default: callable for every graph.
template <class Point, class Default>
struct optional {
    using point = Point;
    template <class G>
        requires(Point::template answered<G> || std::invocable<Default, G const&>)
    constexpr auto operator()(G const& g) const -> decltype(auto)
    {
        if constexpr (Point::template answered<G>) {
            return Point::ask(g);
        } else {
            return Default{}(g);
        }
    }
    template <class G>
        requires(Point::template answered<G, std::int32_t> || std::invocable<Default, G const&, std::int32_t>)
    constexpr auto operator()(G const& g, std::int32_t i) const -> decltype(auto)
    {
        if constexpr (Point::template answered<G, std::int32_t>) {
            return Point::ask(g, i);
        } else {
            return Default{}(g, i);
        }
    }
};

} // namespace detail

// One namespace per point, so that the declaration that stops ordinary lookup (only functions found by argument shall
// count) does not meet the object of the same name.
#define STRATA_ACCESS_POINT(NAME)                                                                                      \
    namespace detail::NAME##_                                                                                          \
    {                                                                                                                  \
        void NAME() = delete;                                                                                          \
        template <class G, class... Id>                                                                                \
        concept member = requires(G& g, Id... i) { g.NAME(i...); };                                                    \
        template <class G, class... Id>                                                                                \
        concept function = requires(G& g, Id... i) { NAME(g, i...); };                                                 \
        struct point {                                                                                                 \
            template <class G, class... Id>                                                                            \
            static constexpr bool answered = member<G const, Id...> || function<G const, Id...>;                       \
            /* True for a member that needs a mutable graph: an answer that would never be heard. */                   \
            template <class G, class... Id>                                                                            \
            static constexpr bool not_const = member<G, Id...> && !answered<G, Id...>;                                 \
            template <class G, class... Id>                                                                            \
            static constexpr auto ask(G const& g, Id... i) -> decltype(auto)                                           \
            {                                                                                                          \
                if constexpr (member<G const, Id...>) {                                                                \
                    return g.NAME(i...);                                                                               \
                } else {                                                                                               \
                    return NAME(g, i...);                                                                              \
                }                                                                                                      \
            }                                                                                                          \
        };                                                                                                             \
    }

STRATA_ACCESS_POINT(op_count)
STRATA_ACCESS_POINT(tensor_count)
STRATA_ACCESS_POINT(inputs)
STRATA_ACCESS_POINT(outputs)
STRATA_ACCESS_POINT(tensor_bytes)
STRATA_ACCESS_POINT(op)
STRATA_ACCESS_POINT(kind_of)
STRATA_ACCESS_POINT(view_of)
STRATA_ACCESS_POINT(mutates)
STRATA_ACCESS_POINT(effects_of)
STRATA_ACCESS_POINT(op_workspace)
STRATA_ACCESS_POINT(phase_of)
STRATA_ACCESS_POINT(backward_of)
STRATA_ACCESS_POINT(targets)
STRATA_ACCESS_POINT(graph_name)
STRATA_ACCESS_POINT(op_name)
STRATA_ACCESS_POINT(tensor_name)
STRATA_ACCESS_POINT(type_name)
#undef STRATA_ACCESS_POINT

/// How many ops, and tensors, there are.
inline constexpr detail::required<detail::op_count_::point> op_count{};
inline constexpr detail::required<detail::tensor_count_::point> tensor_count{};
/// Ranges of the tensors op `o` reads, and writes (new ones, gradients it adds into, resident ones, views it makes).
inline constexpr detail::required<detail::inputs_::point> inputs{};
inline constexpr detail::required<detail::outputs_::point> outputs{};
/// Size of tensor `t`.
inline constexpr detail::required<detail::tensor_bytes_::point> tensor_bytes{};
/// The operator object of op `o`, of any type. Only cost by operator type and `differentiate` ask for it.
inline constexpr detail::required<detail::op_::point> op{};

namespace detail {

template <auto Value>
struct constant {
    template <class... A>
    constexpr auto operator()(A const&...) const noexcept
    {
        return Value;
    }
};
struct no_text {
    template <class... A>
    constexpr auto operator()(A const&...) const noexcept -> std::string_view
    {
        return {};
    }
};
struct no_ids {
    template <class... A>
    constexpr auto operator()(A const&...) const noexcept -> std::array<tensor_id, 0>
    {
        return {};
    }
};
struct no_effects {
    template <class... A>
    constexpr auto operator()(A const&...) const noexcept -> effects
    {
        return {};
    }
};
struct kind_by_use {
    template <class G>
    constexpr auto operator()(G const& g, std::int32_t t) const -> tensor_kind
    {
        auto const n = static_cast<op_id>(op_count(g));
        for (op_id o = 0; o < n; ++o) {
            for (auto const& made : outputs(g, o)) {
                if (to_id(made) == t) {
                    return tensor_kind::activation;
                }
            }
        }
        return tensor_kind::input;
    }
};

} // namespace detail

/// What tensor `t` is to the step. Default: activation if an op outputs it, else resident input (found in O(all
/// outputs); `lower` finds it for all tensors at once).
inline constexpr detail::optional<detail::kind_of_::point, detail::kind_by_use> kind_of{};
/// The tensor whose buffer `t` uses. Default: `none`, it has its own.
inline constexpr detail::optional<detail::view_of_::point, detail::constant<none>> view_of{};
/// Range of the tensors op `o` changes in place. Default: none.
inline constexpr detail::optional<detail::mutates_::point, detail::no_ids> mutates{};
/// Default: pure.
inline constexpr detail::optional<detail::effects_of_::point, detail::no_effects> effects_of{};
/// Scratch bytes while op `o` runs. Default: 0.
inline constexpr detail::optional<detail::op_workspace_::point, detail::constant<bytes_t{0}>> op_workspace{};
/// Default: `phase::other`.
inline constexpr detail::optional<detail::phase_of_::point, detail::constant<phase::other>> phase_of{};
/// The forward op that backward op `o` belongs to. Default: `none`.
inline constexpr detail::optional<detail::backward_of_::point, detail::constant<none>> backward_of{};
/// Range of the tensors that must be there at the end. Default: none.
inline constexpr detail::optional<detail::targets_::point, detail::no_ids> targets{};
/// Names for people. Default: empty.
inline constexpr detail::optional<detail::graph_name_::point, detail::no_text> graph_name{};
inline constexpr detail::optional<detail::op_name_::point, detail::no_text> op_name{};
inline constexpr detail::optional<detail::tensor_name_::point, detail::no_text> tensor_name{};
/// Operator class of op `o`, for reports and costs by class. Default: empty.
inline constexpr detail::optional<detail::type_name_::point, detail::no_text> type_name{};

} // namespace strata::access

#pragma GCC diagnostic pop
