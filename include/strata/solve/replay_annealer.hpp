// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Order and replays of a step in one search: ops move, are run again, and are not run again after all.
///
/// Simulated annealing (Kirkpatrick, Gelatt and Vecchi, "Optimization by simulated annealing", 1983) over orders of runs.
/// An order that is light without replays (`lighter_order`) is not the one in which the fewest replays are needed: a replay
/// changes which order is good, so both change here together. The energy is the cost of the replays, and the sum of the
/// bytes above the capacity over all runs at a price that rises while it cools down.
#pragma once

#include <strata/detail/math.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/disturb.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/run_line.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace strata {

/// The search from one order. Deterministic for a seed and an amount of work, unless time can run out.
template <class Lazy = void>
class basic_replay_annealer {
public:
    /// `start`: runs, replays included, whose first ones are an order of first runs (see `is_first_run_order`).
    /// `capacity`: bytes with resident ones. `p` outlives the annealer.
    basic_replay_annealer(problem const& p, run_order const& start, bytes_t capacity, std::uint64_t seed)
        : p_(&p)
        , capacity_(capacity)
        , free_(static_cast<double>(std::max<bytes_t>(1, capacity - p.resident_bytes())))
        , draw_(seed)
        , line_(p, start)
    {
        keep_if_best();
    }

    /// The cheapest order so far that fits, with its cost; empty if there is none.
    [[nodiscard]] auto best() const noexcept -> run_order const& { return best_; }
    [[nodiscard]] auto best_cost() const noexcept -> cost_t { return best_cost_; }

    /// Looks for a cheap order while it cools down, for `work` units: one for each place in the line that a move looks at,
    /// a few nanoseconds. Where time can run out, it has cooled down by then.
    void run(std::int64_t work, stop_watch const& stop)
    {
        // In costs of the mean op: to go uphill at the beginning and the end, and the price of the capacity at one run.
        constexpr double hot = 0.5;
        constexpr double cold = 0.005;
        constexpr double cheap = 1.5;
        constexpr double dear = 150;
        auto const base = static_cast<double>(std::max<cost_t>(1, p_->base_cost())) / p_->op_count();
        cool(work, stop, [&](double share) {
            heat_ = base * hot * detail::math::pow(cold / hot, share);
            price_ = base / free_ * cheap * detail::math::pow(dear / cheap, share);
            switch (draw_.below(4)) {
            case 0:
            case 1: return shift();
            case 2: return run_again();
            default: return run_no_more();
            }
        });
    }

    /// Moves runs of the best order, at the same cost, until memory is nearly full at few of them: buffers that must fit
    /// without a gap at few instants find a place in one arena where those that must do so most of the time do not.
    /// `work` and `stop` are those of `run`.
    void smooth(std::int64_t work, stop_watch const& stop)
    {
        if (best_.empty()) {
            return;
        }
        constexpr double hot = 0.03; // of the capacity
        constexpr double cold = 1e-5;
        smoothing_ = true;
        line_ = basic_run_line<Lazy>(*p_, best_);
        auto const before = sum(line_.live());
        price_ = 1;
        cool(work, stop, [&](double share) {
            heat_ = free_ * hot * detail::math::pow(cold / hot, share);
            shift();
        });
        if (fits() && sum(line_.live()) < before) {
            best_ = line_.order();
        }
        smoothing_ = false;
    }

private:
    template <class Move>
    void cool(std::int64_t work, stop_watch const& stop, Move const& move)
    {
        constexpr int between_looks = 16; // at the watch
        auto const left = [&] { return stop.timed() ? static_cast<double>(stop.remaining()->count()) : 1.0; };
        auto const time = std::max(1.0, left());
        double share = 0;
        work_ = 0;
        for (int i = 0; work_ < work && line_.size() > 1; i = (i + 1) % between_looks, ++work_) {
            if (i == 0) {
                if (stop.expired()) {
                    return;
                }
                share = std::max(static_cast<double>(work_) / static_cast<double>(work), 1 - left() / time);
            }
            move(share);
        }
    }

    /// What live bytes count: those above the capacity, and a little those near it. When smoothing, by their square what is
    /// above four fifths.
    [[nodiscard]] auto sum(std::span<bytes_t const> live) const -> double
    {
        constexpr double near_full = 0.05;
        constexpr double little = 0.01;
        constexpr double high = 0.2;
        constexpr double much = 1e6; // it fits, and shall do so all the time
        auto const from = capacity_ - static_cast<bytes_t>((smoothing_ ? high : near_full) * free_);
        double all = 0;
        for (auto b : live) {
            if (b > from) {
                auto const above = b > capacity_ ? static_cast<double>(b - capacity_) : 0.0;
                auto const near = static_cast<double>(b - from);
                all += smoothing_ ? near * near / (high * high * free_) + much * above : little * near + above;
            }
        }
        return all;
    }

    [[nodiscard]] auto fits() const -> bool
    {
        auto const live = line_.live();
        return std::all_of(live.begin(), live.end(), [&](bytes_t b) { return b <= capacity_; });
    }

    void keep_if_best()
    {
        if (line_.cost() < best_cost_ && fits()) {
            best_cost_ = line_.cost();
            best_ = line_.order();
        }
    }

    /// Keeps the last edit, or takes it back. `dearer`: what it adds to the cost.
    void decide(cost_t dearer)
    {
        work_ += static_cast<std::int64_t>(line_.after().size());
        auto const delta = price_ * (sum(line_.after()) - sum(line_.before())) + static_cast<double>(dearer);
        if (delta > 0 && delta > -heat_ * detail::math::log(1 - draw_.share())) {
            line_.undo();
        } else {
            keep_if_best();
        }
    }

    void shift()
    {
        constexpr std::size_t near = 20; // places; most moves go no further
        constexpr std::size_t far = 500;
        auto const from = draw_.below(line_.size());
        auto [lo, hi] = line_.reach(from);
        auto const most = draw_.below(4) == 0 ? far : near;
        lo = std::max(lo, from > most ? from - most : 0);
        hi = std::min(hi, from + most);
        if (lo < hi) {
            auto const to = lo + draw_.below(hi - lo);
            line_.move(from, to < from ? to : to + 1);
            decide(0);
        }
    }

    void run_again()
    {
        constexpr std::size_t most_runs = 2; // of an op, in the mean
        constexpr std::size_t early = 10;
        auto before = draw_.below(line_.size());
        auto const inputs = p_->inputs(line_.op_at(before));
        if (inputs.empty() || line_.size() > most_runs * static_cast<std::size_t>(p_->op_count())) {
            return;
        }
        auto const t = inputs[draw_.below(inputs.size())];
        auto const o = p_->producers(t).front();
        before -= draw_.below(3) == 0 ? std::min(before, draw_.below(early)) : 0;
        if (p_->producers(t).size() == 1 && p_->replayable(o) && before > line_.first_place(o)) {
            line_.put_in(o, before);
            decide(p_->cost(o));
        }
    }

    void run_no_more()
    {
        if (line_.replays().empty()) {
            return;
        }
        auto const before = line_.cost();
        line_.take_out(draw_.below(line_.replays().size()));
        decide(line_.cost() - before);
    }

    problem const* p_;
    bytes_t capacity_;
    double free_; // capacity beside the resident bytes
    random_draws draw_;
    basic_run_line<Lazy> line_;
    run_order best_ = {};
    cost_t best_cost_ = max_cost;
    std::int64_t work_ = 0;
    double heat_ = 0;
    double price_ = 0;
    bool smoothing_ = false;
};

using replay_annealer = basic_replay_annealer<>;

} // namespace strata
