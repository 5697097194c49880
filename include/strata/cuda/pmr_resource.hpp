// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A source of memory as a `std::pmr::memory_resource`. The other way nothing is needed: that is a source already.
#pragma once

#include <strata/execute/concepts.hpp>

#include <cstddef>
#include <memory_resource>

namespace strata {

/// Hands on what a source gives. Equal to itself only. Containers on it touch the memory: it must be the host's, or both's.
///
/// Requires: the source outlives it.
template <memory_source M>
class pmr_resource final : public std::pmr::memory_resource {
public:
    explicit pmr_resource(M& from) noexcept
        : from_(&from)
    {
    }

private:
    auto do_allocate(std::size_t n, std::size_t alignment) -> void* override { return from_->allocate(n, alignment); }
    void do_deallocate(void* p, std::size_t n, std::size_t alignment) override { from_->deallocate(p, n, alignment); }
    [[nodiscard]] auto do_is_equal(std::pmr::memory_resource const& other) const noexcept -> bool override
    {
        return this == &other;
    }

    M* from_;
};

} // namespace strata
