// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A source of memory that refuses what would go over a cap.
#pragma once

#include <strata/cuda/error.hpp>
#include <strata/execute/concepts.hpp>

#include <cstddef>

namespace strata {

/// Hands on what another source gives, up to `cap` live bytes at once. Streams are handed on where the source knows them.
///
/// Not thread-safe. Requires: the source outlives it.
template <memory_source M>
class capped_resource {
public:
    static constexpr bool stream_ordered = strata::stream_ordered<M>;

    capped_resource(M& from, std::size_t cap) noexcept
        : from_(&from)
        , cap_(cap)
    {
    }

    /// Throws: `out_of_memory`, which says the cap as planned, if live bytes would be more; what the source throws.
    [[nodiscard]] auto allocate(std::size_t n, std::size_t alignment) -> void*
    {
        check(n);
        void* const p = from_->allocate(n, alignment);
        live_ += n;
        return p;
    }
    template <class Stream>
    [[nodiscard]] auto allocate(std::size_t n, std::size_t alignment, Stream s) -> void*
        requires requires(M& m) { m.allocate(n, alignment, s); }
    {
        check(n);
        void* const p = from_->allocate(n, alignment, s);
        live_ += n;
        return p;
    }

    void deallocate(void* p, std::size_t n, std::size_t alignment) noexcept
    {
        from_->deallocate(p, n, alignment);
        live_ -= n;
    }
    template <class Stream>
    void deallocate(void* p, std::size_t n, std::size_t alignment, Stream s) noexcept
        requires requires(M& m) { m.deallocate(p, n, alignment, s); }
    {
        from_->deallocate(p, n, alignment, s);
        live_ -= n;
    }

    [[nodiscard]] auto live() const noexcept -> std::size_t { return live_; } ///< bytes that are out
    [[nodiscard]] auto cap() const noexcept -> std::size_t { return cap_; }

private:
    void check(std::size_t n) const
    {
        if (n > cap_ - live_) {
            throw out_of_memory("capped_resource", n, cap_ - live_, cap_);
        }
    }

    M* from_;
    std::size_t cap_;
    std::size_t live_ = 0;
};

} // namespace strata
