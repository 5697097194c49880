// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Counts the tensor memory that one thread has in use, and the most it had.
#pragma once

#include <strata/torch/compat.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace strata::torch::detail {

/// While it lives, counts the bytes that this thread takes for tensors and gives back; other threads go on uncounted.
/// Libtorch's allocators report each block, so nothing is replaced. What was there before does not count, neither when it
/// goes.
class memory_watch {
public:
    memory_watch()
        : counts_(std::make_shared<counter>())
        , guard_(c10::DebugInfoKind::PROFILER_STATE, counts_)
    {
    }

    /// Bytes taken and not given back since it began.
    [[nodiscard]] auto live() const noexcept -> bytes_t { return counts_->live; }
    /// The most of them at one time since `reset_peak`.
    [[nodiscard]] auto peak() const noexcept -> bytes_t { return counts_->peak; }
    void reset_peak() noexcept { counts_->peak = counts_->live; }

private:
    struct counter final : allocation_listener {
        void on_change(std::int64_t change) noexcept override
        {
            live += change;
            peak = std::max(peak, live);
        }
        bytes_t live = 0;
        bytes_t peak = 0;
    };

    std::shared_ptr<counter> counts_;
    c10::DebugInfoGuard guard_;
};

} // namespace strata::torch::detail
