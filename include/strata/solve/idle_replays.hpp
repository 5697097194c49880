// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Cleans an order: replays whose outputs nobody reads before they are made again, or ever, are taken out.
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata {

/// `order` without the replays that nobody reads, and without those that served only them. Neither the peak nor the cost
/// grows. Complexity: O(sum over runs of reads and writes).
template <class = void>
[[nodiscard]] auto without_idle_replays(problem const& p, std::span<op_id const> order) -> run_order
{
    auto const at = [](std::int32_t i) { return static_cast<std::size_t>(i); };
    std::vector<char> needed(at(p.tensor_count()), 0);
    std::vector<std::size_t> first(at(p.op_count()), order.size());
    for (tensor_id t = 0; t < p.tensor_count(); ++t) {
        needed[at(t)] = p.is_target(t) ? 1 : 0;
    }
    for (std::size_t k = order.size(); k-- > 0;) {
        first[at(order[k])] = k;
    }
    run_order kept;
    for (std::size_t k = order.size(); k-- > 0;) {
        auto const o = order[k];
        auto const outputs = p.outputs(o);
        if (first[at(o)] != k &&
            std::none_of(outputs.begin(), outputs.end(), [&](tensor_id t) { return needed[at(t)] != 0; })) {
            continue;
        }
        for (auto t : outputs) {
            needed[at(t)] = 0;
        }
        for (auto t : p.inputs(o)) {
            needed[at(t)] = 1;
        }
        kept.push_back(o);
    }
    std::reverse(kept.begin(), kept.end());
    return kept;
}

} // namespace strata
