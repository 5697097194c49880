// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A pool of device memory for what is not in a plan.
#pragma once

#include <strata/config.hpp>
#include <strata/cuda/concepts.hpp>
#include <strata/cuda/device_resource.hpp>
#include <strata/cuda/stream_order.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace strata {

/// How a pool takes its blocks.
template <device_runtime R>
struct pool_options {
    device_call how = device_call::malloc_async;
    typename R::stream stream = {}; ///< for those who name none
    std::size_t planned = 0;        ///< bytes of the plan beside which the pool serves: said when memory runs out
};

/// Blocks by size class, kept when they are given back and handed out again.
///
/// A class is a quarter of a power of two: a block has at most a quarter more than was asked for, and at least 512 bytes. A
/// block that the same stream used last is preferred, then one that is known to be done with; otherwise the stream that
/// gets a block waits, on the device, for the one that had it. No new block is made while one of its class is unused. What
/// the device refuses is asked for once more after all unused blocks were given back to it.
///
/// Not thread-safe. Requires: streams outlive the pool.
template <device_runtime R>
class pool_resource {
public:
    using stream = typename R::stream;
    static constexpr bool stream_ordered = true; ///< for those who use it on its own stream

    explicit pool_resource(R runtime, pool_options<R> how = {})
        : how_(how)
        , order_(std::move(runtime))
    {
    }
    pool_resource(pool_resource const&) = delete;
    auto operator=(pool_resource const&) -> pool_resource& = delete;

    /// Gives all blocks back, those that are still out too: of these, once what their stream was given so far is done.
    ~pool_resource()
    {
        trim();
        for (auto& [p, x] : out_) {
            give(x);
        }
    }

    /// At least `n` bytes at a multiple of `alignment`, for use on stream `s` from now on.
    /// Throws: `out_of_memory`, `cuda_error`, `std::bad_alloc`. Nothing has changed then, but unused blocks may be gone.
    /// Complexity: O(log blocks out + unused blocks of the class).
    [[nodiscard]] auto allocate(std::size_t n, std::size_t alignment, stream s) -> void*
    {
        auto const size = class_of(detail::padded(n, alignment));
        if (size == std::numeric_limits<std::size_t>::max()) {
            throw out_of_memory("pool_resource", n, detail::free_bytes(order_.runtime()), how_.planned);
        }
        auto& shelf = shelves_[size];
        if (shelf.unused.empty()) {
            make(shelf, size, s);
        }
        auto const chosen = shelf.unused.begin() + choose(shelf, s);
        order_.wait(s, chosen->last);
        auto* const p = detail::align_address(chosen->memory, alignment);
        auto& given = out_.emplace(p, *chosen).first->second;
        order_.drop(given.last);
        given.last = order_.mark_now(s, false);
        shelf.unused.erase(chosen);
        unused_bytes_ -= size;
        return p;
    }
    [[nodiscard]] auto allocate(std::size_t n, std::size_t alignment) -> void*
    {
        return allocate(n, alignment, how_.stream);
    }

    /// Takes `p` back; stream `s` used it last, after whatever other streams did with it.
    /// Requires: `allocate` gave it.
    void deallocate(void* p, std::size_t /*n*/, std::size_t /*alignment*/, stream s) noexcept
    {
        if (p == nullptr) {
            return;
        }
        auto const at = out_.find(p);
        STRATA_ASSERT(at != out_.end() && "strata::pool_resource: what is given back was not allocated");
        if (at == out_.end()) {
            return;
        }
        auto back = at->second;
        out_.erase(at);
        back.last = order_.mark_now(s, order_.several());
        shelves_.find(back.size)->second.unused.push_back(back); // has room for every block of its class
        unused_bytes_ += back.size;
    }
    void deallocate(void* p, std::size_t n, std::size_t alignment) noexcept
    {
        deallocate(p, n, alignment, how_.stream);
    }

    /// Gives all unused blocks back to the device.
    /// Returns: their bytes.
    auto trim() noexcept -> std::size_t
    {
        for (auto& [size, shelf] : shelves_) {
            for (auto& x : shelf.unused) {
                give(x);
            }
            shelf.made -= shelf.unused.size();
            shelf.unused.clear();
        }
        return std::exchange(unused_bytes_, 0);
    }

    /// Bytes of blocks that nobody has.
    [[nodiscard]] auto unused() const noexcept -> std::size_t { return unused_bytes_; }

    /// Events that were made so far. None while all is on one stream.
    [[nodiscard]] auto events() const noexcept -> std::size_t { return order_.events(); }

    /// Bytes of the block that serves `n` bytes; the largest number if there are none such.
    [[nodiscard]] static constexpr auto class_of(std::size_t n) noexcept -> std::size_t
    {
        constexpr std::size_t least = 512;
        if (n <= least) {
            return least;
        }
        if (n > std::numeric_limits<std::size_t>::max() / 2) {
            return std::numeric_limits<std::size_t>::max();
        }
        auto const step = std::bit_floor(n - 1) / 4;
        return (n + step - 1) / step * step;
    }

private:
    struct block {
        void* memory;
        std::size_t size;
        typename stream_order<R>::mark last;
    };
    struct shelf_of_blocks {
        std::vector<block> unused = {};
        std::size_t made = 0; // unused and out
    };

    void make(shelf_of_blocks& shelf, std::size_t size, stream s)
    {
        if (shelf.unused.capacity() <= shelf.made) {
            shelf.unused.reserve(2 * shelf.made + 1);
        }
        void* memory = nullptr;
        try {
            memory = take(size, s);
        } catch (out_of_memory const&) {
            if (trim() == 0) {
                throw;
            }
            memory = take(size, s);
        }
        bool const async = how_.how == device_call::malloc_async;
        shelf.unused.push_back({memory, size, async ? order_.mark_now(s, false) : typename stream_order<R>::mark{}});
        ++shelf.made;
        unused_bytes_ += size;
    }

    auto take(std::size_t size, stream s) -> void*
    {
        return detail::take_memory(order_.runtime(), how_.how, size, s, "pool_resource", how_.planned);
    }

    [[nodiscard]] auto choose(shelf_of_blocks const& shelf, stream s) noexcept -> std::ptrdiff_t
    {
        auto const& all = shelf.unused;
        auto const mine =
            std::find_if(all.rbegin(), all.rend(), [&](block const& x) { // the newest is warm in the caches
                return x.last.nobody() || x.last.on() == s;
            });
        if (mine != all.rend()) {
            return all.rend() - mine - 1;
        }
        auto const over = std::find_if(all.begin(), all.end(), [&](block const& x) { return order_.over(x.last); });
        return over == all.end() ? 0 : over - all.begin(); // or the one that has been unused longest
    }

    void give(block& x) noexcept
    {
        if (how_.how == device_call::malloc) {
            order_.finish(x.last);
        }
        detail::give_memory(order_.runtime(), how_.how, x.memory, x.last.on());
        order_.drop(x.last);
    }

    pool_options<R> how_;
    stream_order<R> order_;
    std::map<std::size_t, shelf_of_blocks> shelves_; // by size class
    std::map<void*, block> out_;
    std::size_t unused_bytes_ = 0;
};

} // namespace strata
