// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Memory that counts what is taken from it, so that a peak is measured and not computed.
#pragma once

#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <memory_resource>

namespace engine_eigen {

/// Sizes count as rounded up to their alignment.
class counting_memory : public std::pmr::memory_resource {
public:
    explicit counting_memory(std::pmr::memory_resource& from = *std::pmr::new_delete_resource())
        : from_(&from)
    {
    }

    [[nodiscard]] auto peak() const -> strata::bytes_t { return peak_; }

private:
    auto do_allocate(std::size_t bytes, std::size_t multiple) -> void* override
    {
        auto* const p = from_->allocate(bytes, multiple);
        live_ += counted(bytes, multiple);
        peak_ = std::max(peak_, live_);
        return p;
    }
    void do_deallocate(void* p, std::size_t bytes, std::size_t multiple) override
    {
        live_ -= counted(bytes, multiple);
        from_->deallocate(p, bytes, multiple);
    }
    [[nodiscard]] auto do_is_equal(std::pmr::memory_resource const& other) const noexcept -> bool override
    {
        return this == &other;
    }
    static auto counted(std::size_t bytes, std::size_t multiple) -> strata::bytes_t
    {
        return strata::align_up(static_cast<strata::bytes_t>(bytes), static_cast<strata::bytes_t>(multiple));
    }

    std::pmr::memory_resource* from_;
    strata::bytes_t live_ = 0;
    strata::bytes_t peak_ = 0;
};

} // namespace engine_eigen
