// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief An order of first runs that needs few bytes, proven to need the fewest where the graph is small or narrow.
///
/// The search goes over downsets, as in Ahn et al., "Ordering chaos: memory-aware scheduling of irregularly wired neural
/// networks for edge devices" (MLSys 2020): how a set of ops was run does not matter for what follows. It visits every
/// downset that can be reached within a level of bytes, the lower limit at first; when none is left, the level rises to
/// the least that leads on. So the level is proven at all times, and the first order to arrive is minimal. Chains that
/// may as well run at once do (see detail/downset.hpp), which leaves few real choices. When the search has to give up,
/// the best order of a beam search is the answer, and the level is its lower limit.
#pragma once

#include <strata/detail/downset.hpp>
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

/// A lower limit of the peak of every order in which each op runs once: while an op runs, its own tensors are live, and
/// so is every tensor made by what must come before and used by what must come after.
/// Complexity: O(ops · (tensors + ops / 64)); beyond 4096 ops only an op's own tensors are counted, in linear time.
template <class = void>
[[nodiscard]] auto least_peak(problem const& p) -> bytes_t
{
    constexpr op_id most_related = 4096;
    auto const at = [](std::int32_t i) { return static_cast<std::size_t>(i); };
    auto const n = at(p.op_count());
    auto const words = p.op_count() <= most_related ? (n + 63) / 64 : 0;
    detail::op_bits above(n * words, 0); // per op: itself and all that must come before it
    auto const has = [&](op_id o, op_id b) { return (above[at(o) * words + at(b) / 64] >> (at(b) % 64) & 1U) != 0; };
    auto const before = first_run_predecessors(p);
    std::vector<bytes_t> live(n);
    for (op_id o = 0; o < p.op_count(); ++o) {
        live[at(o)] = p.resident_bytes() + p.workspace(o);
        if (words > 0) {
            above[at(o) * words + at(o) / 64] |= std::uint64_t{1} << (at(o) % 64);
            for (auto b : before[at(o)]) {
                for (std::size_t w = 0; w < words; ++w) {
                    above[at(o) * words + w] |= above[at(b) * words + w];
                }
            }
        }
    }
    std::vector<std::uint64_t> until(words); // what must come before some user of a tensor
    for (tensor_id t = 0; t < p.tensor_count(); ++t) {
        if (p.resident(t)) {
            continue;
        }
        if (words == 0) {
            for (auto const users : {p.producers(t), p.consumers(t)}) {
                for (auto o : users) {
                    live[at(o)] += p.size(t);
                }
            }
            continue;
        }
        std::fill(until.begin(), until.end(), p.is_target(t) ? ~std::uint64_t{0} : 0);
        for (auto const users : {p.producers(t), p.consumers(t)}) {
            for (auto u : users) {
                for (std::size_t w = 0; w < words; ++w) {
                    until[w] |= above[at(u) * words + w];
                }
            }
        }
        auto const first = p.producers(t).front();
        for (auto o = first; o < p.op_count(); ++o) {
            bool const before_some_use = (until[at(o) / 64] >> (at(o) % 64) & 1U) != 0;
            live[at(o)] += before_some_use && has(o, first) ? p.size(t) : 0;
        }
    }
    return *std::max_element(live.begin(), live.end());
}

/// The search of one problem, which outlives it.
template <class Lazy = void>
class basic_order_search {
    using downset = detail::basic_downset<Lazy>;
    using pool = detail::basic_downset_pool<Lazy>;

public:
    /// `effort`: ops run or taken back while searching.
    basic_order_search(problem const& p, std::int64_t effort, stop_watch stop)
        : p_(&p)
        , stop_(std::move(stop))
        , at_(p)
        , start_(at_.bits().size(), 0)
        , effort_(effort)
    {
        run_order given(static_cast<std::size_t>(p.op_count()));
        for (std::size_t k = 0; k < given.size(); ++k) {
            given[k] = static_cast<op_id>(k);
        }
        best_.lower_limit = least_peak<Lazy>(p);
        best_.peak = max_bytes;
        offer(std::move(given));
    }

    [[nodiscard]] auto run() && -> memory_order
    {
        for (auto const step : {&basic_order_search::greedy, &basic_order_search::beam, &basic_order_search::prove}) {
            if (!best_.minimal() && at_.moves() < effort_) {
                (this->*step)();
            }
        }
        return std::move(best_);
    }

private:
    static constexpr std::size_t most_words = 4'000'000; // of downsets kept

    void offer(run_order order)
    {
        if (auto const peak = peak_of<Lazy>(*p_, order); peak < best_.peak) {
            best_.peak = peak;
            best_.order = std::move(order);
        }
    }
    [[nodiscard]] auto full() const -> bool { return at_.size() == p_->op_count(); }
    /// Bytes live after `o` has run next.
    [[nodiscard]] auto live_after(op_id o) -> bytes_t
    {
        at_.run(o);
        auto const live = at_.live();
        at_.undo(o);
        return live;
    }

    /// Always the op that needs the least more than the peak so far, then that which leaves the fewest bytes.
    void greedy()
    {
        at_.go_to(start_);
        run_order ran;
        auto peak = best_.lower_limit;
        for (at_.settle(peak, ran); !full() && !stop_.expired(); at_.settle(peak, ran)) {
            choice best{max_bytes, max_bytes, none};
            auto const ready = at_.ready();
            for (auto o : ready) {
                best = std::min(best, choice{std::max(peak, at_.need(o)), live_after(o), o});
            }
            peak = best.peak;
            at_.run(best.op);
            ran.push_back(best.op);
        }
        if (full()) {
            offer(std::move(ran));
        }
    }

    /// Of the downsets of each size, goes on from those with the lowest peak so far, then the fewest bytes live: from many
    /// at first, from one when a third of the effort is spent.
    void beam()
    {
        constexpr std::size_t widest = 64;
        pool seen(start_.size());
        std::vector<std::vector<std::size_t>> by_size(static_cast<std::size_t>(p_->op_count()) + 1);
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
            now.resize(std::min(now.size(), at_.moves() < effort_ / 3 ? widest : 1));
            for (auto i : now) {
                at_.go_to(seen.bits(i));
                if (full()) {
                    return offer(seen.way_to(i));
                }
                auto const ready = at_.ready();
                for (auto o : ready) {
                    auto const peak = std::max(seen[i].peak, at_.need(o));
                    if (peak < best_.peak) {
                        ran.assign(1, o);
                        at_.run(o);
                        arrive(i, peak, ran);
                        at_.go_to(seen.bits(i));
                    }
                }
            }
            if (stop_.expired()) {
                return;
            }
        }
    }

    /// Raises the lower limit until an order arrives, the best one is met, or states or time run out.
    void prove()
    {
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
                push(open, {p_->op_count() - at_.size(), at_.live(), i});
            }
        };
        run_order ran;
        at_.go_to(start_);
        arrive(pool::nowhere, ran);
        auto const most_states = most_words / start_.size();
        for (std::int64_t steps = 0; at_.moves() < effort_ && seen.size() < most_states; ++steps) {
            if (open.empty()) {
                level = parked.front().first;
                if (level >= best_.peak) {
                    level = best_.peak;
                    return;
                }
                while (!parked.empty() && parked.front().first <= level) {
                    auto const i = pop(parked).state;
                    push(open, {p_->op_count() - seen[i].size, seen[i].live, i});
                }
            }
            if (steps % 64 == 0 && stop_.expired()) {
                return;
            }
            auto const i = pop(open).state;
            at_.go_to(seen.bits(i));
            if (full()) {
                return offer(seen.way_to(i));
            }
            if (expand(i, level, arrive, ran, seen) < max_bytes) {
                push(parked, {expand_needs_, 0, i});
            }
        }
    }

    /// Goes on from state `i`, at which it stands, in every way within `level`.
    /// Returns: the least that leads on besides, or `max_bytes` if nothing does.
    template <class Arrive>
    auto expand(std::size_t i, bytes_t level, Arrive const& arrive, run_order& ran, pool const& seen) -> bytes_t
    {
        expand_needs_ = max_bytes;
        ran.clear();
        at_.settle(level, ran); // since the level rose, more may be settled than when it was reached
        if (!ran.empty()) {
            arrive(i, ran);
            return expand_needs_;
        }
        auto const ready = at_.ready();
        for (auto o : ready) {
            if (auto const need = at_.need(o); need > level) {
                expand_needs_ = std::min(expand_needs_, need);
                continue;
            }
            ran.assign(1, o);
            at_.run(o);
            arrive(i, ran);
            at_.go_to(seen.bits(i));
        }
        return expand_needs_;
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
    stop_watch stop_;
    downset at_;
    detail::op_bits start_; // the empty set
    std::int64_t effort_;
    memory_order best_;
    bytes_t expand_needs_ = 0;
};

using order_search = basic_order_search<>;

/// An order of first runs of `p` with a low peak: the lowest there is when `minimal()`, and never above that of the order
/// given, which is the answer when nothing is lower.
///
/// `effort` bounds the search: ops run or taken back; the default takes a second or two at most. When `stop` expires the
/// best order so far is the answer. The same problem and effort give the same answer unless that happens.
/// Complexity: O(ops · ready ops + `effort`); exponential in the width of the graph if `effort` allows.
/// Example: examples/09_inference.cpp
template <class Lazy = void>
[[nodiscard]] auto minimal_order(problem const& p, std::int64_t effort = 20'000'000, stop_watch stop = {})
    -> memory_order
{
    return basic_order_search<Lazy>(p, effort, std::move(stop)).run();
}

} // namespace strata
