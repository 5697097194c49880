// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Sources of memory and the memory resources of CCCL (`cuda::mr`), each as the other.
///
/// CCCL renamed its concepts: what takes no stream was `resource` and is `synchronous_resource`, what takes one was
/// `async_resource` and is `resource`. Both generations of names are served. Up to CCCL 3.0 they are hidden behind a macro;
/// include this header before CCCL's, or define LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE for the whole program.
#pragma once

#include <strata/cuda/runtime.hpp>
#include <strata/execute/concepts.hpp>

#ifdef LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE
#    include <cuda/memory_resource>
#else
#    define LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE // NOLINT(readability-identifier-naming)
#    include <cuda/memory_resource>
#    undef LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE
#endif
#include <cuda/stream_ref>

#include <cstddef>

namespace strata {

/// A source of device memory as a resource of CCCL: what its containers and algorithms allocate comes from the source.
///
/// A handle: cheap to copy, equal to those of the same source. Stream-ordered calls need a source that takes a stream.
/// Requires: the source outlives it.
template <memory_source M>
class cccl_resource {
public:
    explicit cccl_resource(M& from) noexcept
        : from_(&from)
    {
    }

    // Names up to CCCL 3.0. Throws: what the source throws.
    auto allocate(std::size_t n, std::size_t alignment = 256) -> void* { return from_->allocate(n, alignment); }
    void deallocate(void* p, std::size_t n, std::size_t alignment = 256) noexcept
    {
        from_->deallocate(p, n, alignment);
    }
    auto allocate_async(std::size_t n, std::size_t alignment, ::cuda::stream_ref s) -> void*
    {
        return from_->allocate(n, alignment, s.get());
    }
    void deallocate_async(void* p, std::size_t n, std::size_t alignment, ::cuda::stream_ref s) noexcept
    {
        from_->deallocate(p, n, alignment, s.get());
    }
    auto allocate_async(std::size_t n, ::cuda::stream_ref s) -> void* { return allocate_async(n, 256, s); }
    void deallocate_async(void* p, std::size_t n, ::cuda::stream_ref s) noexcept { deallocate_async(p, n, 256, s); }

    // Names from CCCL 3.1 on.
    auto allocate_sync(std::size_t n, std::size_t alignment = 256) -> void* { return from_->allocate(n, alignment); }
    void deallocate_sync(void* p, std::size_t n, std::size_t alignment = 256) noexcept
    {
        from_->deallocate(p, n, alignment);
    }
    auto allocate(::cuda::stream_ref s, std::size_t n, std::size_t alignment = 256) -> void*
    {
        return from_->allocate(n, alignment, s.get());
    }
    void deallocate(::cuda::stream_ref s, void* p, std::size_t n, std::size_t alignment = 256) noexcept
    {
        from_->deallocate(p, n, alignment, s.get());
    }

    friend auto operator==(cccl_resource const&, cccl_resource const&) -> bool = default;
    friend constexpr void get_property(cccl_resource const& /*of*/, ::cuda::mr::device_accessible /*property*/) noexcept
    {
    }

private:
    M* from_;
};

/// A resource of CCCL as a source of memory, of either generation of names.
///
/// Requires: the resource outlives it, and does not throw when memory is given back.
template <class Resource>
class from_cccl {
public:
    explicit from_cccl(Resource& from) noexcept
        : from_(&from)
    {
    }

    /// Throws: what the resource throws.
    [[nodiscard]] auto allocate(std::size_t n, std::size_t alignment) -> void*
    {
        if constexpr (requires { from_->allocate_sync(n, alignment); }) {
            return from_->allocate_sync(n, alignment);
        } else {
            return from_->allocate(n, alignment);
        }
    }
    [[nodiscard]] auto allocate(std::size_t n, std::size_t alignment, ::cudaStream_t s) -> void*
    {
        if constexpr (requires { from_->allocate_async(n, alignment, ::cuda::stream_ref(s)); }) {
            return from_->allocate_async(n, alignment, ::cuda::stream_ref(s));
        } else {
            return from_->allocate(::cuda::stream_ref(s), n, alignment);
        }
    }

    void deallocate(void* p, std::size_t n, std::size_t alignment) noexcept
    {
        if constexpr (requires { from_->deallocate_sync(p, n, alignment); }) {
            from_->deallocate_sync(p, n, alignment);
        } else {
            from_->deallocate(p, n, alignment);
        }
    }
    void deallocate(void* p, std::size_t n, std::size_t alignment, ::cudaStream_t s) noexcept
    {
        if constexpr (requires { from_->deallocate_async(p, n, alignment, ::cuda::stream_ref(s)); }) {
            from_->deallocate_async(p, n, alignment, ::cuda::stream_ref(s));
        } else {
            from_->deallocate(::cuda::stream_ref(s), p, n, alignment);
        }
    }

private:
    Resource* from_;
};

} // namespace strata
