// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief One slab for a step on a CUDA device, for libtorch 2.x built for CUDA: `options::arena` there.
///
/// ```cpp
/// int main() {
///     strata::torch::use_cuda_arena(); // before anything else of CUDA
/// ```
#pragma once

#include <strata/torch/compat.hpp>
#include <strata/torch/raw_blocks.hpp>
#include <strata/torch/step_arena.hpp>

#include <torch/version.h>

// Of a libtorch without CUDA, or before 2, there is nothing here.
#if TORCH_VERSION_MAJOR >= 2 && __has_include(<c10/cuda/impl/cuda_cmake_macros.h>)

#    include <c10/cuda/CUDACachingAllocator.h>
#    include <c10/cuda/CUDAFunctions.h>
#    include <torch/csrc/cuda/CUDAPluggableAllocator.h>

#    include <cstddef>
#    include <cstdint>
#    include <memory>

namespace strata::torch {

namespace detail {

/// Libtorch's own CUDA allocator on one stream, as the blocks of a step see it.
class stream_allocator final : public allocator_in_front {
public:
    stream_allocator(c10::cuda::CUDACachingAllocator::CUDAAllocator& own, int device, cudaStream_t stream)
        : allocator_in_front(own)
        , own_(own)
        , device_(static_cast<c10::DeviceIndex>(device))
        , stream_(stream)
    {
    }

private:
    auto take(std::size_t n) const -> c10::DataPtr override
    {
        auto* const p = own_.raw_alloc_with_stream(n, stream_);
        return {p, p, own_.raw_deleter(), c10::Device(c10::DeviceType::CUDA, device_)};
    }

    c10::cuda::CUDACachingAllocator::CUDAAllocator& own_;
    c10::DeviceIndex device_;
    cudaStream_t stream_;
};

} // namespace detail

/// Lets steps with `options::arena` have their blocks on CUDA devices out of one slab. Everything else goes to the
/// allocator that is there, which holds the slab too; a step is served on the stream on which it takes its first block.
///
/// It works through libtorch's pluggable allocator. So it must be called before a CUDA device is used, once, and what
/// that does not hand on, statistics and pools for graphs above all, is to be asked of the allocator behind it.
/// Returns: the allocator behind it. Throws: `c10::Error` if a device was used before.
inline auto use_cuda_arena() -> c10::cuda::CUDACachingAllocator::CUDAAllocator&
{
    static auto& behind = []() -> auto& {
        auto& own = *c10::cuda::CUDACachingAllocator::get();
        auto const handle = [](cudaStream_t s) { return reinterpret_cast<std::uintptr_t>(s); };
        // Never given back, like tensors.
        auto& blocks = *new detail::raw_blocks([](std::uintptr_t s) {
            c10::cuda::stream_synchronize(reinterpret_cast<cudaStream_t>(s)); // NOLINT(performance-no-int-to-ptr)
        });
        auto const front = std::make_shared<::torch::cuda::CUDAPluggableAllocator::CUDAPluggableAllocator>(
            [&own, &blocks, handle](std::size_t n, int device, cudaStream_t stream) -> void* {
                detail::stream_allocator next(own, device, stream);
                auto* const p = blocks.take(n, {c10::DeviceType::CUDA, device, handle(stream)}, next);
                return p != nullptr ? p : own.raw_alloc_with_stream(n, stream);
            },
            [&own, &blocks](void* p, std::size_t /*n*/, int /*device*/, cudaStream_t /*stream*/) {
                if (!blocks.give(p)) {
                    own.raw_delete(p);
                }
            });
        front->set_init_fn([&own](int devices) { own.init(devices); });
        front->set_reset_fn([&own] { own.emptyCache(); });
        front->set_memory_fraction_fn(
            [&own](double share, int device) { own.setMemoryFraction(share, static_cast<c10::DeviceIndex>(device)); });
        front->set_record_stream_fn([&own, &blocks, handle](void* p, cudaStream_t stream) {
            if (!blocks.used_on(p, handle(stream))) {
                c10::DataPtr x(
                    p, p, own.raw_deleter(), c10::Device(c10::DeviceType::CUDA, c10::cuda::current_device()));
                own.recordStream(x, c10::cuda::getStreamFromExternal(stream, c10::cuda::current_device()));
                (void)x.release_context();
            }
        });
        ::torch::cuda::CUDAPluggableAllocator::changeCurrentAllocator(front);
        detail::cuda_is_diverted() = true;
        return own;
    }();
    return behind;
}

} // namespace strata::torch

#endif
