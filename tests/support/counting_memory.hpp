// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A memory resource that counts, checks what comes back, and fails when told to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory_resource>
#include <new>
#include <utility>

namespace strata::test {

class counting_memory final : public std::pmr::memory_resource {
public:
    /// Blocks, and bytes, that have not come back.
    [[nodiscard]] auto live() const -> std::size_t { return live_.size(); }
    [[nodiscard]] auto live_bytes() const -> std::size_t
    {
        std::size_t sum = 0;
        for (auto const& [p, size] : live_) {
            sum += size.first;
        }
        return sum;
    }
    /// How often memory was asked for.
    [[nodiscard]] auto asked() const -> std::int64_t { return asked_; }
    /// The how-many-th request from now on fails.
    void fail_at(std::int64_t n) { fail_at_ = n; }

private:
    auto do_allocate(std::size_t bytes, std::size_t alignment) -> void* override
    {
        ++asked_;
        if (fail_at_ > 0 && --fail_at_ == 0) {
            throw std::bad_alloc();
        }
        auto* const p = std::pmr::new_delete_resource()->allocate(bytes, alignment);
        live_[p] = {bytes, alignment};
        return p;
    }
    void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override
    {
        auto const x = live_.find(p);
        if (x == live_.end() || x->second != std::pair(bytes, alignment)) {
            std::abort(); // given back twice, or with another size
        }
        live_.erase(x);
        std::pmr::new_delete_resource()->deallocate(p, bytes, alignment);
    }
    [[nodiscard]] auto do_is_equal(std::pmr::memory_resource const& other) const noexcept -> bool override
    {
        return this == &other;
    }

    std::map<void*, std::pair<std::size_t, std::size_t>> live_;
    std::int64_t asked_ = 0;
    std::int64_t fail_at_ = 0;
};

} // namespace strata::test
