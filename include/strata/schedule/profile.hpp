// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Memory over a run order in one pass: the ruler that solvers measure with.
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace strata {

/// Bytes live during each run of `order` (resident, inputs, outputs, workspace and all other live tensors), with every
/// tensor freed right after its last use, as `free_early` does.
/// Requires: inputs are produced before they are read.
/// Complexity: O(sum over runs of reads and writes + tensors).
template <class = void>
[[nodiscard]] auto live_bytes(problem const& p, std::span<op_id const> order) -> std::vector<bytes_t>
{
    constexpr auto nowhere = static_cast<std::size_t>(-1);
    auto const at = [](std::int32_t i) { return static_cast<std::size_t>(i); };
    std::vector<std::size_t> begin(at(p.tensor_count()), nowhere);
    std::vector<std::size_t> end(at(p.tensor_count()), 0);
    std::vector<bytes_t> change(order.size() + 1, 0);
    auto const close = [&](tensor_id t) {
        if (begin[at(t)] != nowhere) {
            change[begin[at(t)]] += p.size(t);
            change[end[at(t)] + 1] -= p.size(t);
        }
    };
    for (std::size_t k = 0; k < order.size(); ++k) {
        for (auto t : p.inputs(order[k])) {
            end[at(t)] = k;
        }
        for (auto t : p.outputs(order[k])) {
            if (begin[at(t)] == nowhere || !p.accumulated(t)) {
                close(t);
                begin[at(t)] = k;
            }
            end[at(t)] = k;
        }
    }
    for (tensor_id t = 0; t < p.tensor_count(); ++t) {
        if (p.is_target(t) && begin[at(t)] != nowhere) {
            end[at(t)] = order.size() - 1;
        }
        close(t);
    }
    std::vector<bytes_t> live(order.size());
    bytes_t now = p.resident_bytes();
    for (std::size_t k = 0; k < order.size(); ++k) {
        now += change[k];
        live[k] = now + p.workspace(order[k]);
    }
    return live;
}

/// Largest element of `live_bytes`. Returns: the resident bytes for an empty order.
template <class = void>
[[nodiscard]] auto peak_of(problem const& p, std::span<op_id const> order) -> bytes_t
{
    auto const live = live_bytes(p, order);
    return live.empty() ? p.resident_bytes() : *std::max_element(live.begin(), live.end());
}

/// Sum of the costs of the runs of `order`. Requires: it fits 64 bits.
template <class = void>
[[nodiscard]] auto cost_of(problem const& p, std::span<op_id const> order) -> cost_t
{
    cost_t sum = 0;
    for (auto o : order) {
        sum += p.cost(o);
    }
    return sum;
}

} // namespace strata
