// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What a partitioner is.
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <concepts>
#include <span>
#include <string_view>
#include <vector>

namespace strata {

/// What a partitioner answers with: a set of forward ops, and how it is cut further, if at all.
struct part {
    std::vector<op_id> ops = {};  ///< ascending
    std::vector<part> parts = {}; ///< disjoint, together `ops`; empty: not cut
    friend auto operator==(part const&, part const&) -> bool = default;
};

namespace detail {

// clang-format off
template <class P>
concept named_partitioner = requires(P const& by) {
    { by.name() } -> std::convertible_to<std::string_view>;
};
template <class P>
concept splitting_partitioner = requires(P const& by, problem const& p, std::span<op_id const> ops) {
    { by.split(p, ops) } -> std::same_as<std::vector<part>>;
};
// clang-format on

} // namespace detail

/// A way to cut the forward ops of a step into blocks, to any depth. Backward ops follow the op they belong to.
///
/// Given `P const& by`, a `problem const& p` and `ops`, forward ops of it, ascending:
///   - `by.name()`        → convertible to `std::string_view`; stays valid while `by` lives
///   - `by.split(p, ops)` → `std::vector<part>`; nothing, or one part only, when there is nothing to cut
///
/// Laws:       the parts are disjoint and together `ops`; no path leaves a part and comes back to it, forward or backward;
///             the same input gives the same parts.
/// Not needed: balance, an order of the parts, noticing that blocks are alike (`hierarchy` does).
/// Cost:       called once for each plan, and by partitioners that hand blocks on once for each of those.
/// Models:     `whole`, `at_cut_points<Sub>`, `bottom_up`, `repeated<Sub>`.
/// Near miss:  a `split` that is not const, or that returns lists of ops instead of parts.
template <class P>
concept partitioner = detail::named_partitioner<P> && detail::splitting_partitioner<P>;

/// Names the part of `partitioner` that `P` lacks. Call it at the head of a template that takes a partitioner.
template <class P>
consteval void require_partitioner()
{
    static_assert(detail::named_partitioner<P>,
                  "strata::partitioner: needs `by.name()`, const, convertible to std::string_view");
    static_assert(detail::splitting_partitioner<P>,
                  "strata::partitioner: needs `by.split(problem const&, std::span<op_id const>)`, const, returning "
                  "std::vector<part>");
}

} // namespace strata
