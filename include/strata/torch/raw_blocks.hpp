// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Blocks of a step for allocators that deal in raw pointers, on devices that run behind the host.
#pragma once

#include <strata/torch/compat.hpp>
#include <strata/torch/step_arena.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace strata::torch::detail {

/// Keeps what a step's `block_source` gave, from the request to the return of its pointer. Knows no device: `wait` does.
class raw_blocks {
public:
    /// `wait`: returns when all that was begun on a stream, given by its handle, is done.
    explicit raw_blocks(std::function<void(std::uintptr_t)> wait)
        : wait_(std::move(wait))
    {
    }

    /// `n` bytes for `l`; null where no step answers for it, so that the allocator itself does.
    /// `behind`: an allocator for `l`.
    [[nodiscard]] auto take(std::size_t n, lane const& l, c10::Allocator& behind) -> void*
    {
        auto* const by = block_source::current();
        if (by == nullptr || n == 0 || !by->serves(l)) {
            return nullptr;
        }
        held x{by->take(n, behind), {}};
        auto* const p = x.block.get();
        std::lock_guard<std::mutex> const lock(mutex_);
        held_.emplace(p, std::move(x));
        return p;
    }

    /// Takes `p` back. Returns: whether it was one of these.
    auto give(void* p) -> bool
    {
        held x;
        {
            std::lock_guard<std::mutex> const lock(mutex_);
            auto const it = held_.find(p);
            if (it == held_.end()) {
                return false;
            }
            x = std::move(it->second);
            held_.erase(it);
        }
        for (auto const stream : x.used_on) {
            wait_(stream); // its bytes may be another block's at once
        }
        return true;
    }

    /// Notes that `stream` uses `p` too. Returns: whether it is one of these.
    auto used_on(void* p, std::uintptr_t stream) -> bool
    {
        std::lock_guard<std::mutex> const lock(mutex_);
        auto const it = held_.find(p);
        if (it == held_.end()) {
            return false;
        }
        it->second.used_on.push_back(stream);
        return true;
    }

private:
    struct held {
        c10::DataPtr block;
        std::vector<std::uintptr_t> used_on; // beside its own lane
    };
    std::function<void(std::uintptr_t)> wait_;
    std::mutex mutex_;
    std::unordered_map<void*, held> held_;
};

} // namespace strata::torch::detail
