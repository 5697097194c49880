// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Which first runs must come before which: everything the judge asks of an order, and nothing else.
#pragma once

#include <strata/detail/id_lists.hpp>
#include <strata/problem/effects.hpp>
#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace strata {

/// For each op, ascending, ops that must have run before its first run; what these imply in turn may be left out.
///
/// An order of first runs in which each op stands behind its list, and no other, is one that `validate` accepts: inputs
/// are made; ops add into a gradient, and write a resident tensor, in index order, readers of such a tensor staying
/// between the same writers; random ops, stateful ops and collective ops keep their order each. 0, 1, 2, … is one.
/// Complexity: O(ops + tensors + reads and writes), with a factor log n for an op with n predecessors.
template <class = void>
[[nodiscard]] auto first_run_predecessors(problem const& p) -> detail::id_lists
{
    auto const at = [](std::int32_t i) { return static_cast<std::size_t>(i); };
    constexpr std::array in_order{effect::random, effect::stateful, effect::collective};
    std::array<op_id, in_order.size()> last_with{none, none, none};
    std::vector<op_id> last_writer(at(p.tensor_count()), none);          // of gradients and of resident tensors
    std::vector<std::vector<op_id>> readers_since(at(p.tensor_count())); // of resident tensors
    detail::id_lists lists;
    for (op_id o = 0; o < p.op_count(); ++o) {
        std::vector<op_id> before;
        for (auto t : p.inputs(o)) {
            before.push_back(p.producers(t).back());
        }
        for (auto t : p.op(o).inputs) {
            if (p.resident(t)) {
                before.push_back(last_writer[at(t)]);
                readers_since[at(t)].push_back(o);
            }
        }
        for (auto t : p.op(o).outputs) {
            before.push_back(last_writer[at(t)]);
            before.insert(before.end(), readers_since[at(t)].begin(), readers_since[at(t)].end());
            readers_since[at(t)].clear();
        }
        for (auto t : p.op(o).outputs) {
            last_writer[at(t)] = o;
        }
        for (std::size_t i = 0; i < in_order.size(); ++i) {
            if (p.op(o).effects.has(in_order[i])) {
                before.push_back(last_with[i]);
                last_with[i] = o;
            }
        }
        std::sort(before.begin(), before.end());
        before.erase(std::unique(before.begin(), before.end()), before.end());
        std::erase_if(before, [&](op_id b) { return b == none || b == o; });
        lists.push_back(before);
    }
    return lists;
}

/// Whether `order` has every op of `p` once, each behind its `first_run_predecessors`.
template <class = void>
[[nodiscard]] auto is_first_run_order(problem const& p, std::span<op_id const> order) -> bool
{
    auto const before = first_run_predecessors(p);
    std::vector<char> done(static_cast<std::size_t>(p.op_count()), 0);
    for (auto o : order) {
        if (o < 0 || o >= p.op_count() || done[static_cast<std::size_t>(o)] != 0) {
            return false;
        }
        for (auto b : before[static_cast<std::size_t>(o)]) {
            if (done[static_cast<std::size_t>(b)] == 0) {
                return false;
            }
        }
        done[static_cast<std::size_t>(o)] = 1;
    }
    return order.size() == done.size();
}

} // namespace strata
