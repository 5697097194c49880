// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The ops of a problem along a line, and a tree of small separators over it.
///
///     position   0        4        8       12       16      a step lies folded: a backward op stands where its
///     tree       ├────────────────┼────────────────┤        forward op does; each interval is cut near its middle
///                ├────────┼───────┼───────┼────────┤        by cost, where the fewest bytes cross
///
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

namespace strata {

/// See the top of the file.
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
            if (p.producers(t).size() == 1 && p.producer(t) < turn_ && p.replayable(p.producer(t))) {
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

    struct interval {
        std::size_t begin = 0, end = 0;  ///< positions
        std::size_t cut = 0;             ///< positions from here on are on the right
        std::size_t left = 0, right = 0; ///< intervals; 0 for one of a single position
    };
    /// By level; the first is the whole line.
    [[nodiscard]] auto intervals() const noexcept -> std::vector<interval> const& { return tree_; }
    [[nodiscard]] auto length() const noexcept -> std::size_t { return length_; }
    [[nodiscard]] auto subject() const noexcept -> problem const& { return *p_; }
    /// Tensors that a walk may drop, those first that cost most to make again for their bytes.
    [[nodiscard]] auto dense_first() const noexcept -> std::span<tensor_id const> { return by_density_; }

    /// The interval of at most `depth` levels down where position q stands. Complexity: O(depth).
    [[nodiscard]] auto leaf_of(std::size_t q, int depth) const noexcept -> std::size_t { return side(q, q, depth); }
    /// The largest interval of at most `depth` levels down where q stands and m does not; the leaf if there is none.
    [[nodiscard]] auto side(std::size_t m, std::size_t q, int depth) const noexcept -> std::size_t
    {
        std::size_t i = 0;
        for (int d = 0; d < depth && tree_[i].left != 0; ++d) {
            bool const right = q >= tree_[i].cut;
            bool const apart = right != (m >= tree_[i].cut);
            i = right ? tree_[i].right : tree_[i].left;
            if (apart) {
                break;
            }
        }
        return i;
    }

private:
    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }

    /// Forward ops in a row; a backward op where its forward op is. Of one that names none, where the latest op stands
    /// whose tensor it reads, or what it follows, evened out over its neighbours.
    void lay_out()
    {
        constexpr std::size_t reach = 16; // neighbours to either side
        auto const& p = *p_;
        while (turn_ < p.op_count() && p.op(turn_).phase != phase::backward) {
            position_.push_back(at(turn_++));
        }
        length_ = std::max<std::size_t>(1, at(turn_));
        std::vector<op_id> guessed;
        for (op_id o = turn_; o < p.op_count(); ++o) {
            auto const owner = p.op(o).backward_of;
            auto x = position_.empty() ? 0 : position_.back();
            if (owner != none && owner < turn_) {
                x = at(owner);
            } else {
                guessed.push_back(o);
                auto const inputs = p.inputs(o);
                auto latest = none;
                for (auto t : inputs) {
                    auto const maker = p.producers(t).front();
                    latest = maker < turn_ ? std::max(latest, maker) : latest;
                    x = maker < turn_ ? x : std::min(x, position_[at(maker)]);
                }
                x = latest != none ? at(latest) : x;
            }
            position_.push_back(x);
        }
        std::vector<std::size_t> guesses;
        for (auto o : guessed) {
            guesses.push_back(position_[at(o)]);
        }
        std::vector<std::size_t> near;
        for (std::size_t i = 0; i < guessed.size(); ++i) {
            auto const from = i < reach ? 0 : i - reach;
            auto const to = std::min(guesses.size(), i + reach + 1);
            near.assign(guesses.begin() + static_cast<std::ptrdiff_t>(from),
                        guesses.begin() + static_cast<std::ptrdiff_t>(to));
            auto const middle = near.begin() + static_cast<std::ptrdiff_t>(near.size() / 2);
            std::nth_element(near.begin(), middle, near.end());
            position_[at(guessed[i])] = *middle;
        }
    }

    void split()
    {
        auto const& p = *p_;
        std::vector<double> cost_before(length_ + 1, 0);
        std::vector<std::vector<tensor_id>> made(length_); // by position
        for (op_id o = 0; o < p.op_count(); ++o) {
            cost_before[position(o) + 1] += o < turn_ ? static_cast<double>(p.cost(o)) + 1.0 / 1024 : 0;
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

using separator_tree = basic_separator_tree<>;

} // namespace strata
