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
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
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

using separator_tree = basic_separator_tree<>;

/// How `tree_width_order` walks a separator tree.
struct tree_order {
    int depth = 0;                ///< levels of separators
    bytes_t spare = 0;            ///< bytes for what is dear to make again for its size: it stays throughout
    bytes_t capacity = max_bytes; ///< bytes to stay within if possible, without resident ones
    double patience = 0.5; ///< exponent of the time a tensor waits for its next use, in the choice of what to drop
};

namespace detail {

/// Runs the ops of a problem on paper, in first-run order, making again what a separator tree lets go.
template <class = void>
class basic_separator_walk {
public:
    basic_separator_walk(separator_tree const& tree, tree_order const& how)
        : tree_(&tree)
        , p_(&tree.subject())
        , how_(how)
        , tensors_(at(p_->tensor_count()))
        , pending_(tree.length(), 0)
        , last_pending_(tree.intervals().size())
        , stamp_(at(p_->op_count()), 0)
    {
        for (op_id o = 0; o < p_->op_count(); ++o) {
            ++pending_[tree_->position(o)];
        }
        for (std::size_t i = 0; i < last_pending_.size(); ++i) {
            last_pending_[i] = tree_->intervals()[i].end;
        }
        for (auto t : tree_->dense_first()) {
            tensors_[at(t)].may_go = true;
        }
        auto spare = how_.spare;
        for (auto t : tree_->dense_first()) {
            if (p_->size(t) > spare) {
                break;
            }
            spare -= p_->size(t);
            tensors_[at(t)].may_go = false;
        }
    }

    auto operator()() -> std::optional<run_order>
    {
        auto const longest = static_cast<std::size_t>(order_editor::most_runs(*p_));
        auto leaf = tree_->leaf_of(tree_->position(0), how_.depth);
        std::size_t old = 0; // so many candidates were there before the op
        while (now_ < p_->op_count()) {
            if (!run_with_inputs(now_, longest)) {
                return {};
            }
            auto const next = tree_->leaf_of(here_, how_.depth);
            let_go(next == leaf ? std::min(old, candidates_.size()) : 0);
            leaf = next;
            old = candidates_.size();
        }
        for (auto t : p_->targets()) {
            if (!p_->resident(t) && !tensors_[at(t)].live && !run_with_inputs(p_->producer(t), longest)) {
                return {};
            }
        }
        return std::move(runs_);
    }

private:
    struct tensor_state {
        bool may_go = false; // can be made again, and is not to be kept throughout
        bool live = false;
        int pins = 0; // by ops that wait for their inputs
    };

    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }

    /// True when `t` is read on the side of the separator between its maker and here where here is, by an op to come or
    /// one that ops to come may need again.
    [[nodiscard]] auto stays(tensor_id t) -> bool
    {
        if (p_->is_target(t)) {
            return true;
        }
        auto const i = tree_->side(tree_->position(p_->producer(t)), here_, how_.depth);
        auto const& side = tree_->intervals()[i];
        auto& end = last_pending_[i]; // positions from here on have no op to come
        while (end > side.begin && pending_[end - 1] == 0) {
            --end;
        }
        auto const readers = p_->consumers(t);
        return std::any_of(readers.begin(), readers.end(), [&](op_id o) {
            auto const q = tree_->position(o);
            return side.begin <= q && q < end && (o >= now_ || p_->replayable(o));
        });
    }

    void drop(tensor_id t)
    {
        auto& x = tensors_[at(t)];
        if (x.live) {
            x.live = false;
            held_ -= p_->size(t);
        }
    }

    [[nodiscard]] auto droppable(tensor_id t) const -> bool
    {
        auto const& x = tensors_[at(t)];
        return x.live && x.may_go && x.pins == 0;
    }

    /// Drops what does not stay, of the candidates from `from` on.
    void let_go(std::size_t from)
    {
        auto const gone = [&](tensor_id t) {
            if (droppable(t) && !stays(t)) {
                drop(t);
            }
            return !tensors_[at(t)].live;
        };
        candidates_.erase(
            std::remove_if(candidates_.begin() + static_cast<std::ptrdiff_t>(from), candidates_.end(), gone),
            candidates_.end());
    }

    /// Cost of making `t` again from what is live; of long chains a part.
    [[nodiscard]] auto remake_cost(tensor_id t) -> double
    {
        constexpr std::size_t longest = 48;
        ++round_;
        chain_.assign(1, p_->producer(t));
        stamp_[at(chain_.front())] = round_;
        double cost = 1e-3;
        for (std::size_t i = 0; i < chain_.size() && chain_.size() < longest; ++i) {
            cost += static_cast<double>(p_->cost(chain_[i]));
            for (auto u : p_->inputs(chain_[i])) {
                auto const o = p_->producers(u).front();
                if (!tensors_[at(u)].live && stamp_[at(o)] != round_) {
                    stamp_[at(o)] = round_;
                    chain_.push_back(o);
                }
            }
        }
        return cost;
    }

    /// Makes room for `bytes` more, dropping what is cheapest to make again for its bytes and the time it waits.
    void make_room(bytes_t bytes)
    {
        while (held_ + bytes > how_.capacity) {
            auto best = none;
            bool best_stays = true;
            auto least = std::numeric_limits<double>::infinity();
            std::erase_if(candidates_, [&](tensor_id t) { return !tensors_[at(t)].live; });
            for (auto t : candidates_) {
                if (!droppable(t) || p_->size(t) == 0) {
                    continue;
                }
                auto const readers = p_->consumers(t);
                auto const next = std::lower_bound(readers.begin(), readers.end(), now_);
                auto const wait = static_cast<double>((next == readers.end() ? p_->op_count() : *next) - now_ + 1);
                auto const score = remake_cost(t) / (static_cast<double>(p_->size(t)) * std::pow(wait, how_.patience));
                bool const waits = stays(t); // what is there for this op only goes first
                if (waits != best_stays ? best_stays : score < least) {
                    least = score;
                    best = t;
                    best_stays = waits;
                }
            }
            if (best == none) {
                return; // the order is over the capacity here
            }
            drop(best);
        }
    }

    void run(op_id o)
    {
        bytes_t fresh = p_->workspace(o);
        for (auto t : p_->outputs(o)) {
            fresh += tensors_[at(t)].live ? 0 : p_->size(t);
        }
        if (how_.capacity != max_bytes) {
            make_room(fresh);
        }
        runs_.push_back(o);
        for (auto t : p_->outputs(o)) {
            auto& x = tensors_[at(t)];
            if (!x.live) {
                x.live = true;
                held_ += p_->size(t);
                if (x.may_go) {
                    candidates_.push_back(t);
                }
            }
        }
    }

    /// Runs `o`, and before it what its missing inputs need. Depth first on an explicit stack.
    auto run_with_inputs(op_id first, std::size_t longest) -> bool
    {
        auto const wait_for_inputs = [&](op_id o) {
            stack_.emplace_back(o, 0);
            for (auto t : p_->inputs(o)) {
                ++tensors_[at(t)].pins;
            }
        };
        wait_for_inputs(first);
        while (!stack_.empty()) {
            if (runs_.size() > longest) {
                return false;
            }
            auto& [o, next] = stack_.back();
            auto const inputs = p_->inputs(o);
            while (next < inputs.size() && tensors_[at(inputs[next])].live) {
                ++next;
            }
            if (next < inputs.size()) {
                wait_for_inputs(p_->producer(inputs[next]));
                continue;
            }
            auto const done = o;
            run(done);
            stack_.pop_back();
            if (done == now_) {
                --pending_[here_];
                ++now_;
                if (now_ < p_->op_count()) { // the next op decides, or what it needs would be made again at once
                    here_ = tree_->position(now_);
                }
            }
            for (auto t : inputs) {
                --tensors_[at(t)].pins;
                if (is_through(t)) {
                    drop(t);
                }
            }
        }
        return true;
    }

    /// True when no op to come reads `t`, which could not be made again.
    [[nodiscard]] auto is_through(tensor_id t) const -> bool
    {
        auto const readers = p_->consumers(t);
        return !tensors_[at(t)].may_go && !p_->is_target(t) && readers.back() < now_;
    }

    separator_tree const* tree_;
    problem const* p_;
    tree_order how_;
    std::vector<tensor_state> tensors_;
    std::vector<int> pending_;                         // ops to come, by position
    std::vector<std::size_t> last_pending_;            // by interval
    std::vector<tensor_id> candidates_;                // live ones that may go, perhaps some that are gone
    std::vector<std::pair<op_id, std::size_t>> stack_; // an op and how many of its inputs are there
    run_order runs_, chain_;
    std::vector<int> stamp_; // by op
    int round_ = 0;
    op_id now_ = 0; // the op whose first run is next
    std::size_t here_ = 0;
    bytes_t held_ = 0; // without resident bytes
};

using separator_walk = basic_separator_walk<>;

} // namespace detail

/// The order that keeps, at any time, what is needed in the leaf where the next op stands and what crosses separators
/// towards it; what is missing is made again right before it is read, and with a capacity, what is cheapest to make again is
/// dropped when an op does not fit. Tensors made by ops that may not run again, or by backward ops, stay.
/// Returns: nothing when it would grow beyond `order_editor::most_runs`.
/// Complexity: O(runs · depth · readers of a tensor), with a capacity also O(drops · live tensors).
template <class = void>
[[nodiscard]] auto tree_width_order(separator_tree const& tree, tree_order const& how) -> std::optional<run_order>
{
    return detail::separator_walk(tree, how)();
}

/// Proposes the orders of a `separator_tree` of every depth.
struct tree_width {
    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "tree_width"; }
    template <class = void>
    void solve(search& on) const
    {
        auto const& p = on.subject();
        separator_tree const tree(p);
        auto const room = on.budget() - p.resident_bytes();
        std::vector<proposal> seeds;
        for (int d = tree.depth(); d > 0; --d) {
            for (double patience : {0.0, 0.5, 1.0}) {
                seeds.push_back(
                    {.make = [&tree,
                              how = tree_order{d, room / 500, room, patience}] { return tree_width_order(tree, how); },
                     .name = "tree_width"});
            }
        }
        on.propose(seeds);
    }
};

} // namespace strata
