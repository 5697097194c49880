// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief One slab of device memory in which every planned buffer has its place, shared by streams in order.
///
/// ```cpp
/// strata::arena_resource arena(strata::cuda_runtime{}, planned->placement);
/// void* const p = arena.acquire(i, stream); // lifetime i of the placement; waits, on the device, for who had its bytes
/// arena.release(i, stream);
/// ```
#pragma once

#include <strata/config.hpp>
#include <strata/cuda/concepts.hpp>
#include <strata/cuda/device_resource.hpp>
#include <strata/cuda/range_order.hpp>
#include <strata/place/placement.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace strata {

/// How an arena takes its slab.
template <device_runtime R>
struct arena_options {
    device_call how = device_call::malloc_async;
    typename R::stream stream = {}; ///< the slab comes and goes in its order; also for those who name none
};

/// The arena of a placement: a slab, and the addresses of the planned lifetimes in it.
///
/// Each lifetime is acquired and released on a stream. A stream that acquires bytes which another stream used last waits,
/// on the device, for an event that was recorded when they were released. Events are recorded for lifetimes after which a
/// stream waited in an earlier round, and in a lifetime's first round if there are several streams at all; where one turns
/// out to be missing it is recorded late. So a steady step records only the events that are waited for, and a step on one
/// stream none. One round of acquiring and releasing is a step; there is no limit to them.
///
/// Not thread-safe. Requires: streams outlive the arena.
template <device_runtime R>
class arena_resource {
public:
    using stream = typename R::stream;
    static constexpr bool stream_ordered = true; ///< for those who use it on its own stream

    /// Takes the slab. Throws: `out_of_memory`, `cuda_error`; `std::invalid_argument` if the placement's lists do not match
    /// or leave its arena, or its alignment is no power of two.
    arena_resource(R runtime, placement const& where, arena_options<R> how = {})
        : how_(how)
        , ranges_(begin_and_end(where))
        , alignment_(at(where.alignment))
        , size_(at(where.arena))
        , crossing_(where.lifetimes.size(), crossing::unknown)
        , order_(std::move(runtime), size_)
    {
        if (size_ == 0) {
            return;
        }
        auto const bytes = detail::padded(size_, alignment_);
        memory_ = detail::take_memory(order_.runtime(), how_.how, bytes, how_.stream, "arena_resource", size_);
        slab_ = static_cast<std::byte*>(detail::align_address(memory_, alignment_));
        if (how_.how == device_call::malloc_async) {
            order_.comes_from(how_.stream);
        }
    }
    arena_resource(arena_resource const&) = delete;
    auto operator=(arena_resource const&) -> arena_resource& = delete;

    /// Gives the slab back once every use is over: of what was not released, what its stream was given so far.
    ~arena_resource()
    {
        if (memory_ == nullptr) {
            return;
        }
        if (how_.how == device_call::malloc_async) {
            order_.join(how_.stream);
        } else {
            order_.finish();
        }
        detail::give_memory(order_.runtime(), how_.how, memory_, how_.stream);
    }

    /// The planned address of lifetime `i`, for stream `s` to use from now on.
    /// Throws: `std::logic_error` if a lifetime that shares bytes with it has not been released; `std::out_of_range` if
    /// there is no such lifetime; `cuda_error`, `std::bad_alloc` while making `s` wait. Nothing is acquired then.
    /// Complexity: O(log n + lifetimes that used its bytes last).
    auto acquire(std::size_t i, stream s) -> void*
    {
        auto const& x = ranges_.at(i);
        order_.claim(x.begin, x.end, s, i, [this](std::size_t before) {
            if (before != range_order<R>::no_owner) {
                crossing_[before] = crossing::yes;
            }
        });
        return slab_ + x.begin;
    }

    /// Ends the use of lifetime `i`; stream `s` used it last, after whatever other streams did with it.
    /// Requires: it was acquired.
    void release(std::size_t i, stream s) noexcept
    {
        STRATA_ASSERT(i < ranges_.size());
        if (ranges_[i].begin == ranges_[i].end) {
            return;
        }
        auto& x = crossing_[i];
        order_.release(ranges_[i].begin, i, s, x == crossing::yes || (x == crossing::unknown && order_.several()));
        if (x == crossing::unknown) {
            x = crossing::no;
        }
    }

    /// The lifetimes in the order of the plan, for a host that asks for memory op by op and knows no numbers: the next one
    /// that is not empty is acquired; after the last the first one comes again.
    /// Throws: `std::logic_error` if the plan has another size there; what `acquire` throws.
    [[nodiscard]] auto allocate(std::size_t n, std::size_t alignment, stream s) -> void*
    {
        if (n == 0) {
            return slab_;
        }
        auto const i = next_planned();
        if (!fits(i, n, alignment)) {
            throw std::logic_error(
                "strata::arena_resource: " + std::to_string(n) + " bytes are asked for, where the plan has " +
                (i < ranges_.size() ? "lifetime " + std::to_string(i) + " of " +
                                          std::to_string(ranges_[i].end - ranges_[i].begin) + " bytes"
                                    : "nothing") +
                "; what is not planned belongs into a pool");
        }
        auto* const p = acquire(i, s);
        next_ = i + 1;
        return p;
    }
    [[nodiscard]] auto allocate(std::size_t n, std::size_t alignment) -> void*
    {
        return allocate(n, alignment, how_.stream);
    }

    /// Releases the lifetime at `p`. Requires: it was acquired.
    void deallocate(void* p, std::size_t n, std::size_t /*alignment*/, stream s) noexcept
    {
        if (n == 0) {
            return;
        }
        auto const i = owner_of(p);
        STRATA_ASSERT(i < ranges_.size() && "strata::arena_resource: what is given back was not allocated");
        if (i < ranges_.size()) {
            release(i, s);
        }
    }
    void deallocate(void* p, std::size_t n, std::size_t alignment) noexcept
    {
        deallocate(p, n, alignment, how_.stream);
    }

    /// Whether the next lifetime of the plan is one of `n` bytes, up to its rounding, and can be had: no part is in use.
    [[nodiscard]] auto expects(std::size_t n, std::size_t alignment) const noexcept -> bool
    {
        auto const i = next_planned();
        return fits(i, n, alignment) && !order_.in_use(ranges_[i].begin, ranges_[i].end);
    }

    /// Begins a new step in which the first lifetime of the plan is the next one to be allocated.
    void restart() noexcept { next_ = 0; }

    /// Whether `p` lies in the slab.
    [[nodiscard]] auto owns(void const* p) const noexcept -> bool
    {
        auto const offset = reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(slab_);
        return slab_ != nullptr && offset < size_;
    }

    [[nodiscard]] auto data() const noexcept -> std::byte* { return slab_; }  ///< null if the arena has no bytes
    [[nodiscard]] auto size() const noexcept -> std::size_t { return size_; } ///< bytes of the plan's arena

    /// Events that were made so far. None while all is on one stream.
    [[nodiscard]] auto events() const noexcept -> std::size_t { return order_.events(); }

private:
    struct range {
        std::size_t begin;
        std::size_t end;
    };
    enum class crossing : std::uint8_t { unknown, no, yes }; // whether another stream came after it

    static auto at(bytes_t n) noexcept -> std::size_t { return static_cast<std::size_t>(n); }

    static auto begin_and_end(placement const& p) -> std::vector<range>
    {
        bool fits = p.offsets.size() == p.lifetimes.size() && p.arena >= 0 && p.alignment > 0 &&
                    std::has_single_bit(at(p.alignment));
        std::vector<range> r;
        for (std::size_t i = 0; fits && i < p.offsets.size(); ++i) {
            auto const offset = p.offsets[i];
            auto const size = p.lifetimes[i].size;
            fits = offset >= 0 && size >= 0 && offset <= p.arena && size <= p.arena - offset;
            if (fits) {
                r.push_back({at(offset), at(offset) + at(size)});
            }
        }
        if (!fits) {
            throw std::invalid_argument(
                "strata::arena_resource: a lifetime of the placement has no offset, or one outside "
                "the arena, or the alignment is no power of two");
        }
        return r;
    }

    [[nodiscard]] auto next_planned() const noexcept -> std::size_t
    {
        for (auto from : {next_, std::size_t{0}}) {
            for (auto i = from; i < ranges_.size(); ++i) {
                if (ranges_[i].begin != ranges_[i].end) {
                    return i;
                }
            }
        }
        return ranges_.size();
    }

    [[nodiscard]] auto fits(std::size_t i, std::size_t n, std::size_t alignment) const noexcept -> bool
    {
        if (i == ranges_.size() || alignment > alignment_) {
            return false;
        }
        auto const planned = ranges_[i].end - ranges_[i].begin;
        return n > 0 && n <= planned && planned - n < alignment_;
    }

    [[nodiscard]] auto owner_of(void const* p) const noexcept -> std::size_t
    {
        return owns(p) ? order_.owner_at(static_cast<std::size_t>(static_cast<std::byte const*>(p) - slab_))
                       : range_order<R>::no_owner;
    }

    arena_options<R> how_;
    std::vector<range> ranges_; // of each lifetime
    std::size_t alignment_;
    std::size_t size_;
    std::vector<crossing> crossing_;
    range_order<R> order_;
    void* memory_ = nullptr;    // as the runtime gave it
    std::byte* slab_ = nullptr; // aligned
    std::size_t next_ = 0;
};

} // namespace strata
