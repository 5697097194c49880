// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The options of a block: its frontier between bytes kept and cost, followed where it is widest.
#pragma once

#include <strata/merge/block_graph.hpp>
#include <strata/merge/concepts.hpp>
#include <strata/merge/expand.hpp>
#include <strata/merge/option.hpp>
#include <strata/partition/block.hpp>
#include <strata/partition/isolate.hpp>
#include <strata/pipeline/planner.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/concepts.hpp>
#include <strata/solve/just_in_time.hpp>
#include <strata/solve/limits.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace strata {

/// How thoroughly options are made.
struct option_effort {
    int budgets = 12;              ///< budgets asked for per peak
    int peaks = 2;                 ///< peaks asked for: that of keeping all, and lower ones down to the least possible
    std::size_t most_options = 24; ///< handed on
};

namespace detail {

/// `order`, of ops of `b` in a step of its own (without `enter` and `gap`), as an option of `p`: the forward half ends with
/// the last first run of a forward op.
template <class = void>
[[nodiscard]] auto split_at_turn(problem const& p, block const& b, run_order const& order) -> option
{
    std::vector<op_id> ran;
    std::size_t end = 0;
    for (std::size_t k = 0; k < order.size() && ran.size() < b.forward.size(); ++k) {
        auto const at = std::lower_bound(ran.begin(), ran.end(), order[k]);
        if ((at == ran.end() || *at != order[k]) && std::binary_search(b.forward.begin(), b.forward.end(), order[k])) {
            ran.insert(at, order[k]);
            end = k + 1;
        }
    }
    auto const cut = order.begin() + static_cast<std::ptrdiff_t>(end);
    return describe(p, b, run_order(order.begin(), cut), run_order(cut, order.end()));
}

/// At most `most` of `all`, the ends among them: of three neighbours in bytes held, the middle one goes where that costs
/// least against the line between the others. Sorted by bytes held, most first.
/// Complexity: O(options²).
template <class = void>
void thin_out(problem const& p, std::vector<option>& all, std::size_t most)
{
    auto const turn = turn_of(p);
    std::vector<std::pair<bytes_t, option>> by_held;
    for (auto& o : all) {
        auto const held = held_bytes(p, o, turn);
        by_held.emplace_back(held, std::move(o));
    }
    std::stable_sort(by_held.begin(), by_held.end(), [](auto const& a, auto const& b) {
        return a.first != b.first ? a.first > b.first : a.second.cost() < b.second.cost();
    });
    auto const lost = [&](std::size_t i) {
        auto const& more = by_held[i - 1];
        auto const& less = by_held[i + 1];
        auto const width = static_cast<double>(more.first - less.first);
        auto const at = width > 0 ? static_cast<double>(more.first - by_held[i].first) / width : 1.0;
        auto const rise = static_cast<double>(less.second.cost() - more.second.cost());
        return static_cast<double>(more.second.cost() - by_held[i].second.cost()) + at * rise;
    };
    while (by_held.size() > std::max<std::size_t>(2, most)) {
        std::size_t least = 1;
        for (std::size_t i = 2; i + 1 < by_held.size(); ++i) {
            least = lost(i) < lost(least) ? i : least;
        }
        by_held.erase(by_held.begin() + static_cast<std::ptrdiff_t>(least));
    }
    all.clear();
    for (auto& x : by_held) {
        all.push_back(std::move(x.second));
    }
}

/// Asks `plan_for(peak, gap bytes)` → `std::optional<option>` for ever other budgets and gathers the frontier of what comes.
///
/// For each peak: first the two ends, then the middle of the interval of kept bytes whose ends differ most in bytes times
/// cost, and so on: following the frontier needs far fewer plans than a grid over it.
template <class PlanFor>
void follow_frontier(problem const& step,
                     problem const& isolated,
                     bytes_t gap_border,
                     option_effort const& how,
                     stop_watch const& stop,
                     PlanFor const& plan_for,
                     std::vector<option>& frontier)
{
    auto const highest = peak_of(isolated, keep_all_order(isolated));
    auto const lowest = minimum_budget(isolated).bytes;
    struct end {
        bytes_t kept;
        cost_t cost;
    };
    for (int i = 0; i < how.peaks; ++i) {
        auto const peak = highest - (highest - lowest) / how.peaks * i;
        // With `kept` bytes kept at the gap, the peak is reached exactly there.
        auto const ask = [&](bytes_t kept) -> std::optional<end> {
            auto const gap = std::max<bytes_t>(0, peak - isolated.resident_bytes() - gap_border - kept);
            auto got = plan_for(peak, gap);
            if (!got) {
                return {};
            }
            auto const at = end{got->kept, got->cost()};
            (void)add_to_frontier(step, frontier, *std::move(got));
            return at;
        };
        auto const top = ask(std::max<bytes_t>(0, peak - isolated.resident_bytes() - gap_border));
        if (!top) {
            continue;
        }
        std::vector<std::pair<end, end>> open; // intervals of kept bytes, more and less
        bytes_t below = 0;                     // no plan keeps so few
        std::optional<end> bottom;
        int asked = 1;
        for (; asked < how.budgets && !bottom && top->kept > 0 && !stop.expired(); ++asked) {
            bottom = ask(below);
            below = bottom ? below : below + std::max<bytes_t>(1, (top->kept - below) / 4);
        }
        if (!bottom) {
            continue;
        }
        open.emplace_back(*top, *bottom);
        for (; asked < how.budgets && !open.empty() && !stop.expired(); ++asked) {
            auto const size = [](std::pair<end, end> const& x) {
                return static_cast<double>(x.first.kept - x.second.kept) *
                       static_cast<double>(x.second.cost - x.first.cost);
            };
            auto const widest = std::max_element(
                open.begin(), open.end(), [&](auto const& a, auto const& b) { return size(a) < size(b); });
            auto const [more, less] = *widest;
            open.erase(widest);
            if (more.kept - less.kept < 2 || less.cost <= more.cost) {
                continue;
            }
            if (auto const middle = ask(less.kept + (more.kept - less.kept) / 2)) {
                open.emplace_back(more, *middle);
                open.emplace_back(*middle, less);
            }
        }
    }
}

/// Bytes of border tensors that are live in the gap whatever is kept: what `gap` reads and makes.
template <class = void>
[[nodiscard]] auto gap_border_of(isolated_block const& b) -> bytes_t
{
    bytes_t sum = 0;
    if (b.gap != none) {
        for (auto t : b.subject.inputs(b.gap)) {
            sum += b.subject.size(t);
        }
        for (auto t : b.subject.outputs(b.gap)) {
            sum += b.subject.size(t);
        }
    }
    return sum;
}

/// The options every block has: keep everything; keep nothing and make it again when it is needed.
template <class = void>
[[nodiscard]] auto plain_options(problem const& p, block const& b, isolated_block const& own) -> std::vector<option>
{
    std::vector<option> r{describe(p, b, b.forward, b.backward)};
    if (own.gap != none) {
        auto const again = just_in_time(own.subject, own.gap, [](tensor_id) { return false; });
        (void)add_to_frontier(p, r, split_at_turn(p, b, own.in_step(again)));
    }
    return r;
}

/// The best order of `own` under `peak` bytes that `s` finds, as an option.
template <solver S>
[[nodiscard]] auto option_by(problem const& p,
                             block const& b,
                             isolated_block const& own,
                             bytes_t peak,
                             S const& s,
                             limits const& lim,
                             stop_watch const& stop) -> std::optional<option>
{
    planner const with(own.subject);
    auto const studied = with.analyse(peak, stop);
    if (!studied) {
        return {};
    }
    auto const best = with.best_order(peak, *studied, lim, stop, s, nullptr);
    if (!best) {
        return {};
    }
    return split_at_turn(p, b, own.in_step(best->order));
}

} // namespace detail

/// Options of `b`, planned by solver `s` as a step of its own, once with what it reads of others held for it and once not.
/// Sorted by `held_bytes`, most first.
/// Complexity: 2 · `effort.budgets` · `effort.peaks` runs of `s`.
template <solver S>
[[nodiscard]] auto options_by_solver(problem const& p,
                                     block const& b,
                                     S const& s,
                                     option_effort const& effort,
                                     limits const& lim,
                                     stop_watch const& stop) -> std::vector<option>
{
    auto const own = isolate(p, b);
    if (!own) {
        return {describe(p, b, b.forward, b.backward)};
    }
    auto r = detail::plain_options(p, b, *own);
    if (own->gap != none && !b.forward.empty() && r.front().kept > 0) {
        for (auto inputs : {border::held, border::counted}) {
            auto const alone = isolate(p, b, 0, inputs);
            auto const plan_for = [&](bytes_t peak, bytes_t gap) -> std::optional<option> {
                auto const asked = isolate(p, b, gap, inputs);
                return asked ? detail::option_by(p, b, *asked, peak, s, lim, stop) : std::nullopt;
            };
            if (alone) {
                detail::follow_frontier(p, alone->subject, detail::gap_border_of(*alone), effort, stop, plan_for, r);
            }
        }
    }
    detail::thin_out(p, r, effort.most_options);
    return r;
}

/// Options of `b` that `m` makes of options of its parts, given as `parts` (blocks of `p`) with orders of `p`'s ops.
/// Complexity: as many merges.
template <merger M>
void add_options_by_merger(problem const& p,
                           block const& b,
                           std::vector<block> const& parts,
                           std::vector<std::vector<option>> const& options,
                           M const& m,
                           option_effort const& effort,
                           stop_watch const& stop,
                           std::vector<option>& frontier)
{
    auto const graph_with = [&](isolated_block const& own) -> std::optional<block_graph> {
        std::vector<block> inner;
        std::vector<std::vector<option>> ways;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            inner.push_back({own.in_block(parts[i].forward), own.in_block(parts[i].backward)});
            ways.emplace_back();
            for (auto const& x : options[i]) {
                ways.back().push_back(
                    describe(own.subject, inner.back(), own.in_block(x.forward.order), own.in_block(x.backward.order)));
            }
        }
        for (op_id o = 0; o < own.subject.op_count(); ++o) { // enter and gap
            if (own.ops[static_cast<std::size_t>(o)] == none) {
                auto const& half =
                    o == own.gap ? inner.emplace_back(block{{}, {o}}) : inner.emplace_back(block{{o}, {}});
                ways.push_back({describe(own.subject, half, half.forward, half.backward)});
            }
        }
        auto made = block_graph::make(own.subject, std::move(inner), std::move(ways));
        return made ? std::optional(*std::move(made)) : std::nullopt;
    };
    auto const own = isolate(p, b);
    if (!own || own->gap == none || b.forward.empty()) {
        return;
    }
    auto const plan_for = [&](bytes_t peak, bytes_t gap) -> std::optional<option> {
        auto const asked = isolate(p, b, gap);
        auto const g = asked ? graph_with(*asked) : std::nullopt;
        auto const plan = g ? m.merge(*g, peak, stop) : std::nullopt;
        if (!plan || promise_of(*g, *plan).peak > peak) {
            return {};
        }
        return detail::split_at_turn(p, b, asked->in_step(expand(*g, *plan)));
    };
    detail::follow_frontier(p, own->subject, detail::gap_border_of(*own), effort, stop, plan_for, frontier);
}

} // namespace strata
