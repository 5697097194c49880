// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Where ops that run as one keep what only they need: temporaries and workspaces, packed into one piece.
#pragma once

#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace strata {

namespace detail {

/// Scratch memory that is needed while the members `first` to `last` of a group run.
struct scratch_piece {
    std::size_t first = 0;
    std::size_t last = 0;
    bytes_t size = 0;
    bytes_t offset = 0; ///< found by `pack_scratch`
};

/// Places the pieces named by `order` one after the other, each as low as those placed before allow.
/// Returns: the bytes they take in all; nothing if that leaves the 64-bit range.
/// Complexity: O(pieces x pieces that meet).
template <class = void>
[[nodiscard]] auto pack_in_order(std::span<scratch_piece> pieces, std::span<std::size_t const> order)
    -> std::optional<bytes_t>
{
    bytes_t total = 0;
    std::vector<std::size_t> placed; // ascending by offset
    for (auto const i : order) {
        auto& x = pieces[i];
        x.offset = 0;
        for (auto const j : placed) {
            auto const& y = pieces[j];
            bool const meet = x.first <= y.last && y.first <= x.last && y.size > 0;
            if (!meet || y.offset + y.size <= x.offset) {
                continue;
            }
            if (y.offset - x.offset >= x.size) {
                break;
            }
            x.offset = y.offset + y.size;
        }
        auto end = x.offset;
        if (!checked_add(end, x.size)) {
            return std::nullopt;
        }
        total = std::max(total, end);
        auto const lower = [&](std::size_t j) { return pieces[j].offset <= x.offset; };
        placed.insert(std::partition_point(placed.begin(), placed.end(), lower), i);
    }
    return total;
}

/// Gives every piece its offset, in as few bytes as first fit by time or by size takes.
/// Returns: the bytes that all of them take; nothing if that leaves the 64-bit range. Sizes that are multiples of an
/// alignment get offsets that are.
/// Complexity: O(n²) in pieces; groups of ops are small.
template <class = void>
[[nodiscard]] auto pack_scratch(std::span<scratch_piece> pieces) -> std::optional<bytes_t>
{
    std::vector<std::size_t> by_time(pieces.size());
    std::iota(by_time.begin(), by_time.end(), std::size_t{0});
    auto by_size = by_time;
    std::stable_sort(by_time.begin(), by_time.end(), [&](auto a, auto b) { return pieces[a].first < pieces[b].first; });
    std::stable_sort(by_size.begin(), by_size.end(), [&](auto a, auto b) { return pieces[a].size > pieces[b].size; });
    auto const in_time = pack_in_order(pieces, by_time);
    auto const in_size = pack_in_order(pieces, by_size);
    if (in_time && (!in_size || *in_time < *in_size)) {
        return pack_in_order(pieces, by_time);
    }
    return in_size;
}

} // namespace detail

} // namespace strata
