// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Plans whose order of first runs and replays are found together, and smoothed until their buffers pack.
#pragma once

#include <strata/detail/lazy.hpp>
#include <strata/detail/mix.hpp>
#include <strata/pipeline/certificate.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/pipeline/planner.hpp>
#include <strata/place/lifetimes.hpp>
#include <strata/place/place.hpp>
#include <strata/place/squeeze.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/replay_annealer.hpp>
#include <strata/solve/search.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace strata::detail {

/// Whether `x` is the better of two plans that may both run in any order: it costs less, or the same in a smaller arena.
template <class = void>
[[nodiscard]] auto cheaper(certified_plan const& x, certified_plan const& y) -> bool
{
    return std::tie(x.certificate.cost, x.placement.arena) < std::tie(y.certificate.cost, y.placement.arena);
}

/// `found` as a plan for `bytes` if the judge accepts it and a short look finds its place: a smoother order is the better way to
/// one than a long look.
template <class Lazy>
[[nodiscard]] auto placed_at_once(
    basic_planner<Lazy> const& with, bytes_t bytes, candidate const& found, limits const& lim, stop_watch const& stop)
    -> std::optional<lazy<certified_plan, Lazy>>
{
    constexpr std::int64_t packings = 40; // of all buffers
    constexpr std::int64_t squeezing = 300'000;
    auto const& p = with.subject();
    auto made = certify(with, bytes, p.base_cost(), found);
    if (!made) {
        return {};
    }
    if (!lim.place) {
        made->placement = placement{.alignment = p.alignment()};
        return *std::move(made);
    }
    auto const room = bytes - p.resident_bytes();
    auto buffers = lifetimes_of(p, made->schedule);
    auto const effort = packings * static_cast<std::int64_t>(buffers.size());
    auto x = place(std::move(buffers),
                   {.alignment = p.alignment(), .target = room, .effort = effort, .seed = lim.seed, .stop = stop});
    if (x && x->arena > room) {
        x = squeeze(*std::move(x), room, squeezing, lim.seed, stop);
    }
    if (!x || x->arena > room) {
        return {};
    }
    made->placement = *std::move(x);
    return *std::move(made);
}

/// The best plan for `bytes` that a few searches from the order given find (see `replay_annealer`), side by side on the threads
/// of `lim`; none if none has its place.
///
/// Each leaves another share of the bytes free and smooths what it finds, since orders that fill the budget most of the time do
/// not pack. The searches are the same for any number of threads, unless time runs out.
/// Complexity: O(ops²) for each search; from five hundred ops on some seconds. Less if `stop` expires.
template <class Lazy>
[[nodiscard]] auto
annealed_plan(basic_planner<Lazy> const& with, bytes_t bytes, limits const& lim, stop_watch const& stop)
    -> std::optional<lazy<certified_plan, Lazy>>
{
    constexpr std::array<bytes_t, 4> held_back{5, 10, 15, 20}; // thousandths
    constexpr std::int64_t most = 200'000'000;
    constexpr std::int64_t of_each_pair = 800; // of ops
    constexpr int smoothings = 3;
    auto const& p = with.subject();
    auto const room = bytes - p.resident_bytes();
    auto const n = static_cast<std::int64_t>(p.op_count());
    auto const work = std::min(most, of_each_pair * n * n);
    std::vector<std::optional<lazy<certified_plan, Lazy>>> found(held_back.size());
    auto const job = [&](std::size_t i) {
        auto const less = lim.place ? room / 1000 * held_back[i] : 0;
        basic_replay_annealer<Lazy> search(p, with.keep_all(), bytes - less, mix(lim.seed + i));
        search.run(work, stop.part(0.7));
        for (int k = 0; k < smoothings && !found[i] && !search.best().empty(); ++k) {
            if (lim.place) {
                search.smooth(work / 3, stop.part(0.6));
            }
            found[i] = placed_at_once(with, bytes, {search.best(), search.best_cost(), "annealed"}, lim, stop);
            if (stop.expired() || !lim.place) {
                break;
            }
        }
    };
    auto const at_once = std::clamp<std::size_t>(lim.threads, 1, found.size());
    basic_search<Lazy> const on(p, bytes, {}, {p.base_cost(), none, false}, lim, stop);
    for (std::size_t first = 0; first < found.size() && !stop.expired(); first += at_once) {
        auto const now = std::min(at_once, found.size() - first);
        on.side_by_side(now, [&](std::size_t i) { job(first + i); });
    }
    std::optional<lazy<certified_plan, Lazy>> best;
    for (auto& x : found) {
        if (x && (!best || cheaper(*x, *best))) {
            best = std::move(x);
        }
    }
    return best;
}

} // namespace strata::detail
