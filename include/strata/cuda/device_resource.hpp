// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A device's memory as it is: one allocation of the runtime for each that is asked for.
#pragma once

#include <strata/config.hpp>
#include <strata/cuda/concepts.hpp>
#include <strata/cuda/error.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

namespace strata {

/// How memory is taken from the device and given back.
enum class device_call : std::uint8_t {
    malloc,       ///< at once; giving back may wait for the whole device
    malloc_async, ///< in the order of a stream, from the device's own pool
};

namespace detail {

/// What every allocation of a runtime is a multiple of.
inline constexpr std::size_t runtime_alignment = 256;

/// `p` moved up to a multiple of `alignment`, a power of two.
[[nodiscard]] inline auto align_address(void* p, std::size_t alignment) noexcept -> void*
{
    auto const rest = reinterpret_cast<std::uintptr_t>(p) & (alignment - 1);
    return rest == 0 ? p : static_cast<std::byte*>(p) + (alignment - rest);
}

/// Bytes to ask for so that `n` can be aligned in them; the largest number if there are none such.
[[nodiscard]] constexpr auto padded(std::size_t n, std::size_t alignment) noexcept -> std::size_t
{
    auto const more = alignment > runtime_alignment ? alignment - runtime_alignment : 0;
    return n > std::numeric_limits<std::size_t>::max() - more ? std::numeric_limits<std::size_t>::max() : n + more;
}

/// Memory of the device for the resource named `who`.
/// Throws: `out_of_memory`, `cuda_error`.
template <device_runtime R>
[[nodiscard]] auto
take_memory(R& runtime, device_call how, std::size_t n, typename R::stream s, char const* who, std::size_t planned)
    -> void*
{
    void* p = nullptr;
    bool const async = how == device_call::malloc_async;
    auto const code = async ? runtime.allocate_async(p, n, s) : runtime.allocate(p, n);
    if (code != 0 && runtime.ran_out(code)) {
        throw out_of_memory(who, n, free_bytes(runtime), planned);
    }
    check_call(runtime, async ? "allocate memory on a stream" : "allocate memory", code);
    return p;
}

/// Gives it back. What the runtime answers is not looked at: nothing could be done.
template <device_runtime R>
void give_memory(R& runtime, device_call how, void* p, typename R::stream s) noexcept
{
    static_cast<void>(how == device_call::malloc_async ? runtime.free_async(p, s) : runtime.free(p));
}

} // namespace detail

/// How a `device_resource` goes about it.
template <device_runtime R>
struct device_options {
    device_call how = device_call::malloc_async;
    typename R::stream stream = {}; ///< for those who name none
};

/// A source of memory that asks the device each time. Slow, and right for one slab that lives as long as the program.
///
/// Not thread-safe. Requires: what was allocated is given back before it is destroyed.
template <device_runtime R>
class device_resource {
public:
    using stream = typename R::stream;
    static constexpr bool stream_ordered = true; ///< for those who use it on its own stream

    explicit device_resource(R runtime, device_options<R> how = {})
        : runtime_(std::move(runtime))
        , how_(how)
    {
    }

    /// `n` bytes at a multiple of `alignment`, for use on stream `s` and on streams that come after it.
    /// Throws: `out_of_memory`, `cuda_error`, `std::bad_alloc`.
    [[nodiscard]] auto allocate(std::size_t n, std::size_t alignment, stream s) -> void*
    {
        auto* const p = take(n, s);
        if (auto* const q = detail::align_address(p, alignment); q == p) {
            return p;
        }
        detail::give_memory(runtime_, how_.how, p, s);
        auto const place = moved_.emplace(nullptr, nullptr).first; // a node that can be put elsewhere without memory
        try {
            place->second = take(detail::padded(n, alignment), s);
        } catch (...) {
            moved_.erase(place);
            throw;
        }
        auto node = moved_.extract(place);
        node.key() = detail::align_address(node.mapped(), alignment);
        return moved_.insert(std::move(node)).position->first;
    }
    [[nodiscard]] auto allocate(std::size_t n, std::size_t alignment) -> void*
    {
        return allocate(n, alignment, how_.stream);
    }

    /// Gives `p` back, once what `s` was given so far is done.
    /// Requires: `allocate` gave it; other streams that used it were waited for by `s`.
    void deallocate(void* p, std::size_t /*n*/, std::size_t /*alignment*/, stream s) noexcept
    {
        if (p == nullptr) {
            return;
        }
        if (auto const at = moved_.find(p); at != moved_.end()) {
            p = at->second;
            moved_.erase(at);
        }
        if (how_.how == device_call::malloc) {
            static_cast<void>(runtime_.synchronize(s));
        }
        detail::give_memory(runtime_, how_.how, p, s);
    }
    void deallocate(void* p, std::size_t n, std::size_t alignment) noexcept
    {
        deallocate(p, n, alignment, how_.stream);
    }

private:
    auto take(std::size_t n, stream s) -> void*
    {
        return n == 0 ? nullptr : detail::take_memory(runtime_, how_.how, n, s, "device_resource", 0);
    }

    R runtime_;
    device_options<R> how_;
    std::map<void*, void*> moved_; // what was given out at another address than the runtime's, to that
};

} // namespace strata
