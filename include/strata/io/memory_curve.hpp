// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A schedule as a picture needs it: its runs on a time axis, thinned to columns without losing a peak.
///
///      bytes ^      .--.            run:    [begin, end) on the axis, bytes live meanwhile
///            |   .--'  '---.        column: an equal share of the axis, with the most bytes met in it
///            |.--'         '-.
///            +-------------------> time: cumulated cost
#pragma once

#include <strata/problem/effects.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/replay.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace strata::detail {

/// One run of an op on the time axis.
struct curve_run {
    op_id op = none;
    std::size_t step = 0; ///< index of the step that runs it
    bool replay = false;  ///< the op has run before
    double begin = 0;
    double end = 0;
    bytes_t bytes = 0; ///< live during the run, resident tensors and workspace included
};

/// The runs of a schedule on a time axis. When no op of the problem costs anything the axis counts runs instead.
struct memory_curve {
    std::vector<curve_run> runs;
    std::vector<double> step_time;       ///< of each step, and of the end
    bool timed = true;                   ///< false when the axis counts runs
    std::size_t peak_run = 0;            ///< the first run with the most bytes
    std::vector<tensor_id> live_at_peak; ///< largest first, resident tensors left out

    [[nodiscard]] auto length() const noexcept -> double { return step_time.back(); }
    [[nodiscard]] auto peak() const noexcept -> bytes_t { return runs.empty() ? 0 : runs[peak_run].bytes; }
    [[nodiscard]] auto replays() const noexcept -> std::int64_t
    {
        return std::count_if(runs.begin(), runs.end(), [](auto const& r) { return r.replay; });
    }
};

/// Throws: `bad_result_access` when `s` is no schedule of `p`.
[[nodiscard]] inline auto curve_of(problem const& p, schedule const& s) -> memory_curve
{
    auto measured = replay(p, s).value();
    memory_curve c;
    c.timed = p.base_cost() > 0;
    c.live_at_peak = std::move(measured.live_at_peak);
    std::vector<char> seen(static_cast<std::size_t>(p.op_count()), 0);
    double now = 0;
    for (std::size_t k = 0; k < s.steps.size(); ++k) {
        c.step_time.push_back(now);
        if (s.steps[k].action != action::run) {
            continue;
        }
        auto const o = s.steps[k].id;
        auto const begin = now;
        now += c.timed ? static_cast<double>(p.cost(o)) : 1.0;
        bool const again = std::exchange(seen[static_cast<std::size_t>(o)], 1) != 0;
        c.runs.push_back({o, k, again, begin, now, measured.live[k]});
        if (k == measured.peak_step) {
            c.peak_run = c.runs.size() - 1;
        }
    }
    c.step_time.push_back(now);
    return c;
}

/// The curve of running every op once and freeing early: what a plan is compared with.
[[nodiscard]] inline auto keep_all_curve(problem const& p) -> memory_curve
{
    run_order order(static_cast<std::size_t>(p.op_count()));
    std::iota(order.begin(), order.end(), 0);
    return curve_of(p, free_early(p, order));
}

/// One of the equal parts of a time axis.
struct curve_column {
    bytes_t bytes = -1;      ///< most bytes of any run that touches the column; negative where no run does
    double replayed = 0;     ///< share of the column's time that is spent on replays
    std::size_t highest = 0; ///< index of the run with the most bytes
};

/// Cuts the axis from 0 to `length` into `count` columns and calls `visit(column, run index, share)` for every run and
/// column that touch; `share` is the part of the column the run fills. A run of no length touches one column.
/// Complexity: O(runs + columns).
template <class Visit>
void for_each_column(memory_curve const& curve, double length, std::size_t count, Visit visit)
{
    auto const last = static_cast<double>(count) - 1;
    auto const scale = length > 0 ? static_cast<double>(count) / length : 0.0;
    for (std::size_t k = 0; k < curve.runs.size(); ++k) {
        auto const begin = curve.runs[k].begin * scale;
        auto const end = curve.runs[k].end * scale;
        auto const first = std::clamp(std::floor(begin), 0.0, last);
        auto const beyond = std::clamp(std::ceil(end), first + 1, last + 1);
        for (auto column = first; column < beyond; ++column) {
            auto const share = std::min(end, column + 1) - std::max(begin, column);
            visit(static_cast<std::size_t>(column), k, std::clamp(share, 0.0, 1.0));
        }
    }
}

/// The curve in `count` columns of the axis from 0 to `length`.
[[nodiscard]] inline auto columns_of(memory_curve const& curve, double length, std::size_t count)
    -> std::vector<curve_column>
{
    std::vector<curve_column> columns(count);
    for_each_column(curve, length, count, [&](std::size_t column, std::size_t run, double share) {
        auto& c = columns[column];
        if (curve.runs[run].bytes > c.bytes) {
            c.bytes = curve.runs[run].bytes;
            c.highest = run;
        }
        c.replayed += curve.runs[run].replay ? share : 0.0;
    });
    return columns;
}

/// A stretch of the axis in which first runs are of one phase.
struct phase_stretch {
    strata::phase phase = phase::other;
    double begin = 0;
    double end = 0;
};

/// The axis cut where the phase of first runs changes; replays belong to the stretch they stand in. Stretches shorter
/// than `shortest` join the one before them.
[[nodiscard]] inline auto phases_of(problem const& p, memory_curve const& curve, double shortest)
    -> std::vector<phase_stretch>
{
    std::vector<phase_stretch> found;
    for (auto const& r : curve.runs) {
        auto const its = p.op(r.op).phase;
        if (found.empty() || (!r.replay && its != found.back().phase)) {
            found.push_back({its, r.begin, r.end});
        }
        found.back().end = r.end;
    }
    std::vector<phase_stretch> kept;
    for (auto const& x : found) {
        if (!kept.empty() && (kept.back().phase == x.phase || x.end - x.begin < shortest)) {
            kept.back().end = x.end;
        } else {
            kept.push_back(x);
        }
    }
    return kept;
}

} // namespace strata::detail
