// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Plans a step whose ops may first run in another order than the one given: reorder, plan, and name the ops as before.
#pragma once

#include <strata/bound/lower_bound.hpp>
#include <strata/detail/lazy.hpp>
#include <strata/pipeline/annealed_plan.hpp>
#include <strata/pipeline/certificate.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/pipeline/plan_graph.hpp>
#include <strata/problem/fingerprint.hpp>
#include <strata/problem/lower.hpp>
#include <strata/problem/problem.hpp>
#include <strata/problem/reordering.hpp>
#include <strata/result.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/default_solver.hpp>
#include <strata/solve/lighter_order.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/minimal_order.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace strata {

/// A plan, and the order of first runs that was found for it.
struct free_order_plan {
    certified_plan plan = {}; ///< in the ids of the problem or graph; its bound holds for any order of first runs
    memory_order order =
        {}; ///< the order with the lowest peak that was found; not that of `plan` if the given one did better
    friend auto operator==(free_order_plan const&, free_order_plan const&) -> bool = default;
};

namespace detail {

/// The plan of `p` with first runs in `order`, in the ids of `p`.
/// Errors: those of `plan`; `invalid_plan` if the judge refuses it.
template <solver S>
[[nodiscard]] auto plan_in(problem const& p, run_order const& order, limits const& lim, S const& s)
    -> result<certified_plan>
{
    auto const by = reordering::make(p, order);
    if (!by) {
        return by.error();
    }
    auto made = plan(by->problem(), lim, s);
    if (made) {
        made->schedule = by->restored(std::move(made->schedule));
        made->certificate.solver = "reorder+" + made->certificate.solver;
        if (auto const judged = validate(p, made->schedule, made->certificate.budget); !judged.ok()) {
            return fail(errc::invalid_plan,
                        "strata::plan_free_order: the judge refuses the plan: " + judged.violations.front().message);
        }
    }
    return made;
}

/// Of the answers in two orders, the one that says more: that the run had to stop, or else the smaller budget that works.
template <class = void>
[[nodiscard]] auto more_telling(error a, error b) -> error
{
    if (!a.limit || !b.limit) {
        return a.limit ? b : a;
    }
    return a.limit->known_feasible < b.limit->known_feasible ? a : b;
}

/// Puts a lower bound for every order of first runs in place of one for the plan's own.
template <class = void>
void bound_in_any_order(problem const& p, run_order const& as_given, stop_watch const& stop, certificate& c)
{
    constexpr std::size_t hot = 12;
    constexpr std::size_t footprint = 8;
    constexpr op_id all_below = 200;
    auto const points = time_points(p, as_given, hot, footprint, all_below);
    bool const cheapest = c.cost == c.base_cost;
    auto const at = cheapest ? std::span<op_id const>() : std::span<op_id const>(points);
    c.lower_bound = lower_bound(p, c.budget, at, first_run_orders::any, stop).cost;
    c.bound_reach = 0;
    c.bound_orders = first_run_orders::any;
}

/// The answer when no order tried has a plan for `bytes`, and what `why` proves holds in one of them alone: in every order
/// an op needs its own tensors.
template <class = void>
[[nodiscard]] auto infeasible_in_any_order(problem const& p, bytes_t bytes, feasibility const& why) -> error
{
    feasibility f{0, none, {}, why.known_feasible};
    for (op_id o = 0; o < p.op_count(); ++o) {
        auto need = p.resident_bytes() + p.workspace(o);
        for (auto const tensors : {p.inputs(o), p.outputs(o)}) {
            for (auto t : tensors) {
                need += p.size(t);
            }
        }
        if (f.pinned_by == none || need > f.lower_limit) {
            f.lower_limit = need;
            f.pinned_by = o;
        }
    }
    f.pinned_by_name = p.op(f.pinned_by).name;
    auto const op =
        "op " + std::to_string(f.pinned_by) + (f.pinned_by_name.empty() ? "" : " (" + f.pinned_by_name + ")");
    auto e = fail(errc::infeasible,
                  "strata::plan_free_order: no plan " +
                      std::string(bytes < f.lower_limit ? "fits " : "was found that fits ") + std::to_string(bytes) +
                      " bytes: " + op + " alone needs " + std::to_string(f.lower_limit) + " bytes, resident tensors (" +
                      std::to_string(p.resident_bytes()) + ") included" +
                      (f.known_feasible ? "; a plan of " + std::to_string(*f.known_feasible) + " bytes is known" : ""));
    e.limit = std::move(f);
    return e;
}

/// Ops of a step whose order and replays are annealed together: in a longer one, moves look at too many places.
inline constexpr op_id most_annealed = 3000;

} // namespace detail

/// Plans one step like `plan`, in an order of first runs of its own: one with a low peak (`minimal_order`), one little above
/// the budget in sum (`lighter_order`), the one given, or, up to 3,000 ops, one found together with its replays
/// (`replay_annealer`), whichever takes the least time. For steps whose order is nobody's wish, as in inference.
///
/// A budget that is a share refers to the keep-all peak of the order given, which is also the certificate's
/// `keep_all_peak`. The lower bound of the certificate holds for plans in any order of first runs. Ops and tensors have the
/// ids of `p`, and so has the fingerprint.
/// Of a deadline, finding the order may take a quarter.
/// Errors: those of `plan`. What an infeasible answer proves holds in every order.
/// Complexity: `minimal_order` and `plan`; if replays are needed, also `lighter_order`, `plan` twice, `replay_annealer` four times.
/// Example: examples/09_inference.cpp
template <class S = default_solver>
[[nodiscard]] auto plan_free_order(problem const& p, limits const& lim = {}, S const& s = {}) -> result<free_order_plan>
{
    require_solver<S>();
    auto const begin = std::chrono::steady_clock::now();
    stop_watch const stop(lim);
    return detail::with_planner<S>(p, lim, [&](auto const& with) -> result<free_order_plan> {
        problem const& subject = with.subject();
        auto const bytes = with.resolve(lim.budget);
        if (!bytes) {
            return bytes.error();
        }
        double reported = 0;
        auto const within = [&](double share) {
            auto r = lim;
            r.budget = budget::bytes(*bytes);
            r.deadline = stop.part(share).remaining();
            r.alignment = 0;
            if (lim.on_progress) { // what was reported must not fall
                r.on_progress = [&](progress now) {
                    now.done = reported = std::max(reported, now.done);
                    lim.on_progress(now);
                };
            }
            return r;
        };
        detail::lazy<free_order_plan, S> answer{{}, minimal_order<S>(subject, order_effort, stop.part(0.15))};
        result<certified_plan> made = error{};
        error why;
        auto const cheapest = [&] { return made && made->certificate.cost == subject.base_cost(); };
        auto const take = [&](result<certified_plan> now) {
            if (now && (!made || detail::cheaper(*now, *made))) {
                made = std::move(now);
            } else if (!now && !made) {
                why = why.limit ? detail::more_telling(std::move(why), now.error()) : now.error();
            }
        };
        auto const try_in = [&](run_order const& order, limits const& how) {
            return order == with.keep_all() ? plan(subject, how, s) : detail::plan_in(subject, order, how, s);
        };
        auto const lighter = [&](double share) {
            return lighter_order<S>(subject, *bytes, lighter_moves, lim.seed, stop.part(share));
        };
        if (subject.op_count() > detail::most_annealed) {
            // Ties go to the order that was tried first. When time is up, that is the one given, which need not be made first.
            if (!stop.expired()) {
                take(try_in(answer.order.order, within(0.4)));
            }
            if (!cheapest() &&
                !stop.expired()) { // the lowest peak does not say in which order the fewest replays are needed
                take(try_in(lighter(0.25), within(0.6)));
            }
            bool const tried = made && answer.order.order == with.keep_all();
            if (!cheapest() && !tried && !(stop.expired() && made)) {
                take(try_in(with.keep_all(), within(0.9))); // the bound needs time, too
            }
        } else {
            // To find an order takes less time than to find out that its plan does not pack.
            std::vector<detail::lazy<std::pair<certified_plan, run_order>, S>> sketches; // plans without a place
            auto const sketched = [&](run_order order, double share) {
                auto how = within(share);
                how.place = false;
                auto now = try_in(order, how);
                auto const cost = now ? now->certificate.cost : max_cost;
                if (now && lim.place) {
                    sketches.emplace_back(*std::move(now), std::move(order));
                } else {
                    take(std::move(now));
                }
                return cost == subject.base_cost();
            };
            if (!sketched(answer.order.order, 0.1) && !sketched(lighter(0.1), 0.1) &&
                answer.order.order != with.keep_all()) {
                (void)sketched(with.keep_all(), 0.1);
            }
            auto const by_cost = [](auto const& x, auto const& y) {
                return x.first.certificate.cost < y.first.certificate.cost;
            };
            std::stable_sort(sketches.begin(), sketches.end(), by_cost);
            // Where the plan itself has no place, another in the same order may; when time is up, it is the answer or none is.
            auto const settle = [&](auto& sketch, double share) {
                auto const room = *bytes - subject.resident_bytes();
                auto& x = sketch.first;
                auto const load = x.certificate.peak - subject.resident_bytes();
                auto at = detail::place_well<S>(
                    subject, x.schedule, load, room, detail::patience::little, lim, stop.part(share));
                if (at && at->arena <= room) {
                    x.placement = *std::move(at);
                    take(std::move(x));
                } else if (!stop.expired()) {
                    take(try_in(sketch.second, within(share)));
                } else {
                    take(fail(stop.why(),
                              "strata::plan_free_order: stopped before a plan found its place in one arena; allow more "
                              "time"));
                }
            };
            if (!sketches.empty() && sketches.front().first.certificate.cost == subject.base_cost()) {
                settle(sketches.front(), 0.5);
            }
            if (!cheapest()) {
                if (auto found = detail::annealed_plan(with, *bytes, lim, stop.part(0.85))) {
                    take(*std::move(found));
                }
            }
            for (auto& sketch : sketches) {
                // A fifth of a percent may be lost on the way to a place.
                auto const cost = sketch.first.certificate.cost;
                if (!made || cost < made->certificate.cost - subject.base_cost() / 500) {
                    settle(sketch, 0.7);
                }
            }
        }
        if (!made) {
            return why.limit ? detail::infeasible_in_any_order(subject, *bytes, *why.limit) : why;
        }
        answer.plan = *std::move(made);
        answer.plan.certificate.keep_all_peak = with.keep_all_peak();
        detail::bound_in_any_order(subject, with.keep_all(), stop, answer.plan.certificate);
        answer.plan.certificate.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        answer.plan.fingerprint = fingerprint(p);
        return answer;
    });
}

/// The same for one step of `g`, priced by `c`; schedule, placement and order name ops and tensors of `g`.
/// Errors: those of `lower` and of `plan`.
template <class G, class C, class S = default_solver>
    requires(!std::same_as<G, problem>)
[[nodiscard]] auto plan_free_order(G const& g, C const& c, limits const& lim = {}, S const& s = {})
    -> result<free_order_plan>
{
    auto lowered = lower(g, c);
    if (!lowered) {
        return std::move(lowered).error();
    }
    auto made = plan_free_order(lowered->problem(), lim, s);
    if (!made) {
        return made;
    }
    made->plan = in_graph_ids(std::move(made->plan), *lowered);
    run_order order;
    for (auto o : made->order.order) {
        auto const members = lowered->members(o);
        order.insert(order.end(), members.begin(), members.end());
    }
    made->order.order = std::move(order);
    return made;
}

} // namespace strata
