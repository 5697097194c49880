// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Makes the best plan so far better: undo a part of it at random, put it right, keep what is cheaper.
///
/// Large-neighbourhood search (Shaw, "Using constraint programming and local search methods to solve vehicle routing
/// problems", 1998) on the whole step. Every move is an edit that costs what it touches, and a move that is not kept is
/// undone, not rebuilt: at ten thousand ops a move costs no more than at one thousand.
#pragma once

#include <strata/detail/math.hpp>
#include <strata/detail/mix.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/disturb.hpp>
#include <strata/solve/fill.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/order_editor.hpp>
#include <strata/solve/recut.hpp>
#include <strata/solve/repair.hpp>
#include <strata/solve/retrace.hpp>
#include <strata/solve/search.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

/// The search from one order. Deterministic for a seed and a number of moves; more moves only go on from there.
template <class Lazy = void>
class basic_polisher {
    using order_editor = basic_order_editor<Lazy>;
    using repair = basic_repair<Lazy>;

public:
    /// `start` fits `capacity` bytes (without resident ones). `points`: time points worth cutting at, best first; none: no
    /// moves of whole cuts. `p` outlives the polisher.
    basic_polisher(problem const& p,
                   run_order start,
                   bytes_t capacity,
                   std::uint64_t seed,
                   stop_watch stop,
                   std::span<op_id const> points = {})
        : p_(&p)
        , capacity_(capacity)
        , draw_(seed)
        , stop_(std::move(stop))
        , edit_(p, start)
        , repair_(p)
        , disturb_(p)
        , recut_(p, points)
        , retrace_(p, capacity)
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
    /// How hot a cycle begins, in turn: what an order may cost more than the best, as a share of the step's cost. In the
    /// hottest it is what an order may cost more than the one before it, so that such a cycle goes far away.
    static constexpr std::array heats = {0.001, 0.003, 0.0003};
    static constexpr std::size_t hottest = 1;
    static constexpr std::size_t far_every = 16; ///< moves; one of another cut takes as long as some twenty small ones

    /// Stretches planned anew before each cycle: fewer where they lead nowhere. One takes as long as some ten small moves.
    static constexpr int most_stretches = 60;
    static constexpr int least_stretches = 10;

    static constexpr int little_patience = 60; // drops without a new lowest peak
    static constexpr int much_patience = 400;

    /// Disturbs the order. Returns: the bytes that `repair` shall then bring it under.
    auto disturbed() -> bytes_t
    {
        switch (draw_.below(6)) {
        case 0:
        case 1: disturb_.drop_some(edit_, capacity_, draw_); return capacity_;
        case 2: disturb_.keep_some(edit_, draw_); return capacity_;
        case 3: disturb_.keep_stretch(edit_, draw_); return capacity_;
        case 4: disturb_.drop_alike(edit_, capacity_, draw_); return capacity_;
        default: break;
        }
        auto const share = 0.3 * draw_.share() * draw_.share();
        return capacity_ - static_cast<bytes_t>(static_cast<double>(capacity_) * share);
    }

    /// Uses the room around what was touched, first for other tensors than those just dropped.
    void fill_around(std::size_t first, std::size_t last)
    {
        fill_options some;
        some.from = first > disturb_.window ? first - disturb_.window : 0;
        some.to = last + disturb_.window;
        some.noise = draw_.share();
        some.seed = draw_.next();
        if (!disturb_.dropped().empty()) {
            some.frozen = disturb_.dropped();
            fill(edit_, capacity_, stop_, some);
            some.frozen = {};
        }
        fill(edit_, capacity_, stop_, some);
    }

    /// The most that an order may cost to be gone on from.
    auto acceptable(cost_t before) -> cost_t
    {
        auto const turn = static_cast<std::size_t>(moves_ / cycle) % heats.size();
        auto const cooled = 1 - static_cast<double>(moves_ % cycle) / static_cast<double>(cycle);
        auto const heat = heats[turn] * cooled * static_cast<double>(p_->base_cost());
        auto const more = static_cast<cost_t>(heat * -detail::math::log(1 - draw_.share()));
        return turn == hottest ? before + more : std::max(before, best_cost_ + more);
    }

    /// Goes on from the order of another cut, if that is good enough.
    void move_far(cost_t most)
    {
        auto const order = recut_(edit_, draw_);
        if (!order) {
            return;
        }
        order_editor far(*p_, *order);
        if (!mended(far, capacity_, much_patience, edit_.cost())) {
            return;
        }
        fill(far, capacity_, stop_);
        if (far.cost() <= most) {
            edit_ = std::move(far);
            keep_if_best();
        }
    }

    /// Plans up to `count` stretches of `order` anew. Returns: whether that changed it.
    auto retrace_some(run_order& order, int count) -> bool
    {
        bool changed = false;
        for (int i = 0; i < count && !stop_.expired(); ++i) {
            auto const how = retrace_.drawn(order, draw_);
            if (!how) {
                break;
            }
            if (auto other = retrace_(order, *how, draw_, stop_)) {
                order = *std::move(other);
                changed = true;
            }
        }
        return changed;
    }

    void move()
    {
        if (moves_ % cycle == 0) {
            bool const other = retrace_some(best_, stretches_); // of the same cost, too, since that leads on
            if (other || edit_.cost() > best_cost_) {
                edit_ = order_editor(*p_, best_);
            }
            bool const cheaper = edit_.cost() < std::exchange(best_cost_, std::min(best_cost_, edit_.cost()));
            stretches_ = std::clamp(cheaper ? 2 * stretches_ : stretches_ / 2, least_stretches, most_stretches);
        }
        auto const before = edit_.cost();
        auto const most = acceptable(before);
        ++moves_;
        if (!recut_.empty() && draw_.below(far_every) == 0) {
            move_far(most);
            return;
        }
        disturb_.forget();
        edit_.record();
        if (!mended(edit_, disturbed(), little_patience, before)) {
            edit_.undo();
            return;
        }
        auto const [first, last] = edit_.touched();
        if (first > last) {
            return;
        }
        fill_around(first, last);
        if (edit_.cost() > most) {
            edit_.undo();
            return;
        }
        keep_if_best();
    }

    /// Whether `e`, repaired for `target` bytes, fits.
    auto mended(order_editor& e, bytes_t target, int patience, cost_t before) -> bool
    {
        repair_options how;
        how.spread = static_cast<double>(draw_.below(3)) * 0.5;
        how.noise = draw_.share();
        how.seed = draw_.next();
        how.patience = patience;
        how.give_up_at = before + p_->base_cost() / 10;
        (void)repair_(e, target, how, stop_);
        return e.peak() <= capacity_;
    }

    void keep_if_best()
    {
        if (edit_.cost() < best_cost_) {
            best_cost_ = edit_.cost();
            best_ = edit_.order();
        }
    }

    problem const* p_;
    bytes_t capacity_;
    random_draws draw_;
    stop_watch stop_;
    order_editor edit_;
    repair repair_;
    basic_disturb<Lazy> disturb_;
    basic_recut<Lazy> recut_;
    basic_retrace<Lazy> retrace_;
    run_order best_;
    cost_t best_cost_;
    int stretches_ = most_stretches;
    std::int64_t moves_ = 0;
};

using polisher = basic_polisher<>;

/// Improves the best order of the search so far; proposes nothing when there is none.
///
/// It makes a fixed number of moves, so that the plan does not depend on the machine's speed; `until_deadline` has it go on
/// as long as a deadline allows, from each of as many seeds as `limits::threads`, side by side. Of a deadline it takes no more
/// than three quarters of the time left, since what it finds must still be placed.
struct polish {
    static constexpr bool refines = true;
    std::int64_t moves = 2000;   ///< in all; fewer when the bound is reached
    bool until_deadline = false; ///< any number of moves when there is a deadline

    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "polish"; }
    template <class Lazy>
    void solve(basic_search<Lazy>& on) const
    {
        auto left = until_deadline && on.stop().timed() ? std::numeric_limits<std::int64_t>::max() : moves;
        if (!on.best() || left <= 0) {
            return;
        }
        auto const& p = on.subject();
        constexpr double share = 0.75;
        bool const timed = left > moves;
        std::deque<basic_polisher<Lazy>> jobs; // from the same order, each by its own way
        for (unsigned i = 0; i < (timed ? std::max(1U, on.how().threads) : 1U); ++i) {
            jobs.emplace_back(p,
                              on.best()->order,
                              on.budget() - p.resident_bytes(),
                              on.seed() + i * detail::mix(i),
                              on.stop().part(share),
                              on.points());
        }
        auto name = on.best()->name;
        if (!name.ends_with(suffix)) {
            name += suffix;
        }
        for (std::vector<char> more(jobs.size(), 1); left > 0; left -= at_once) {
            on.side_by_side(jobs.size(), [&](std::size_t i) {
                more[i] = jobs[i].run(std::min(left, at_once), on.bound().cost) ? 1 : 0;
            });
            for (auto const& job : jobs) {
                if (job.best_cost() < on.best()->cost) {
                    on.propose({.make = [&job] { return job.best(); }, .as_is = true, .name = name});
                }
            }
            if (std::count(more.begin(), more.end(), 1) < static_cast<std::ptrdiff_t>(more.size())) {
                break;
            }
        }
    }

private:
    static constexpr std::int64_t at_once = 1000; // moves between reports
    static constexpr std::string_view suffix = "+polish";
};

} // namespace strata
