// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Plans a stretch of an order anew, as a shortest way back from what must be live at its end.
#pragma once

#include <strata/detail/mix.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/disturb.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/order_stretch.hpp>
#include <strata/solve/search.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

/// How far a `retrace` looks.
struct retrace_options {
    op_id from = 0, to = 0; ///< first runs of the stretch; `to` is left out
    int width = 30;         ///< states gone on from between two first runs; fewer where many tensors are live
    double byte_price = 0;  ///< what a live byte weighs beside cost when states are compared
};

/// A stretch of an order planned anew: which replays run in it, and where, between what is live at both ends.
///
/// A state is how many first runs are left of the stretch and what must be live there. The run before it was the next
/// first run, or a replay of something live: then what that made need not be there and what it read must be, and all of it fits
/// while it runs. A* over these states, from the end of the stretch to its begin (Hart, Nilsson, Raphael, "A formal basis for the
/// heuristic determination of minimum cost paths", 1968): what is missing at the begin must be made by replays, at least
/// once, which no way can avoid. Ways that cost more than the order does are cut off, so that a short stretch is
/// searched to the end; of a long one, only the `width` most promising states of each first run are gone on from.
///
/// Moves that drop and keep tensors take a plan from one set of kept tensors to another; this takes all replays of
/// a stretch to another arrangement at once, in which one tensor may be made again several times, and others between.
template <class Lazy = void>
class basic_retrace {
public:
    /// `capacity` without resident bytes. `p` outlives it.
    basic_retrace(problem const& p, bytes_t capacity)
        : p_(&p)
        , capacity_(capacity)
        , stretch_(p, capacity)
    {
    }

    /// A stretch around one of the replays of `order` between the first runs of two ops, drawn at random: short ones more often,
    /// and how far to look.
    /// Returns: nothing where there are no such replays. Complexity: O(length of the order).
    [[nodiscard]] auto drawn(std::span<op_id const> order, random_draws& draw, op_id first = 0, op_id last = none) const
        -> std::optional<retrace_options>
    {
        std::vector<op_id> begun_at_replays;
        op_id begun = 0;
        for (auto o : order) {
            if (o == begun) {
                ++begun;
            } else if (begun >= first && (last == none || begun <= last)) {
                begun_at_replays.push_back(begun);
            }
        }
        if (begun_at_replays.empty()) {
            return {};
        }
        constexpr double often = 0.7;
        auto const ops = static_cast<double>(p_->op_count());
        auto const length = draw.share() < often ? 5 + 40 * draw.share() : 20 + std::min(ops / 2, 200.0) * draw.share();
        auto const around = static_cast<double>(begun_at_replays[draw.below(begun_at_replays.size())]);
        retrace_options how;
        how.to = static_cast<op_id>(std::min(ops, 1 + around + length * draw.share()));
        how.from = static_cast<op_id>(std::max(0.0, static_cast<double>(how.to) - length));
        how.width = draw.below(5) == 0 ? 4 * how.width : how.width;
        auto const price =
            0.6 * static_cast<double>(p_->base_cost()) / static_cast<double>(std::max<bytes_t>(1, capacity_));
        how.byte_price = draw.below(2) == 0 ? 0 : price * draw.share();
        return how;
    }

    /// `order` with the stretch planned anew; it fits, and costs less, or as much in another way.
    /// Returns: nothing when no such way is found. Requires: `order` fits and has its first runs in index order; 0 <= from < to <= ops.
    /// Complexity: O(width × first runs × tensors live × their inputs + length of the order).
    [[nodiscard]] auto
    operator()(std::span<op_id const> order, retrace_options const& how, random_draws& draw, stop_watch const& stop)
        -> std::optional<run_order>
    {
        if (!stretch_.take(order, how.from, how.to, draw)) {
            return {};
        }
        auto const old =
            order.subspan(stretch_.first_run(how.from), stretch_.first_run(how.to) - stretch_.first_run(how.from));
        first_runs_.assign(1, 0);
        for (auto o = how.from; o < how.to; ++o) {
            first_runs_.push_back(first_runs_.back() + p_->cost(o));
        }
        most_ = cost_of(*p_, old);
        if (most_ == first_runs_.back()) {
            return {};
        }
        nodes_.clear();
        next_.clear();
        state start;
        start.live = stretch_.needed();
        start.bytes = stretch_.bytes(start.live);
        start.least = stretch_.least_cost(start.live);
        next_.push_back(start);
        std::int64_t live = 1;
        start.live.each([&](std::size_t /*i*/) { ++live; });
        auto const affordable = std::max(least_width, most_undone / (live * (how.to - how.from)));
        auto const width = static_cast<int>(std::min<std::int64_t>(how.width, affordable));
        for (auto o = how.to; o-- > how.from;) {
            go_back(o, how, width);
            if (next_.empty() || stop.expired()) {
                return {};
            }
        }
        return joined(order, old);
    }

private:
    struct state {
        stretch_set live;
        bytes_t bytes = 0;
        cost_t cost = 0;  // of the runs from here to the end
        cost_t least = 0; // of the replays that must come before
        std::int32_t from = none;
        op_id run = none;
    };
    struct node {
        std::int32_t from;
        op_id run;
    };
    using entry = std::pair<double, std::int32_t>;
    static constexpr std::int64_t most_undone = 300'000; // runs, about, where fewer states are gone on from than asked
    static constexpr std::int64_t least_width = 8;

    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }

    static auto key_of(stretch_set const& s) noexcept -> std::uint64_t
    {
        std::uint64_t h = 0;
        for (auto w : s.words) {
            h = detail::mix(h ^ w);
        }
        return h;
    }

    /// States by what is live, the cheapest each.
    class table {
    public:
        void clear() { places_.assign(places_.size(), none); }
        /// Where the state with `live` in `all` is noted; there is `none` until it is set.
        auto find(stretch_set const& live, std::vector<state> const& all) -> std::int32_t&
        {
            if (2 * (used_of(all) + 1) > places_.size()) {
                grow(all);
            }
            auto i = key_of(live) & (places_.size() - 1);
            while (places_[i] != none && all[at(places_[i])].live != live) {
                i = (i + 1) & (places_.size() - 1);
            }
            return places_[i];
        }

    private:
        static auto used_of(std::vector<state> const& all) -> std::size_t { return all.size(); }
        void grow(std::vector<state> const& all)
        {
            places_.assign(2 * places_.size(), none);
            for (std::size_t k = 0; k < all.size(); ++k) {
                auto i = key_of(all[k].live) & (places_.size() - 1);
                while (places_[i] != none) {
                    i = (i + 1) & (places_.size() - 1);
                }
                places_[i] = static_cast<std::int32_t>(k);
            }
        }
        std::vector<std::int32_t> places_ = std::vector<std::int32_t>(1024, none); // a power of two
    };

    /// The state before `x` runs, where `s` follows. Returns: false if that does not fit.
    auto undo(state const& s, stretch_op const& x, bytes_t room, state& before) const -> bool
    {
        auto const kept = s.live - x.writes;
        auto const fetched = x.reads - s.live;
        auto const added = stretch_.bytes(fetched);
        if (s.bytes + stretch_.bytes((x.writes - s.live) - fetched) + added + x.workspace > room) {
            return false;
        }
        before.live = kept | x.reads;
        before.bytes = s.bytes - stretch_.bytes((s.live & x.writes) - x.reads) + added;
        before.cost = s.cost + x.cost;
        before.run = x.op;
        return true;
    }

    /// Notes `s` in `all`, if it can still win and is not there already as cheap. Returns: where it is, or `none`.
    auto note(state& s, cost_t to_come, std::vector<state>& all, table& where) const -> std::int32_t
    {
        if (s.cost + to_come > most_) {
            return none;
        }
        auto& there = where.find(s.live, all);
        if (there != none) {
            auto& known = all[at(there)];
            if (known.cost <= s.cost) {
                return none;
            }
            s.least = known.least;
            known = s;
            return there;
        }
        s.least = stretch_.least_cost(s.live);
        if (s.least > most_ - s.cost - to_come) {
            return none;
        }
        there = static_cast<std::int32_t>(all.size());
        all.push_back(s);
        return there;
    }

    /// From right after the first run of `o` to right before it, for all in `next_`.
    void go_back(op_id o, retrace_options const& how, int width)
    {
        std::swap(now_, next_);
        next_.clear();
        next_table_.clear();
        now_table_.clear();
        auto const room_after = std::min(stretch_.room(o), stretch_.room(std::min(o + 1, p_->op_count() - 1)));
        auto const before_it = first_runs_[at(o - how.from)];
        auto const until_it = first_runs_[at(o - how.from) + 1];
        open_.clear();
        auto const open = [&](std::int32_t i) {
            auto const& s = now_[at(i)];
            open_.emplace_back(static_cast<double>(s.cost + s.least) + how.byte_price * static_cast<double>(s.bytes),
                               i);
            std::push_heap(open_.begin(), open_.end(), std::greater<>());
        };
        std::vector<state> given;
        std::swap(given, now_);
        for (auto const& s : given) {
            auto& there = now_table_.find(s.live, now_);
            there = static_cast<std::int32_t>(now_.size());
            now_.push_back(s);
            open(there);
        }
        done_.assign(now_.size(), 0);
        state s;
        for (int gone_on = 0; gone_on < width && !open_.empty();) {
            std::pop_heap(open_.begin(), open_.end(), std::greater<>());
            auto const i = open_.back().second;
            open_.pop_back();
            if (done_[at(i)] != 0) {
                continue;
            }
            done_[at(i)] = 1;
            ++gone_on;
            auto const now = now_[at(i)];
            auto const from = static_cast<std::int32_t>(nodes_.size());
            nodes_.push_back({now.from, now.run});
            if (undo(now, stretch_.first(o), stretch_.room(o), s)) {
                s.from = from;
                (void)note(s, before_it, next_, next_table_);
            }
            std::int32_t last = none;
            now.live.each([&](std::size_t t) {
                auto const m = stretch_.maker(t);
                if (m == none || m == last || stretch_.ops()[at(m)].op >= o) {
                    return;
                }
                last = m;
                if (undo(now, stretch_.ops()[at(m)], room_after, s)) {
                    s.from = from;
                    if (auto const where = note(s, until_it, now_, now_table_); where != none) {
                        done_.resize(now_.size(), 0);
                        done_[at(where)] = 0;
                        open(where);
                    }
                }
            });
        }
    }

    /// The whole order with the cheapest new stretch that fits.
    auto joined(std::span<op_id const> order, std::span<op_id const> old) -> std::optional<run_order>
    {
        constexpr int tries = 8;
        std::sort(next_.begin(), next_.end(), [](state const& a, state const& b) {
            return a.cost != b.cost ? a.cost < b.cost : a.from < b.from;
        });
        int tried = 0;
        for (auto const& s : next_) {
            if (s.least > 0) {
                continue;
            }
            if (++tried > tries) {
                break;
            }
            auto const begin = static_cast<std::size_t>(old.data() - order.data());
            run_order r(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(begin));
            r.push_back(s.run);
            for (auto i = s.from; i != none; i = nodes_[at(i)].from) {
                if (nodes_[at(i)].run != none) {
                    r.push_back(nodes_[at(i)].run);
                }
            }
            r.insert(r.end(), order.begin() + static_cast<std::ptrdiff_t>(begin + old.size()), order.end());
            if (!std::equal(r.begin(), r.end(), order.begin(), order.end()) &&
                peak_of(*p_, r) <= capacity_ + p_->resident_bytes()) {
                return r;
            }
        }
        return {};
    }

    problem const* p_;
    bytes_t capacity_;
    basic_order_stretch<Lazy> stretch_;
    cost_t most_ = 0;                // that the stretch may cost
    std::vector<cost_t> first_runs_; // cost of those of the stretch before one
    std::vector<node> nodes_;
    std::vector<state> now_, next_;
    table now_table_, next_table_;
    std::vector<entry> open_;
    std::vector<char> done_;
};

using retrace = basic_retrace<>;

/// Plans stretches of the best order anew, drawn at random, as long as that helps. Proposes nothing when there is none.
///
/// What it reaches in a tenth of a second near the smallest budget, where one op is made again many times, no number of moves
/// of `polish` has reached; `polish` makes the same moves beside its own.
struct retrace_stretches {
    std::int64_t runs = 100'000; ///< about so many ops are run on paper, where each stretch counts as a whole step
    double worth_it =
        0.01; ///< share of the step's cost that a plan must be above its bound for this to be worth its time

    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "retrace"; }
    template <class Lazy>
    void solve(basic_search<Lazy>& on) const
    {
        if (!on.best() || on.done() || on.above_bound() < worth_it) {
            return;
        }
        auto const& p = on.subject();
        basic_retrace<Lazy> back(p, on.budget() - p.resident_bytes());
        random_draws draw(on.seed());
        auto order = on.best()->order;
        auto cost = on.best()->cost;
        auto const most = std::min<std::int64_t>(1000, runs / p.op_count());
        for (std::int64_t i = 0, idle = 0; i < most && 3 * idle < most && !on.stop().expired(); ++i, ++idle) {
            auto const how = back.drawn(order, draw);
            if (!how) {
                break;
            }
            if (auto other = back(order, *how, draw, on.stop())) {
                order = *std::move(other);
                auto const now = cost_of(p, order);
                idle = now < cost ? 0 : idle;
                cost = now;
            }
        }
        if (cost < on.best()->cost) {
            auto const called = on.best()->name + "+retrace";
            on.propose({.make = [&order] { return order; }, .name = called});
        }
    }
};

} // namespace strata
