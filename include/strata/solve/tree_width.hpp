// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Orders for the smallest budgets: a small separator stays, both sides are made again, and so on within each side.
///
///     position   0        4        8       12       16      a step lies folded: a backward op stands where its
///     tree       ├────────────────┼────────────────┤        forward op does
///                ├────────┼───────┼───────┼────────┤        at position 13: what crosses 8 and 12 towards 13 is live,
///                                         └─ 13             and the leaf around 13; all else is made again
///
/// Source: Kumar, Purohit, Svitkina, Vee, Wang, "Efficient rematerialization for deep networks", 2019, for graphs that lie
/// along a line: separators are the cuts of the line, balanced by cost, smallest in bytes.
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/concepts.hpp>
#include <strata/solve/order_editor.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

/// The ops of a problem along a line, and a tree of separators over it.
template <class = void>
class basic_separator_tree {
public:
    /// Requires: `p` outlives the tree. Complexity: O((ops + reads and writes) · log).
    explicit basic_separator_tree(problem const& p)
        : p_(&p)
    {
        lay_out();
        split();
        for (tensor_id t = 0; t < p.tensor_count(); ++t) {
            if (p.producers(t).size() == 1 && p.producer(t) < turn_ && !p.consumers(t).empty()) {
                by_density_.push_back(t);
            }
        }
        std::stable_sort(by_density_.begin(), by_density_.end(), [&](tensor_id a, tensor_id b) {
            auto const density = [&](tensor_id t) {
                return (static_cast<double>(p.cost(p.producer(t))) + 1) / (static_cast<double>(p.size(t)) + 1);
            };
            return density(a) > density(b);
        });
    }

    /// Levels of separators, at most; a leaf at that depth is a single position.
    [[nodiscard]] auto depth() const noexcept -> int { return depth_; }
    /// Where an op stands.
    [[nodiscard]] auto position(op_id o) const noexcept -> std::size_t { return position_[at(o)]; }

    /// The order that keeps, at any time, what is needed in the leaf where the next op stands and what crosses separators
    /// of up to `depth` levels towards it; what is missing is made again right before it is read.
    /// Tensors made by ops that may not run again, or by backward ops, stay.
    /// Returns: nothing when it would grow beyond `order_editor::most_runs`.
    /// Complexity: O(runs · depth + times that the next op stands in another leaf · tensors live then).
    [[nodiscard]] auto order(int depth, bytes_t spare = 0) const -> std::optional<run_order>;

private:
    struct interval {
        std::size_t begin = 0, end = 0; // positions
        std::size_t cut = 0;            // positions from here on go right; a leaf has none inside
        std::size_t left = 0, right = 0;
    };

    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }

    /// Forward ops in a row; a backward op where its forward op is, or the latest of those whose tensors it reads.
    void lay_out()
    {
        auto const& p = *p_;
        for (op_id o = 0; o < p.op_count() && p.op(o).phase != phase::backward; ++o) {
            ++turn_;
        }
        position_.resize(at(p.op_count()));
        for (op_id o = 0; o < p.op_count(); ++o) {
            auto& x = position_[at(o)];
            x = at(std::min(o, turn_ == 0 ? 0 : turn_ - 1));
            if (o < turn_) {
                continue;
            }
            auto const owner = p.op(o).backward_of;
            if (owner != none && owner < turn_) {
                x = at(owner);
                continue;
            }
            std::size_t latest = 0;
            bool reads_forward = false;
            for (auto t : p.inputs(o)) {
                auto const maker = p.producers(t).front();
                if (maker < turn_) {
                    latest = std::max(latest, at(maker));
                    reads_forward = true;
                }
            }
            for (auto t : p.inputs(o)) {
                auto const maker = p.producers(t).front();
                if (maker >= turn_) {
                    x = std::min(x, position_[at(maker)]);
                }
            }
            x = reads_forward ? latest : x;
        }
        length_ = std::max<std::size_t>(1, at(turn_));
    }

    void split()
    {
        auto const& p = *p_;
        std::vector<double> cost_before(length_ + 1, 0);
        std::vector<std::vector<tensor_id>> made(length_); // by position
        for (op_id o = 0; o < p.op_count(); ++o) {
            cost_before[position(o) + 1] += o < turn_ ? static_cast<double>(p.cost(o)) + 1e-3 : 0;
            for (auto t : p.outputs(o)) {
                if (p.producers(t).front() == o) {
                    made[position(o)].push_back(t);
                }
            }
        }
        std::partial_sum(cost_before.begin(), cost_before.end(), cost_before.begin());
        tree_.push_back({0, length_});
        std::vector<int> level{0};
        std::vector<bytes_t> crossing(length_ + 1, 0); // by position, of what is made before and read from there on
        for (std::size_t i = 0; i < tree_.size(); ++i) {
            auto const begin = tree_[i].begin;
            auto const end = tree_[i].end;
            depth_ = std::max(depth_, level[i]);
            if (end - begin < 2) {
                continue;
            }
            // Only readers inside count: those further right are through when this interval is worked on.
            std::fill(crossing.begin() + static_cast<std::ptrdiff_t>(begin),
                      crossing.begin() + static_cast<std::ptrdiff_t>(end) + 1,
                      0);
            for (auto q = begin; q < end; ++q) {
                for (auto t : made[q]) {
                    auto last = q;
                    for (auto o : p.consumers(t)) {
                        last = position(o) < end ? std::max(last, position(o)) : last;
                    }
                    if (last > q) {
                        crossing[q + 1] += p.size(t);
                        crossing[last + 1] -= p.size(t);
                    }
                }
            }
            for (auto q = begin + 1; q < end; ++q) {
                crossing[q] += crossing[q - 1];
            }
            // The middle third by cost, or at least one cut in it.
            auto const part = [&](double share) {
                auto const want = cost_before[begin] + share * (cost_before[end] - cost_before[begin]);
                auto const from = cost_before.begin() + static_cast<std::ptrdiff_t>(begin) + 1;
                auto const to = cost_before.begin() + static_cast<std::ptrdiff_t>(end);
                auto const x = static_cast<std::size_t>(std::lower_bound(from, to, want) - cost_before.begin());
                return std::clamp(x, begin + 1, end - 1);
            };
            auto best = part(0.5);
            auto const middle = best;
            auto const off = [&](std::size_t x) { return x < middle ? middle - x : x - middle; };
            for (auto c = part(1.0 / 3); c <= part(2.0 / 3); ++c) {
                if (crossing[c] < crossing[best] || (crossing[c] == crossing[best] && off(c) < off(best))) {
                    best = c;
                }
            }
            tree_[i].cut = best;
            tree_[i].left = tree_.size();
            tree_[i].right = tree_.size() + 1;
            tree_.push_back({begin, best});
            tree_.push_back({best, end});
            level.insert(level.end(), 2, level[i] + 1);
        }
    }

    problem const* p_;
    op_id turn_ = 0;
    std::size_t length_ = 1;
    std::vector<std::size_t> position_; // by op
    std::vector<tensor_id> by_density_; // cost of making it over bytes, the most worth keeping first
    std::vector<interval> tree_;
    int depth_ = 0;
};

template <class T>
auto basic_separator_tree<T>::order(int depth, bytes_t spare) const -> std::optional<run_order>
{
    auto const& p = *p_;
    auto const longest = static_cast<std::size_t>(order_editor::most_runs(p));
    run_order r;
    std::vector<char> live(at(p.tensor_count()), 0);
    std::vector<tensor_id> droppable; // live ones that may be made again
    std::vector<int> pending(length_, 0);
    for (op_id o = 0; o < p.op_count(); ++o) {
        ++pending[position(o)];
    }
    std::vector<std::size_t> last_pending(tree_.size()); // of each interval; one before its begin when there is none
    for (std::size_t i = 0; i < tree_.size(); ++i) {
        last_pending[i] = tree_[i].end;
    }
    std::vector<char> may_drop(at(p.tensor_count()), 0);
    for (tensor_id t = 0; t < p.tensor_count(); ++t) {
        auto const makers = p.producers(t);
        may_drop[at(t)] = makers.size() == 1 && makers.front() < turn_ && p.replayable(makers.front()) ? 1 : 0;
    }
    for (auto t : by_density_) {
        if (p.size(t) > spare) {
            break;
        }
        spare -= p.size(t);
        may_drop[at(t)] = 0;
    }
    op_id now = 0; // the op to run next
    // Whether `t` is needed on the side of the separator where position q stands.
    auto const stays = [&](tensor_id t, std::size_t q) {
        auto const m = position(p.producer(t));
        std::size_t i = 0;
        for (int d = 0; d < depth && tree_[i].left != 0; ++d) {
            bool const right = q >= tree_[i].cut;
            bool const apart = right != (m >= tree_[i].cut);
            i = right ? tree_[i].right : tree_[i].left;
            if (apart) {
                break;
            }
        }
        auto& end = last_pending[i]; // positions from here on have no op to come
        while (end > tree_[i].begin && pending[end - 1] == 0) {
            --end;
        }
        auto const readers = p.consumers(t);
        return p.is_target(t) || std::any_of(readers.begin(), readers.end(), [&](op_id o) {
                   return position(o) >= tree_[i].begin && position(o) < end && (o >= now || p.replayable(o));
               });
    };
    auto const leaf_of = [&](std::size_t q) {
        std::size_t i = 0;
        for (int d = 0; d < depth && tree_[i].left != 0; ++d) {
            i = q >= tree_[i].cut ? tree_[i].right : tree_[i].left;
        }
        return i;
    };
    auto const run = [&](op_id o) {
        r.push_back(o);
        for (auto t : p.outputs(o)) {
            if (live[at(t)] == 0 && may_drop[at(t)] != 0) {
                droppable.push_back(t);
            }
            live[at(t)] = 1;
        }
    };
    std::vector<std::pair<op_id, std::size_t>> stack; // an op and how many of its inputs have been looked at
    auto const make = [&](tensor_id wanted) {
        stack.assign(1, {p.producer(wanted), 0});
        while (!stack.empty() && r.size() <= longest) {
            auto& [o, next] = stack.back();
            auto const inputs = p.inputs(o);
            while (next < inputs.size() && live[at(inputs[next])] != 0) {
                ++next;
            }
            if (next < inputs.size()) {
                stack.emplace_back(p.producer(inputs[next]), 0);
                continue;
            }
            run(o);
            stack.pop_back();
        }
    };
    auto const drop_others = [&](std::size_t from, std::size_t q) {
        auto const gone = [&](tensor_id t) {
            bool const goes = !stays(t, q);
            live[at(t)] = goes ? 0 : 1;
            return goes;
        };
        droppable.erase(std::remove_if(droppable.begin() + static_cast<std::ptrdiff_t>(from), droppable.end(), gone),
                        droppable.end());
    };
    while (now < p.op_count()) {
        auto const known = droppable.size();
        for (auto t : p.inputs(now)) {
            if (live[at(t)] == 0) {
                make(t);
            }
        }
        if (r.size() > longest) {
            return {};
        }
        run(now);
        auto const leaf = leaf_of(position(now));
        --pending[position(now)];
        if (++now < p.op_count()) { // the next op decides, or what it needs would be made again at once
            auto const q = position(now);
            drop_others(leaf_of(q) == leaf ? known : 0, q);
        }
    }
    for (auto t : p.targets()) {
        if (!p.resident(t) && live[at(t)] == 0) {
            make(t);
        }
    }
    return r.size() <= longest ? std::optional(std::move(r)) : std::nullopt;
}

using separator_tree = basic_separator_tree<>;

/// Proposes the orders of a `separator_tree` of every depth.
struct tree_width {
    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "tree_width"; }
    template <class = void>
    void solve(search& on) const
    {
        separator_tree const tree(on.subject());
        std::vector<proposal> seeds;
        for (int d = tree.depth(); d > 0; --d) {
            seeds.push_back({.make = [&tree, d] { return tree.order(d); }, .name = "tree_width"});
        }
        on.propose(seeds);
    }
};

} // namespace strata
