// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Where the buffers of a program are while it runs: in one slab at planned offsets, or each by itself.
#pragma once

#include <strata/execute/concepts.hpp>
#include <strata/execute/program.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <utility>

namespace strata {

namespace detail {

/// Alignment for a request: what the program needs, and what any object of the language needs.
[[nodiscard]] inline auto request_alignment(bytes_t a) noexcept -> std::size_t
{
    return std::max(static_cast<std::size_t>(a), alignof(std::max_align_t));
}

} // namespace detail

/// One slab, asked for once, in which every buffer has its planned offset: the default. No allocation while a step runs.
template <memory_source M>
class arena {
public:
    static constexpr bool gives_back = false;

    explicit arena(M& from) noexcept
        : from_(std::addressof(from))
    {
    }
    arena(arena&& other) noexcept
        : from_(other.from_)
        , slab_(std::exchange(other.slab_, nullptr))
        , size_(other.size_)
        , alignment_(other.alignment_)
    {
    }
    auto operator=(arena&&) -> arena& = delete;
    ~arena()
    {
        if (slab_ != nullptr) {
            from_->deallocate(slab_, size_, alignment_);
        }
    }

    /// Throws: `std::invalid_argument` for a program without offsets; what the memory source throws when it has no slab of
    /// that size.
    void open(program const& p)
    {
        if (!p.placed()) {
            throw std::invalid_argument(
                "strata::executor: the plan was made without a placement (limits::place = false), "
                "so that there is no arena for its buffers; plan with one, or run it in "
                "strata::allocating");
        }
        size_ = static_cast<std::size_t>(std::max<bytes_t>(p.arena(), 1));
        alignment_ = detail::request_alignment(p.alignment());
        slab_ = static_cast<std::byte*>(static_cast<void*>(from_->allocate(size_, alignment_)));
    }
    [[nodiscard]] auto acquire(memory_piece const& x) noexcept -> std::byte* { return slab_ + x.offset; }
    void release(memory_piece const& /*x*/, std::byte* /*p*/) noexcept {}

    /// Bytes of the slab.
    [[nodiscard]] auto peak_bytes() const noexcept -> bytes_t { return static_cast<bytes_t>(size_); }

private:
    M* from_;
    std::byte* slab_ = nullptr;
    std::size_t size_ = 0;
    std::size_t alignment_ = 1;
};

/// Every buffer by itself, asked for when it begins and given back when it ends: for an allocator that caches.
template <memory_source M>
class allocating {
public:
    static constexpr bool gives_back = !stream_ordered<M>;

    explicit allocating(M& from) noexcept
        : from_(std::addressof(from))
    {
    }

    void open(program const& p) { alignment_ = detail::request_alignment(p.alignment()); }
    [[nodiscard]] auto acquire(memory_piece const& x) -> std::byte*
    {
        auto* const p = static_cast<std::byte*>(static_cast<void*>(from_->allocate(bytes_of(x), alignment_)));
        live_ += x.size;
        peak_ = std::max(peak_, live_);
        return p;
    }
    void release(memory_piece const& x, std::byte* p) noexcept
    {
        live_ -= x.size;
        from_->deallocate(p, bytes_of(x), alignment_);
    }

    /// The most bytes that were there at one time so far.
    [[nodiscard]] auto peak_bytes() const noexcept -> bytes_t { return peak_; }

private:
    static auto bytes_of(memory_piece const& x) noexcept -> std::size_t
    {
        return static_cast<std::size_t>(std::max<bytes_t>(x.size, 1));
    }

    M* from_;
    std::size_t alignment_ = 1;
    bytes_t live_ = 0;
    bytes_t peak_ = 0;
};

} // namespace strata
