// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Builds a `training_graph` op by op, in first-run order.
///
/// ```cpp
/// strata::graph_builder<my_op> b("mlp");
/// auto const x = b.input("x", 4096);
/// auto const w = b.parameter("w", 1 << 20);
/// auto const h = b.add(linear{}, {x, w}, {{.name = "h", .bytes = 4096}}, {.type = "linear"});
/// auto const d = b.add(dropout{}, {h}, {{.name = "d", .bytes = 4096}, {.name = "mask", .bytes = 1024, .kind = saved}},
///                      {.type = "dropout", .effects = strata::effect::random});
/// auto const r = b.add(relu_{}, {d[0]}, {{.name = "r", .bytes = 4096, .view_of = d[0]}}, {.mutates = {d[0]}});
/// b.target(r);
/// strata::result<strata::training_graph<my_op>> g = b.build();
/// ```
#pragma once

#include <strata/graph/training_graph.hpp>
#include <strata/result.hpp>
#include <strata/units.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace strata {

/// What `graph_builder::add` may be told about an op beyond what it reads and makes.
struct op_attributes {
    std::string name = {}; ///< default: type, a hash sign and the op's number
    std::string type = {}; ///< operator class, for reports and cost models
    strata::effects effects = {};
    bytes_t workspace = 0; ///< scratch bytes while it runs
    strata::phase phase = phase::other;
    std::vector<tensor_id> mutates = {}; ///< tensors it changes in place
    std::vector<tensor_id> writes = {};  ///< tensors made before: gradients it adds into, resident tensors it writes
    op_id backward_of = none;
};

/// What `graph_builder::add` answers: the op and the tensors it makes. Stands for its only output where a tensor id is
/// wanted.
struct added_op {
    op_id id = none;
    std::vector<tensor_id> outputs;

    /// Output `k`. Asked for one that is not there it answers `none`, which `build` then reports at the op that uses it.
    [[nodiscard]] auto operator[](std::size_t k) const noexcept -> tensor_id
    {
        return k < outputs.size() ? outputs[k] : none;
    }
    operator tensor_id() const noexcept { return outputs.size() == 1 ? outputs[0] : none; } // NOLINT
};

/// Collects tensors and ops; `build` checks them all at once. Ids are handed out in order, from 0.
template <class Op>
class graph_builder {
public:
    explicit graph_builder(std::string name = {})
        : name_(std::move(name))
    {
    }

    /// A tensor that no op added so far makes; the shorthands below fix its kind. A gradient declared here is produced
    /// by the ops that name it in `op_attributes::writes`.
    auto tensor(graph_tensor t) -> tensor_id
    {
        tensors_.push_back(std::move(t));
        return static_cast<tensor_id>(tensors_.size() - 1);
    }
    auto input(std::string name, bytes_t bytes) -> tensor_id
    {
        return tensor({std::move(name), bytes, tensor_kind::input, none});
    }
    auto parameter(std::string name, bytes_t bytes) -> tensor_id
    {
        return tensor({std::move(name), bytes, tensor_kind::parameter, none});
    }
    auto parameter_gradient(std::string name, bytes_t bytes) -> tensor_id
    {
        return tensor({std::move(name), bytes, tensor_kind::parameter_gradient, none});
    }
    auto state(std::string name, bytes_t bytes) -> tensor_id
    {
        return tensor({std::move(name), bytes, tensor_kind::state, none});
    }
    auto gradient(std::string name, bytes_t bytes) -> tensor_id
    {
        return tensor({std::move(name), bytes, tensor_kind::gradient, none});
    }

    /// Appends an op that reads `inputs` and makes `outputs`.
    // NOLINTNEXTLINE(performance-unnecessary-value-param): moved below
    auto add(Op op, std::vector<tensor_id> inputs, std::vector<graph_tensor> outputs, op_attributes more = {})
        -> added_op
    {
        added_op r{static_cast<op_id>(ops_.size()), {}};
        for (auto& t : outputs) {
            r.outputs.push_back(tensor(std::move(t)));
        }
        auto writes = r.outputs;
        writes.insert(writes.end(), more.writes.begin(), more.writes.end());
        if (more.name.empty()) {
            more.name = (more.type.empty() ? "op" : more.type) + "#" + std::to_string(r.id);
        }
        ops_.push_back({.op = std::move(op),
                        .name = std::move(more.name),
                        .type = std::move(more.type),
                        .phase = more.phase,
                        .effects = more.effects,
                        .workspace = more.workspace,
                        .inputs = std::move(inputs),
                        .outputs = std::move(writes),
                        .mutates = std::move(more.mutates),
                        .backward_of = more.backward_of});
        return r;
    }

    /// `t` must be there at the end.
    void target(tensor_id t) { targets_.push_back(t); }

    [[nodiscard]] auto op_count() const noexcept -> op_id { return static_cast<op_id>(ops_.size()); }
    [[nodiscard]] auto tensor_bytes(tensor_id t) const -> bytes_t
    {
        return tensors_.at(static_cast<std::size_t>(t)).bytes;
    }

    /// The graph of what was added so far. The builder keeps its content and may go on.
    /// Errors: see `training_graph::make`.
    [[nodiscard]] auto build() const& -> result<training_graph<Op>>
    {
        return training_graph<Op>::make(name_, ops_, tensors_, targets_);
    }
    [[nodiscard]] auto build() && -> result<training_graph<Op>>
    {
        return training_graph<Op>::make(std::move(name_), std::move(ops_), std::move(tensors_), std::move(targets_));
    }

private:
    std::string name_;
    std::vector<graph_op<Op>> ops_;
    std::vector<graph_tensor> tensors_;
    std::vector<tensor_id> targets_;
};

} // namespace strata
