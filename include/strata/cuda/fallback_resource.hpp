// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The plan's arena for what is planned, a pool for the rest, behind one door.
#pragma once

#include <strata/execute/concepts.hpp>

#include <cstddef>

namespace strata {

/// Gives the next planned lifetime of `Arena` where what is asked for has its size, and memory of `Pool` otherwise: what a
/// framework's allocator hook calls.
///
/// A framework that asks for the planned buffers in the plan's order, and for others of other sizes in between, gets the
/// planned addresses. Not thread-safe. Requires: arena and pool outlive it.
template <class Arena, class Pool>
class fallback_resource {
public:
    static constexpr bool stream_ordered = strata::stream_ordered<Arena> && strata::stream_ordered<Pool>;

    fallback_resource(Arena& arena, Pool& pool) noexcept
        : arena_(&arena)
        , pool_(&pool)
    {
    }

    /// Throws: what the arena or the pool throws.
    template <class... Stream>
    [[nodiscard]] auto allocate(std::size_t n, std::size_t alignment, Stream... s) -> void*
    {
        return arena_->expects(n, alignment) ? arena_->allocate(n, alignment, s...)
                                             : pool_->allocate(n, alignment, s...);
    }

    /// Requires: `allocate` gave it.
    template <class... Stream>
    void deallocate(void* p, std::size_t n, std::size_t alignment, Stream... s) noexcept
    {
        if (n > 0 && arena_->owns(p)) {
            arena_->deallocate(p, n, alignment, s...);
        } else {
            pool_->deallocate(p, n, alignment, s...);
        }
    }

private:
    Arena* arena_;
    Pool* pool_;
};

} // namespace strata
