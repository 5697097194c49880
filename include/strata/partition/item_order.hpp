// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief In which order the halves of some blocks run when each runs in one go.
#pragma once

#include <strata/partition/block.hpp>
#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace strata {

/// One half of one of several blocks.
struct item {
    std::size_t part = 0; ///< index of the block
    half which = half::forward;
    friend auto operator==(item const&, item const&) -> bool = default;
};

/// The halves of `parts` that have ops, each once, in an order in which what one reads has been made by those before it;
/// of several that could be next, the one with the first op. `parts` are disjoint; ops outside of them are ignored.
/// Returns: nothing when two halves wait for each other.
/// Complexity: O(ops + reads of the parts + ops of the step).
template <class = void>
[[nodiscard]] auto item_order(problem const& p, std::span<block const> parts) -> std::optional<std::vector<item>>
{
    constexpr auto outside = static_cast<std::size_t>(-1);
    auto const at = [](std::int32_t i) { return static_cast<std::size_t>(i); };
    std::vector<item> items;
    std::vector<std::size_t> item_of(at(p.op_count()), outside);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        for (auto h : {half::forward, half::backward}) {
            for (auto o : parts[i].ops(h)) {
                item_of[at(o)] = items.size();
            }
            if (!parts[i].ops(h).empty()) {
                items.push_back({i, h});
            }
        }
    }
    auto const ops = [&](std::size_t i) -> std::vector<op_id> const& {
        return parts[items[i].part].ops(items[i].which);
    };
    std::vector<std::vector<std::size_t>> after(items.size());
    std::vector<std::size_t> waits(items.size(), 0);
    for (std::size_t i = 0; i < items.size(); ++i) {
        std::vector<std::size_t> before;
        for (auto o : ops(i)) {
            for (auto t : p.inputs(o)) {
                for (auto maker : p.producers(t)) {
                    if (auto const j = item_of[at(maker)]; j != outside && j != i) {
                        before.push_back(j);
                    }
                }
            }
        }
        std::sort(before.begin(), before.end());
        before.erase(std::unique(before.begin(), before.end()), before.end());
        waits[i] = before.size();
        for (auto j : before) {
            after[j].push_back(i);
        }
    }
    using entry = std::pair<op_id, std::size_t>; // first op, item
    std::priority_queue<entry, std::vector<entry>, std::greater<>> ready;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (waits[i] == 0) {
            ready.emplace(ops(i).front(), i);
        }
    }
    std::vector<item> order;
    while (!ready.empty()) {
        auto const i = ready.top().second;
        ready.pop();
        order.push_back(items[i]);
        for (auto j : after[i]) {
            if (--waits[j] == 0) {
                ready.emplace(ops(j).front(), j);
            }
        }
    }
    if (order.size() != items.size()) {
        return {};
    }
    return order;
}

} // namespace strata
