// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Who used which bytes of a slab last: the order in which streams may share them.
#pragma once

#include <strata/config.hpp>
#include <strata/cuda/concepts.hpp>
#include <strata/cuda/stream_order.hpp>

#include <cstddef>
#include <exception>
#include <iterator>
#include <map>
#include <stdexcept>
#include <utility>

namespace strata {

/// The bytes [0, size) of a slab, cut where their last users differ.
///
///     offset   0        4096             12288      16384
///              | in use | last on b, e7  | nobody   |
///
/// `claim` makes a stream wait for the last users of a range on other streams, and marks it as in use; `release` marks its
/// user as the last one, without taking memory. Owners are numbers that mean something to the caller.
template <device_runtime R>
class range_order {
public:
    using stream = typename R::stream;
    using mark = typename stream_order<R>::mark;
    static constexpr auto no_owner = static_cast<std::size_t>(-1);

    range_order(R runtime, std::size_t size)
        : order_(std::move(runtime))
    {
        if (size > 0) {
            pieces_.emplace(0, piece{size, {}, no_owner, false});
        }
    }

    /// Says that the whole slab, unused so far, comes from stream `s`.
    void comes_from(stream s) noexcept
    {
        for (auto& [begin, x] : pieces_) {
            x.last = order_.mark_now(s, false);
        }
    }

    /// Marks [begin, end) as in use by `owner` on stream `s`, which waits for whoever used a part of it on another stream;
    /// `crossed(owner)` is called for each of those. An empty range is nobody's.
    /// Requires: the range lies in the slab.
    /// Throws: `std::logic_error` if a part is in use; `cuda_error`, `std::bad_alloc`. Nothing is marked then.
    /// Complexity: O(log pieces + pieces in the range).
    template <class Crossed>
    void claim(std::size_t begin, std::size_t end, stream s, std::size_t owner, Crossed const& crossed)
    {
        if (begin == end) {
            return;
        }
        if (in_use(begin, end)) {
            throw std::logic_error("strata::arena_resource: a range is asked for while a part of it is in use");
        }
        cut_at(begin);
        cut_at(end);
        auto const first = pieces_.find(begin);
        auto const last = pieces_.lower_bound(end);
        mark waited; // pieces of one use lie side by side mostly: one wait serves them all
        for (auto it = first; it != last; ++it) {
            auto& x = it->second;
            bool const again = !waited.nobody() && order_.same(waited, x.last);
            auto const before = x.last;
            if (again || order_.wait(s, x.last)) {
                waited = before;
                crossed(x.owner);
            }
        }
        for (auto it = first; it != last; ++it) {
            order_.drop(it->second.last);
        }
        first->second = {end, order_.mark_now(s, false), owner, true};
        pieces_.erase(std::next(first), last);
    }

    /// Marks the range that `owner` claimed at `begin` as used last by stream `s`. See `stream_order::mark_now` for
    /// `record`.
    void release(std::size_t begin, std::size_t owner, stream s, bool record) noexcept
    {
        auto const it = pieces_.find(begin);
        bool const claimed = it != pieces_.end() && it->second.busy && it->second.owner == owner;
        STRATA_ASSERT(claimed && "strata::arena_resource: what is released was not acquired");
        if (claimed) {
            it->second.last = order_.mark_now(s, record);
            it->second.busy = false;
        }
    }

    /// Whether a part of [begin, end) is in use. Requires: the range lies in the slab.
    [[nodiscard]] auto in_use(std::size_t begin, std::size_t end) const noexcept -> bool
    {
        if (begin == end) {
            return false;
        }
        auto it = std::prev(pieces_.upper_bound(begin));
        while (it != pieces_.end() && it->first < end && !it->second.busy) {
            ++it;
        }
        return it != pieces_.end() && it->first < end;
    }

    /// The owner whose range in use begins there, or `no_owner`.
    [[nodiscard]] auto owner_at(std::size_t begin) const noexcept -> std::size_t
    {
        auto const it = pieces_.find(begin);
        return it != pieces_.end() && it->second.busy ? it->second.owner : no_owner;
    }

    /// Makes stream `s` wait for every user there was; where that fails, the host waits.
    void join(stream s) noexcept
    {
        for (auto& [begin, x] : pieces_) {
            try {
                order_.wait(s, x.last);
            } catch (std::exception const&) {
                order_.finish(x.last);
            }
        }
    }

    /// Returns when every user there was is done.
    void finish() noexcept
    {
        for (auto const& [begin, x] : pieces_) {
            order_.finish(x.last);
        }
    }

    /// Whether more than one stream was named.
    [[nodiscard]] auto several() const noexcept -> bool { return order_.several(); }

    /// Events that were made so far.
    [[nodiscard]] auto events() const noexcept -> std::size_t { return order_.events(); }

    [[nodiscard]] auto runtime() noexcept -> R& { return order_.runtime(); }

private:
    struct piece {
        std::size_t end;
        mark last;
        std::size_t owner;
        bool busy;
    };

    /// Makes a piece begin at `where`, unless one does or it is the end of all.
    void cut_at(std::size_t where)
    {
        auto const after = pieces_.lower_bound(where);
        auto const before = after == pieces_.begin() ? after : std::prev(after);
        if (before == after || before->second.end <= where) {
            return;
        }
        pieces_.emplace_hint(after, where, before->second);
        before->second.end = where;
        before->second.last = order_.share(before->second.last);
    }

    stream_order<R> order_;
    std::map<std::size_t, piece> pieces_; // by where they begin; they touch, and cover the slab
};

} // namespace strata
