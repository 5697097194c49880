// SPDX-License-Identifier: Apache-2.0
// Every resource on the CUDA runtime, whole, and CCCL's opinion of the adapters. Compiled, never run.
#include <strata/cuda/arena_resource.hpp>
#include <strata/cuda/capped_resource.hpp>
#include <strata/cuda/cccl_resource.hpp>
#include <strata/cuda/device_resource.hpp>
#include <strata/cuda/fallback_resource.hpp>
#include <strata/cuda/pmr_resource.hpp>
#include <strata/cuda/pool_resource.hpp>
#include <strata/cuda/runtime.hpp>
#include <strata/cuda/tracking_resource.hpp>
#include <strata/execute/concepts.hpp>

#include <cstddef>

namespace nvcc_resources_test {

using runtime = strata::cuda_runtime;
using device = strata::device_resource<runtime>;
using arena = strata::arena_resource<runtime>;
using pool = strata::pool_resource<runtime>;
using as_cccl = strata::cccl_resource<pool>;

static_assert(strata::device_runtime<runtime>);
static_assert(strata::memory_source<strata::fallback_resource<arena, pool>>);
static_assert(strata::memory_source<strata::from_cccl<as_cccl>>);

/// Names of CCCL before 3.1 and from then on: the adapter models both, whichever is installed here.
#if CCCL_VERSION < 3001000
static_assert(cuda::mr::async_resource_with<as_cccl, cuda::mr::device_accessible>);
static_assert(cuda::mr::resource_with<strata::cccl_resource<device>, cuda::mr::device_accessible>);
#else
static_assert(cuda::mr::resource_with<as_cccl, cuda::mr::device_accessible>);
static_assert(cuda::mr::synchronous_resource_with<strata::cccl_resource<device>, cuda::mr::device_accessible>);
#endif

/// A resource with the names that the installed CCCL does not have.
struct newer {
    auto allocate_sync(std::size_t n, std::size_t alignment) -> void*;
    void deallocate_sync(void* p, std::size_t n, std::size_t alignment) noexcept;
    auto allocate(cuda::stream_ref s, std::size_t n, std::size_t alignment) -> void*;
    void deallocate(cuda::stream_ref s, void* p, std::size_t n, std::size_t alignment) noexcept;
};
struct older {
    auto allocate(std::size_t n, std::size_t alignment) -> void*;
    void deallocate(void* p, std::size_t n, std::size_t alignment) noexcept;
    auto allocate_async(std::size_t n, std::size_t alignment, cuda::stream_ref s) -> void*;
    void deallocate_async(void* p, std::size_t n, std::size_t alignment, cuda::stream_ref s) noexcept;
};

} // namespace nvcc_resources_test

using namespace nvcc_resources_test;

template class strata::arena_resource<runtime>;
template class strata::pool_resource<runtime>;
template class strata::device_resource<runtime>;
template class strata::capped_resource<device>;
template class strata::tracking_resource<device>;
template class strata::pmr_resource<device>;
template class strata::cccl_resource<pool>;
template class strata::from_cccl<as_cccl>;
template class strata::from_cccl<newer>;
template class strata::from_cccl<older>;
