// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Which forward ops wait for which, also on the way back, and parts put together until none wait for each other.
#pragma once

#include <strata/partition/block.hpp>
#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace strata::detail {

/// Dependencies between some forward ops, each with the backward ops that belong to it. Nodes are the ops, in order; if
/// they are all of the forward ops, nodes for the later ops that belong to none of them follow.
struct waiting {
    using lists = std::vector<std::vector<std::size_t>>;
    std::size_t nodes = 0;
    std::array<lists, 2> before; ///< by half and node: the nodes it waits for, ascending
    [[nodiscard]] auto of(half h) const -> lists const& { return before[static_cast<std::size_t>(h)]; }
};

/// Requires: `ops` are forward ops of `p`, ascending.
/// Complexity: O(ops of the step + reads, times the producers of what is read).
template <class = void>
[[nodiscard]] auto waiting_of(problem const& p, std::span<op_id const> ops) -> waiting
{
    constexpr auto outside = static_cast<std::size_t>(-1);
    auto const at = [](auto i) { return static_cast<std::size_t>(i); };
    auto const turn = turn_of(p);
    waiting r;
    std::vector<std::size_t> node(at(p.op_count()), outside);
    for (auto o : ops) {
        node[at(o)] = r.nodes++;
    }
    bool const all = ops.size() == at(turn);
    for (auto o = turn; o < p.op_count(); ++o) {
        auto const owner = p.op(o).backward_of;
        if (owner != none && owner < turn) {
            node[at(o)] = node[at(owner)];
        } else if (all) {
            node[at(o)] = r.nodes++;
        }
    }
    for (auto& lists : r.before) {
        lists.resize(r.nodes);
    }
    for (op_id o = 0; o < p.op_count(); ++o) {
        if (node[at(o)] == outside) {
            continue;
        }
        for (auto t : p.inputs(o)) {
            for (auto maker : p.producers(t)) {
                auto const from = node[at(maker)];
                if (from != outside && from != node[at(o)] && (maker < turn) == (o < turn)) {
                    r.before[o < turn ? 0 : 1][node[at(o)]].push_back(from);
                }
            }
        }
    }
    for (auto& lists : r.before) {
        for (auto& x : lists) {
            std::sort(x.begin(), x.end());
            x.erase(std::unique(x.begin(), x.end()), x.end());
        }
    }
    return r;
}

/// Numbers the nodes of `before` by strongly connected component, by Tarjan's algorithm. Complexity: linear.
template <class = void>
[[nodiscard]] auto components_of(waiting::lists const& before) -> std::vector<std::size_t>
{
    constexpr auto unseen = static_cast<std::size_t>(-1);
    auto const n = before.size();
    std::vector<std::size_t> component(n, unseen);
    std::vector<std::size_t> met(n, unseen);
    std::vector<std::size_t> low(n, 0);
    std::vector<std::size_t> path;
    std::vector<std::pair<std::size_t, std::size_t>> calls; // node, next of its list
    std::size_t clock = 0;
    std::size_t count = 0;
    for (std::size_t root = 0; root < n; ++root) {
        if (met[root] != unseen) {
            continue;
        }
        calls.emplace_back(root, 0);
        while (!calls.empty()) {
            auto const v = calls.back().first;
            if (met[v] == unseen) {
                met[v] = low[v] = clock++;
                path.push_back(v);
            }
            if (calls.back().second < before[v].size()) {
                auto const u = before[v][calls.back().second++];
                if (met[u] == unseen) {
                    calls.emplace_back(u, 0);
                } else if (component[u] == unseen) {
                    low[v] = std::min(low[v], met[u]);
                }
                continue;
            }
            calls.pop_back();
            if (!calls.empty()) {
                low[calls.back().first] = std::min(low[calls.back().first], low[v]);
            }
            if (low[v] == met[v]) {
                for (bool more = true; more; path.pop_back()) {
                    component[path.back()] = count;
                    more = path.back() != v;
                }
                ++count;
            }
        }
    }
    return component;
}

/// The sets of `ops` with equal `group`, those that wait for each other put together. By first op.
///
/// Returns: one set when what belongs to no forward op stands between the backward ops of a set.
/// Complexity: that of `waiting_of` times the number of rounds, mostly one.
template <class = void>
[[nodiscard]] auto untangled(problem const& p, std::span<op_id const> ops, std::vector<std::size_t> group)
    -> std::vector<std::vector<op_id>>
{
    auto const w = waiting_of(p, ops);
    // Groups are named by their first node.
    std::vector<std::size_t> first(w.nodes);
    std::iota(first.begin(), first.end(), std::size_t{0});
    {
        std::vector<std::pair<std::size_t, std::size_t>> sorted;
        for (std::size_t i = 0; i < ops.size(); ++i) {
            sorted.emplace_back(group[i], i);
        }
        std::sort(sorted.begin(), sorted.end());
        for (std::size_t i = 0; i < sorted.size(); ++i) {
            bool const same = i > 0 && sorted[i].first == sorted[i - 1].first;
            first[sorted[i].second] = same ? first[sorted[i - 1].second] : sorted[i].second;
        }
    }
    bool stuck = false;
    for (bool again = true; again;) {
        again = false;
        stuck = false;
        for (auto const& before : w.before) {
            waiting::lists between(w.nodes);
            for (std::size_t v = 0; v < w.nodes; ++v) {
                for (auto u : before[v]) {
                    if (first[u] != first[v]) {
                        between[first[v]].push_back(first[u]);
                    }
                }
            }
            auto const component = components_of(between);
            std::vector<std::size_t> leader(w.nodes, w.nodes); // least group of a component
            for (std::size_t v = 0; v < w.nodes; ++v) {
                auto& l = leader[component[v]];
                l = first[v] == v ? std::min(l, v) : l;
            }
            for (std::size_t v = 0; v < w.nodes; ++v) {
                auto const to = leader[component[first[v]]];
                if (first[v] != to) {
                    (v < ops.size() ? again : stuck) = true;
                    first[v] = v < ops.size() ? to : first[v];
                }
            }
        }
    }
    if (stuck) {
        return {std::vector<op_id>(ops.begin(), ops.end())};
    }
    std::vector<std::vector<op_id>> r;
    std::vector<std::size_t> slot(ops.size(), 0);
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (first[i] == i) {
            slot[i] = r.size();
            r.emplace_back();
        }
        r[slot[first[i]]].push_back(ops[i]);
    }
    return r;
}

} // namespace strata::detail
