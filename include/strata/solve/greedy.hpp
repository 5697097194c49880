// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief From keep-all, drop the cheapest tensor at the hottest run until the peak fits.
#pragma once

#include <strata/solve/concepts.hpp>
#include <strata/solve/keep_all.hpp>

#include <string_view>
#include <vector>

namespace strata {

/// What online eviction (DTR; Kirisame et al. 2021) does, with the whole step in view. Proposes one order per weight of
/// how much of the too hot stretch a gap covers: no one weight is best for all graphs.
struct greedy {
    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "greedy"; }
    template <class Lazy>
    void solve(basic_search<Lazy>& on) const
    {
        std::vector<proposal> seeds;
        for (double spread : {0.0, 0.5, 1.0}) {
            seeds.push_back(
                {.make = [&p = on.subject()] { return keep_all_order(p); }, .spread = spread, .name = "greedy"});
        }
        on.propose(seeds);
    }
};

} // namespace strata
