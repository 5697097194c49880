// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Size-descending first fit: the placement that is tight on almost every plan, in near n log n time.
#pragma once

#include <strata/detail/lazy.hpp>
#include <strata/place/contention.hpp>
#include <strata/place/lifetimes.hpp>
#include <strata/place/occupancy.hpp>
#include <strata/place/placement.hpp>
#include <strata/solve/limits.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace strata {

/// What decides who is placed first; the largest value goes first, ties by duration, then by index.
enum class packing_order : std::uint8_t {
    size,       ///< bytes
    area,       ///< bytes x duration
    duration,   ///< steps from begin to end
    begin,      ///< the order of execution, as an allocator at run time meets them (earliest first)
    crowd,      ///< the largest load during its life; see `contention_of`
    crowd_size, ///< that in steps of half a percent, then bytes
    crowd_area, ///< that in steps of half a percent, then bytes x duration
};

/// The indices of `lifetimes` in the order in which to place them.
/// Complexity: O(n log n).
template <class Lazy = void>
[[nodiscard]] auto order_of(std::span<lifetime const> lifetimes, packing_order by) -> std::vector<std::size_t>
{
    using key = detail::lazy<std::tuple<double, double, double, std::size_t>, Lazy>; // ascending
    std::vector<key> keys;
    keys.reserve(lifetimes.size());
    bool const crowded =
        by == packing_order::crowd || by == packing_order::crowd_size || by == packing_order::crowd_area;
    auto const crowd = crowded ? contention_of(lifetimes) : std::vector<double>();
    for (std::size_t i = 0; i < lifetimes.size(); ++i) {
        auto const& x = lifetimes[i];
        auto const size = static_cast<double>(x.size);
        auto const duration = static_cast<double>(x.end) - static_cast<double>(x.begin);
        auto const level = crowded ? static_cast<double>(static_cast<int>((1 - crowd[i]) * 200)) : 0;
        double first = 0;
        double second = 0;
        switch (by) {
        case packing_order::size: first = -size; break;
        case packing_order::area: first = -size * duration; break;
        case packing_order::duration: first = -duration; break;
        case packing_order::begin: first = static_cast<double>(x.begin); break;
        case packing_order::crowd: first = -crowd[i]; break;
        case packing_order::crowd_size:
            first = level;
            second = -size;
            break;
        case packing_order::crowd_area:
            first = level;
            second = -size * duration;
            break;
        }
        keys.emplace_back(first, second, -duration, i);
    }
    std::sort(keys.begin(), keys.end());
    std::vector<std::size_t> order;
    order.reserve(keys.size());
    for (auto const& k : keys) {
        order.push_back(std::get<3>(k));
    }
    return order;
}

namespace detail {

/// Places one set of lifetimes in any number of orders; keeps its memory from one to the next.
template <class Lazy = void>
class basic_packer {
    using occupancy = basic_occupancy<Lazy>;

public:
    basic_packer(std::span<lifetime const> lifetimes, bytes_t alignment)
        : taken_(lifetimes)
        , offsets_(lifetimes.size(), 0)
    {
        size_.reserve(lifetimes.size());
        for (auto const& x : lifetimes) {
            size_.push_back(x.begin < x.end ? align_up(x.size, alignment) : 0);
        }
    }

    /// Puts every lifetime of `order` where `fit` says, given those before it; gives up above `limit`, and when `stop` expires.
    /// Returns: the end of the highest buffer with its size rounded up, or `max_bytes` when it gave up; the offsets are
    /// complete only in the first case.
    auto pack(std::span<std::size_t const> order,
              occupancy::fit fit,
              bytes_t limit = max_bytes - 1,
              stop_watch const& stop = {}) -> bytes_t
    {
        constexpr std::size_t between_looks = 256; // at the watch
        taken_.clear();
        bytes_t arena = 0;
        std::size_t done = 0;
        for (auto i : order) {
            if (++done % between_looks == 0 && stop.expired()) {
                return max_bytes;
            }
            if (size_[i] == 0) {
                continue; // meets nobody; stays at 0
            }
            auto const offset = taken_.find(i, size_[i], fit);
            if (size_[i] > limit - offset) {
                return max_bytes;
            }
            taken_.add(i, offset, size_[i]);
            offsets_[i] = offset;
            arena = std::max(arena, offset + size_[i]);
        }
        return arena;
    }

    [[nodiscard]] auto offsets() const noexcept -> std::vector<bytes_t> const& { return offsets_; }
    /// Size of lifetime `i` rounded up; 0 if it is empty.
    [[nodiscard]] auto size(std::size_t i) const noexcept -> bytes_t { return size_[i]; }

private:
    occupancy taken_;
    std::vector<bytes_t> size_;
    std::vector<bytes_t> offsets_;
};

using packer = basic_packer<>;

/// `lifetimes` with `offsets`, and the arena they need.
template <class = void>
[[nodiscard]] auto make_placement(std::vector<lifetime> lifetimes, std::vector<bytes_t> offsets, bytes_t alignment)
    -> placement
{
    placement r{std::move(lifetimes), std::move(offsets), 0, alignment};
    for (std::size_t i = 0; i < r.lifetimes.size(); ++i) {
        r.arena = std::max(r.arena, r.offsets[i] + r.lifetimes[i].size);
    }
    return r;
}

} // namespace detail

/// Places the largest buffer first, each at the lowest offset that is free during its whole lifetime.
///
/// Buffers of zero bytes lie at offset 0. The order of `lifetimes` is kept in the answer.
/// Requires: sizes are not negative, their sum (rounded up) fits 64 bits, alignment >= 1.
/// Complexity: O(n log n) set operations; a set is short when buffers pack tightly (see occupancy.hpp).
template <class Lazy = void>
[[nodiscard]] auto first_fit(std::vector<lifetime> lifetimes, bytes_t alignment = 1) -> placement
{
    detail::basic_packer<Lazy> p(lifetimes, alignment);
    p.pack(order_of(lifetimes, packing_order::size), detail::basic_occupancy<Lazy>::fit::lowest);
    return detail::make_placement(std::move(lifetimes), p.offsets(), alignment);
}

} // namespace strata
