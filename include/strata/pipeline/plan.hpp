// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The entry point: from a problem (or a graph and its costs) and limits to a certified, placed plan.
#pragma once

#include <strata/bound/lower_bound.hpp>
#include <strata/bound/minimum_budget.hpp>
#include <strata/pipeline/certificate.hpp>
#include <strata/pipeline/hold_back.hpp>
#include <strata/place/place.hpp>
#include <strata/problem/fingerprint.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/concepts.hpp>
#include <strata/solve/keep_all.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/order_editor.hpp>
#include <strata/solve/polish.hpp>
#include <strata/solve/portfolio.hpp>
#include <strata/solve/recompute_all.hpp>
#include <strata/solve/repair.hpp>
#include <strata/solve/search.hpp>
#include <strata/solve/sqrt_checkpoint.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

namespace detail {

/// Everything about a problem that does not depend on the budget, made once for many plans.
template <class = void>
class basic_planner {
public:
    explicit basic_planner(problem const& p)
        : p_(&p)
        , keep_all_(keep_all_order(p))
        , keep_all_peak_(peak_of(p, keep_all_))
        , least_(minimum_budget(p))
    {
    }

    [[nodiscard]] auto subject() const noexcept -> problem const& { return *p_; }
    [[nodiscard]] auto keep_all_peak() const noexcept -> bytes_t { return keep_all_peak_; }
    [[nodiscard]] auto least() const noexcept -> byte_limit const& { return least_; }

    /// An error when sums over a plan with many replays might leave the 64-bit range; solvers add without checks.
    [[nodiscard]] auto check_sums() const -> std::optional<error>
    {
        cost_t dearest = 0;
        bytes_t bytes = 0;
        for (op_id o = 0; o < p_->op_count(); ++o) {
            dearest = std::max(dearest, p_->cost(o));
            bytes = std::max(bytes, p_->workspace(o));
        }
        for (tensor_id t = 0; t < p_->tensor_count(); ++t) {
            bytes += p_->size(t); // `problem::make` has seen to it that this fits
        }
        if (dearest > (max_cost - p_->base_cost()) / order_editor::most_runs(*p_)) {
            return fail(errc::overflow,
                        "strata::plan: with replays, costs of " + std::to_string(dearest) +
                            " do not fit 64 bits; give costs in a coarser unit");
        }
        if (bytes > max_bytes / 4) {
            return fail(errc::overflow,
                        "strata::plan: " + std::to_string(bytes) + " bytes of tensors do not fit 64 bits with replays");
        }
        return {};
    }

    /// Bytes that `b` allows, checked.
    [[nodiscard]] auto resolve(budget const& b) const -> result<bytes_t>
    {
        if (b.is_fraction() && !(std::isfinite(b.share()) && b.share() >= 0)) {
            return fail(errc::invalid_argument, "strata::plan: the budget's share must be a number of at least 0");
        }
        if (!b.is_fraction() && b.resolve(0, 0) < 0) {
            return fail(errc::invalid_argument, "strata::plan: the budget must not be negative");
        }
        return b.resolve(p_->resident_bytes(), keep_all_peak_ - p_->resident_bytes());
    }

    /// Where to cut, the most telling time point first, and what that proves for `bytes`.
    struct analysis {
        std::vector<op_id> points;
        cost_bound bound;
    };
    /// Errors: `infeasible` when that is proven.
    [[nodiscard]] auto analyse(bytes_t bytes, stop_watch const& stop) const -> result<analysis>
    {
        if (bytes < least_.bytes) {
            return infeasible(bytes, least_, lowest_known(stop));
        }
        analysis a{time_points(*p_, keep_all_, hot_points, footprint_points), {p_->base_cost(), none, false}};
        std::vector<std::pair<cost_t, op_id>> telling;
        for (auto o : a.points) {
            auto const b = lower_bound(*p_, bytes, std::span<op_id const>(&o, 1));
            if (b.infeasible) {
                return infeasible(bytes, {bytes + 1, o}, lowest_known(stop));
            }
            telling.emplace_back(-b.cost, o);
            a.bound = b.cost > a.bound.cost ? b : a.bound;
        }
        std::stable_sort(
            telling.begin(), telling.end(), [](auto const& x, auto const& y) { return x.first < y.first; });
        std::transform(telling.begin(), telling.end(), a.points.begin(), [](auto const& x) { return x.second; });
        return a;
    }

    /// The best order under `bytes` that `s` finds, with `known` (if any) as its first seed; not yet judged or placed.
    /// `proven`, if given, becomes what is known of every plan under `bytes`.
    template <solver S>
    [[nodiscard]] auto best_order(bytes_t bytes,
                                  analysis const& a,
                                  limits const& lim,
                                  stop_watch const& stop,
                                  S const& s,
                                  candidate const* known,
                                  cost_bound* proven = nullptr) const -> result<candidate>
    {
        search on(*p_, bytes, a.points, a.bound, lim, stop);
        on.propose({.make = [this] { return keep_all_; }, .as_is = true, .name = "keep_all"});
        if (known != nullptr) {
            on.propose({.make = [known] { return known->order; }, .name = known->name});
        }
        s.solve(on);
        if (proven != nullptr) {
            *proven = on.bound();
        }
        if (on.best()) {
            return *on.best();
        }
        if (stop.expired()) {
            return fail(stop.why(), "strata::plan: stopped before any plan that fits was found; allow more time");
        }
        if (on.bound().cost == max_cost) {
            return infeasible(bytes, {bytes + 1, least_.pinned_by}, on.lowest_peak(), "every order was tried; ");
        }
        return infeasible(bytes, least_, on.lowest_peak());
    }

    /// Looks for a stronger bound where the plan itself is hot, until nothing is left to gain.
    [[nodiscard]] auto tighten(bytes_t bytes, candidate const& best, cost_bound bound, stop_watch const& stop) const
        -> cost_bound
    {
        constexpr op_id small = 400;
        constexpr op_id large = 3000;
        constexpr std::size_t footprints = 10;
        auto const hot = static_cast<std::size_t>(p_->op_count() > large ? 12 : 30);
        for (auto o : time_points(*p_, best.order, hot, footprints, small)) {
            auto const slack = static_cast<double>(best.cost - bound.cost);
            if (slack <= 1e-4 * static_cast<double>(p_->base_cost()) || stop.expired()) {
                break;
            }
            if (auto const b = lower_bound(*p_, bytes, std::span<op_id const>(&o, 1));
                !b.infeasible && b.cost > bound.cost) {
                bound = b;
            }
        }
        return bound;
    }

private:
    static constexpr std::size_t hot_points = 3;
    static constexpr std::size_t footprint_points = 2;

    /// A budget that works, as small as a quick look finds: an infeasible one should be answered with what would do.
    [[nodiscard]] auto lowest_known(stop_watch const& stop) const -> bytes_t
    {
        constexpr op_id quick = 20'000;
        auto const tightest = time_points(*p_, keep_all_, 1, 0).front();
        auto const checkpointed = sqrt_checkpoint_order(*p_, tightest);
        auto lowest = std::min(peak_of(*p_, checkpointed), peak_of(*p_, recompute_all_order(*p_, tightest)));
        for (auto const* from : {&keep_all_, &checkpointed}) {
            if (p_->op_count() <= quick && !stop.expired()) {
                order_editor edit(*p_, *from);
                repair mend(*p_);
                (void)mend(edit, least_.bytes - p_->resident_bytes(), {}, stop);
                lowest = std::min(lowest, mend.lowest_peak() + p_->resident_bytes());
            }
        }
        return lowest;
    }

    /// `how`: how `least` was proven, if not by the need of one op.
    [[nodiscard]] auto
    infeasible(bytes_t bytes, byte_limit const& least, bytes_t lowest_peak, std::string const& how = {}) const -> error
    {
        feasibility f;
        f.lower_limit = std::max(least.bytes, least_.bytes);
        f.pinned_by = least.pinned_by;
        f.pinned_by_name = p_->op(least.pinned_by).name;
        f.known_feasible = std::min(lowest_peak, keep_all_peak_);
        auto const op =
            "op " + std::to_string(f.pinned_by) + (f.pinned_by_name.empty() ? "" : " (" + f.pinned_by_name + ")");
        auto const proven = bytes < f.lower_limit;
        auto e = fail(errc::infeasible,
                      "strata::plan: " + std::string(proven ? "no plan fits " : "no plan was found that fits ") +
                          std::to_string(bytes) + " bytes: " + how + op + " alone needs " +
                          std::to_string(how.empty() ? f.lower_limit : least_.bytes) + " bytes, resident tensors (" +
                          std::to_string(p_->resident_bytes()) + ") included; a plan of " +
                          std::to_string(*f.known_feasible) + " bytes is known");
        e.limit = std::move(f);
        return e;
    }

    problem const* p_;
    run_order keep_all_;
    bytes_t keep_all_peak_;
    byte_limit least_;
};

using planner = basic_planner<>;

/// `p` with the alignment that `lim` asks for, if that is another one than its own.
/// Errors: `invalid_argument` for a negative alignment; `overflow` if rounded sizes do not fit.
template <class = void>
[[nodiscard]] auto realigned(problem const& p, limits const& lim) -> result<std::optional<problem>>
{
    if (lim.alignment < 0) {
        return fail(errc::invalid_argument,
                    "strata::plan: alignment is " + std::to_string(lim.alignment) + ", must not be negative");
    }
    if (lim.alignment == 0 || lim.alignment == p.alignment()) {
        return std::optional<problem>();
    }
    auto spec = p.spec();
    spec.alignment = lim.alignment;
    auto made = problem::make(std::move(spec));
    if (!made) {
        return std::move(made).error();
    }
    return std::optional<problem>(*std::move(made));
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
    S const* s;
    op_id ops;

    [[nodiscard]] auto name() const -> std::string_view { return s->name(); }
    void solve(search& on) const
    {
        constexpr std::int64_t most = 1000;
        constexpr std::int64_t of_all = 500'000;
        s->solve(on);
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
template <solver S>
[[nodiscard]] auto plan_within(
    planner const& with, bytes_t bytes, limits const& lim, stop_watch const& stop, S const& s, candidate const* known)
    -> result<certified_plan>
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
    std::optional<certified_plan> made; // the best that has its place
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
            best = planner(*eased).best_order(bytes, *studied, lim, stop, polished<S>{&s, p.op_count()}, &before);
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

} // namespace detail

/// Plans one step: which tensors to keep, which to make again, and where each lives.
///
/// `lim.budget` bounds both the peak and the arena plus the resident bytes. The answer is judged by `validate` and
/// placed; its certificate holds the proven lower bound. With a deadline the best plan found by then is returned.
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
    auto const realigned = detail::realigned(p, lim);
    if (!realigned) {
        return realigned.error();
    }
    detail::planner const with(*realigned ? **realigned : p);
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
