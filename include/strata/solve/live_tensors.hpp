// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What is live while a step is run on paper, what making the rest again costs, and when it is used.
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace strata {

/// The tensors of a problem at some time of its first runs: live, gone, or still to be made.
///
/// Costs and uses are remembered until something that they were counted through comes or goes, so that to ask again is
/// cheap.
template <class Lazy = void>
class basic_live_tensors {
public:
    static constexpr auto never = std::numeric_limits<op_id>::max();

    /// `p` outlives it. Complexity: O(ops + tensors).
    explicit basic_live_tensors(problem const& p)
        : p_(&p)
        , tensors_(at(p.tensor_count()))
        , stamp_(at(p.op_count()), 0)
    {
        for (tensor_id t = 0; t < p.tensor_count(); ++t) {
            tensors_[at(t)].again = p.remakeable(t);
        }
    }

    /// The op whose first run is next; nothing is live when it is the first.
    [[nodiscard]] auto now() const noexcept -> op_id { return now_; }
    /// That op has run.
    void advance() noexcept { ++now_; }

    [[nodiscard]] auto live(tensor_id t) const noexcept -> bool { return tensors_[at(t)].live; }
    /// True when `t` can be made more than once.
    [[nodiscard]] auto again(tensor_id t) const noexcept -> bool { return tensors_[at(t)].again; }
    /// All that are live, in no order that matters.
    [[nodiscard]] auto all() const noexcept -> std::span<tensor_id const> { return there_; }
    /// Of what is live.
    [[nodiscard]] auto bytes() const noexcept -> bytes_t { return bytes_; }

    /// Requires: not live.
    void add(tensor_id t)
    {
        auto& x = tensors_[at(t)];
        x.live = true;
        bytes_ += p_->size(t);
        x.place = there_.size();
        there_.push_back(t);
        changed(t);
    }

    /// Requires: live.
    void drop(tensor_id t)
    {
        auto& x = tensors_[at(t)];
        x.live = false;
        bytes_ -= p_->size(t);
        tensors_[at(there_.back())].place = x.place;
        there_[x.place] = there_.back();
        there_.pop_back();
        changed(t);
    }

    /// Cost of making `t` again from what is live; infinite if something is gone for good.
    [[nodiscard]] auto remake_cost(tensor_id t) -> double
    {
        auto& x = tensors_[at(t)];
        if (x.cost_known) {
            return x.cost;
        }
        ++round_;
        double cost = free_op_cost;
        ops_.assign(1, p_->producer(t));
        stamp_[at(ops_.front())] = round_;
        for (std::size_t i = 0; i < ops_.size(); ++i) {
            cost += static_cast<double>(p_->cost(ops_[i]));
            for (auto u : p_->inputs(ops_[i])) {
                auto& y = tensors_[at(u)];
                if (y.live) {
                    continue;
                }
                y.cost_through = true;
                if (!y.again) {
                    cost = std::numeric_limits<double>::infinity();
                    continue;
                }
                auto const o = p_->producer(u);
                if (stamp_[at(o)] != round_) {
                    stamp_[at(o)] = round_;
                    ops_.push_back(o);
                }
            }
        }
        x.cost = cost;
        x.cost_known = true;
        return cost;
    }

    /// The first op from now on that reads `t`; if none does, that reads something gone for which `t` must be there to make it
    /// again. Of a target, the end. `never` if there is none.
    [[nodiscard]] auto next_use(tensor_id t) -> op_id
    {
        auto const direct = direct_use(t);
        return direct != never ? direct : indirect_use(t);
    }

    /// What is gone and must be made again to run `o`, each tensor once.
    [[nodiscard]] auto missing(op_id o) -> std::vector<tensor_id>
    {
        std::vector<tensor_id> all;
        ++round_;
        ops_.assign(1, o);
        for (std::size_t i = 0; i < ops_.size(); ++i) {
            for (auto u : p_->inputs(ops_[i])) {
                auto const maker = p_->producers(u).front();
                auto& x = tensors_[at(u)];
                if (x.live || !x.again || x.listed == round_) {
                    continue;
                }
                x.listed = round_;
                all.push_back(u);
                if (stamp_[at(maker)] != round_) {
                    stamp_[at(maker)] = round_;
                    ops_.push_back(maker);
                }
            }
        }
        return all;
    }

private:
    struct tensor_state {
        bool again = false;        // can be made more than once
        bool live = false;         //
        bool cost_known = false;   //
        bool use_known = false;    // the indirect one
        bool cost_through = false; // while gone: some cost was counted through it
        bool use_through = false;  // while gone: some use was
        std::uint32_t next = 0;    // index of the next reader
        std::size_t place = 0;     // in `there_`, while live
        op_id indirect = none;     // first use of a gone tensor that this one makes again
        std::int32_t listed = 0;   // round in which it was found missing
        double cost = 0;           // of making it again; infinite if it cannot be
    };
    static constexpr double free_op_cost = 1e-3; // a replay of no cost still takes a step

    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }

    /// After `t` came or went: what is made from it costs more or less, and what it is made from is used at another time.
    /// What is gone is passed through only where somebody's cost or use was counted through it since the last time.
    void changed(tensor_id t)
    {
        tensors_[at(t)].cost_known = false;
        tensors_[at(t)].use_known = false;
        queue_.assign(1, t);
        for (std::size_t i = 0; i < queue_.size(); ++i) {
            for (auto o : p_->consumers(queue_[i])) {
                if (o >= now_) {
                    break;
                }
                for (auto w : p_->outputs(o)) {
                    auto& x = tensors_[at(w)];
                    x.cost_known = false;
                    if (!x.live && x.cost_through) {
                        x.cost_through = false;
                        queue_.push_back(w);
                    }
                }
            }
        }
        queue_.assign(1, t);
        for (std::size_t i = 0; i < queue_.size(); ++i) {
            for (auto o : p_->producers(queue_[i])) {
                for (auto u : p_->inputs(o)) {
                    auto& x = tensors_[at(u)];
                    x.use_known = false;
                    if (!x.live && x.use_through) {
                        x.use_through = false;
                        queue_.push_back(u);
                    }
                }
            }
        }
    }

    /// The first op from now on that reads `t`, or, of a target, the end; `never` if there is none.
    auto direct_use(tensor_id t) -> op_id
    {
        auto& x = tensors_[at(t)];
        auto const readers = p_->consumers(t);
        while (x.next < readers.size() && readers[x.next] < now_) {
            ++x.next;
        }
        if (x.next < readers.size()) {
            return readers[x.next];
        }
        if (p_->is_target(t)) {
            return p_->op_count();
        }
        auto const makers = p_->producers(t);
        return makers.size() > 1 && makers.back() >= now_ ? makers.back() : never;
    }

    /// The first use of what is gone and needs `t` to be made again; `never` if there is none.
    auto indirect_use(tensor_id t) -> op_id
    {
        auto& x = tensors_[at(t)];
        if (x.use_known) {
            return x.indirect;
        }
        ++round_;
        auto first = never;
        queue_.assign(1, t);
        for (std::size_t i = 0; i < queue_.size(); ++i) {
            for (auto o : p_->consumers(queue_[i])) {
                if (o >= now_) {
                    break;
                }
                if (stamp_[at(o)] == round_) {
                    continue;
                }
                stamp_[at(o)] = round_;
                for (auto w : p_->outputs(o)) {
                    if (!tensors_[at(w)].live) {
                        tensors_[at(w)].use_through = true;
                        first = std::min(first, direct_use(w));
                        queue_.push_back(w);
                    }
                }
            }
        }
        x.indirect = first;
        x.use_known = true;
        return first;
    }

    problem const* p_;
    std::vector<tensor_state> tensors_;
    std::vector<tensor_id> there_; // live
    std::vector<tensor_id> queue_;
    run_order ops_;
    std::vector<std::int32_t> stamp_; // by op
    std::int32_t round_ = 0;
    op_id now_ = 0;
    bytes_t bytes_ = 0;
};

using live_tensors = basic_live_tensors<>;

} // namespace strata
