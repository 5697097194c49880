// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A block of a step: forward ops with the backward ops that belong to them.
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata {

/// The two stretches in which the ops of a block run for the first time.
enum class half : std::uint8_t { forward, backward };

/// Ops that are planned as one. Either half may be empty.
struct block {
    std::vector<op_id> forward = {};  ///< ascending, all before `turn_of` the step
    std::vector<op_id> backward = {}; ///< ascending, all from there on
    [[nodiscard]] auto ops(half h) const -> std::vector<op_id> const&
    {
        return h == half::forward ? forward : backward;
    }
    friend auto operator==(block const&, block const&) -> bool = default;
};

/// Where a step turns from forward to backward: its first op of that phase; the number of ops when there is none.
/// Complexity: O(ops).
[[nodiscard]] inline auto turn_of(problem const& p) -> op_id
{
    op_id o = 0;
    while (o < p.op_count() && p.op(o).phase != phase::backward) {
        ++o;
    }
    return o;
}

namespace detail {

/// True when `o` is an op of `b`. Complexity: O(log ops of the block).
[[nodiscard]] inline auto contains(block const& b, op_id o) -> bool
{
    return std::binary_search(b.forward.begin(), b.forward.end(), o) ||
           std::binary_search(b.backward.begin(), b.backward.end(), o);
}

} // namespace detail

} // namespace strata
