// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The proven minimum cost of any plan under a budget: the largest cut bound over well-chosen time points.
#pragma once

#include <strata/bound/minimum_budget.hpp>
#include <strata/bound/time_cut.hpp>
#include <strata/detail/id_lists.hpp>
#include <strata/problem/precedence.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/solve/limits.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

namespace strata {

/// A proven statement about every plan whose first runs stand in one of the `orders`.
struct cost_bound {
    cost_t cost = 0;         ///< no plan costs less; at least the base cost
    op_id at = none;         ///< the time point that proves it
    bool infeasible = false; ///< no plan fits at all; then `cost` is meaningless
    first_run_orders orders = first_run_orders::given;
    friend auto operator==(cost_bound const&, cost_bound const&) -> bool = default;
};

/// Ops at whose first run memory is tightest: the hottest runs of `order` (spaced, so that one hump does not take all),
/// and the ops of largest footprint, whose own needs force drops that a profile does not show.
/// Returns: at most `hot + footprint` ops; every op of a problem with at most `all_below` ops.
template <class = void>
[[nodiscard]] auto
time_points(problem const& p, std::span<op_id const> order, std::size_t hot, std::size_t footprint, op_id all_below = 0)
    -> std::vector<op_id>
{
    auto const at = [](std::int32_t i) { return static_cast<std::size_t>(i); };
    std::vector<op_id> points;
    if (p.op_count() <= all_below) {
        points.resize(at(p.op_count()));
        std::iota(points.begin(), points.end(), 0);
        return points;
    }
    std::vector<char> taken(at(p.op_count()), 0);
    auto const pick = [&](std::vector<bytes_t> const& heat, std::size_t count, op_id spacing) {
        std::vector<op_id> ranked(heat.size());
        std::iota(ranked.begin(), ranked.end(), 0);
        std::sort(ranked.begin(), ranked.end(), [&](op_id a, op_id b) {
            return heat[at(a)] != heat[at(b)] ? heat[at(a)] > heat[at(b)] : a < b;
        });
        for (auto o : ranked) {
            if (count == 0) {
                break;
            }
            auto const lo = std::max<op_id>(0, o - spacing);
            auto const hi = std::min<op_id>(p.op_count() - 1, o + spacing);
            if (std::all_of(taken.begin() + lo, taken.begin() + hi + 1, [](char c) { return c == 0; })) {
                taken[at(o)] = 1;
                points.push_back(o);
                --count;
            }
        }
    };
    auto const live = live_bytes(p, order);
    std::vector<bytes_t> first_run(at(p.op_count()), -1);
    for (std::size_t k = 0; k < order.size(); ++k) {
        auto& x = first_run[at(order[k])];
        x = x < 0 ? live[k] : x;
    }
    pick(first_run, hot, std::max<op_id>(1, p.op_count() / 200));
    pick(fixed_bytes(p), footprint, 0);
    return points;
}

/// Of each op, for one op after another, whether its first run precedes theirs in every order, follows, or neither.
template <class = void>
class basic_any_order {
public:
    /// Requires: `p` outlives it. Complexity: O(ops + tensors + reads and writes).
    explicit basic_any_order(problem const& p)
        : before_(first_run_predecessors(p))
        , after_(before_.transposed(static_cast<std::size_t>(p.op_count())))
    {
    }

    /// Complexity: O(ops + what must precede what).
    [[nodiscard]] auto around(op_id at) const -> std::vector<first_run>
    {
        std::vector<first_run> runs(before_.size(), first_run::either);
        std::vector<op_id> reached;
        auto const spread = [&](detail::id_lists const& next, first_run as) {
            reached.assign(1, at);
            for (std::size_t i = 0; i < reached.size(); ++i) {
                for (auto o : next[static_cast<std::size_t>(reached[i])]) {
                    if (auto& r = runs[static_cast<std::size_t>(o)]; r == first_run::either) {
                        r = as;
                        reached.push_back(o);
                    }
                }
            }
        };
        spread(before_, first_run::past);
        spread(after_, first_run::to_come);
        runs[static_cast<std::size_t>(at)] = first_run::to_come;
        return runs;
    }

private:
    detail::id_lists before_, after_;
};

using any_order = basic_any_order<>;

/// The largest bound over `points`, for the order given or for any order: then only what must come before a point or after
/// it counts. When `stop` expires, points not looked at yet are left out.
/// Complexity: one `time_cut` per point, and a few max-flows or, where the bound grows, up to two dozen.
template <class Lazy = void>
[[nodiscard]] auto lower_bound(problem const& p,
                               bytes_t budget,
                               std::span<op_id const> points,
                               first_run_orders orders = first_run_orders::given,
                               stop_watch const& stop = {}) -> cost_bound
{
    using instant_cut = basic_time_cut<Lazy>;
    std::optional<basic_any_order<Lazy>> any;
    if (orders == first_run_orders::any && !points.empty()) {
        any.emplace(p);
    }
    cost_bound best{p.base_cost(), none, false, orders};
    for (auto o : points) {
        if (stop.expired()) {
            break;
        }
        auto cut = any ? instant_cut(p, o, any->around(o)) : instant_cut(p, o);
        auto const extra = cut.lower_bound(budget, best.cost - p.base_cost(), stop);
        if (!extra) {
            return {0, o, true, orders};
        }
        if (cost_t c = p.base_cost(); checked_add(c, *extra) && c > best.cost) {
            best = {c, o, false, orders};
        }
    }
    return best;
}

/// Of time points and what each proves, those that prove no less than their neighbours, the most telling first; of a crowd
/// only one.
template <class = void>
[[nodiscard]] auto telling_points(std::vector<cost_bound> proven) -> std::vector<op_id>
{
    std::sort(proven.begin(), proven.end(), [](auto const& x, auto const& y) { return x.at < y.at; });
    std::vector<cost_bound> peaks;
    for (std::size_t i = 0; i < proven.size(); ++i) {
        bool const rises = i == 0 || proven[i].cost >= proven[i - 1].cost;
        bool const falls = i + 1 == proven.size() || proven[i].cost > proven[i + 1].cost;
        if (rises && falls) {
            peaks.push_back(proven[i]);
        }
    }
    std::stable_sort(peaks.begin(), peaks.end(), [](auto const& x, auto const& y) { return x.cost > y.cost; });
    constexpr op_id places = 50;
    auto const apart = proven.empty() ? 0 : (proven.back().at - proven.front().at) / places;
    std::vector<op_id> points;
    for (auto const& x : peaks) {
        if (std::all_of(points.begin(), points.end(), [&](op_id o) { return std::abs(o - x.at) > apart; })) {
            points.push_back(x.at);
        }
    }
    return points;
}

} // namespace strata
