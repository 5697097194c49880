// SPDX-License-Identifier: Apache-2.0
// What a solver finds before the plan is certified and has its place in an arena: what the study's numbers are, too.
#pragma once

#include <strata/pipeline/planner.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/schedule/validate.hpp>

#include <algorithm>

#include "bench/support.hpp"

namespace strata::bench {

struct order_found {
    double overhead = -1; ///< percent; -1: no order
    double seconds = 0;   ///< the fastest of the repeats
    bool valid = true;    ///< what the judge says of the order
};

/// The best order `s` finds whose live bytes fit `bytes`, and the time to find it.
template <solver S>
[[nodiscard]] auto search_alone(problem const& p, bytes_t bytes, S const& s, int repeats) -> order_found
{
    order_found a;
    a.seconds = 1e9;
    stop_watch const no_limit;
    limits const lim;
    for (int i = 0; i < repeats; ++i) {
        auto const begin = std::chrono::steady_clock::now();
        detail::planner const with(p);
        auto const studied = with.analyse(bytes, no_limit);
        if (!studied) {
            return a;
        }
        auto const best = with.best_order(bytes, *studied, lim, no_limit, s, nullptr);
        a.seconds = std::min(a.seconds, seconds_since(begin));
        if (!best) {
            return a;
        }
        a.valid = a.valid && validate(p, free_early(p, best->order), bytes).ok();
        a.overhead = 100 * (static_cast<double>(best->cost) / static_cast<double>(p.base_cost()) - 1);
    }
    return a;
}

} // namespace strata::bench
