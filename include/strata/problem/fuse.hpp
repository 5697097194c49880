// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Which ops of an `aliased_spec` must run as one, so that views and in-place ops can be forgotten.
///
/// ```
///   x = linear(a)     ─┐ one group: a replay of linear alone would bring back the x that relu_ has overwritten
///   y = norm(x)        │ reads the old x, so it must be inside
///   relu_(x)          ─┘ changes x in place
///   z = linear(x)        reads the new x: a group of its own
/// ```
/// 1. An op that makes a view joins the op that owns the buffer; 2. an op that changes a buffer in place joins every
/// earlier op that touches the buffer; 3. groups that wait for each other become one, with all ops on the way between
/// their members; 4. groups are ordered by their first member as far as dependencies allow.
#pragma once

#include <strata/detail/lazy.hpp>
#include <strata/problem/aliased_spec.hpp>
#include <strata/problem/effects.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

namespace strata {

namespace detail {

/// Sets of ops that have been joined.
template <class = void>
class basic_op_sets {
public:
    explicit basic_op_sets(std::size_t n)
        : parent_(n)
    {
        std::iota(parent_.begin(), parent_.end(), op_id{0});
    }
    [[nodiscard]] auto find(op_id o) -> op_id
    {
        auto const at = [](op_id i) { return static_cast<std::size_t>(i); };
        while (parent_[at(o)] != o) {
            o = parent_[at(o)] = parent_[at(parent_[at(o)])];
        }
        return o;
    }
    /// Returns: true if the two were apart. The smaller id represents the set.
    auto join(op_id a, op_id b) -> bool
    {
        a = find(a);
        b = find(b);
        if (a == b) {
            return false;
        }
        parent_[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
        return true;
    }

private:
    std::vector<op_id> parent_;
};

using op_sets = basic_op_sets<>;

/// Edges `from -> to` (earlier op to later op) in two arrays.
template <class Lazy = void>
using op_edges = std::vector<lazy<std::pair<op_id, op_id>, Lazy>>;

/// Every order that a first run must keep: writers before readers before overwriters, adders into one gradient among
/// themselves (floating point sums depend on it), and ops with the same ordered effect.
template <class Lazy = void>
[[nodiscard]] auto order_edges(aliased_spec const& spec, buffer_table const& table) -> op_edges<Lazy>
{
    auto const at = [](auto i) { return static_cast<std::size_t>(i); };
    op_edges<Lazy> edges;
    std::vector<op_id> last_write(spec.plain.tensors.size(), none);
    std::vector<std::vector<op_id>> reads_since(spec.plain.tensors.size());
    std::vector<op_id> last_with(4, none);
    constexpr effect ordered[] = {effect::random, effect::stateful, effect::collective, effect::once};
    for (op_id o = 0; o < static_cast<op_id>(spec.plain.ops.size()); ++o) {
        auto const& writes = table.produces[at(o)];
        auto const& changes = table.changes[at(o)];
        for (auto b : table.touches[at(o)]) {
            if (last_write[at(b)] != none) {
                edges.emplace_back(last_write[at(b)], o);
            }
            bool const overwrites = std::binary_search(writes.begin(), writes.end(), b) ||
                                    std::binary_search(changes.begin(), changes.end(), b);
            if (!overwrites) {
                reads_since[at(b)].push_back(o);
                continue;
            }
            for (auto r : reads_since[at(b)]) {
                edges.emplace_back(r, o);
            }
            reads_since[at(b)].clear();
            last_write[at(b)] = o;
        }
        for (std::size_t k = 0; k < last_with.size(); ++k) {
            if (spec.plain.ops[at(o)].effects.has(ordered[k])) {
                if (last_with[k] != none) {
                    edges.emplace_back(last_with[k], o);
                }
                last_with[k] = o;
            }
        }
        // Views of one buffer do not wait for each other, but who uses a view waits for the op that makes it.
        for (auto const* ids : {&spec.plain.ops[at(o)].inputs, &spec.plain.ops[at(o)].outputs, &spec.mutates[at(o)]}) {
            for (auto t : *ids) {
                for (; t != none; t = spec.view_of[at(t)]) {
                    auto const& by = table.producers[at(t)];
                    if (spec.view_of[at(t)] != none && !by.empty() && by[0] < o) {
                        edges.emplace_back(by[0], o);
                    }
                }
            }
        }
    }
    return edges;
}

/// Joins the sets that wait for each other in a circle (Tarjan's strongly connected components, without recursion).
/// Complexity: O(ops + edges).
template <class Lazy = void>
void join_circles(basic_op_sets<Lazy>& sets, std::size_t op_count, op_edges<Lazy> const& edges)
{
    auto const at = [](auto i) { return static_cast<std::size_t>(i); };
    std::vector<std::vector<op_id>> next(op_count);
    for (auto const& [from, to] : edges) {
        auto const a = sets.find(from);
        auto const b = sets.find(to);
        if (a != b) {
            next[at(a)].push_back(b);
        }
    }
    constexpr std::size_t unseen = 0;
    std::vector<std::size_t> number(op_count, unseen), low(op_count, 0), position(op_count, 0);
    std::vector<char> open(op_count, 0);
    std::vector<op_id> path, stack;
    op_edges<Lazy> joins;
    std::size_t count = 0;
    auto const enter = [&](op_id v) {
        number[at(v)] = low[at(v)] = ++count;
        open[at(v)] = 1;
        path.push_back(v);
        stack.push_back(v);
    };
    for (op_id root = 0; root < static_cast<op_id>(op_count); ++root) {
        if (sets.find(root) != root || number[at(root)] != unseen) {
            continue;
        }
        enter(root);
        while (!path.empty()) {
            auto const v = path.back();
            if (position[at(v)] < next[at(v)].size()) {
                auto const w = next[at(v)][position[at(v)]++];
                if (number[at(w)] == unseen) {
                    enter(w);
                } else if (open[at(w)] != 0) {
                    low[at(v)] = std::min(low[at(v)], number[at(w)]);
                }
                continue;
            }
            path.pop_back();
            if (!path.empty()) {
                low[at(path.back())] = std::min(low[at(path.back())], low[at(v)]);
            }
            if (low[at(v)] == number[at(v)]) {
                for (op_id w = none; w != v;) {
                    w = stack.back();
                    stack.pop_back();
                    open[at(w)] = 0;
                    joins.emplace_back(v, w);
                }
            }
        }
    }
    for (auto const& [a, b] : joins) {
        sets.join(a, b);
    }
}

/// A gradient that several ops add into and that a group both adds into and reads: all its adders belong to the group.
/// Returns: true if anything was joined.
template <class Lazy = void>
[[nodiscard]] auto join_adders(basic_op_sets<Lazy>& sets, aliased_spec const& spec, buffer_table const& table) -> bool
{
    auto const at = [](auto i) { return static_cast<std::size_t>(i); };
    std::vector<std::vector<op_id>> readers(spec.plain.tensors.size());
    for (op_id o = 0; o < static_cast<op_id>(spec.plain.ops.size()); ++o) {
        auto const& writes = table.produces[at(o)];
        for (auto b : table.touches[at(o)]) {
            if (table.producers[at(b)].size() > 1 && !std::binary_search(writes.begin(), writes.end(), b)) {
                readers[at(b)].push_back(o);
            }
        }
    }
    bool joined = false;
    for (std::size_t b = 0; b < readers.size(); ++b) {
        if (is_resident(spec.plain.tensors[b].kind)) {
            continue;
        }
        auto const& adders = table.producers[b];
        bool const mixed = std::any_of(readers[b].begin(), readers[b].end(), [&](op_id r) {
            return std::any_of(adders.begin(), adders.end(), [&](op_id p) { return sets.find(p) == sets.find(r); });
        });
        for (std::size_t k = 1; mixed && k < adders.size(); ++k) {
            joined = sets.join(adders[0], adders[k]) || joined;
        }
    }
    return joined;
}

} // namespace detail

/// The ops that run as one: groups in the order in which they run first, members ascending. Every op is in one group;
/// without views and in-place ops each op is its own group and the order is that of `spec`.
/// Requires: `table` is what `check_aliases(spec)` answered.
/// Complexity: O(n log n) in ops, reads and writes, times the number of gradients that step 3 pulls in.
template <class Lazy = void>
[[nodiscard]] auto fuse(aliased_spec const& spec, buffer_table const& table) -> std::vector<std::vector<op_id>>
{
    auto const at = [](auto i) { return static_cast<std::size_t>(i); };
    auto const n = spec.plain.ops.size();
    auto const resident = [&](tensor_id b) { return is_resident(spec.plain.tensors[at(b)].kind); };
    detail::basic_op_sets<Lazy> sets(n);
    bool joined = false;
    std::vector<std::vector<op_id>> touched_by(spec.plain.tensors.size());
    for (op_id o = 0; o < static_cast<op_id>(n); ++o) {
        for (auto t : spec.plain.ops[at(o)].outputs) {
            auto const b = table.buffer_of[at(t)];
            // A buffer that is never made again (resident, or added into by several ops) keeps its views valid.
            if (b != t && !resident(b) && table.producers[at(b)].size() == 1) {
                joined = sets.join(table.producers[at(b)][0], o) || joined;
            }
        }
        for (auto b : table.changes[at(o)]) {
            if (!resident(b)) {
                for (auto before : touched_by[at(b)]) {
                    joined = sets.join(before, o) || joined;
                }
                touched_by[at(b)].clear();
            }
        }
        for (auto b : table.touches[at(o)]) {
            touched_by[at(b)].push_back(o);
        }
    }
    auto const edges = detail::order_edges<Lazy>(spec, table);
    while (joined) {
        detail::join_circles(sets, n, edges);
        joined = detail::join_adders(sets, spec, table);
    }
    std::vector<std::vector<op_id>> members(n);
    for (op_id o = 0; o < static_cast<op_id>(n); ++o) {
        members[at(sets.find(o))].push_back(o);
    }
    std::vector<std::vector<op_id>> next(n);
    std::vector<std::size_t> waits_for(n, 0);
    for (auto const& [from, to] : edges) {
        auto const a = sets.find(from);
        auto const b = sets.find(to);
        if (a != b) {
            next[at(a)].push_back(b);
            ++waits_for[at(b)];
        }
    }
    // The first in first-run order goes first.
    std::priority_queue<detail::lazy<op_id, Lazy>, std::vector<op_id>, std::greater<>> ready;
    for (op_id o = 0; o < static_cast<op_id>(n); ++o) {
        if (sets.find(o) == o && waits_for[at(o)] == 0) {
            ready.push(o);
        }
    }
    std::vector<std::vector<op_id>> groups;
    while (!ready.empty()) {
        auto const g = ready.top();
        ready.pop();
        groups.push_back(std::move(members[at(g)]));
        for (auto w : next[at(g)]) {
            if (--waits_for[at(w)] == 0) {
                ready.push(w);
            }
        }
    }
    return groups;
}

} // namespace strata
