// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Counts all tensor memory of the process, whoever takes it: the judge of measured peaks.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <torch/version.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <unordered_map>

namespace finetune {

/// Stands before libtorch's CPU allocator and counts.
class counting_allocator final : public c10::Allocator {
public:
    static auto installed() -> counting_allocator&
    {
        static counting_allocator* const one = [] {
            auto* const a = new counting_allocator(c10::GetCPUAllocator());
            c10::SetCPUAllocator(a, 200);
            return a;
        }();
        return *one;
    }

    [[nodiscard]] auto live() const noexcept -> std::int64_t { return live_; }
    [[nodiscard]] auto peak() const noexcept -> std::int64_t { return peak_; }
    void reset_peak() noexcept { peak_ = live_; }

#if TORCH_VERSION_MAJOR < 2
    auto allocate(std::size_t n) const -> c10::DataPtr override
#else
    void copy_data(void* to, void const* from, std::size_t n) const override { std::memcpy(to, from, n); }
    auto allocate(std::size_t n) -> c10::DataPtr override
#endif
    {
        auto inner = behind_->allocate(n);
        auto* const data = inner.get();
        if (data == nullptr) {
            return inner;
        }
        std::lock_guard<std::mutex> const lock(mutex_);
        sizes_[data] = static_cast<std::int64_t>(n);
        live_ += static_cast<std::int64_t>(n);
        peak_ = std::max(peak_, live_);
        inner.release_context(); // libtorch wants a block that is its own context
        return {data, data, &give_back, inner.device()};
    }
    [[nodiscard]] auto raw_deleter() const -> c10::DeleterFnPtr override { return &give_back; }

private:
    explicit counting_allocator(c10::Allocator* behind)
        : behind_(behind)
    {
    }
    static void give_back(void* p)
    {
        auto const& self = installed();
        {
            std::lock_guard<std::mutex> const lock(self.mutex_);
            if (auto const it = self.sizes_.find(p); it != self.sizes_.end()) {
                self.live_ -= it->second;
                self.sizes_.erase(it);
            }
        }
        self.behind_->raw_deleter()(p);
    }

    c10::Allocator* behind_;
    mutable std::mutex mutex_;
    mutable std::unordered_map<void*, std::int64_t> sizes_;
    mutable std::int64_t live_ = 0;
    mutable std::int64_t peak_ = 0;
};

} // namespace finetune
