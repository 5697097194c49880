// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The join with strata: from a model and a budget to a plan, and a step that the plan is executed in.
#pragma once

#include <strata/cost/priced_by.hpp>
#include <strata/cost/table_cost.hpp>
#include <strata/execute/compile.hpp>
#include <strata/execute/executor.hpp>
#include <strata/execute/measure.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/problem/lower.hpp>
#include <strata/problem/lowering.hpp>
#include <strata/result.hpp>
#include <strata/units.hpp>

#include <cstddef>
#include <memory_resource>
#include <string_view>
#include <utility>
#include <variant>

#include "examples/engine_eigen/counting_memory.hpp"
#include "examples/engine_eigen/engine.hpp"
#include "examples/engine_eigen/network.hpp"

namespace engine_eigen {

/// Nanoseconds of an op: what a core of a desktop takes for a flop of its kind, and for a call. Rough, and good enough
/// to tell dear ops from cheap ones.
[[nodiscard]] inline auto nanoseconds(operation const& o) -> double
{
    return std::visit(
        [type = std::string_view(type_of(o))](auto const& kernel) {
            auto const per_flop = type.starts_with("linear")        ? 0.03
                                  : type.starts_with("convolution") ? 0.05
                                  : type.starts_with("attention")   ? 0.06
                                                                    : 0.1; // no matrix products, so slower
            return kernel.flops() == 0 ? 0 : 200 + per_flop * kernel.flops();
        },
        o);
}

/// Tells executor `x` where the engine has what is resident.
template <class Executor>
void bind_resident(Executor& x, model const& m, engine& e)
{
    for (strata::tensor_id t = 0; t < m.step.tensor_count(); ++t) {
        if (e.resident().data(t) != nullptr) {
            x.bind(t, e.resident().as<std::byte>(t));
        }
    }
}

/// The costs of the ops of `m`, measured on an engine of its own, within `within` where a plan for that is found.
/// Errors: those of `strata::measure`.
[[nodiscard]] inline auto measured_costs(model const& m, strata::lowering const& guess, strata::budget within)
    -> strata::result<strata::table_cost>
{
    engine e(m, 1);
    generator examples(2);
    m.next_batch(examples, e.resident());
    auto const measured = strata::measure(
        guess, e, {.budget = within, .steps = 5, .inspect = false}, *std::pmr::new_delete_resource(), [&](auto& x) {
            bind_resident(x, m, e);
        });
    return measured ? strata::result<strata::table_cost>(measured->costs()) : measured.error();
}

// [plan]
/// A plan for one step of `m` within `within`, ready to run. Ops are priced by `nanoseconds`, and so the plan is the same
/// on any machine, or by what they take on this one.
/// Errors: those of `strata::plan`; `infeasible` says which budget would do.
[[nodiscard]] inline auto plan_step(model const& m, strata::budget within, bool measure = false)
    -> strata::result<strata::program>
{
    auto lowered = strata::lower(m.step, strata::priced_by(nanoseconds), {.alignment = alignment});
    if (lowered && measure) {
        auto const costs = measured_costs(m, *lowered, within);
        if (!costs) {
            return costs.error();
        }
        lowered = strata::lower(m.step, *costs, {.alignment = alignment});
    }
    if (!lowered) {
        return lowered.error();
    }
    auto const planned = strata::plan(lowered->problem(), {.budget = within});
    if (!planned) {
        return planned.error();
    }
    return strata::compile(*lowered, *planned);
}
// [plan]

// [step]
/// Runs a step as planned, in one slab.
class planned_step {
public:
    /// Requires: `e` outlives it.
    planned_step(strata::program plan, model const& m, engine& e)
        : executor_(std::move(plan), e, memory_)
        , loss_(m.loss)
    {
        bind_resident(executor_, m, e);
    }

    /// Returns: the loss.
    auto run() -> float
    {
        executor_.run();
        return *executor_.as<float>(loss_);
    }

    /// Most bytes that were allocated at once, resident tensors left out.
    [[nodiscard]] auto peak() const -> strata::bytes_t { return memory_.peak(); }
    /// What was promised about the plan.
    [[nodiscard]] auto promise() const -> strata::certificate const& { return executor_.plan().promise(); }

private:
    counting_memory memory_;
    strata::executor<engine, strata::arena<counting_memory>> executor_;
    strata::tensor_id loss_;
};
// [step]

} // namespace engine_eigen
