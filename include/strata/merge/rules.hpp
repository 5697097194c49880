// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Whether runs of halves are a plan of a level.
#pragma once

#include <strata/merge/block_graph.hpp>
#include <strata/partition/block.hpp>

#include <cstddef>
#include <vector>

namespace strata {

/// True when `plan` obeys the rules of `block_plan`. What a forward half keeps for nothing is no offence: it counts as a
/// fast-forward. Complexity: O(runs + parts).
template <class = void>
[[nodiscard]] auto is_block_plan(block_graph const& g, block_plan const& plan) -> bool
{
    constexpr auto never = fast_forward - 1;
    std::vector<int> served(g.size(), never); // option of the last run of the forward half
    std::vector<char> ended(g.size(), 0);
    std::size_t next = 0;
    for (auto const& r : plan) {
        if (r.part >= g.size() || r.option < fast_forward || r.option >= static_cast<int>(g.options(r.part).size())) {
            return false;
        }
        bool const first = next < g.items().size() && g.items()[next] == item{r.part, r.which};
        bool const ahead = !first && (r.which == half::backward || served[r.part] == never);
        if (ahead || (!first && !g.replayable(r.part))) {
            return false;
        }
        next += first ? 1 : 0;
        if (r.which == half::forward) {
            served[r.part] = r.option;
            continue;
        }
        bool const agrees = g.part(r.part).forward.empty() || served[r.part] == r.option;
        if (r.option == fast_forward || !agrees || ended[r.part] != 0) {
            return false;
        }
        ended[r.part] = 1;
    }
    return next == g.items().size();
}

} // namespace strata
