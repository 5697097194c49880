// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The proven optimum of a small problem: every order that could matter, the cheapest first.
///
/// A state is how many first runs are done and which tensors are live. Dijkstra's search takes the cheapest state and
/// runs one op: the next first run, or a replay. What keeps it small without losing an optimum:
///  - freeing costs nothing, so a tensor goes only when a run needs the room, and then as few as possible: every largest
///    set of survivors is tried;
///  - more live tensors are never worse: a state is passed over if one with the same first runs, at most as costly, holds
///    all that it holds;
///  - what no run to come can use is freed at once, and what one needs and no replay brings back stays.
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/search.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

/// How an exhaustive search ended.
enum class exhaustive_answer : std::uint8_t {
    optimal,    ///< the order found is the cheapest there is
    infeasible, ///< no order fits
    gave_up,    ///< too large a problem, or out of work or time
};

/// One search of one problem; see the head of this file.
template <class = void>
class basic_exhaustive_search {
public:
    /// Most tensors, resident ones not counted, that a problem may have.
    static constexpr std::size_t most_tensors = 64;

    /// `room`: bytes the peak may reach without the resident ones; `work`: states and subsets looked at before giving up.
    basic_exhaustive_search(problem const& p, bytes_t room, std::int64_t work, stop_watch stop = {})
        : p_(&p)
        , room_(room)
        , work_(work)
        , stop_(std::move(stop))
    {
    }

    /// Complexity: O(`work` · ops), and exponential in ops and tensors if `work` allows.
    [[nodiscard]] auto run() -> exhaustive_answer
    {
        if (!read()) {
            return exhaustive_answer::gave_up;
        }
        push({});
        while (!open_.empty()) {
            if (--work_ < 0 || (work_ % 256 == 0 && stop_.expired())) {
                return exhaustive_answer::gave_up;
            }
            std::pop_heap(open_.begin(), open_.end(), later);
            auto const i = open_.back().node;
            open_.pop_back();
            auto const n = nodes_[i];
            if (beaten(n)) {
                continue;
            }
            settled_[n.done].push_back(n.live);
            if (n.done == ops_.size() && (targets_ & ~n.live) == 0) {
                goal_ = i;
                return exhaustive_answer::optimal;
            }
            for (auto o : stages_[n.done].replays) {
                if ((ops_[o].out & stages_[n.done].useful & ~n.live) != 0) {
                    expand(i, o, false);
                }
            }
            if (n.done < ops_.size()) {
                expand(i, n.done, true);
            }
        }
        return work_ < 0 ? exhaustive_answer::gave_up : exhaustive_answer::infeasible;
    }

    /// After `optimal`: the order. Its cost is that of every op once plus `extra_cost`.
    [[nodiscard]] auto order() const -> run_order
    {
        run_order r;
        for (auto i = goal_; nodes_[i].op != none; i = nodes_[i].parent) {
            r.push_back(nodes_[i].op);
        }
        std::reverse(r.begin(), r.end());
        return r;
    }
    /// After `optimal`: cost of the replays.
    [[nodiscard]] auto extra_cost() const -> cost_t { return nodes_[goal_].extra; }

private:
    using set = std::uint64_t; // of tensors that are not resident

    struct op_facts {
        set in = 0, out = 0, add = 0; // read; produced; added into
        bytes_t workspace = 0;
    };
    /// What follows from how many first runs are done.
    struct stage {
        set keep = 0;   // must not be freed: incomplete, or needed and beyond replay
        set useful = 0; // may still be needed
        std::vector<std::size_t> replays;
    };
    struct node {
        std::size_t done = 0;
        set live = 0;
        cost_t extra = 0;
        std::size_t parent = 0;
        op_id op = none;
    };
    struct entry {
        cost_t extra;
        std::size_t done;
        std::size_t node;
    };

    static auto later(entry const& a, entry const& b) -> bool
    {
        if (a.extra != b.extra) {
            return a.extra > b.extra;
        }
        return a.done != b.done ? a.done < b.done : a.node > b.node;
    }
    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }
    static auto bit(std::size_t i) noexcept -> set { return set{1} << i; }
    static auto first_of(set s) noexcept -> std::size_t { return static_cast<std::size_t>(std::countr_zero(s)); }

    [[nodiscard]] auto bytes_of(set s) const -> bytes_t
    {
        bytes_t sum = 0;
        for (; s != 0; s &= s - 1) {
            sum += bytes_[first_of(s)];
        }
        return sum;
    }

    /// Returns: false if there are too many tensors.
    auto read() -> bool
    {
        auto const& p = *p_;
        std::vector<std::size_t> index(at(p.tensor_count()), most_tensors);
        for (tensor_id t = 0; t < p.tensor_count(); ++t) {
            if (!p.resident(t)) {
                if (bytes_.size() == most_tensors) {
                    return false;
                }
                index[at(t)] = bytes_.size();
                bytes_.push_back(p.size(t));
                targets_ |= p.is_target(t) ? bit(index[at(t)]) : 0;
            }
        }
        for (op_id o = 0; o < p.op_count(); ++o) {
            op_facts x;
            x.workspace = p.workspace(o);
            for (auto t : p.inputs(o)) {
                x.in |= bit(index[at(t)]);
            }
            for (auto t : p.outputs(o)) {
                (p.accumulated(t) ? x.add : x.out) |= bit(index[at(t)]);
            }
            ops_.push_back(x);
        }
        settled_.resize(ops_.size() + 1);
        for (std::size_t k = 0; k <= ops_.size(); ++k) {
            stages_.push_back(make_stage(k));
        }
        return true;
    }

    [[nodiscard]] auto make_stage(std::size_t done) const -> stage
    {
        stage r;
        set needed = targets_; // by what has not run yet
        set made = 0, unfinished = 0, replayable = 0;
        for (std::size_t o = 0; o < ops_.size(); ++o) {
            if (o < done) {
                made |= ops_[o].out | ops_[o].add;
                replayable |= p_->replayable(static_cast<op_id>(o)) ? ops_[o].out : 0;
            } else {
                needed |= ops_[o].in;
                unfinished |= ops_[o].add;
            }
        }
        r.keep = made & (unfinished | (needed & ~replayable));
        r.useful = needed | r.keep;
        // Readers stand behind producers, so one pass from the back sees every use.
        for (auto o = done; o-- > 0;) {
            if (p_->replayable(static_cast<op_id>(o)) && (ops_[o].out & r.useful) != 0) {
                r.useful |= ops_[o].in;
                r.replays.push_back(o);
            }
        }
        return r;
    }

    [[nodiscard]] auto beaten(node const& n) const -> bool
    {
        auto const& s = settled_[n.done];
        return std::any_of(s.begin(), s.end(), [&](set live) { return (n.live & ~live) == 0; });
    }

    void push(node const& n)
    {
        if (!beaten(n)) {
            nodes_.push_back(n);
            open_.push_back({n.extra, n.done, nodes_.size() - 1});
            std::push_heap(open_.begin(), open_.end(), later);
        }
    }

    void expand(std::size_t from, std::size_t o, bool first)
    {
        auto const& x = ops_[o];
        auto const n = nodes_[from];
        if ((x.in & ~n.live) != 0) {
            return;
        }
        auto const made = x.out | x.add;
        auto const stays = (n.live & x.add) | ((x.in | stages_[n.done].keep) & n.live & ~x.out);
        auto const room = room_ - x.workspace - bytes_of(stays | made);
        if (room < 0) {
            return;
        }
        auto const arrive = [&](set kept) {
            auto const done = n.done + (first ? 1 : 0);
            push({.done = done,
                  .live = (kept | made) & stages_[done].useful,
                  .extra = n.extra + (first ? 0 : p_->cost(static_cast<op_id>(o))),
                  .parent = from,
                  .op = static_cast<op_id>(o)});
        };
        largest_subsets(n.live & ~stays & ~made, stays, 0, room, arrive);
    }

    /// Calls `f` for every subset of `left` | `chosen` that contains `chosen`, whose part of `left` fits `room`, and to
    /// which nothing of the rest (`refused` included) can be added.
    template <class F>
    void largest_subsets(set left, set chosen, set refused, bytes_t room, F const& f)
    {
        if (--work_ < 0) {
            return;
        }
        if (bytes_of(left) <= room) {
            for (auto r = refused; r != 0; r &= r - 1) {
                if (bytes_[first_of(r)] <= room - bytes_of(left)) {
                    return; // a larger one has been, or will be, tried
                }
            }
            f(chosen | left);
            return;
        }
        auto const i = first_of(left);
        auto const rest = left & (left - 1);
        if (bytes_[i] <= room) {
            largest_subsets(rest, chosen | bit(i), refused, room - bytes_[i], f);
        }
        if (bytes_[i] > 0) {
            largest_subsets(rest, chosen, refused | bit(i), room, f);
        }
    }

    problem const* p_;
    bytes_t room_;
    std::int64_t work_;
    stop_watch stop_;
    std::vector<op_facts> ops_;
    std::vector<bytes_t> bytes_;
    set targets_ = 0;
    std::vector<stage> stages_;             // by the number of first runs done
    std::vector<std::vector<set>> settled_; // by the same
    std::vector<node> nodes_;
    std::vector<entry> open_; // a heap
    std::size_t goal_ = 0;
};

using exhaustive_search = basic_exhaustive_search<>;

/// Proposes the optimum of a problem that is small enough and proves that it is; of any other problem, nothing.
struct exhaustive {
    std::int64_t work = 100'000; ///< see `exhaustive_search`; a fraction of a second

    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "exhaustive"; }
    template <class Lazy>
    void solve(basic_search<Lazy>& on) const
    {
        auto const& p = on.subject();
        basic_exhaustive_search<Lazy> exact(p, on.budget() - p.resident_bytes(), work, on.stop());
        switch (exact.run()) {
        case exhaustive_answer::optimal:
            on.prove(p.base_cost() + exact.extra_cost());
            on.propose({.make = [order = exact.order()] { return order; }, .as_is = true, .name = "exhaustive"});
            return;
        case exhaustive_answer::infeasible: on.prove(max_cost); return;
        case exhaustive_answer::gave_up: return;
        }
    }
};

} // namespace strata
