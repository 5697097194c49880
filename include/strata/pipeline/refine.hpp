// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Makes a plan that has its place cheaper, and takes only what has its place too.
#pragma once

#include <strata/bound/lower_bound.hpp>
#include <strata/pipeline/certificate.hpp>
#include <strata/pipeline/planner.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/concepts.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/search.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace strata::detail {

/// A solver with a stage that improves what has its place.
template <class S>
concept polishing = requires(S const& s) { requires solver<std::remove_cvref_t<decltype(s.polish)>>; };

/// Whether the arena takes half a percent more than the load.
template <class = void>
[[nodiscard]] auto wasteful(certified_plan const& x) -> bool
{
    auto const load = x.certificate.peak - x.certificate.resident;
    return x.placement.arena > load + load / 200;
}

/// Whether `x` is the better plan of a step: the cheaper one, where wasting half a percent of the bytes is worth as much
/// as half a percent of the time.
template <class = void>
[[nodiscard]] auto better(certified_plan const& x, certified_plan const& y) -> bool
{
    auto const fine = [](certified_plan const& z) { return wasteful(z) ? z.certificate.base_cost / 200 : 0; };
    return x.certificate.cost + fine(x) < y.certificate.cost + fine(y);
}

/// The plan `made` under `bytes`, improved by `refiner` where what it finds has a place within `bytes`.
///
/// A polished plan fills the budget to the last byte, and such a plan may not pack. Polishing before anything has its place
/// has left tight budgets with no plan at all (docs/design/0007), so it comes after: what does not pack is polished again
/// with as many bytes fewer as were missing, and `made` is what is left when nothing does. As long as time is left, what
/// brings nothing is tried again with another seed.
/// `place` is called with a schedule, its peak without resident bytes and a stop watch and returns a `result<placement>`.
template <class Lazy, solver S, class Place>
[[nodiscard]] auto refine(basic_planner<Lazy> const& with,
                          bytes_t bytes,
                          certified_plan made,
                          limits const& lim,
                          stop_watch const& stop,
                          S const& refiner,
                          Place const& place) -> certified_plan
{
    constexpr int attempts = 5;
    constexpr double share = 0.6; // of the time left for one attempt; placing takes its own
    auto const& p = with.subject();
    auto const room = bytes - p.resident_bytes();
    auto const points = time_points(p, with.keep_all(), 3, 2);
    auto const first = candidate{runs_of(made.schedule), made.certificate.cost, made.certificate.solver};
    auto from = first;
    auto asked = bytes;
    for (int i = 0; i < attempts && !stop.expired(); ++i) {
        auto how = lim;
        how.seed += static_cast<std::uint64_t>(i);
        basic_search<Lazy> on(p, asked, points, {made.certificate.lower_bound, none, false}, how, stop.part(share));
        on.propose({.make = [&from] { return from.order; }, .name = from.name});
        if (!on.best() || on.done()) {
            break;
        }
        refiner.solve(on);
        if (on.best()->cost >= made.certificate.cost) {
            if (!stop.timed()) {
                break;
            }
            from = first; // once more, by another way
            continue;
        }
        certified_plan now;
        now.schedule = free_early(p, on.best()->order);
        auto const judged = validate(p, now.schedule, bytes);
        if (!judged.ok()) {
            break;
        }
        auto placed = place(now.schedule, judged.peak - p.resident_bytes(), stop.part(share));
        if (!placed) {
            break;
        }
        if (placed->arena <= room) {
            now.placement = *std::move(placed);
            now.certificate = made.certificate;
            now.certificate.peak = judged.peak;
            now.certificate.cost = judged.cost;
            now.certificate.solver = on.best()->name;
            if (better(now, made)) {
                made = std::move(now);
            }
            if (!stop.timed()) {
                break; // a fixed number of moves has been made
            }
        } else {
            asked = std::min(asked, judged.peak) - (placed->arena - room);
        }
        from = *on.best();
    }
    return made;
}

} // namespace strata::detail
