// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Orders for the smallest budgets: a small separator stays, both sides are made again, and so on within each side.
///
/// Source: Kumar, Purohit, Svitkina, Vee, Wang, "Efficient rematerialization for deep networks", 2019, for graphs that lie
/// along a line, and under a budget: docs/design/0009-dynamic-programs.md.
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/concepts.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/order_editor.hpp>
#include <strata/solve/separator_tree.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace strata {

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
    basic_separator_walk(separator_tree const& tree, tree_order const& how, stop_watch const& stop)
        : tree_(&tree)
        , p_(&tree.subject())
        , how_(how)
        , stop_(stop)
        , longest_(static_cast<std::size_t>(order_editor::most_runs(*p_)))
        , most_effort_(500'000 + 300 * std::int64_t{p_->op_count()})
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
        auto leaf = tree_->leaf_of(tree_->position(0), how_.depth);
        std::size_t old = 0; // so many candidates were there before the op
        while (now_ < p_->op_count()) {
            if (!run_with_inputs(now_)) {
                return {};
            }
            auto const next = tree_->leaf_of(here_, how_.depth);
            let_go(next == leaf ? std::min(old, candidates_.size()) : 0);
            leaf = next;
            old = candidates_.size();
        }
        for (auto t : p_->targets()) {
            if (!p_->resident(t) && !tensors_[at(t)].live && !run_with_inputs(p_->producer(t))) {
                return {};
            }
        }
        return std::move(runs_);
    }

private:
    struct tensor_state {
        bool may_go = false; // can be made again, and is not to be kept throughout
        bool live = false;
        bool queued = false; // in the heap
        int pins = 0;        // by ops that wait for their inputs
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

    /// How dear it is to drop a tensor: what stays for later after what is there for this op only, then by cost to make it
    /// again over its bytes and the time it waits.
    struct worth {
        bool stays = false;
        double price = 0;
        tensor_id tensor = none;
        auto operator>(worth const& o) const noexcept -> bool
        {
            return std::tie(stays, price, tensor) > std::tie(o.stays, o.price, o.tensor);
        }
    };
    [[nodiscard]] auto worth_of(tensor_id t) -> worth
    {
        ++effort_;
        auto const readers = p_->consumers(t);
        auto const next = std::lower_bound(readers.begin(), readers.end(), now_);
        auto const wait = static_cast<double>((next == readers.end() ? p_->op_count() : *next) - now_ + 1);
        return {stays(t), remake_cost(t) / (static_cast<double>(p_->size(t)) * std::pow(wait, how_.patience)), t};
    }

    void push(worth const& x)
    {
        heap_.push_back(x);
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }

    /// Makes room for `bytes` more if it can. Of many tensors only those about to go are looked at again.
    void make_room(bytes_t bytes)
    {
        constexpr std::size_t few = 256;
        constexpr std::size_t most_set_aside = 256;
        set_aside_.clear();
        while (held_ + bytes > how_.capacity && !heap_.empty() && set_aside_.size() < most_set_aside) {
            if (heap_.size() <= few) {
                for (auto& x : heap_) {
                    x = worth_of(x.tensor);
                }
                std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
            }
            std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
            auto const t = heap_.back().tensor;
            heap_.pop_back();
            if (!tensors_[at(t)].live) {
                tensors_[at(t)].queued = false;
                continue;
            }
            if (tensors_[at(t)].pins > 0) {
                set_aside_.push_back(t);
                continue;
            }
            auto const now = worth_of(t);
            if (!heap_.empty() && now > heap_.front()) {
                push(now);
                continue;
            }
            tensors_[at(t)].queued = false;
            drop(t);
        }
        for (auto t : set_aside_) {
            push(worth_of(t));
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
                if (x.may_go && !x.queued && how_.capacity != max_bytes && p_->size(t) > 0) {
                    x.queued = true;
                    push(worth_of(t));
                }
            }
        }
    }

    /// Runs `o`, and before it what its missing inputs need. Depth first on an explicit stack.
    auto run_with_inputs(op_id first) -> bool
    {
        auto const wait_for_inputs = [&](op_id o) {
            stack_.emplace_back(o, 0);
            for (auto t : p_->inputs(o)) {
                ++tensors_[at(t)].pins;
            }
        };
        wait_for_inputs(first);
        while (!stack_.empty()) {
            if (runs_.size() > longest_ || effort_ > most_effort_ || stop_.expired()) {
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

    /// True when no op to come reads `t`, which cannot be made again, and no op that reads it will run again.
    [[nodiscard]] auto is_through(tensor_id t) const -> bool
    {
        auto const readers = p_->consumers(t);
        auto const returns = [&](op_id o) {
            auto const made = p_->outputs(o);
            return std::any_of(made.begin(), made.end(), [&](tensor_id u) { return tensors_[at(u)].may_go; });
        };
        return !tensors_[at(t)].may_go && !p_->is_target(t) && readers.back() < now_ &&
               std::none_of(readers.begin(), readers.end(), returns);
    }

    separator_tree const* tree_;
    problem const* p_;
    tree_order how_;
    stop_watch stop_;
    std::size_t longest_;      // order
    std::int64_t most_effort_; // looks at what tensors are worth: a walk that drops the same ones over and over ends
    std::int64_t effort_ = 0;
    std::vector<tensor_state> tensors_;
    std::vector<int> pending_;                         // ops to come, by position
    std::vector<std::size_t> last_pending_;            // by interval
    std::vector<tensor_id> candidates_;                // live ones that may go, perhaps some that are gone
    std::vector<std::pair<op_id, std::size_t>> stack_; // an op and how many of its inputs are there
    std::vector<worth> heap_;
    std::vector<tensor_id> set_aside_;
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
/// Returns: nothing when it would grow beyond `order_editor::most_runs`, would drop the same tensors over and over, or time
/// is up.
/// Complexity: O(runs · depth · readers of a tensor), with a capacity also O(drops · live tensors).
template <class = void>
[[nodiscard]] auto tree_width_order(separator_tree const& tree, tree_order const& how, stop_watch const& stop = {})
    -> std::optional<run_order>
{
    return detail::separator_walk(tree, how, stop)();
}

/// Proposes orders of a `separator_tree` of several depths within the budget. The flat ones are the cheaper where they fit, the deep
/// ones need fewer bytes.
struct tree_width {
    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "tree_width"; }
    template <class = void>
    void solve(search& on) const
    {
        constexpr int flat = 4;
        auto const& p = on.subject();
        separator_tree const tree(p);
        auto const room = on.budget() - p.resident_bytes();
        auto const spare = room / 500;
        std::vector<proposal> seeds;
        auto const add = [&](tree_order const& how) {
            seeds.push_back(
                {.make = [&tree, &on, how] { return tree_width_order(tree, how, on.stop()); }, .name = "tree_width"});
        };
        for (int d = 0; d <= tree.depth(); d = d < flat || d == tree.depth() ? d + 1 : tree.depth()) {
            for (double patience : {0.5, 0.0, 1.0}) {
                add({d, spare, room, patience});
            }
            if (d > 0) {
                add({d, spare}); // for `repair` to bring under the budget
            }
        }
        on.propose(seeds);
    }
};

} // namespace strata
