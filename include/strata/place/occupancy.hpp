// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What is taken in the plane of time and address, and where a new buffer fits: the heart of first fit.
///
/// A segment tree over time. A lifetime is cut into O(log n) tree nodes; each node keeps the union of addresses that are
/// taken (a) during all of its time span and (b) anywhere below it. A query meets O(log n) such unions instead of every
/// buffer it overlaps with in time. Buffers that touch in address melt into one interval, which is what keeps the unions
/// short: in the nested lifetimes of a training step tens of thousands of live buffers are a handful of intervals.
#pragma once

#include <strata/place/placement.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata::detail {

/// A union of half-open address intervals, sorted, no two touching.
template <class = void>
class basic_address_set {
public:
    struct interval {
        bytes_t begin;
        bytes_t end;
    };

    void add(bytes_t begin, bytes_t end)
    {
        auto const first = std::lower_bound(
            items_.begin(), items_.end(), begin, [](interval const& x, bytes_t b) { return x.end < b; });
        auto last = first;
        while (last != items_.end() && last->begin <= end) {
            begin = std::min(begin, last->begin);
            end = std::max(end, last->end);
            ++last;
        }
        if (first == last) {
            items_.insert(first, {begin, end});
        } else {
            *first = {begin, end};
            items_.erase(first + 1, last);
        }
    }

    void clear() noexcept { items_.clear(); }
    [[nodiscard]] auto items() const noexcept -> std::span<interval const> { return items_; }

private:
    std::vector<interval> items_;
};

using address_set = basic_address_set<>;

/// The taken part of the plane for a fixed set of lifetimes, of which any number are placed.
template <class Lazy = void>
class basic_occupancy {
    using address_set = basic_address_set<Lazy>;

public:
    /// Which gap a buffer goes into.
    enum class fit : std::uint8_t {
        lowest,   ///< the lowest that is large enough (first fit)
        tightest, ///< the smallest that is large enough, the lowest of those (best fit)
    };

    /// Complexity: O(n log n).
    explicit basic_occupancy(std::span<lifetime const> lifetimes)
    {
        std::vector<std::size_t> times;
        times.reserve(lifetimes.size());
        for (auto const& x : lifetimes) {
            times.push_back(x.begin);
        }
        std::sort(times.begin(), times.end());
        times.erase(std::unique(times.begin(), times.end()), times.end());
        while (leaves_ < times.size()) {
            leaves_ *= 2;
        }
        span_.reserve(lifetimes.size());
        auto const rank = [&](std::size_t t) {
            return static_cast<std::size_t>(std::lower_bound(times.begin(), times.end(), t) - times.begin());
        };
        for (auto const& x : lifetimes) {
            span_.push_back({rank(x.begin), rank(x.end)});
        }
        throughout_.resize(2 * leaves_);
        somewhere_.resize(2 * leaves_);
    }

    /// Forgets every buffer that was placed.
    void clear()
    {
        for (auto* sets : {&throughout_, &somewhere_}) {
            for (auto& s : *sets) {
                s.clear();
            }
        }
    }

    /// The address for lifetime `i` if it takes `size` bytes. Requires: size > 0.
    /// Complexity: O(log n) per gap that is too small and lies below the answer.
    [[nodiscard]] auto find(std::size_t i, bytes_t size, fit f) -> bytes_t
    {
        collect(i);
        auto g = next_gap(0, size);
        if (f == fit::lowest) {
            return g.begin;
        }
        auto best = g;
        while (g.end != max_bytes) {
            g = next_gap(g.end, size);
            if (g.end != max_bytes && g.end - g.begin < best.end - best.begin) {
                best = g;
            }
        }
        return best.begin;
    }

    /// Places lifetime `i` at [`offset`, `offset` + `size`).
    void add(std::size_t i, bytes_t offset, bytes_t size)
    {
        if (span_[i].first >= span_[i].last) {
            return;
        }
        auto const end = offset + size;
        each_part(i, [&](std::size_t node) {
            throughout_[node].add(offset, end);
            somewhere_[node].add(offset, end);
        });
        each_ancestor(i, [&](std::size_t node) { somewhere_[node].add(offset, end); });
    }

private:
    struct steps {
        std::size_t first;
        std::size_t last;
    };
    struct cursor {
        address_set::interval const* at;
        address_set::interval const* end;
    };

    /// Calls `f` on the nodes that together are the time span of lifetime `i`.
    template <class F>
    void each_part(std::size_t i, F f) const
    {
        auto l = span_[i].first + leaves_;
        auto r = span_[i].last + leaves_;
        for (; l < r; l /= 2, r /= 2) {
            if (l % 2 == 1) {
                f(l++);
            }
            if (r % 2 == 1) {
                f(--r);
            }
        }
    }

    /// Calls `f` once on each node above the first or last step of lifetime `i`: all that contain a part of it.
    template <class F>
    void each_ancestor(std::size_t i, F f) const
    {
        auto l = (span_[i].first + leaves_) / 2;
        auto r = (span_[i].last - 1 + leaves_) / 2;
        for (; l != r; l /= 2, r /= 2) {
            f(l);
            f(r);
        }
        for (; l > 0; l /= 2) {
            f(l);
        }
    }

    void collect(std::size_t i)
    {
        cursors_.clear();
        if (span_[i].first >= span_[i].last) {
            return;
        }
        auto const use = [&](address_set const& s) {
            if (auto const items = s.items(); !items.empty()) {
                cursors_.push_back({items.data(), items.data() + items.size()});
            }
        };
        each_part(i, [&](std::size_t node) { use(somewhere_[node]); });
        each_ancestor(i, [&](std::size_t node) { use(throughout_[node]); });
    }

    /// The first gap of at least `size` bytes that begins at `from` or above. Its end is `max_bytes` above everything.
    [[nodiscard]] auto next_gap(bytes_t from, bytes_t size) -> address_set::interval
    {
        bytes_t end = max_bytes;
        std::size_t quiet = 0; // cursors in a row that do not touch [from, from + size)
        for (std::size_t c = 0; quiet < cursors_.size(); c = c + 1 == cursors_.size() ? 0 : c + 1) {
            auto& x = cursors_[c];
            skip_below(x, from);
            if (x.at != x.end && x.at->begin - from < size) {
                do { // this set alone often blocks the next gaps too
                    from = x.at->end;
                    ++x.at;
                } while (x.at != x.end && x.at->begin - from < size);
                end = max_bytes;
                quiet = 0;
            }
            ++quiet;
            if (x.at != x.end) {
                end = std::min(end, x.at->begin);
            }
        }
        return {from, end};
    }

    /// Moves `x` to its first interval that ends above `from`, by steps that double.
    static void skip_below(cursor& x, bytes_t from)
    {
        std::ptrdiff_t stride = 1;
        while (x.at != x.end && x.at->end <= from) {
            auto const left = x.end - x.at;
            if (left > stride && (x.at + stride)->end <= from) {
                x.at += stride;
                stride *= 2;
            } else if (stride > 1) {
                stride = 1;
            } else {
                ++x.at;
            }
        }
    }

    std::size_t leaves_ = 1;
    std::vector<steps> span_;
    std::vector<address_set> throughout_; // taken during the whole span of a node, by buffers cut at it
    std::vector<address_set> somewhere_;  // taken at some time in the span, by buffers cut at the node or below
    std::vector<cursor> cursors_;
};

using occupancy = basic_occupancy<>;

} // namespace strata::detail
