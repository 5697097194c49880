// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief One step, timed: what was planned beside what was measured, op by op.
#pragma once

#include <strata/execute/concepts.hpp>
#include <strata/execute/executor.hpp>
#include <strata/execute/program.hpp>
#include <strata/units.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace strata {

/// One run of an op.
struct run_report {
    op_id op = none;
    bool again = false;           ///< a replay
    cost_t planned = 0;           ///< in the graph's unit
    std::int64_t measured_ns = 0; ///< wall time, until the op had finished
    friend auto operator==(run_report const&, run_report const&) -> bool = default;
};

/// One step. Bytes are those of buffers that are not resident.
struct step_report {
    bytes_t planned_peak = 0;          ///< what the plan needs in sum
    bytes_t planned_arena = 0;         ///< and in one piece
    bytes_t measured_peak = 0;         ///< what the storage has taken
    cost_t planned_cost = 0;           ///< of all runs, in the graph's unit
    cost_t planned_base = 0;           ///< of running every op once
    std::int64_t measured_ns = 0;      ///< sum over all runs
    std::int64_t replayed_ns = 0;      ///< part of it spent on replays
    std::vector<run_report> runs = {}; ///< in the order they ran

    /// Share of the plain step's cost spent on replays, as planned and as measured. 0 when there is nothing to divide by.
    [[nodiscard]] auto planned_overhead() const noexcept -> double
    {
        return share(static_cast<double>(planned_cost - planned_base), static_cast<double>(planned_base));
    }
    [[nodiscard]] auto measured_overhead() const noexcept -> double
    {
        return share(static_cast<double>(replayed_ns), static_cast<double>(measured_ns - replayed_ns));
    }
    friend auto operator==(step_report const&, step_report const&) -> bool = default;

private:
    [[nodiscard]] static auto share(double part, double of) noexcept -> double { return of > 0 ? part / of : 0.0; }
};

/// Runs one step of `x` and times every run, waiting for each to finish.
/// Throws: what `x.run()` throws.
template <engine E, storage S>
[[nodiscard]] auto report_step(executor<E, S>& x) -> step_report
{
    using clock = std::chrono::steady_clock;
    auto const& p = x.plan();
    step_report r;
    r.planned_peak = p.promise().peak - p.promise().resident;
    r.planned_arena = p.arena();
    r.planned_cost = p.promise().cost;
    r.planned_base = p.promise().base_cost;
    clock::time_point begin;
    x.wait();
    x.run([&](instruction const&) { begin = clock::now(); },
          [&](instruction const& i) {
              x.wait();
              auto const ns = std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - begin).count();
              r.runs.push_back({i.id, i.again, p.op(i.id).cost, ns});
              r.measured_ns += ns;
              r.replayed_ns += i.again ? ns : 0;
          });
    r.measured_peak = x.memory().peak_bytes();
    return r;
}

/// One line for people.
template <class = void>
[[nodiscard]] auto describe(step_report const& r) -> std::string
{
    auto const percent = [](double x) {
        auto const tenths = static_cast<std::int64_t>(x * 1e3 + 0.5);
        return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " %";
    };
    return "peak " + std::to_string(r.measured_peak) + " bytes (planned " + std::to_string(r.planned_peak) +
           " in sum, " + std::to_string(r.planned_arena) + " in one piece), replays " + percent(r.measured_overhead()) +
           " of the time (planned " + percent(r.planned_overhead()) + "), " + std::to_string(r.runs.size()) + " runs";
}

} // namespace strata
