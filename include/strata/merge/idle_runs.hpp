// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Leaves out fast-forwards that nothing needs.
#pragma once

#include <strata/merge/block_graph.hpp>
#include <strata/partition/block.hpp>
#include <strata/problem/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace strata {

/// `plan` in its normal form (`without_vain_keeping`), without runs again that make nothing that is read later. Neither cost
/// nor peak rise. Requires: `plan` obeys the rules of `block_plan`.
/// Complexity: O(runs · touches + tensors).
template <class = void>
[[nodiscard]] auto without_idle_runs(block_graph const& g, block_plan plan) -> block_plan
{
    auto const& p = g.subject();
    auto const at = [](tensor_id t) { return static_cast<std::size_t>(t); };
    plan = without_vain_keeping(g, std::move(plan));
    std::vector<char> ran(g.size(), 0);
    std::vector<char> first(plan.size(), 0);
    for (std::size_t i = 0; i < plan.size(); ++i) {
        if (plan[i].which == half::backward || std::exchange(ran[plan[i].part], char{1}) == 0) {
            first[i] = 1;
        }
    }
    std::vector<char> wanted(at(p.tensor_count()), 0);
    for (auto t : p.targets()) {
        wanted[at(t)] = 1;
    }
    std::vector<char> met(at(p.tensor_count()), 0);
    block_plan r;
    for (auto i = plan.size(); i-- > 0;) {
        auto const& touches = g.run(plan[i]).touches;
        bool const serves = plan[i].option != fast_forward && !g.part(plan[i].part).backward.empty();
        auto const used = [&](touch const& x) { return x.made && wanted[at(x.tensor)] != 0; };
        if (first[i] == 0 && !serves && std::none_of(touches.begin(), touches.end(), used)) {
            continue;
        }
        for (auto const& x : touches) { // by first run: what matters is the first stretch of each tensor
            if (std::exchange(met[at(x.tensor)], char{1}) == 0) {
                wanted[at(x.tensor)] = x.made && !p.accumulated(x.tensor) ? 0 : 1;
            }
        }
        for (auto const& x : touches) {
            met[at(x.tensor)] = 0;
        }
        r.push_back(plan[i]);
    }
    std::reverse(r.begin(), r.end());
    return r;
}

} // namespace strata
