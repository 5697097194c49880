// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief How high buffers reach at every time: the ground on which the next one comes to lie.
#pragma once

#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace strata::detail {

/// Heights at the instants 0 to `instants` - 1, all 0 at first; they only rise.
/// Complexity: O(log n) for each question and each change.
template <class = void>
class basic_skyline {
public:
    explicit basic_skyline(std::size_t instants = 0)
    {
        while (leaves_ < instants) {
            leaves_ *= 2;
        }
        highest_.assign(2 * leaves_, 0);
        raised_.assign(2 * leaves_, 0);
    }

    void clear()
    {
        std::fill(highest_.begin(), highest_.end(), 0);
        std::fill(raised_.begin(), raised_.end(), 0);
    }

    /// The largest height at the instants [begin, end). Requires: begin < end.
    [[nodiscard]] auto highest(std::size_t begin, std::size_t end) const -> bytes_t
    {
        bytes_t h = 0;
        each_part(begin, end, [&](std::size_t node) { h = std::max(h, highest_[node]); });
        each_ancestor(begin, end, [&](std::size_t node) { h = std::max(h, raised_[node]); });
        return h;
    }

    /// Raises what is lower to `height` at the instants [begin, end). Requires: begin < end.
    void raise(std::size_t begin, std::size_t end, bytes_t height)
    {
        each_part(begin, end, [&](std::size_t node) {
            highest_[node] = std::max(highest_[node], height);
            raised_[node] = std::max(raised_[node], height);
        });
        each_ancestor(begin, end, [&](std::size_t node) { highest_[node] = std::max(highest_[node], height); });
    }

private:
    /// The fewest nodes of the tree that make up [begin, end).
    template <class F>
    void each_part(std::size_t begin, std::size_t end, F f) const
    {
        auto r = end + leaves_;
        for (auto l = begin + leaves_; l < r; l /= 2, r /= 2) {
            if (l % 2 == 1) {
                f(l++);
            }
            if (r % 2 == 1) {
                f(--r);
            }
        }
    }

    /// All nodes above the first or the last instant; each holds a part of [begin, end), or all of it.
    template <class F>
    void each_ancestor(std::size_t begin, std::size_t end, F f) const
    {
        auto l = (begin + leaves_) / 2;
        auto r = (end - 1 + leaves_) / 2;
        for (; l != r; l /= 2, r /= 2) {
            f(l);
            f(r);
        }
        for (; l > 0; l /= 2) {
            f(l);
        }
    }

    std::size_t leaves_ = 1;
    std::vector<bytes_t> highest_; // of each node: over its instants, as far as raised at the node or below
    std::vector<bytes_t> raised_;  // of each node: all of its instants are at least this high
};

using skyline = basic_skyline<>;

} // namespace strata::detail
