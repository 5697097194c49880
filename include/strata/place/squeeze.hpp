// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Makes a placement fit a capacity that it nearly fits: one local search for that capacity, from three beginnings.
#pragma once

#include <strata/place/ejection_search.hpp>
#include <strata/place/first_fit.hpp>
#include <strata/place/occupancy.hpp>
#include <strata/place/placement.hpp>
#include <strata/solve/limits.hpp>
#include <strata/units.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace strata::detail {

/// A placement of the same lifetimes within `capacity`, or `x` if none is found by about `effort` work, a third of it for each
/// beginning; see `ejection_search` for its unit.
///
/// `improve` aims at many capacities and stops soon at each; this stays with one, long enough to move thousands of buffers.
/// It begins with `x`, then with crowded buffers at the bottom, then with those of them that are long and large: each finds
/// what the others do not.
/// Requires: `x` is valid (see `check`); twice the sum of its sizes, rounded up, fits 64 bits.
template <class Lazy = void>
[[nodiscard]] auto
squeeze(placement x, bytes_t capacity, std::int64_t effort, std::uint64_t seed, stop_watch const& stop) -> placement
{
    if (x.arena <= capacity || stop.expired()) {
        return x;
    }
    using fit = typename basic_occupancy<Lazy>::fit;
    basic_ejection_search<Lazy> search(x.lifetimes, x.alignment, seed);
    auto const from = [&](std::vector<bytes_t> const& offsets) {
        return search.run(offsets, capacity, effort / 3, stop);
    };
    auto const packed = [&](packing_order by, fit how) {
        if (stop.expired()) {
            return x.offsets; // a packing of a long step is no small matter
        }
        basic_packer<Lazy> pack(x.lifetimes, x.alignment);
        (void)pack.pack(order_of(x.lifetimes, by), how);
        return pack.offsets();
    };
    if (from(x.offsets) || from(packed(packing_order::crowd, fit::tightest)) ||
        from(packed(packing_order::crowd_area, fit::lowest))) {
        return make_placement(std::move(x.lifetimes), search.offsets(), x.alignment);
    }
    return x;
}

} // namespace strata::detail
