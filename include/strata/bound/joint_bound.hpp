// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A stronger lower bound for where one instant does not say it all: several instants, then branch and bound on what is kept.
#pragma once

#include <strata/bound/joint_cuts.hpp>
#include <strata/bound/lower_bound.hpp>
#include <strata/detail/lazy.hpp>
#include <strata/problem/problem.hpp>
#include <strata/solve/limits.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace strata {

/// How hard `joint_bound` tries.
struct joint_effort {
    std::size_t instants = 6;      ///< at most so many together
    std::size_t candidates = 12;   ///< each time an instant is added, so many are looked at
    std::int64_t work = 1'000'000; ///< arcs looked at before it ends; some 20 ms
    double least_gap = 2e-3;       ///< a smaller gap, as a fraction of the base cost, is left alone
};

/// What is proven, and the instants whose windows prove it, ascending; none when it was proven in another way.
struct joint_proof {
    cost_bound bound = {};
    std::vector<op_id> instants = {};
    friend auto operator==(joint_proof const&, joint_proof const&) -> bool = default;
};

/// The part of the cost of `order` that a bound of windows between `instants` counts: every op once, and each replay once per
/// stretch between two instants, of ops that ran before the stretch. No such bound, however good its prices and however
/// long its search tree, is above this: the order is itself one of the ways between which cuts choose.
/// Requires: first runs of `order` stand in index order; `instants` ascend. Complexity: O(runs).
template <class = void>
[[nodiscard]] auto cost_in_sight(problem const& p, std::span<op_id const> order, std::span<op_id const> instants)
    -> cost_t
{
    auto sum = p.base_cost();
    std::vector<std::size_t> counted(static_cast<std::size_t>(p.op_count()), 0); // in which stretch, from 1
    std::size_t stretch = 0;
    op_id next = 0;
    for (auto o : order) {
        if (o == next) {
            ++next;
            stretch += stretch < instants.size() && instants[stretch] == o ? 1U : 0U;
        } else if (auto& in = counted[static_cast<std::size_t>(o)];
                   stretch > 0 && o < instants[stretch - 1] && in != stretch) {
            in = stretch;
            sum += p.cost(o);
        }
    }
    return sum;
}

/// Raises lower bounds of one problem under one budget, up to the cost of a plan that is known.
template <class Lazy = void>
class basic_joint_bound {
    using joint_cuts = basic_joint_cuts<Lazy>;
    using prices = typename joint_cuts::prices;

public:
    /// `known`: cost of the cheapest plan known; a bound above it is of no use. Requires: `p` outlives it.
    basic_joint_bound(problem const& p, bytes_t budget, cost_t known, joint_effort how, stop_watch stop = {})
        : p_(&p)
        , budget_(budget)
        , target_(static_cast<long double>(known) - static_cast<long double>(p.base_cost()))
        , how_(how)
        , work_(how.work)
        , stop_(std::move(stop))
    {
    }

    /// What is proven: at least `proven`. `points`: time points worth looking at, the most telling first.
    /// Complexity: O(effort), and a few `time_cut`s per candidate.
    [[nodiscard]] auto operator()(cost_bound proven, std::span<op_id const> points) -> joint_proof
    {
        joint_proof alone{proven, {}};
        if (proven.at != none) {
            alone.instants = {proven.at};
        }
        auto const extra = static_cast<long double>(proven.cost - p_->base_cost());
        bool const worth_it = target_ - extra > how_.least_gap * static_cast<long double>(p_->base_cost());
        if (points.empty() || proven.infeasible || !worth_it) {
            return alone;
        }
        points_ = points.first(std::min(points.size(), how_.candidates));
        cuts_ = std::make_shared<joint_cuts>(*p_, budget_, std::vector<op_id>{points.front()});
        if (try_out * 3 * cuts_->work() > work_) {
            return alone; // too little for two instants
        }
        auto root = node{extra, {}, cuts_, std::make_shared<prices const>(cuts_->first_prices()), {}};
        climb(root, try_out, 0.1);
        auto const best = std::min(search(std::move(root)), target_);
        auto const cost = with_base(best);
        return cost > proven.cost
                   ? joint_proof{{cost, instants().front(), false}, {instants().begin(), instants().end()}}
                   : alone;
    }

    /// Nodes of the search tree that were looked at.
    [[nodiscard]] auto nodes() const noexcept -> std::int64_t { return nodes_; }
    /// The instants together, after a call.
    [[nodiscard]] auto instants() const -> std::span<op_id const>
    {
        return cuts_ ? cuts_->instants() : std::span<op_id const>();
    }

private:
    static constexpr int settle = 300;
    static constexpr int try_out = 60;

    /// Plans that agree with some decisions, and what is proven of them.
    struct node {
        long double bound;
        std::vector<keep_decision> decided;
        std::shared_ptr<joint_cuts> cuts; // that its prices are of
        std::shared_ptr<prices const> at;
        std::optional<keep_decision> next; // to divide them by
    };

    [[nodiscard]] auto spent() const -> bool { return work_ <= 0 || stop_.expired(); }

    [[nodiscard]] auto with_base(long double extra) const -> cost_t
    {
        if (extra <= 0) {
            return p_->base_cost();
        }
        // Costs are whole numbers, so a bound may be rounded up.
        auto const safe = extra - 1e-6L;
        auto whole = static_cast<cost_t>(safe);
        whole += static_cast<long double>(whole) < safe ? 1 : 0;
        return checked_add(whole, p_->base_cost()) ? whole : max_cost;
    }

    /// Raises the bound of `n` with its own cuts.
    void climb(node& n, int steps, double boldness)
    {
        auto& cuts = *n.cuts;
        cuts.decide(n.decided);
        auto x = *n.at;
        work_ -= steps * cuts.work();
        n.bound = std::max(n.bound, cuts.climb(x, target_, steps, boldness, stop_));
        n.next = n.bound < target_ ? cuts.least_agreed(x) : std::nullopt;
        n.at = std::make_shared<prices const>(std::move(x));
    }

    /// `n` with the cuts `cuts`, whose instants include its own.
    [[nodiscard]] static auto with_cuts(node n, std::shared_ptr<joint_cuts> cuts) -> node
    {
        n.at = std::make_shared<prices const>(cuts->first_prices(*n.cuts, *n.at));
        n.cuts = std::move(cuts);
        return n;
    }

    /// Adds the instant that raises the bound of `n` most. Returns: whether one does.
    auto grow(node& n) -> bool
    {
        std::optional<node> best;
        for (auto at : points_) {
            std::vector<op_id> more(cuts_->instants().begin(), cuts_->instants().end());
            if (std::find(more.begin(), more.end(), at) != more.end() || spent()) {
                continue;
            }
            more.insert(std::upper_bound(more.begin(), more.end(), at), at);
            auto trial = with_cuts(n, std::make_shared<joint_cuts>(*p_, budget_, std::move(more)));
            trial.bound = 0;
            climb(trial, try_out, 1);
            if (!best || trial.bound > best->bound) {
                best = std::move(trial);
            }
        }
        if (!best) {
            return false;
        }
        climb(*best, settle, 0.5);
        if (best->bound <= n.bound + 0.01L * (target_ - n.bound)) {
            return false;
        }
        cuts_ = best->cuts;
        n = *std::move(best);
        return true;
    }

    /// Best first: the node whose bound is lowest gets one more instant, or is divided in two.
    /// Returns: the lowest bound of what is left.
    auto search(node root) -> long double
    {
        constexpr int steps = 60;
        auto const later = [](node const& a, node const& b) { return a.bound > b.bound; };
        std::vector<node> open; // a heap
        auto const push = [&](node n) {
            if (n.bound < target_) {
                open.push_back(std::move(n));
                std::push_heap(open.begin(), open.end(), later);
            }
        };
        push(std::move(root));
        std::int64_t next_growth = 0;
        while (!open.empty() && !spent()) {
            std::pop_heap(open.begin(), open.end(), later);
            auto n = std::move(open.back());
            open.pop_back();
            if (n.cuts != cuts_) {
                n = with_cuts(std::move(n), cuts_);
                climb(n, steps, 0.5);
            } else if (cuts_->instants().size() < how_.instants && (nodes_ >= next_growth || !n.next)) {
                if (!grow(n)) {
                    next_growth = 2 * nodes_ + 50;
                    if (!n.next) {
                        return n.bound;
                    }
                }
            } else if (!n.next) {
                return n.bound;
            } else {
                for (auto keep : {true, false}) {
                    auto child = n;
                    child.decided.push_back({n.next->instant, n.next->tensor, keep});
                    climb(child, steps, 0.5);
                    ++nodes_;
                    push(std::move(child));
                }
                continue;
            }
            push(std::move(n));
        }
        return open.empty() ? target_ : open.front().bound;
    }

    problem const* p_;
    bytes_t budget_;
    long double target_;
    joint_effort how_;
    std::int64_t work_;
    stop_watch stop_;
    std::span<op_id const> points_;
    std::shared_ptr<joint_cuts> cuts_; // with all instants so far
    std::int64_t nodes_ = 0;
};

using joint_bound = basic_joint_bound<>;

} // namespace strata
