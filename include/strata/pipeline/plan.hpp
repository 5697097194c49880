// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The entry point: from a problem (or a graph and its costs) and limits to a certified, placed plan.
#pragma once

#include <strata/detail/lazy.hpp>
#include <strata/pipeline/certificate.hpp>
#include <strata/pipeline/hold_back.hpp>
#include <strata/pipeline/planner.hpp>
#include <strata/pipeline/refine.hpp>
#include <strata/place/place.hpp>
#include <strata/problem/fingerprint.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/concepts.hpp>
#include <strata/solve/default_solver.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/polish.hpp>
#include <strata/solve/search.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

namespace detail {

/// `p` with the alignment that `lim` asks for, if that is another one than its own.
/// Errors: `invalid_argument` for a negative alignment; `overflow` if rounded sizes do not fit.
template <class Lazy = void>
[[nodiscard]] auto realigned(problem const& p, limits const& lim) -> result<std::optional<lazy<problem, Lazy>>>
{
    if (lim.alignment < 0) {
        return fail(errc::invalid_argument,
                    "strata::plan: alignment is " + std::to_string(lim.alignment) + ", must not be negative");
    }
    if (lim.alignment == 0 || lim.alignment == p.alignment()) {
        return std::optional<lazy<problem, Lazy>>();
    }
    auto spec = p.spec();
    spec.alignment = lim.alignment;
    auto made = problem::make(std::move(spec));
    if (!made) {
        return std::move(made).error();
    }
    return std::optional<lazy<problem, Lazy>>(*std::move(made));
}

/// Places `s` until it takes at most `room` bytes and wastes no more than half a percent, or a fixed effort is spent.
template <class = void>
[[nodiscard]] auto
place_well(problem const& p, schedule const& s, bytes_t load, bytes_t room, limits const& lim, stop_watch const& stop)
    -> result<placement>
{
    constexpr std::int64_t least = 100'000;
    constexpr std::int64_t most = 500'000;
    auto buffers = lifetimes_of(p, s);
    auto const n = static_cast<std::int64_t>(buffers.size());
    auto const thorough = std::clamp(n * n, least, most);
    auto const good = load + load / 200;
    place_options how{.alignment = p.alignment(), .target = room, .effort = thorough, .seed = lim.seed, .stop = stop};
    if (stop.expired()) {
        // A handful of packings in other orders comes even when time is up: a plan is worth nothing without its place.
        how.effort = 10 * n;
        how.stop = {};
    }
    auto placed = place(std::move(buffers), how);
    if (placed && placed->arena <= room && placed->arena > good) {
        return improve(*std::move(placed), {good, thorough, lim.seed, stop}); // needs not succeed
    }
    return placed;
}

/// Solver `s`, and then moves of polish, fewer the longer the step is.
template <solver S>
struct polished {
    S const& s;
    op_id ops;

    [[nodiscard]] auto name() const -> std::string_view { return s.name(); }
    void solve(search& on) const
    {
        constexpr std::int64_t most = 1000;
        constexpr std::int64_t of_all = 500'000;
        s.solve(on);
        if (!on.done()) {
            polish{.moves = std::min(most, 1 + of_all / std::max<op_id>(1, ops))}.solve(on);
        }
    }
};

/// Finds, judges and places a plan for `bytes`.
///
/// When its arena turns out larger than what is left, bytes are held back from ops and the step is planned again, and
/// polished. First, as many as were missing, from all ops but those around the instant where memory is tightest: lifetimes
/// that must fit without a gap at one instant still pack, those that must do so all the time do not; and the least cost
/// is decided at the tightest instant. Then, what is still missing is taken where it is missing. Once a plan has its
/// place, one in the middle between what failed and what did not is tried, if there is something to gain.
template <class Lazy, solver S>
[[nodiscard]] auto place_within(basic_planner<Lazy> const& with,
                                bytes_t bytes,
                                limits const& lim,
                                stop_watch const& stop,
                                S const& s,
                                candidate const* known) -> result<certified_plan>
{
    constexpr int attempts = 6;
    constexpr op_id window = 20; // a share of the ops, to each side of the tightest instant
    auto const& p = with.subject();
    auto const room = bytes - p.resident_bytes();
    auto const studied = with.analyse(bytes, stop);
    if (!studied) {
        return studied.error();
    }
    auto proven = studied->bound;
    auto best = with.best_order(bytes, *studied, lim, stop, s, known, &proven);
    if (!best) {
        return std::move(best).error();
    }
    auto const bound = with.tighten(bytes, *best, proven, stop);
    auto const tightest = studied->points.front();
    auto const around = p.op_count() / window;
    using bytes_by_op = std::vector<bytes_t>;
    std::optional<lazy<certified_plan, Lazy>> made; // the best that has its place
    bytes_by_op held(static_cast<std::size_t>(p.op_count()), 0);
    bytes_by_op fails; // what was held back when last a plan had no place
    auto cost_of_failed = best->cost;
    auto placed_in = max_bytes; // fewest bytes that some plan took in one piece
    for (int i = 0; i < attempts; ++i) {
        certified_plan now;
        now.schedule = free_early(p, best->order);
        auto const judged = validate(p, now.schedule, bytes);
        if (!judged.ok()) {
            return fail(errc::invalid_plan,
                        "strata::plan: solver '" + best->name +
                            "' gave a plan that the judge refuses: " + judged.violations.front().message);
        }
        auto placed = place_well(p, now.schedule, judged.peak - p.resident_bytes(), room, lim, stop);
        if (!placed) {
            return std::move(placed).error();
        }
        auto const missing = placed->arena - room;
        bool const refined = made.has_value();
        bytes_by_op more; // to hold back
        if (missing <= 0) {
            if (!made || judged.cost < made->certificate.cost) {
                now.placement = *std::move(placed);
                now.certificate = {.budget = bytes,
                                   .peak = judged.peak,
                                   .keep_all_peak = with.keep_all_peak(),
                                   .resident = p.resident_bytes(),
                                   .cost = judged.cost,
                                   .base_cost = p.base_cost(),
                                   .lower_bound = bound.cost,
                                   .solver = best->name};
                made = std::move(now);
            }
        } else {
            fails = held;
            cost_of_failed = judged.cost;
            placed_in = std::min(placed_in, placed->arena + p.resident_bytes());
            more = missing_at(p, now.schedule, *placed, room);
        }
        if (made) {
            // Whether holding back less had been enough: worth asking once, if the costs lie apart.
            bool const gain = static_cast<double>(made->certificate.cost - cost_of_failed) >
                              2e-3 * static_cast<double>(p.base_cost());
            if (i == 0 || refined || !gain || stop.expired()) {
                return *std::move(made);
            }
            std::transform(held.begin(), held.end(), fails.begin(), held.begin(), [](bytes_t works, bytes_t failed) {
                return failed + (works - failed) / 2;
            });
        } else {
            // Near the tightest instant only if all else does not change the plan.
            for (op_id o = 0; o < p.op_count(); ++o) {
                auto const k = static_cast<std::size_t>(o);
                if (o < tightest - around || o > tightest + around) {
                    held[k] += i == 0 ? missing : std::exchange(more[k], 0);
                }
            }
        }
        auto const before = *std::move(best);
        for (bool again = false;; again = true) {
            auto const eased = hold_back(p, bytes, held);
            if (!eased) {
                return eased.error();
            }
            best = basic_planner<Lazy>(*eased).best_order(
                bytes, *studied, lim, stop, polished<S>{s, p.op_count()}, &before);
            if (again || made || !best || best->order != before.order) {
                break;
            }
            std::transform(held.begin(), held.end(), more.begin(), held.begin(), std::plus<>());
        }
        if (!best && made) {
            return *std::move(made);
        }
        if (!best && best.error().code == errc::infeasible) {
            break; // of the eased step
        }
        if (!best) {
            return std::move(best).error();
        }
    }
    if (made) {
        return *std::move(made);
    }
    auto e = fail(errc::infeasible,
                  "strata::plan: plans fit " + std::to_string(bytes) +
                      " bytes in sum, but no placement in one arena was found that does; one of " +
                      std::to_string(placed_in) + " bytes is known");
    e.limit = feasibility{with.least().bytes, with.least().pinned_by, p.op(with.least().pinned_by).name, placed_in};
    return e;
}

/// Finds, judges and places a plan for `bytes`; then polishes it, if `s` has a stage for that.
template <class Lazy, solver S>
[[nodiscard]] auto plan_within(basic_planner<Lazy> const& with,
                               bytes_t bytes,
                               limits const& lim,
                               stop_watch const& stop,
                               S const& s,
                               candidate const* known) -> result<certified_plan>
{
    auto made = place_within(with, bytes, lim, stop, s, known);
    if constexpr (polishing<S>) {
        auto const place = [&](schedule const& now, bytes_t load, stop_watch const& until) {
            return place_well(with.subject(), now, load, bytes - with.subject().resident_bytes(), lim, until);
        };
        return made ? refine(with, bytes, *std::move(made), lim, stop, s.polish, place) : std::move(made);
    } else {
        return made;
    }
}

} // namespace detail

/// Plans one step: which tensors to keep, which to make again, and where each lives.
///
/// `lim.budget` bounds both the peak and the arena plus the resident bytes. The answer is judged by `validate` and
/// placed; its certificate holds the proven lower bound. A solver with a stage `polish` (`pipeline`, `default_solver`) then
/// has its plan improved. With a deadline the best plan found by then is returned.
/// What a larger budget may cost: a plan for a smaller one, made by another call, is never cheaper by more than the gap of
/// this one, since it fits here too and the bound holds for it. That it is not cheaper at all is promised by `frontier`.
/// Errors: `infeasible` with the proven limit, the op that pins it and a budget known to work; `deadline` or `cancelled`
/// when there was no time for any plan; `invalid_argument` for a budget that makes no sense; `overflow`.
/// Throws: whatever a user's solver throws.
/// Complexity: a few dozen cuts and edits, near-linear in ops for training graphs.
template <class S = default_solver>
[[nodiscard]] auto plan(problem const& p, limits const& lim = {}, S const& s = {}) -> result<certified_plan>
{
    require_solver<S>();
    auto const begin = std::chrono::steady_clock::now();
    stop_watch const stop(lim);
    auto const realigned = detail::realigned<S>(p, lim);
    if (!realigned) {
        return realigned.error();
    }
    detail::lazy<detail::planner, S> const with(*realigned ? **realigned : p);
    if (auto e = with.check_sums()) {
        return *std::move(e);
    }
    auto const bytes = with.resolve(lim.budget);
    if (!bytes) {
        return bytes.error();
    }
    auto reporting = lim;
    if (lim.on_progress) {
        // A second search, after a placement that did not fit, begins anew; what was reported must not fall.
        reporting.on_progress = [&lim, most = 0.0](progress now) mutable {
            now.done = most = std::max(most, now.done);
            lim.on_progress(now);
        };
    }
    auto made = detail::plan_within(with, *bytes, reporting, stop, s, nullptr);
    if (made) {
        made->fingerprint = fingerprint(p);
        made->certificate.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    return made;
}

} // namespace strata
