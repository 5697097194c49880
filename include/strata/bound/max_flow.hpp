// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Maximum flow and minimum cut on a network whose arcs stay and whose capacities change between solves.
#pragma once

#include <strata/config.hpp>
#include <strata/detail/lazy.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace strata {

/// Dinic's algorithm ("Algorithm for solution of a problem of maximum flow", 1970) on integer capacities.
///
/// Add all arcs, `freeze`, then alternate `set_capacity` and `solve`. Requires: no capacity is negative or above `infinite`.
/// Complexity: O(V^2 E) in general; networks of training graphs are nearly one-dimensional and need few phases.
template <class Lazy = void>
class basic_max_flow {
public:
    using node = std::int32_t;
    using arc = std::int32_t;
    using flow = std::int64_t;

    /// A capacity that no cut of a network with finite cuts crosses.
    static constexpr flow infinite = flow{1} << 60U;

    explicit basic_max_flow(node nodes)
        : nodes_(nodes)
    {
    }

    /// Adds an arc from `from` to `to` with no capacity yet. Returns its id: 0, 1, 2, … in order of calls.
    auto add(node from, node to) -> arc
    {
        ends_.emplace_back(from, to);
        return static_cast<arc>(ends_.size()) - 1;
    }

    /// Ends construction. Complexity: O(V + E).
    void freeze()
    {
        first_.assign(at(nodes_) + 1, 0);
        for (auto const& [from, to] : ends_) {
            ++first_[at(from) + 1];
            ++first_[at(to) + 1];
        }
        for (std::size_t v = 0; v < at(nodes_); ++v) {
            first_[v + 1] += first_[v];
        }
        std::vector<std::int32_t> next(first_.begin(), first_.end() - 1);
        half_.resize(ends_.size() * 2);
        slot_.resize(ends_.size());
        for (std::size_t a = 0; a < ends_.size(); ++a) {
            auto const [from, to] = ends_[a];
            auto const there = next[at(from)]++;
            auto const back = next[at(to)]++;
            half_[at(there)] = {to, back, 0};
            half_[at(back)] = {from, there, 0};
            slot_[a] = there;
        }
        level_.resize(at(nodes_));
        current_.resize(at(nodes_));
    }

    /// Sets the capacity of `a` and forgets the flow on it. Every arc must be set between two solves.
    void set_capacity(arc a, flow capacity)
    {
        auto& h = half_[at(slot_[at(a)])];
        h.left = capacity;
        half_[at(h.back)].left = 0;
    }

    /// Finds a maximum flow from `source` to `sink`. Returns: its value, which is the value of a minimum cut; at least
    /// `infinite`, without looking further, when every cut crosses an infinite arc.
    /// Requires: `source` and `sink` differ.
    auto solve(node source, node sink) -> flow
    {
        flow total = 0;
        while (total < infinite && levels(source, sink)) {
            std::copy(first_.begin(), first_.end() - 1, current_.begin());
            augment(source, sink, total);
        }
        return total;
    }

    /// After a `solve` that gave less than `infinite`: true when `v` is on the source side of the minimum cut nearest to
    /// the source.
    [[nodiscard]] auto source_side(node v) const noexcept -> bool { return level_[at(v)] != unseen; }

private:
    struct half_arc {
        node to;
        std::int32_t back; // index of the opposite half
        flow left;         // residual capacity
    };
    static constexpr std::int32_t unseen = -1;

    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }

    /// Distances from the source in the residual network, up to that of the sink; of all that it reaches if the sink is
    /// cut off. Returns: false if it is.
    auto levels(node source, node sink) -> bool
    {
        std::fill(level_.begin(), level_.end(), unseen);
        queue_.assign(1, source);
        level_[at(source)] = 0;
        for (std::size_t i = 0; i < queue_.size(); ++i) {
            auto const v = queue_[i];
            for (auto k = first_[at(v)]; k < first_[at(v) + 1]; ++k) {
                auto const& h = half_[at(k)];
                if (h.left > 0 && level_[at(h.to)] == unseen) {
                    level_[at(h.to)] = level_[at(v)] + 1;
                    if (h.to == sink) {
                        return true;
                    }
                    queue_.push_back(h.to);
                }
            }
        }
        return false;
    }

    /// A blocking flow, from the sink back, by depth-first search on an explicit stack: training graphs are deep. Stops
    /// once `total` is infinite, so that no sum of infinite paths leaves 63 bits.
    void augment(node source, node sink, flow& total)
    {
        auto const left = [&](std::int32_t k) -> flow& { return half_[at(half_[at(k)].back)].left; };
        path_.clear();
        auto v = sink;
        while (total < infinite) {
            if (v == source) {
                auto narrow =
                    std::min_element(path_.begin(), path_.end(), [&](auto a, auto b) { return left(a) < left(b); });
                auto const amount = left(*narrow);
                for (auto k : path_) {
                    left(k) -= amount;
                    half_[at(k)].left += amount;
                }
                total += amount;
                v = half_[at(half_[at(*narrow)].back)].to;
                path_.erase(narrow, path_.end());
                continue;
            }
            auto& k = current_[at(v)];
            auto const end = first_[at(v) + 1];
            while (k < end && !(level_[at(half_[at(k)].to)] == level_[at(v)] - 1 && left(k) > 0)) {
                ++k;
            }
            if (k < end) {
                path_.push_back(k);
                v = half_[at(k)].to;
            } else if (path_.empty()) {
                return;
            } else {
                level_[at(v)] = unseen;
                v = half_[at(half_[at(path_.back())].back)].to;
                path_.pop_back();
            }
        }
    }

    node nodes_;
    std::vector<detail::lazy<std::pair<node, node>, Lazy>> ends_;
    std::vector<std::int32_t> first_, slot_;
    std::vector<half_arc> half_;
    std::vector<std::int32_t> level_, current_, path_;
    std::vector<node> queue_;
};

using max_flow = basic_max_flow<>;

} // namespace strata
