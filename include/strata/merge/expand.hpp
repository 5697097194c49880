// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief From a plan of a graph of blocks to the order of ops it stands for.
#pragma once

#include <strata/merge/block_graph.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/units.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace strata {

/// The runs of `plan`, op by op. Its peak with everything freed as early as possible is `promise_of(g, plan).peak`.
/// First runs stand in the order of the items of `g`; see `in_first_run_order`.
/// Complexity: O(runs of ops).
template <class = void>
[[nodiscard]] auto expand(block_graph const& g, block_plan const& plan) -> run_order
{
    run_order r;
    for (auto const& x : without_vain_keeping(g, plan)) {
        auto const& order = g.run(x).order;
        r.insert(r.end(), order.begin(), order.end());
    }
    return r;
}

/// `order` with the first runs of ops moved to the order of the step, each with the replays right before it. A replay that
/// would come before the first run of its op is left out. When first runs stand in that order already nothing changes.
/// Requires: `order` runs every op of `p`. Complexity: O(length).
template <class = void>
[[nodiscard]] auto in_first_run_order(problem const& p, std::span<op_id const> order) -> run_order
{
    auto const at = [](auto i) { return static_cast<std::size_t>(i); };
    std::vector<std::pair<std::size_t, std::size_t>> stage(at(p.op_count()) + 1); // runs up to a first run, by its op
    std::vector<char> ran(at(p.op_count()), 0);
    std::size_t from = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
        if (ran[at(order[k])] == 0) {
            ran[at(order[k])] = 1;
            stage[at(order[k])] = {from, k + 1};
            from = k + 1;
        }
    }
    stage.back() = {from, order.size()};
    run_order r;
    for (std::size_t o = 0; o < stage.size(); ++o) {
        for (auto k = stage[o].first; k < stage[o].second; ++k) {
            if (at(order[k]) <= o) {
                r.push_back(order[k]);
            }
        }
    }
    return r;
}

} // namespace strata
