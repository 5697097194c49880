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
#include <strata/place/squeeze.hpp>
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
#include <type_traits>
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

/// What `f` answers for the planner of `p`, with the alignment that `lim` asks for.
/// Errors: those of `realigned`; `overflow` if sums of bytes or costs do not fit.
template <class S, class F>
[[nodiscard]] auto with_planner(problem const& p, limits const& lim, F const& f)
    -> std::invoke_result_t<F const&, lazy<planner, S> const&>
{
    auto const other = realigned<S>(p, lim);
    if (!other) {
        return other.error();
    }
    lazy<planner, S> const with(*other ? **other : p);
    if (auto e = with.check_sums()) {
        return *std::move(e);
    }
    return f(with);
}

/// How long to look for a placement.
enum class patience : std::uint8_t {
    little, ///< for one budget of many
    some,
    more, ///< what nearly fits is squeezed
};

/// Places `s`, whose largest load is `load`, within `room` bytes, and then so that it wastes no more than half a percent;
/// stops when a fixed effort is spent. Where no placement is asked for, it is empty and fits anywhere.
template <class Lazy = void>
[[nodiscard]] auto place_well(problem const& p,
                              schedule const& s,
                              bytes_t load,
                              bytes_t room,
                              patience how_long,
                              limits const& lim,
                              stop_watch const& stop) -> result<placement>
{
    constexpr std::int64_t least = 100'000;
    constexpr std::int64_t most = 500'000;
    constexpr bytes_t near = 64; // what misses its aim by more than this share of it will hardly get there
    if (!lim.place) {
        return placement{.alignment = p.alignment()};
    }
    auto buffers = lifetimes_of(p, s);
    auto const n = static_cast<std::int64_t>(buffers.size());
    auto const each_order = 10 * n; // what `improve` tries first
    auto const thorough = how_long == patience::little ? least + each_order : std::clamp(n * n, least, most);
    place_options how{.alignment = p.alignment(), .target = room, .effort = thorough, .seed = lim.seed, .stop = stop};
    if (stop.expired()) {
        // A handful of packings in other orders comes even when time is up: a plan is worth nothing without its place. On a
        // step of ten thousand ops one packing is all there is time for, and thousands of buffers at a time are too many,
        // unless nothing runs again: then this is the answer, however late.
        constexpr std::chrono::milliseconds moment(10);
        constexpr std::chrono::milliseconds one_packing(20);
        constexpr std::size_t quick = 4000; // buffers that take much less
        if (buffers.size() > quick && runs_of(s).size() > static_cast<std::size_t>(p.op_count())) {
            basic_packer<Lazy> pack(buffers, p.alignment());
            auto const order = order_of<Lazy>(buffers, packing_order::size);
            if (pack.pack(order, basic_occupancy<Lazy>::fit::lowest, room, stop_watch::grace(one_packing)) ==
                max_bytes) {
                return fail(stop.why(),
                            "strata::plan: stopped before a plan found its place in one arena; allow more time");
            }
            return make_placement(std::move(buffers), pack.offsets(), p.alignment());
        }
        how.effort = each_order;
        how.stop = stop_watch::grace(moment);
    }
    auto placed = place(std::move(buffers), how);
    auto const nearly = [&](bytes_t aim) { return placed && placed->arena <= aim + aim / near; };
    auto const good = std::min(room, load + load / 200);
    if (how_long == patience::more && nearly(room)) {
        placed = squeeze(*std::move(placed), room, 2 * thorough, lim.seed, stop);
    }
    if (placed && placed->arena <= room && placed->arena > good) {
        placed = nearly(good) ? squeeze(*std::move(placed), good, 4 * thorough, lim.seed, stop)
                              : improve(*std::move(placed), {good, thorough, lim.seed, stop});
    }
    return placed;
}

/// Solver `s`, and then moves of polish, fewer the longer the step is.
template <solver S>
struct solve_then_polish {
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

/// `found` as a schedule, judged, with its certificate; not placed yet.
/// Errors: `invalid_plan` if the judge refuses it.
template <class Lazy>
[[nodiscard]] auto certify(basic_planner<Lazy> const& with, bytes_t bytes, cost_t lower_bound, candidate const& found)
    -> result<certified_plan>
{
    auto const& p = with.subject();
    certified_plan now;
    now.schedule = free_early(p, found.order);
    auto const judged = validate(p, now.schedule, bytes);
    if (!judged.ok()) {
        return fail(errc::invalid_plan,
                    "strata::plan: solver '" + found.name +
                        "' gave a plan that the judge refuses: " + judged.violations.front().message);
    }
    // nvcc 13 does not take a braced list that leaves members out.
    auto& c = now.certificate;
    c.budget = bytes;
    c.peak = judged.peak;
    c.keep_all_peak = with.keep_all_peak();
    c.resident = p.resident_bytes();
    c.cost = judged.cost;
    c.base_cost = p.base_cost();
    c.lower_bound = lower_bound;
    c.solver = found.name;
    return now;
}

/// Finds, judges and places a plan for `bytes`.
///
/// When its arena turns out larger than what is left, bytes are held back from ops (see `reserve`) and the step is planned
/// again, and polished. Once a plan has its place, one for which less is held back is tried, if there is something to gain.
/// With little `how_long` it is not, and attempts are few, fewer still where `known` is something to fall back on.
template <class Lazy, solver S>
[[nodiscard]] auto place_within(basic_planner<Lazy> const& with,
                                bytes_t bytes,
                                limits const& lim,
                                stop_watch const& stop,
                                S const& s,
                                candidate const* known,
                                patience how_long,
                                joint_proof& proof) -> result<certified_plan>
{
    bool const brief = how_long == patience::little;
    int const attempts = !brief ? 16 : known == nullptr ? 4 : 3;
    auto const& p = with.subject();
    auto const room = bytes - p.resident_bytes();
    // A plan found at the last moment would have no time left to find its place.
    auto const searching = [&] { return lim.place ? stop.part(0.8) : stop; };
    auto const studied = with.analyse(bytes, stop);
    if (!studied) {
        return studied.error();
    }
    auto proven = studied->bound;
    auto best = with.best_order(bytes, *studied, lim, searching(), s, known, &proven);
    if (!best) {
        return std::move(best).error();
    }
    joint_effort proving;
    if (brief && known != nullptr) { // at the first of many budgets the gap is widest
        proving.work /= 5;
    }
    proof = with.tighten(bytes, *best, proven, stop, proving);
    basic_reserve<Lazy> spare(p, studied->points.front());
    std::optional<lazy<certified_plan, Lazy>> made; // the best that has its place
    auto cost_of_failed = best->cost;
    auto placed_in = max_bytes; // fewest bytes that some plan took in one piece
    for (int i = 0; i < attempts; ++i) {
        auto now = certify(with, bytes, proof.bound.cost, *best);
        if (!now) {
            return now;
        }
        // Planning again makes the first plan better besides, so squeezing it is not worth the time.
        auto const load = now->certificate.peak - p.resident_bytes();
        auto const then = brief || i == 0 ? how_long : patience::more;
        auto placed = place_well(p, now->schedule, load, room, then, lim, stop);
        if (!placed) {
            return std::move(placed).error();
        }
        auto const missing = placed->arena - room;
        bool const eased = made.has_value();
        bool more = true; // to try
        if (missing > 0) {
            cost_of_failed = now->certificate.cost;
            placed_in = std::min(placed_in, placed->arena + p.resident_bytes());
            more = eased || spare.raise(missing, missing_at(p, now->schedule, *placed, room));
        } else {
            now->placement = *std::move(placed);
            if (!made || better(*now, *made)) {
                made = *std::move(now);
            }
        }
        if (made) {
            // Whether holding back less had been enough: worth asking once, if there is something to gain.
            bool const gain = static_cast<double>(made->certificate.cost - cost_of_failed) >
                              2e-3 * static_cast<double>(p.base_cost());
            if (i == 0 || eased || brief || !(gain || wasteful(*made)) || stop.expired()) {
                break;
            }
            spare.ease();
        }
        if (i + 1 == attempts || stop.expired()) {
            break; // another plan would not be tried
        }
        for (auto const before = *best; more; ++i) {
            auto const tighter = hold_back(p, bytes, spare.held());
            if (!tighter) {
                return tighter.error();
            }
            best = basic_planner<Lazy>(*tighter).best_order(
                bytes, *studied, lim, searching(), solve_then_polish<S>{s, p.op_count()}, &before);
            if (!best && !made && best.error().code != errc::infeasible) {
                return std::move(best).error();
            }
            if (made || i == attempts || (best && best->order != before.order)) {
                break;
            }
            more = best ? spare.raise_again() : spare.lower();
        }
        if (!more || !best) {
            break;
        }
    }
    if (made) {
        return *std::move(made);
    }
    if (stop.expired()) {
        return fail(stop.why(), "strata::plan: stopped before a plan found its place in one arena; allow more time");
    }
    auto e = fail(errc::infeasible,
                  "strata::plan: plans fit " + std::to_string(bytes) +
                      " bytes in sum, but no placement in one arena was found that does; one of " +
                      std::to_string(placed_in) + " bytes is known");
    e.limit = feasibility{with.least().bytes, with.least().pinned_by, p.op(with.least().pinned_by).name, placed_in};
    return e;
}

/// Puts into the certificate of `made` what is proven, and how much of its cost the proof counts.
template <class = void>
void note_proof(problem const& p, joint_proof const& proof, certified_plan& made)
{
    auto& c = made.certificate;
    c.lower_bound = proof.bound.cost;
    c.bound_reach = proof.instants.empty() ? 0 : cost_in_sight(p, runs_of(made.schedule), proof.instants);
}

/// Finds, judges and places a plan for `bytes`; then polishes it, if `s` has a stage for that. Of a deadline, some is left for
/// the bound.
template <class Lazy, solver S>
[[nodiscard]] auto plan_within(basic_planner<Lazy> const& with,
                               bytes_t bytes,
                               limits const& lim,
                               stop_watch const& stop,
                               S const& s,
                               candidate const* known = nullptr,
                               patience how_long = patience::some) -> result<certified_plan>
{
    joint_proof proof;
    auto made = place_within(with, bytes, lim, stop, s, known, how_long, proof);
    if (!made) {
        return made;
    }
    if constexpr (polishing<S>) {
        constexpr double of_time_left = 0.85;
        auto const place = [&](schedule const& now, bytes_t load, stop_watch const& until) {
            return place_well(with.subject(), now, load, bytes - with.subject().resident_bytes(), how_long, lim, until);
        };
        made = refine(with, bytes, *std::move(made), lim, stop.part(of_time_left), s.polish, place);
        if (stop.timed()) {
            constexpr joint_effort all_there_is{.work = std::numeric_limits<std::int64_t>::max(), .least_gap = 1e-4};
            auto const known_now = candidate{runs_of(made->schedule), made->certificate.cost, {}};
            auto const more = with.tighten(bytes, known_now, proof.bound, stop.part(0.5), all_there_is);
            proof = more.bound.cost > proof.bound.cost ? more : std::move(proof);
        }
    }
    note_proof(with.subject(), proof, *made);
    return made;
}

} // namespace detail

/// Plans one step: which tensors to keep, which to make again, and where each lives.
///
/// `lim.budget` bounds both the peak and the arena plus the resident bytes. The answer is judged by `validate` and
/// placed (unless `lim.place` is false: see `certified_plan::placed`); its certificate holds the proven lower bound. A solver
/// with a stage `polish` (`pipeline`, `default_solver`) then has its plan improved. With a deadline the best plan found by then
/// is returned.
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
    auto reporting = lim;
    if (lim.on_progress) {
        // A second search, after a placement that did not fit, begins anew; what was reported must not fall.
        reporting.on_progress = [&lim, most = 0.0](progress now) mutable {
            now.done = most = std::max(most, now.done);
            lim.on_progress(now);
        };
    }
    auto made = detail::with_planner<S>(p, lim, [&](auto const& with) -> result<certified_plan> {
        auto const bytes = with.resolve(lim.budget);
        return bytes ? detail::plan_within(with, *bytes, reporting, stop, s) : bytes.error();
    });
    if (made) {
        made->fingerprint = fingerprint(p);
        made->certificate.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    return made;
}

} // namespace strata
