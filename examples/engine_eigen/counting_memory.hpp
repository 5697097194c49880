// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Memory that counts what is taken from it, so that a peak is measured and not computed.
#pragma once

#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory_resource>
#include <utility>
#include <vector>

namespace engine_eigen {

/// Sizes count as rounded up to their alignment. What is freed counts no more, but is kept for the next request of its
/// size, as the allocators of frameworks do: else a run without a plan would spend its time on page faults.
class counting_memory : public std::pmr::memory_resource {
public:
    counting_memory() = default;
    counting_memory(counting_memory const&) = delete;
    auto operator=(counting_memory const&) -> counting_memory& = delete;
    ~counting_memory() override
    {
        for (auto const& [size, blocks] : kept_) {
            for (auto* p : blocks) {
                std::pmr::new_delete_resource()->deallocate(p, size.first, size.second);
            }
        }
    }

    /// Most bytes that were taken at once.
    [[nodiscard]] auto peak() const -> strata::bytes_t { return peak_; }

private:
    auto do_allocate(std::size_t bytes, std::size_t multiple) -> void* override
    {
        live_ += counted(bytes, multiple);
        peak_ = std::max(peak_, live_);
        auto& kept = kept_[{bytes, multiple}];
        if (kept.empty()) {
            return std::pmr::new_delete_resource()->allocate(bytes, multiple);
        }
        auto* const p = kept.back();
        kept.pop_back();
        return p;
    }
    void do_deallocate(void* p, std::size_t bytes, std::size_t multiple) override
    {
        live_ -= counted(bytes, multiple);
        kept_[{bytes, multiple}].push_back(p);
    }
    [[nodiscard]] auto do_is_equal(std::pmr::memory_resource const& other) const noexcept -> bool override
    {
        return this == &other;
    }
    static auto counted(std::size_t bytes, std::size_t multiple) -> strata::bytes_t
    {
        return strata::align_up(static_cast<strata::bytes_t>(bytes), static_cast<strata::bytes_t>(multiple));
    }

    strata::bytes_t live_ = 0;
    strata::bytes_t peak_ = 0;
    std::map<std::pair<std::size_t, std::size_t>, std::vector<void*>> kept_; // by size and alignment
};

} // namespace engine_eigen
