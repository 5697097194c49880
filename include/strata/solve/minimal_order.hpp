// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief An order of first runs that needs few bytes, proven to need the fewest where the graph is small or narrow.
///
/// The search goes over downsets, as in Ahn et al., "Ordering chaos: memory-aware scheduling of irregularly wired neural
/// networks for edge devices" (MLSys 2020): how a set of ops was run does not matter for what follows. It visits every
/// downset that can be reached within a level of bytes, the lower limit at first; when none is left, the level rises to
/// the least that leads on. So the level is proven at all times, and the first order to arrive is minimal. Chains that
/// may as well run at once do (see detail/downset.hpp), which leaves few real choices; from the end of the step, which
/// is searched too, other chains than from its beginning. When the search has to give up, the best order of a beam search
/// is the answer, and the level is its lower limit.
#pragma once

#include <strata/bound/least_peak.hpp>
#include <strata/detail/downset.hpp>
#include <strata/detail/downset_pool.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/limits.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace strata {

/// An order of first runs and what is known about it.
struct memory_order {
    run_order order = {};
    bytes_t peak = 0;        ///< of `order` when every tensor is freed early; resident bytes included
    bytes_t lower_limit = 0; ///< no order in which every op runs once has a lower peak; proven

    [[nodiscard]] auto minimal() const noexcept -> bool { return peak == lower_limit; }
    friend auto operator==(memory_order const&, memory_order const&) -> bool = default;
};

/// The search in one direction: from the beginning of an order, or from its end.
template <class Lazy = void>
class basic_order_search {
    using downset = detail::basic_downset<Lazy>;
    using pool = detail::basic_downset_pool<Lazy>;

public:
    /// `best` is made better by what follows; it and `p` outlive the search.
    basic_order_search(problem const& p, bool backward, memory_order& best, stop_watch stop)
        : p_(&p)
        , backward_(backward)
        , best_(best)
        , stop_(std::move(stop))
        , at_(detail::order_net_of<Lazy>(p, backward))
        , start_(at_.bits().size(), 0)
    {
    }

    /// Always the op that needs the least more than the peak so far, then that which leaves the fewest bytes.
    void greedy(std::int64_t effort)
    {
        at_.go_to(start_);
        finish({}, best_.lower_limit, at_.moves() + effort);
    }

    /// Of the downsets of each size, goes on from the 64 with the lowest peak so far, then the fewest bytes live; from one
    /// of them, greedily, when `effort` is spent.
    void beam(std::int64_t effort)
    {
        constexpr std::size_t width = 64;
        auto const end = at_.moves() + effort;
        pool seen(start_.size());
        std::vector<std::vector<std::size_t>> by_size(static_cast<std::size_t>(at_.op_count()) + 1);
        auto const arrive = [&](std::size_t parent, bytes_t peak, run_order& ran) {
            at_.settle(peak, ran);
            if (auto const i = seen.add(at_, parent, ran, peak); i != pool::nowhere) {
                by_size[static_cast<std::size_t>(seen[i].size)].push_back(i);
            }
        };
        run_order ran;
        at_.go_to(start_);
        arrive(pool::nowhere, best_.lower_limit, ran);
        for (auto& now : by_size) {
            std::sort(now.begin(), now.end(), [&](std::size_t a, std::size_t b) {
                auto const &x = seen[a], &y = seen[b];
                return x.peak != y.peak ? x.peak < y.peak : x.live != y.live ? x.live < y.live : a < b;
            });
            now.erase(std::unique(now.begin(), now.end()), now.end());
            now.resize(std::min(now.size(), width));
            for (auto i : now) {
                at_.go_to(seen.bits(i));
                if (at_.full() || at_.moves() >= end || late()) {
                    return finish(seen.way_to(i), seen[i].peak, end + effort);
                }
                auto const ready = at_.ready();
                for (auto o : ready) {
                    auto const peak = std::max(seen[i].peak, at_.need(o));
                    if (peak < best_.peak && !late()) {
                        ran.assign(1, o);
                        at_.run(o);
                        arrive(i, peak, ran);
                        at_.go_to(seen.bits(i));
                    }
                }
            }
        }
    }

    /// Raises the lower limit until an order arrives, the best one is met, or effort, states or time run out.
    void prove(std::int64_t effort)
    {
        constexpr std::size_t most_words = 4'000'000; // of downsets kept
        auto const end = at_.moves() + effort;
        pool seen(start_.size());
        auto& level = best_.lower_limit;
        std::vector<open_state> open, parked; // heaps
        auto const later = [](open_state const& a, open_state const& b) { return b < a; };
        auto const push = [&](std::vector<open_state>& to, open_state const& x) {
            to.push_back(x);
            std::push_heap(to.begin(), to.end(), later);
        };
        auto const pop = [&](std::vector<open_state>& from) {
            std::pop_heap(from.begin(), from.end(), later);
            auto const x = from.back();
            from.pop_back();
            return x;
        };
        auto const arrive = [&](std::size_t parent, run_order& ran) {
            at_.settle(level, ran);
            if (auto const i = seen.add(at_, parent, ran, 0); i != pool::nowhere) {
                push(open, {at_.op_count() - at_.size(), at_.live(), i});
            }
        };
        run_order ran;
        at_.go_to(start_);
        arrive(pool::nowhere, ran);
        auto const most_states = most_words / start_.size();
        while (at_.moves() < end && seen.size() < most_states) {
            if (open.empty()) {
                level = parked.front().first;
                if (level >= best_.peak) {
                    level = best_.peak;
                    return;
                }
                while (!parked.empty() && parked.front().first <= level) {
                    auto const i = pop(parked).state;
                    push(open, {at_.op_count() - seen[i].size, seen[i].live, i});
                }
            }
            if (late()) {
                return;
            }
            auto const i = pop(open).state;
            at_.go_to(seen.bits(i));
            if (at_.full()) {
                return offer(seen.way_to(i));
            }
            auto beyond = max_bytes; // the least above the level that leads on
            ran.clear();
            at_.settle(level, ran); // the level may have risen since the state was reached, and more be settled
            if (!ran.empty()) {
                arrive(i, ran);
                continue;
            }
            auto const ready = at_.ready();
            for (auto o : ready) {
                if (late()) {
                    return;
                }
                if (auto const need = at_.need(o); need > level) {
                    beyond = std::min(beyond, need);
                } else {
                    ran.assign(1, o);
                    at_.run(o);
                    arrive(i, ran);
                    at_.go_to(seen.bits(i));
                }
            }
            if (beyond < max_bytes) {
                push(parked, {beyond, 0, i});
            }
        }
    }

private:
    /// Whether time is up, asked once in some thousand moves: on a wide step one state has thousands of ways on.
    auto late() -> bool
    {
        constexpr std::int64_t moves = 2000;
        if (!late_ && at_.moves() >= next_look_) {
            next_look_ = at_.moves() + moves;
            late_ = stop_.expired();
        }
        return late_;
    }

    /// Goes on greedily from where it stands, which `ran` leads to with a peak of `peak` at most, until there have been `end`
    /// moves.
    void finish(run_order ran, bytes_t peak, std::int64_t end)
    {
        for (at_.settle(peak, ran); !at_.full(); at_.settle(peak, ran)) {
            choice best{max_bytes, max_bytes, none};
            auto const ready = at_.ready();
            for (auto o : ready) {
                best = std::min(best, choice{std::max(peak, at_.need(o)), at_.live_after(o), o});
            }
            if (best.peak >= best_.peak || at_.moves() > end || late()) {
                return;
            }
            peak = best.peak;
            at_.run(best.op);
            ran.push_back(best.op);
        }
        offer(std::move(ran));
    }
    /// `way`, in the ids of the search, is taken if it is better than the best so far.
    void offer(run_order way)
    {
        if (backward_) {
            std::reverse(way.begin(), way.end());
            std::transform(way.begin(), way.end(), way.begin(), [&](op_id o) { return at_.op_count() - 1 - o; });
        }
        if (auto const peak = peak_of<Lazy>(*p_, way); peak < best_.peak) {
            best_.peak = peak;
            best_.order = std::move(way);
        }
    }

    struct choice {
        bytes_t peak, live;
        op_id op;
        friend auto operator<(choice const& a, choice const& b) -> bool
        {
            return a.peak != b.peak ? a.peak < b.peak : a.live != b.live ? a.live < b.live : a.op < b.op;
        }
    };
    struct open_state {
        bytes_t first, then;
        std::size_t state;
        friend auto operator<(open_state const& a, open_state const& b) -> bool
        {
            return a.first != b.first ? a.first < b.first : a.then != b.then ? a.then < b.then : a.state < b.state;
        }
    };

    problem const* p_;
    bool backward_;
    memory_order& best_;
    stop_watch stop_;
    std::int64_t next_look_ = 0; // at the watch, in moves
    bool late_ = false;
    downset at_;
    detail::op_bits start_; // the empty set
};

using order_search = basic_order_search<>;

/// What `minimal_order` may spend if nothing else is said: a few seconds at most.
inline constexpr std::int64_t order_effort = 40'000'000;

/// An order of first runs of `p` with a low peak: the lowest there is when `minimal()`, and never above that of the order
/// given, which is the answer when nothing is lower.
///
/// `effort` bounds the search: ops run, taken back or looked at. When `stop` expires the best order so far is the answer. The
/// same problem and effort give the same answer unless that happens.
/// Complexity: that of `least_peak`, and O(`effort` · d) for ops that touch d tensors and ops; what is needed for a proof
/// grows exponentially with the width of the graph.
/// Example: examples/09_inference.cpp
template <class Lazy = void>
[[nodiscard]] auto minimal_order(problem const& p, std::int64_t effort = order_effort, stop_watch const& stop = {})
    -> memory_order
{
    memory_order best{run_order(static_cast<std::size_t>(p.op_count())), 0, least_peak<Lazy>(p)};
    for (std::size_t k = 0; k < best.order.size(); ++k) {
        best.order[k] = static_cast<op_id>(k);
    }
    best.peak = peak_of<Lazy>(p, best.order);
    if (best.minimal() || stop.expired()) {
        return best;
    }
    basic_order_search<Lazy> from_start(p, false, best, stop);
    basic_order_search<Lazy> from_end(p, true, best, stop);
    auto const from_both = [&](auto const& look) {
        for (auto* side : {&from_start, &from_end}) {
            if (!best.minimal() && !stop.expired()) {
                look(*side);
            }
        }
    };
    // A short look for a proof first: what takes long from one side may be quick from the other.
    from_both([&](auto& side) { side.greedy(effort / 4); });
    from_both([&](auto& side) { side.prove(effort / 20); });
    from_both([&](auto& side) { side.beam(effort / 8); });
    from_both([&](auto& side) { side.prove(effort / 3); });
    return best;
}

} // namespace strata
