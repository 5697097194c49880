// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A planned pass in coarser units, compiled: the same runs, fewer of them.
#pragma once

#include <strata/cost/table_cost.hpp>
#include <strata/execute/compile.hpp>
#include <strata/execute/program.hpp>
#include <strata/pipeline/certificate.hpp>
#include <strata/problem/fingerprint.hpp>
#include <strata/problem/lower.hpp>
#include <strata/problem/lowering.hpp>
#include <strata/result.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/torch/engine.hpp>
#include <strata/torch/fused_units.hpp>
#include <strata/torch/step_graph.hpp>
#include <strata/torch/trace.hpp>
#include <strata/torch/units.hpp>
#include <strata/units.hpp>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace strata::torch::detail {

/// What an executor needs to run the units of one pass.
struct coarse_step {
    unit_list units;
    step_graph graph;
    program code;
    std::vector<run_note> notes; ///< per run

    /// The units of `from` in the order that it gives; what nobody reads any more goes at once.
    /// Errors: those of `lower` and `compile`, which has the order judged.
    [[nodiscard]] static auto of(trace const& t, fused_units from) -> result<std::unique_ptr<coarse_step>>
    {
        auto graph = step_writer(t, from.units, from.measured, true).written();
        std::vector<cost_t> costs;
        for (auto const& x : graph.plain.ops) {
            costs.push_back(x.cost);
        }
        auto const low = lower(graph, table_cost(std::move(costs)), {.alignment = 64});
        if (!low) {
            return low.error();
        }
        auto const& p = low->problem();
        std::vector<op_id> backward(from.units.all.size(), none); // ops of the graph; forward ones are the units
        for (op_id o = 0; o < low->graph_op_count(); ++o) {
            if (graph.ops[at(o)].what == step_op::kind::backward) {
                backward[at(graph.ops[at(o)].unit)] = o;
            }
        }
        run_order order;
        for (auto const& x : from.order) {
            auto const o = x.what == step_op::kind::host      ? graph.host
                           : x.what == step_op::kind::forward ? x.unit
                                                              : backward[at(x.unit)];
            if (auto const one = low->group_of(o); low->members(one).front() == o) {
                order.push_back(one);
            }
        }
        certified_plan made;
        made.schedule = free_early(p, order);
        made.placement.alignment = p.alignment();
        made.fingerprint = fingerprint(p);
        auto code = compile(*low, made);
        if (!code) {
            return code.error();
        }
        auto notes = notes_of(graph, *code);
        return std::make_unique<coarse_step>(
            coarse_step{std::move(from.units), std::move(graph), *std::move(code), std::move(notes)});
    }

private:
    [[nodiscard]] static auto notes_of(step_graph const& g, program const& p) -> std::vector<run_note>
    {
        std::vector<run_note> all;
        std::vector<char> made(g.tensors.size(), 0); // by the run that was last
        for (auto const& x : p.instructions()) {
            if (x.what == instruction::kind::run) {
                all.emplace_back();
                made.assign(made.size(), 0);
                for (auto t : g.plain.ops[at(x.id)].outputs) {
                    made[at(t)] = 1;
                }
                continue;
            }
            auto const t = p.pieces()[at(x.id)].tensor;
            if (x.what == instruction::kind::acquire || t == none || all.empty()) {
                continue;
            }
            auto const& what = g.tensors[at(t)];
            if (what.what == step_tensor::kind::graph && made[at(t)] != 0) {
                all.back().graph = false;
            } else if (what.what == step_tensor::kind::storage && made[at(t)] == 0) {
                all.back().last_of.push_back(what.index);
            }
        }
        return all;
    }
};

} // namespace strata::torch::detail
