// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The order that follows from what is kept across one instant: everything else is made again when needed.
#pragma once

#include <strata/detail/lazy.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/units.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace strata {

/// Runs the ops in first-run order. Up to the first run of `at` nothing is dropped; there, only tensors for which `kept`
/// holds stay; from then on a missing input is made again, recursively, right before its first reader, and stays.
/// Tensors that cannot be made again stay whatever `kept` says.
/// Complexity: O(runs × reads).
template <class Kept>
[[nodiscard]] auto just_in_time(problem const& p, op_id at, Kept const& kept) -> run_order
{
    auto const index = [](std::int32_t i) { return static_cast<std::size_t>(i); };
    std::vector<char> gone(index(p.tensor_count()), 0);
    for (tensor_id t = 0; t < p.tensor_count(); ++t) {
        auto const makers = p.producers(t);
        gone[index(t)] = p.remakeable(t) && makers.front() < at && !kept(t) ? 1 : 0;
    }
    run_order order;
    order.reserve(index(p.op_count()) * 3 / 2);
    // An op and how many of its inputs have been looked at.
    std::vector<detail::lazy<std::pair<op_id, std::size_t>, Kept>> stack;
    // Depth first on an explicit stack: chains of thousands of ops are ordinary.
    auto const make = [&](tensor_id t) {
        if (gone[index(t)] == 0) {
            return;
        }
        stack.assign(1, {p.producer(t), 0});
        while (!stack.empty()) {
            auto& [o, next] = stack.back();
            auto const inputs = p.inputs(o);
            while (next < inputs.size() && gone[index(inputs[next])] == 0) {
                ++next;
            }
            if (next < inputs.size()) {
                stack.emplace_back(p.producer(inputs[next]), 0);
                continue;
            }
            order.push_back(o);
            for (auto made : p.outputs(o)) {
                gone[index(made)] = 0;
            }
            stack.pop_back();
        }
    };
    for (op_id o = 0; o < at; ++o) {
        order.push_back(o);
    }
    for (op_id o = at; o < p.op_count(); ++o) {
        for (auto t : p.inputs(o)) {
            make(t);
        }
        order.push_back(o);
    }
    for (auto t : p.targets()) {
        if (!p.resident(t)) {
            make(t);
        }
    }
    return order;
}

} // namespace strata
