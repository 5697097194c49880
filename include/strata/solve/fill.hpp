// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Use the room that is left: take replays out, most saving per occupied byte first.
#pragma once

#include <strata/detail/math.hpp>
#include <strata/detail/mix.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/order_editor.hpp>
#include <strata/solve/saving.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata {

/// What `fill` considers, and how greedily.
struct fill_options {
    std::size_t from = 0, to = static_cast<std::size_t>(-1); ///< slots of the replays considered
    double noise = 0; ///< how much chance weighs beside the density; 0 not at all
    std::uint64_t seed = 1;
    std::span<char const> frozen = {}; ///< by op: replays of those marked stay; empty: none is
};

/// Keeps tensors instead of making them again wherever `capacity` bytes (without resident ones) allow.
/// Never raises the cost; the peak stays at most `max(capacity, peak before)`.
/// Complexity: O(r log n) per round for r replays, plus the slots considered if they are not all.
template <class Lazy>
void fill(basic_order_editor<Lazy>& e, bytes_t capacity, stop_watch const& stop, fill_options const& how = {})
{
    constexpr int rounds = 3;
    struct choice {
        double density;
        typename basic_order_editor<Lazy>::run_id run;
        std::size_t slot;
    };
    std::vector<choice> choices;
    auto const frozen = [&](auto r) {
        return !how.frozen.empty() && how.frozen[static_cast<std::size_t>(e.op_of(r))] != 0;
    };
    basic_saving_estimate<Lazy> saving_of(e);
    for (int round = 0; round < rounds && !stop.expired(); ++round) {
        choices.clear();
        for (auto r : how.from == 0 && how.to >= e.slots() ? e.replays() : e.replays(how.from, how.to)) {
            auto const s = frozen(r) ? saving{} : saving_of(r, capacity);
            if (!s.possible) {
                continue;
            }
            // Bytes held long, or where memory is nearly full, leave less for others.
            auto const full = static_cast<double>(s.hottest) / static_cast<double>(std::max<bytes_t>(capacity, 1));
            auto const length = 0.05 + static_cast<double>(s.gap) / static_cast<double>(e.slots());
            auto const price = 1 + static_cast<double>(s.bytes) * length * detail::math::exp(3 * (full - 1));
            auto const luck =
                how.noise == 0 ? 1 : detail::math::exp(how.noise * detail::chance(how.seed + e.slot_of(r)));
            choices.push_back({luck * static_cast<double>(s.cost) / price, r, e.slot_of(r)});
        }
        std::sort(choices.begin(), choices.end(), [](choice const& a, choice const& b) {
            return a.density != b.density ? a.density > b.density : a.slot < b.slot;
        });
        bool any = false;
        for (auto const& c : choices) {
            // The run may be gone already, together with one that it served.
            if (e.is_at(c.run, c.slot) && e.keep_instead(c.run, capacity) >= 0) {
                any = true;
            }
        }
        if (!any) {
            return;
        }
    }
}

} // namespace strata
