// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Numbers on a line: add to a range, ask for the maximum of a range, both in logarithmic time.
#pragma once

#include <strata/config.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <vector>

namespace strata {

/// A segment tree over a power of two of slots. Additions stay at the node that covers them ("lazy" without pushing
/// down), so both operations are short loops from the leaves to the root.
template <class = void>
class basic_range_max {
public:
    /// `slots` zeros; rounded up to a power of two.
    explicit basic_range_max(std::size_t slots = 1)
        : size_(std::bit_ceil(std::max<std::size_t>(slots, 2)))
        , top_(2 * size_, 0)
        , added_(size_, 0)
    {
    }

    [[nodiscard]] auto size() const noexcept -> std::size_t { return size_; }

    /// Adds `x` to every slot of [first, last]. Nothing happens when first > last.
    void add(std::size_t first, std::size_t last, bytes_t x)
    {
        if (first > last || x == 0) {
            return;
        }
        STRATA_ASSERT(last < size_);
        auto l = first + size_;
        auto r = last + size_ + 1;
        auto const l0 = l;
        auto const r0 = r - 1;
        for (; l < r; l >>= 1U, r >>= 1U) {
            if ((l & 1U) != 0) {
                apply(l++, x);
            }
            if ((r & 1U) != 0) {
                apply(--r, x);
            }
        }
        lift(l0);
        lift(r0);
    }

    /// Maximum over [first, last]. Requires: first <= last < size().
    [[nodiscard]] auto max(std::size_t first, std::size_t last) const noexcept -> bytes_t
    {
        STRATA_ASSERT(first <= last && last < size_);
        auto l = first + size_;
        auto r = last + size_;
        auto left = top_[l];
        auto right = top_[r];
        while ((l >> 1U) != (r >> 1U)) {
            if ((l & 1U) == 0) {
                left = std::max(left, top_[l + 1]);
            }
            if ((r & 1U) != 0) {
                right = std::max(right, top_[r - 1]);
            }
            l >>= 1U;
            r >>= 1U;
            left += added_[l];
            right += added_[r];
        }
        auto m = std::max(left, right);
        for (l >>= 1U; l > 0; l >>= 1U) {
            m += added_[l];
        }
        return m;
    }

    [[nodiscard]] auto max() const noexcept -> bytes_t { return top_[1]; }
    [[nodiscard]] auto operator[](std::size_t slot) const noexcept -> bytes_t { return max(slot, slot); }

    /// The first slot that holds the overall maximum.
    [[nodiscard]] auto argmax() const noexcept -> std::size_t
    {
        std::size_t n = 1;
        while (n < size_) {
            auto const want = top_[n] - added_[n];
            n = top_[2 * n] == want ? 2 * n : 2 * n + 1;
        }
        return n - size_;
    }

    /// Replaces the values of slots [first, first + values.size()).
    /// Requires: the count is a power of two and `first` a multiple of it.
    /// Complexity: O(count + log size).
    void assign(std::size_t first, std::span<bytes_t const> values)
    {
        auto root = (first + size_) / values.size();
        bytes_t above = 0;
        for (auto a = root >> 1U; a > 0; a >>= 1U) {
            above += added_[a];
        }
        for (std::size_t i = 0; i < values.size(); ++i) {
            top_[first + size_ + i] = values[i] - above;
        }
        for (auto l = (first + size_) / 2, n = values.size() / 2; n > 0; l /= 2, n /= 2) {
            for (std::size_t i = 0; i < n; ++i) {
                added_[l + i] = 0;
                top_[l + i] = std::max(top_[2 * (l + i)], top_[2 * (l + i) + 1]);
            }
        }
        lift(root);
    }

private:
    void apply(std::size_t n, bytes_t x)
    {
        top_[n] += x;
        if (n < size_) {
            added_[n] += x;
        }
    }
    void lift(std::size_t n)
    {
        for (n >>= 1U; n > 0; n >>= 1U) {
            top_[n] = std::max(top_[2 * n], top_[2 * n + 1]) + added_[n];
        }
    }

    std::size_t size_;
    std::vector<bytes_t> top_;   // maximum below a node, its own additions included, those of its ancestors not
    std::vector<bytes_t> added_; // additions that cover all of a node
};

using range_max = basic_range_max<>;

} // namespace strata
