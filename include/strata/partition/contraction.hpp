// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A graph without cycles whose nodes are put together as long as no cycle arises.
#pragma once

#include <strata/partition/waiting.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <numeric>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace strata::detail {

/// Which way along an edge.
enum class way : bool { back, on };

/// Nodes in a topological order that is kept up while nodes are merged. Merged nodes get the next number.
///
/// A merge looks at the stretch of the order between the first and the last of its nodes only (as in Pearce and Kelly's
/// dynamic topological sort).
template <class = void>
class basic_contraction {
public:
    /// Requires: no cycles in `before`. Complexity: O(edges · log nodes).
    explicit basic_contraction(waiting::lists const& before)
        : into_(before.size())
        , place_(before.size())
        , mark_(before.size(), 0)
    {
        auto const n = before.size();
        std::iota(into_.begin(), into_.end(), std::size_t{0});
        near_[0] = before;
        near_[1].resize(n);
        fresh_[0].assign(n, 0);
        fresh_[1].assign(n, 0);
        std::vector<std::size_t> waits(n);
        std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
        for (std::size_t v = 0; v < n; ++v) {
            for (auto u : before[v]) {
                near_[1][u].push_back(v);
            }
            waits[v] = before[v].size();
            if (waits[v] == 0) {
                ready.push(v);
            }
        }
        while (!ready.empty()) {
            auto const v = ready.top();
            ready.pop();
            place_[v] = line_.size();
            line_.push_back(v);
            for (auto u : near_[1][v]) {
                if (--waits[u] == 0) {
                    ready.push(u);
                }
            }
        }
    }

    /// The node that holds `v` now.
    [[nodiscard]] auto now(std::size_t v) -> std::size_t
    {
        while (into_[v] != v) {
            v = into_[v] = into_[into_[v]];
        }
        return v;
    }
    /// Greater for what comes later. Requires: `v` is a node now, here and below.
    [[nodiscard]] auto place(std::size_t v) const noexcept -> std::size_t { return place_[v]; }
    /// The nodes, in order. Complexity: O(nodes).
    [[nodiscard]] auto order() -> std::vector<std::size_t> const&
    {
        std::erase(line_, gone);
        for (std::size_t i = 0; i < line_.size(); ++i) {
            place_[line_[i]] = i;
        }
        return line_;
    }
    /// The nodes next to `v`, ascending; valid until nodes are merged.
    [[nodiscard]] auto near(std::size_t v, way w) -> std::vector<std::size_t> const&
    {
        auto& list = near_[index(w)][v];
        if (auto& fresh = fresh_[index(w)][v]; fresh != merges_) {
            fresh = merges_;
            for (auto& u : list) {
                u = now(u);
            }
            std::sort(list.begin(), list.end());
            list.erase(std::unique(list.begin(), list.end()), list.end());
            std::erase(list, v);
        }
        return list;
    }

    /// True when no path leaves `nodes` and comes back. Complexity: the edges within the stretch of order they span.
    [[nodiscard]] auto can_merge(std::span<std::size_t const> nodes) -> bool
    {
        auto last = std::size_t{0};
        for (auto v : nodes) {
            last = std::max(last, place_[v]);
            mark_[v] = member;
        }
        behind_.clear();
        std::vector<std::size_t> open(nodes.begin(), nodes.end());
        bool ok = true;
        while (ok && !open.empty()) {
            auto const v = open.back();
            open.pop_back();
            for (auto u : near(v, way::on)) {
                if (mark_[u] == member) {
                    ok = ok && mark_[v] == member;
                } else if (mark_[u] == 0 && place_[u] < last) {
                    mark_[u] = behind;
                    behind_.push_back(u);
                    open.push_back(u);
                }
            }
        }
        for (auto v : nodes) {
            mark_[v] = 0;
        }
        for (auto v : behind_) {
            mark_[v] = 0;
        }
        return ok;
    }

    /// Puts `nodes` together. Requires: `can_merge(nodes)`, called last. Returns: the new node.
    auto merge(std::span<std::size_t const> nodes) -> std::size_t
    {
        auto const made = into_.size();
        auto first = line_.size();
        auto last = std::size_t{0};
        for (auto v : nodes) {
            first = std::min(first, place_[v]);
            last = std::max(last, place_[v]);
            mark_[v] = member;
        }
        for (auto v : behind_) {
            mark_[v] = behind;
        }
        std::vector<std::size_t> late;
        auto to = first;
        for (auto i = first; i <= last; ++i) {
            auto const v = line_[i];
            if (v == gone || mark_[v] == member) {
                continue;
            }
            if (mark_[v] == behind) {
                late.push_back(v);
            } else {
                line_[to++] = v;
            }
        }
        line_[to++] = made;
        for (auto v : late) {
            line_[to++] = v;
        }
        std::fill(line_.begin() + static_cast<std::ptrdiff_t>(to),
                  line_.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                  gone);
        into_.push_back(made);
        place_.push_back(0);
        fresh_[0].push_back(0);
        fresh_[1].push_back(0);
        mark_.push_back(0);
        for (auto i = first; i < to; ++i) {
            place_[line_[i]] = i;
        }
        for (auto& near : near_) {
            std::vector<std::size_t> all;
            for (auto v : nodes) {
                all.insert(all.end(), near[v].begin(), near[v].end());
                near[v] = {};
            }
            near.push_back(std::move(all));
        }
        for (auto v : nodes) {
            mark_[v] = 0;
            into_[v] = made;
        }
        for (auto v : behind_) {
            mark_[v] = 0;
        }
        ++merges_;
        return made;
    }

private:
    static constexpr auto gone = static_cast<std::size_t>(-1);
    enum : char { member = 1, behind = 2 };
    [[nodiscard]] static auto index(way w) -> std::size_t { return w == way::on ? 1 : 0; }

    std::vector<std::size_t> into_;  // by node: itself, or the one it was merged into
    std::vector<std::size_t> place_; // by node: index in line_
    std::vector<std::size_t> line_;  // topological order, with places that are gone
    std::array<waiting::lists, 2> near_;
    std::array<std::vector<std::size_t>, 2> fresh_; // merges when the list of a node was brought up to date
    std::vector<char> mark_;                        // 0 between uses
    std::vector<std::size_t> behind_;               // nodes that the members of `can_merge` come before
    std::size_t merges_ = 0;
};

using contraction = basic_contraction<>;

} // namespace strata::detail
