// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Makes a placement fit a capacity that it nearly fits: one local search for that capacity, from two beginnings.
#pragma once

#include <strata/place/ejection_search.hpp>
#include <strata/place/first_fit.hpp>
#include <strata/place/occupancy.hpp>
#include <strata/place/placement.hpp>
#include <strata/solve/limits.hpp>
#include <strata/units.hpp>

#include <cstdint>
#include <utility>

namespace strata::detail {

/// A placement of the same lifetimes within `capacity`, or `x` if none is found by about `effort` work, half of it for each
/// beginning; see `ejection_search` for its unit.
///
/// `improve` aims at many capacities and stops soon at each; this stays with one, long enough to move thousands of buffers.
/// It begins with the crowded, long and large ones at the bottom, then with `x`: either finds what the other does not.
/// Requires: `x` is valid (see `check`); twice the sum of its sizes, rounded up, fits 64 bits.
template <class Lazy = void>
[[nodiscard]] auto
squeeze(placement x, bytes_t capacity, std::int64_t effort, std::uint64_t seed, stop_watch const& stop) -> placement
{
    if (x.arena <= capacity) {
        return x;
    }
    basic_packer<Lazy> pack(x.lifetimes, x.alignment);
    (void)pack.pack(order_of(x.lifetimes, packing_order::crowd_area), basic_occupancy<Lazy>::fit::lowest);
    basic_ejection_search<Lazy> search(x.lifetimes, x.alignment, seed);
    if (search.run(pack.offsets(), capacity, effort / 2, stop) || search.run(x.offsets, capacity, effort / 2, stop)) {
        return make_placement(std::move(x.lifetimes), search.offsets(), x.alignment);
    }
    return x;
}

} // namespace strata::detail
