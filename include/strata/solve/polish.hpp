// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Makes the best plan so far better: undo a part of it at random, put it right, keep what is cheaper.
///
/// Large-neighbourhood search (Shaw, "Using constraint programming and local search methods to solve vehicle routing
/// problems", 1998) on the whole step. Every move is an edit that costs what it touches, and a move that is not kept is
/// undone, not rebuilt: at ten thousand ops a move costs no more than at one thousand.
#pragma once

#include <strata/detail/mix.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/fill.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/order_editor.hpp>
#include <strata/solve/repair.hpp>
#include <strata/solve/search.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

/// The search from one order. Deterministic for a seed and a number of moves; more moves only go on from there.
template <class = void>
class basic_polisher {
public:
    /// `start` fits `capacity` bytes (without resident ones). `p` outlives the polisher.
    basic_polisher(problem const& p, run_order start, bytes_t capacity, std::uint64_t seed, stop_watch stop)
        : p_(&p)
        , capacity_(capacity)
        , seed_(seed)
        , stop_(std::move(stop))
        , edit_(p, start)
        , repair_(p)
        , best_(std::move(start))
        , best_cost_(edit_.cost())
    {
    }

    [[nodiscard]] auto best() const noexcept -> run_order const& { return best_; }
    [[nodiscard]] auto best_cost() const noexcept -> cost_t { return best_cost_; }

    /// Makes up to `moves` moves. Returns: false if there is nothing to go on for: no time, no tensor that could be dropped,
    /// or an order of cost `good_enough` or less.
    auto run(std::int64_t moves, cost_t good_enough) -> bool
    {
        auto const going = [&] { return repair_.droppable() > 0 && best_cost_ > good_enough && !stop_.expired(); };
        for (std::int64_t i = 0; i < moves && going(); ++i) {
            move();
        }
        return going();
    }

private:
    static constexpr std::int64_t cycle = 1000; // moves from hot to cold
    static constexpr std::size_t window = 1200; // slots around a move that are filled

    [[nodiscard]] auto random() -> std::uint64_t { return detail::mix(seed_ + ++drawn_); }
    [[nodiscard]] auto below(std::size_t n) -> std::size_t { return static_cast<std::size_t>(random() % n); }
    [[nodiscard]] auto share() -> double { return static_cast<double>(random() >> 11U) * 0x1p-53; }

    /// A slot with a run, the hottest of a few.
    auto hot_slot() -> std::size_t
    {
        std::size_t hot = 0;
        bytes_t most = -1;
        for (int i = 0; i < 3; ++i) {
            auto s = below(edit_.slots());
            while (edit_.run_at(s) == none) {
                s = s + 1 == edit_.slots() ? 0 : s + 1;
            }
            if (edit_.bytes_at(s) > most) {
                most = edit_.bytes_at(s);
                hot = s;
            }
        }
        return hot;
    }

    void drop_some()
    {
        auto const hot = hot_slot();
        auto const wanted = 1 + below(4);
        std::size_t dropped = 0;
        for (int tries = 0; tries < 60 && dropped < wanted; ++tries) {
            dropped += repair_.drop(edit_, repair_.droppable(below(repair_.droppable())), hot, capacity_) ? 1U : 0U;
        }
    }

    void keep_some()
    {
        auto const hot = hot_slot();
        auto const near = edit_.replays(hot > window ? hot - window : 0, hot + window);
        for (auto wanted = 1 + below(4); wanted > 0 && !near.empty(); --wanted) {
            auto const r = near[below(near.size())];
            if (edit_.run_at(edit_.slot_of(r)) == r) {
                (void)edit_.keep_instead(r, max_bytes);
            }
        }
    }

    void move()
    {
        auto const heat = 1 - static_cast<double>(moves_ % cycle) / static_cast<double>(cycle);
        if (moves_ % cycle == 0 && moves_ > 0 && edit_.cost() > best_cost_) {
            edit_ = order_editor(*p_, best_);
        }
        ++moves_;
        auto const before = edit_.cost();
        auto const base = static_cast<double>(p_->base_cost());
        auto const slack = static_cast<cost_t>(base * 0.003 * heat * -std::log(1 - share()));
        edit_.record();
        auto target = capacity_;
        switch (below(4)) {
        case 0:
        case 1: drop_some(); break;
        case 2: keep_some(); break;
        default: target -= static_cast<bytes_t>(static_cast<double>(capacity_) * 0.08 * share() * share()); break;
        }
        repair_options how;
        how.spread = static_cast<double>(below(3)) * 0.5;
        how.noise = share();
        how.seed = random();
        how.patience = 60;
        how.give_up_at = before + static_cast<cost_t>(base * 0.1);
        (void)repair_(edit_, target, how, stop_);
        if (edit_.peak() > capacity_) {
            edit_.undo();
            return;
        }
        auto const [first, last] = edit_.touched();
        if (first > last) {
            return;
        }
        fill_options some;
        some.from = first > window ? first - window : 0;
        some.to = last + window;
        some.noise = share();
        some.seed = random();
        fill(edit_, capacity_, stop_, some);
        if (edit_.cost() > before + slack) {
            edit_.undo();
            return;
        }
        if (edit_.cost() < best_cost_) {
            best_cost_ = edit_.cost();
            best_ = edit_.order();
        }
    }

    problem const* p_;
    bytes_t capacity_;
    std::uint64_t seed_;
    stop_watch stop_;
    order_editor edit_;
    repair repair_;
    run_order best_;
    cost_t best_cost_;
    std::uint64_t drawn_ = 0;
    std::int64_t moves_ = 0;
};

using polisher = basic_polisher<>;

/// Improves the best order of the search so far; proposes nothing when there is none.
///
/// It makes a fixed number of moves, so that the plan does not depend on the machine's speed. Of a deadline it takes no
/// more than three quarters of the time left, since what it finds must still be placed.
struct polish {
    std::int64_t moves = 2000; ///< in all; fewer when the bound is reached

    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "polish"; }
    template <class = void>
    void solve(search& on) const
    {
        if (!on.best()) {
            return;
        }
        auto const& p = on.subject();
        constexpr double share = 0.75;
        polisher job(p, on.best()->order, on.budget() - p.resident_bytes(), on.seed(), on.stop().part(share));
        constexpr std::string_view mark = "+polish";
        auto name = on.best()->name;
        name += name.ends_with(mark) ? std::string_view() : mark;
        constexpr std::int64_t at_once = 1000; // moves between reports
        auto left = moves;
        for (bool more = true; more && left > 0; left -= at_once) {
            more = job.run(std::min(left, at_once), on.bound().cost);
            if (job.best_cost() < on.best()->cost) {
                on.propose({.make = [&job] { return job.best(); }, .as_is = true, .name = name});
            }
        }
    }
};

} // namespace strata
