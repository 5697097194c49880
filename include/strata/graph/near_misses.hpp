// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Finds members of a graph that were surely meant for an optional customisation point but would never be heard.
///
/// A wrongly spelled optional answer is worse than none: the graph would be planned as if the op were pure, the tensor
/// no view. So each point has its likely misspellings, and a member that only a mutable graph can call counts too.
#pragma once

#include <strata/graph/access.hpp>
#include <strata/problem/effects.hpp>
#include <strata/units.hpp>

#include <concepts>
#include <cstdint>

namespace strata::detail {

#define STRATA_MISSPELLINGS(NAME, RESULT, A, B, C)                                                                     \
    template <class G>                                                                                                 \
    inline constexpr bool misses_##NAME = !access::detail::NAME##_::point::template answered<G, std::int32_t> &&       \
                                          (                                                                            \
                                              access::detail::NAME##_::point::template not_const<G, std::int32_t> ||   \
                                              requires(G& g, std::int32_t i) {                                         \
                                                  {                                                                    \
                                                      g.A(i)                                                           \
                                                  } -> RESULT;                                                         \
                                              } ||                                                                     \
                                              requires(G& g, std::int32_t i) {                                         \
                                                  {                                                                    \
                                                      g.B(i)                                                           \
                                                  } -> RESULT;                                                         \
                                              } ||                                                                     \
                                              requires(G& g, std::int32_t i) {                                         \
                                                  {                                                                    \
                                                      g.C(i)                                                           \
                                                  } -> RESULT;                                                         \
                                              });

STRATA_MISSPELLINGS(kind_of, std::convertible_to<tensor_kind>, kind, tensor_kind, tensor_kind_of)
STRATA_MISSPELLINGS(effects_of, std::convertible_to<effects>, effects, effect_of, op_effects)
STRATA_MISSPELLINGS(mutates, access::detail::id_range, mutated, mutations, mutates_of)
STRATA_MISSPELLINGS(view_of, std::convertible_to<tensor_id>, views, is_view_of, tensor_view_of)
STRATA_MISSPELLINGS(op_workspace, std::convertible_to<bytes_t>, workspace, workspace_of, workspace_bytes)
STRATA_MISSPELLINGS(phase_of, std::convertible_to<phase>, phase, op_phase, get_phase)
STRATA_MISSPELLINGS(backward_of, std::convertible_to<op_id>, forward_of, forward_op, is_backward_of)
#undef STRATA_MISSPELLINGS

template <class G>
inline constexpr bool misses_targets =
    !access::detail::targets_::point::answered<G> && (
                                                         access::detail::targets_::point::not_const<G> ||
                                                         requires(G& g) {
                                                             {
                                                                 g.target()
                                                             } -> access::detail::id_range;
                                                         } ||
                                                         requires(G& g) {
                                                             {
                                                                 g.target_tensors()
                                                             } -> access::detail::id_range;
                                                         });

} // namespace strata::detail
