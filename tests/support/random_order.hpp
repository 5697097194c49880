// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Random run orders that are valid: first runs in index order, replays thrown in.
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>

#include <cstddef>

#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace strata::test {

/// The first-run order with up to `replays` replays at random places after the first run of their op.
inline auto random_order(problem const& p, dice& d, int replays) -> run_order
{
    auto order = index_order(p);
    for (int i = 0; i < replays; ++i) {
        auto const o = static_cast<op_id>(d.below(p.op_count()));
        if (!p.replayable(o)) {
            continue;
        }
        std::size_t first = 0;
        while (order[first] != o) {
            ++first;
        }
        auto const size = static_cast<std::int64_t>(order.size());
        auto const at = d.between(static_cast<std::int64_t>(first) + 1, size);
        order.insert(order.begin() + at, o);
    }
    return order;
}

} // namespace strata::test
