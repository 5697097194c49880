// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Measures what each op costs on the user's engine, inside the budget where that is possible.
///
/// ```cpp
/// auto const guess = strata::lower(graph, any_cost, {.alignment = 64});
/// auto const measured = strata::measure(*guess, engine, {.budget = 2_GiB});
/// auto const low = strata::lower(graph, measured->costs(), {.alignment = 64}); // and now the real plan
/// ```
#pragma once

#include <strata/cost/table_cost.hpp>
#include <strata/execute/checking.hpp>
#include <strata/execute/compile.hpp>
#include <strata/execute/concepts.hpp>
#include <strata/execute/executor.hpp>
#include <strata/execute/step_report.hpp>
#include <strata/execute/storage.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/problem/lowering.hpp>
#include <strata/result.hpp>
#include <strata/solve/keep_all.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <utility>
#include <vector>

namespace strata {

/// How to measure.
struct measure_options {
    strata::budget budget = {}; ///< for the steps that are measured; default none
    int warm_up = 1;            ///< steps before, which are not counted
    int steps = 3;              ///< that are counted, at least 1
    bool inspect = true; ///< one more step first, in `checking`: see `op_measurement::workspace`; host memory only
};

/// What was measured of one op.
struct op_measurement {
    std::vector<std::int64_t> ns = {}; ///< wall time of each run, replays too, ascending
    bytes_t outputs = 0;               ///< written, new buffers only; as the graph says, and seen to be so by `inspect`
    bytes_t workspace = 0;             ///< used: up to the last byte written; as the graph says without `inspect`

    [[nodiscard]] auto minimum() const noexcept -> cost_t { return ns.empty() ? 0 : ns.front(); }
    [[nodiscard]] auto median() const noexcept -> cost_t { return ns.empty() ? 0 : ns[ns.size() / 2]; }
    friend auto operator==(op_measurement const&, op_measurement const&) -> bool = default;
};

/// What was measured of a graph.
struct measurement {
    std::vector<op_measurement> ops; ///< per op of the graph
    bytes_t peak = 0;                ///< most bytes of buffers, resident tensors left out, while it was measured
    bool within_budget = true;       ///< false if no plan for the budget was found, and everything was kept

    /// Nanoseconds per op: the least of all runs, which noise cannot lower, or the median.
    [[nodiscard]] auto costs() const -> table_cost { return table(&op_measurement::minimum); }
    [[nodiscard]] auto median_costs() const -> table_cost { return table(&op_measurement::median); }

private:
    [[nodiscard]] auto table(cost_t (op_measurement::*which)() const noexcept) const -> table_cost
    {
        std::vector<cost_t> all;
        for (auto const& x : ops) {
            all.push_back((x.*which)());
        }
        return table_cost(std::move(all));
    }
};

/// Runs a few steps of the graph behind `from` and measures each op. The costs in `from` are a guess: they decide how the
/// steps that are measured fit the budget, nothing else. Buffers come from `memory` one by one and go back early.
///
/// `setup(x)` is called with each executor before its first step, to bind resident tensors. Steps are real: what lives on
/// after a step (parameter gradients, running statistics) changes as it does in training, so measure first and set initial
/// values then. The random state is put back.
/// Errors: `invalid_argument` for fewer than one step; those of `plan`, but for a budget that nothing fits everything is
/// kept instead.
/// Throws: what the engine throws; `engine_fault` from `inspect`.
template <engine E, memory_source M, class Setup>
[[nodiscard]] auto measure(lowering const& from, E& on, measure_options const& how, M& memory, Setup&& setup)
    -> result<measurement>
{
    if (how.steps < 1 || how.warm_up < 0) {
        return fail(errc::invalid_argument,
                    "strata::measure: " + std::to_string(how.steps) + " steps after " + std::to_string(how.warm_up) +
                        ": at least 1 after at least 0");
    }
    measurement r;
    auto planned = plan(from.problem(), {.budget = how.budget});
    if (!planned && planned.error().code == errc::infeasible) {
        planned = plan(from.problem(), {}, keep_all{});
        r.within_budget = false;
    }
    if (!planned) {
        return std::move(planned).error();
    }
    auto const program = compile(from, *planned);
    if (!program) {
        return program.error();
    }
    auto const at = [](op_id o) { return static_cast<std::size_t>(o); };
    r.ops.resize(at(program->op_count()));
    for (op_id o = 0; o < program->op_count(); ++o) {
        r.ops[at(o)].workspace = program->op(o).workspace;
        for (auto t : program->written(o)) {
            r.ops[at(o)].outputs += program->resident(t) ? 0 : program->tensor(t).bytes;
        }
    }
    auto const measured = [&] {
        if (how.inspect) {
            executor x(*program, on, checking(memory));
            setup(x);
            x.run();
            for (op_id o = 0; o < program->op_count(); ++o) {
                r.ops[at(o)].workspace = x.memory().touched_workspace(o);
            }
        }
        executor x(*program, on, allocating(memory));
        setup(x);
        for (int k = -how.warm_up; k < how.steps; ++k) {
            auto const report = report_step(x);
            for (auto const& one : report.runs) {
                if (k >= 0) {
                    r.ops[at(one.op)].ns.push_back(one.measured_ns);
                }
            }
            r.peak = report.measured_peak;
        }
    };
    if constexpr (random_engine<E>) {
        auto const before = on.random_state();
        try {
            measured();
        } catch (...) {
            on.set_random_state(before);
            throw;
        }
        on.set_random_state(before);
    } else {
        measured();
    }
    for (auto& x : r.ops) {
        std::sort(x.ns.begin(), x.ns.end());
    }
    return r;
}

/// The same with buffers from the default memory resource and nothing to bind.
template <engine E>
[[nodiscard]] auto measure(lowering const& from, E& on, measure_options const& how = {}) -> result<measurement>
{
    return measure(from, on, how, *std::pmr::new_delete_resource(), [](auto&) {});
}

} // namespace strata
