// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What a `strata-graph` file says, as plain values; docs/formats.md describes every key.
#pragma once

#include <strata/problem/effects.hpp>
#include <strata/problem/problem.hpp>
#include <strata/result.hpp>
#include <strata/units.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace strata {

/// One tensor of a graph file.
struct graph_file_tensor {
    std::string name;
    bytes_t bytes = 0;
    tensor_kind kind = tensor_kind::activation;
    tensor_id view_of = none; ///< the tensor whose buffer this one shares, if it is a view
    friend auto operator==(graph_file_tensor const&, graph_file_tensor const&) -> bool = default;
};

/// One op of a graph file.
struct graph_file_op {
    std::string name;
    std::string type;
    strata::phase phase = phase::other;
    cost_t cost = 0;
    bytes_t workspace = 0;
    std::vector<tensor_id> inputs;
    std::vector<tensor_id> outputs;
    strata::effects effects;
    std::vector<tensor_id> mutates; ///< tensors changed in place
    op_id backward_of = none;
    friend auto operator==(graph_file_op const&, graph_file_op const&) -> bool = default;
};

/// A graph as its file states it: ids in range, numbers in range, nothing else checked; `lower_graph` does the rest.
/// Answers the questions of `task_graph`.
struct graph_file {
    std::string name;
    std::string cost_unit = "ns";
    std::optional<bytes_t> reference_peak_bytes; ///< a peak measured elsewhere, for comparison only
    bytes_t alignment = 1;
    std::vector<graph_file_tensor> tensors;
    std::vector<graph_file_op> ops; ///< in first-run order
    std::vector<tensor_id> targets;
    friend auto operator==(graph_file const&, graph_file const&) -> bool = default;

    friend auto op_count(graph_file const& g) noexcept -> std::size_t { return g.ops.size(); }
    friend auto tensor_count(graph_file const& g) noexcept -> std::size_t { return g.tensors.size(); }
    friend auto inputs(graph_file const& g, op_id o) -> std::vector<tensor_id> const& { return g.at(o).inputs; }
    friend auto outputs(graph_file const& g, op_id o) -> std::vector<tensor_id> const& { return g.at(o).outputs; }
    friend auto mutates(graph_file const& g, op_id o) -> std::vector<tensor_id> const& { return g.at(o).mutates; }
    friend auto effects_of(graph_file const& g, op_id o) -> strata::effects { return g.at(o).effects; }
    friend auto op_workspace(graph_file const& g, op_id o) -> bytes_t { return g.at(o).workspace; }
    friend auto phase_of(graph_file const& g, op_id o) -> strata::phase { return g.at(o).phase; }
    friend auto backward_of(graph_file const& g, op_id o) -> op_id { return g.at(o).backward_of; }
    friend auto op_name(graph_file const& g, op_id o) -> std::string const& { return g.at(o).name; }
    friend auto type_name(graph_file const& g, op_id o) -> std::string const& { return g.at(o).type; }
    friend auto tensor_bytes(graph_file const& g, tensor_id t) -> bytes_t { return g.tensor_at(t).bytes; }
    friend auto kind_of(graph_file const& g, tensor_id t) -> tensor_kind { return g.tensor_at(t).kind; }
    friend auto view_of(graph_file const& g, tensor_id t) -> tensor_id { return g.tensor_at(t).view_of; }
    friend auto tensor_name(graph_file const& g, tensor_id t) -> std::string const& { return g.tensor_at(t).name; }
    friend auto graph_name(graph_file const& g) -> std::string const& { return g.name; }
    friend auto targets(graph_file const& g) -> std::vector<tensor_id> const& { return g.targets; }

    [[nodiscard]] auto at(op_id o) const -> graph_file_op const& { return ops[static_cast<std::size_t>(o)]; }
    [[nodiscard]] auto tensor_at(tensor_id t) const -> graph_file_tensor const&
    {
        return tensors[static_cast<std::size_t>(t)];
    }
};

/// The file of a spec: what `write_graph` needs to save a graph made in a program.
[[nodiscard]] inline auto to_graph_file(problem_spec const& s, std::string cost_unit = "ns") -> graph_file
{
    graph_file g;
    g.name = s.name;
    g.cost_unit = std::move(cost_unit);
    g.alignment = s.alignment;
    g.targets = s.targets;
    g.tensors.reserve(s.tensors.size());
    for (auto const& t : s.tensors) {
        g.tensors.push_back({t.name, t.bytes, t.kind, none});
    }
    g.ops.reserve(s.ops.size());
    for (auto const& o : s.ops) {
        g.ops.push_back(
            {o.name, o.type, o.phase, o.cost, o.workspace, o.inputs, o.outputs, o.effects, {}, o.backward_of});
    }
    return g;
}

} // namespace strata
