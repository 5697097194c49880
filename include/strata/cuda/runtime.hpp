// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The CUDA runtime as a `device_runtime`: the only header of the library that includes CUDA's own.
#pragma once

#include <strata/cuda/concepts.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>

namespace strata {

/// The CUDA device that is current in the calling thread: each call forwards to one of the runtime. Holds nothing.
///
/// An error that a call answers with is taken from the runtime's record of the last one, so that the host program does not
/// find it in its own next check.
struct cuda_runtime {
    using stream = ::cudaStream_t; ///< null is the default stream
    using event = ::cudaEvent_t;

    auto allocate(void*& p, std::size_t n) noexcept -> int { return seen(::cudaMalloc(&p, n)); }
    auto free(void* p) noexcept -> int { return seen(::cudaFree(p)); }
    auto allocate_async(void*& p, std::size_t n, stream s) noexcept -> int { return seen(::cudaMallocAsync(&p, n, s)); }
    auto free_async(void* p, stream s) noexcept -> int { return seen(::cudaFreeAsync(p, s)); }

    /// Events that measure no time, which makes them cheap.
    auto create(event& e) noexcept -> int { return seen(::cudaEventCreateWithFlags(&e, cudaEventDisableTiming)); }
    auto destroy(event e) noexcept -> int { return seen(::cudaEventDestroy(e)); }
    auto record(event e, stream s) noexcept -> int { return seen(::cudaEventRecord(e, s)); }
    auto wait(stream s, event e) noexcept -> int { return seen(::cudaStreamWaitEvent(s, e, 0)); }
    auto query(event e, bool& done) noexcept -> int
    {
        auto const answer = ::cudaEventQuery(e);
        done = answer == cudaSuccess;
        auto const code = seen(answer);
        return answer == cudaErrorNotReady ? 0 : code;
    }
    auto synchronize(stream s) noexcept -> int { return seen(::cudaStreamSynchronize(s)); }

    auto memory(std::size_t& unused, std::size_t& all) noexcept -> int { return seen(::cudaMemGetInfo(&unused, &all)); }
    [[nodiscard]] auto text(int code) const noexcept -> char const*
    {
        return ::cudaGetErrorString(static_cast<::cudaError_t>(code));
    }
    [[nodiscard]] auto ran_out(int code) const noexcept -> bool { return code == cudaErrorMemoryAllocation; }

private:
    static auto seen(::cudaError_t code) noexcept -> int
    {
        if (code != cudaSuccess) {
            static_cast<void>(::cudaGetLastError());
        }
        return static_cast<int>(code);
    }
};

} // namespace strata
