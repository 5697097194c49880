// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The library's own graph: a step as a value, with any operator type.
///
/// Made by `graph_builder` and by `differentiate`. Users who have a graph of their own need neither: see
/// graph/concepts.hpp.
#pragma once

#include <strata/graph/concepts.hpp>
#include <strata/problem/aliased_spec.hpp>
#include <strata/problem/effects.hpp>
#include <strata/result.hpp>
#include <strata/units.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace strata {

/// One tensor of a `training_graph`.
struct graph_tensor {
    std::string name = {};
    bytes_t bytes = 0; ///< >= 0
    tensor_kind kind = tensor_kind::activation;
    tensor_id view_of = none; ///< the tensor whose buffer this one uses, or `none` if it has its own
    friend auto operator==(graph_tensor const&, graph_tensor const&) -> bool = default;
};

/// One op of a `training_graph`; `Op` is whatever the user runs it by.
template <class Op>
struct graph_op {
    Op op;
    std::string name = {}; ///< for people
    std::string type = {}; ///< operator class, for reports
    strata::phase phase = phase::other;
    strata::effects effects = {};
    bytes_t workspace = 0; ///< >= 0
    std::vector<tensor_id> inputs = {};
    std::vector<tensor_id> outputs = {}; ///< new tensors, gradients added into, resident tensors written, views made
    std::vector<tensor_id> mutates = {}; ///< tensors changed in place
    op_id backward_of = none;            ///< the forward op this one belongs to
    friend auto operator==(graph_op const&, graph_op const&) -> bool
        requires std::equality_comparable<Op>
    = default;
};

/// A step, checked and frozen. Models `task_graph`. Ops are numbered in first-run order.
template <class Op>
class training_graph {
public:
    using op_type = Op;

    /// Checks the parts and freezes them.
    /// Errors: `malformed_graph`, by the rules of `check_aliases`, naming the op or tensor.
    /// Complexity: O(n log n) in the number of ops, tensors, reads and writes.
    // NOLINTBEGIN(performance-unnecessary-value-param): all are moved below
    [[nodiscard]] static auto make(std::string name,
                                   std::vector<graph_op<Op>> ops,
                                   std::vector<graph_tensor> tensors,
                                   std::vector<tensor_id> targets) -> result<training_graph>
    // NOLINTEND(performance-unnecessary-value-param)
    {
        aliased_spec spec;
        spec.plain.targets = targets;
        for (auto const& t : tensors) {
            spec.plain.tensors.push_back({t.name, t.bytes, t.kind});
            spec.view_of.push_back(t.view_of);
        }
        for (auto const& o : ops) {
            spec.plain.ops.push_back(
                {o.name, o.type, o.phase, 0, o.workspace, o.inputs, o.outputs, o.effects, o.backward_of});
            spec.mutates.push_back(o.mutates);
        }
        if (auto table = check_aliases(spec, "strata::training_graph"); !table) {
            return std::move(table).error();
        }
        training_graph g;
        g.name_ = std::move(name);
        g.ops_ = std::move(ops);
        g.tensors_ = std::move(tensors);
        g.targets_ = std::move(targets);
        return g;
    }

    [[nodiscard]] auto graph_name() const noexcept -> std::string const& { return name_; }
    [[nodiscard]] auto op_count() const noexcept -> op_id { return static_cast<op_id>(ops_.size()); }
    [[nodiscard]] auto tensor_count() const noexcept -> tensor_id { return static_cast<tensor_id>(tensors_.size()); }
    [[nodiscard]] auto ops() const noexcept -> std::span<graph_op<Op> const> { return ops_; }
    [[nodiscard]] auto tensors() const noexcept -> std::span<graph_tensor const> { return tensors_; }
    [[nodiscard]] auto targets() const noexcept -> std::span<tensor_id const> { return targets_; }

    [[nodiscard]] auto op(op_id o) const noexcept -> Op const& { return at(o).op; }
    [[nodiscard]] auto op_name(op_id o) const noexcept -> std::string const& { return at(o).name; }
    [[nodiscard]] auto type_name(op_id o) const noexcept -> std::string const& { return at(o).type; }
    [[nodiscard]] auto phase_of(op_id o) const noexcept -> phase { return at(o).phase; }
    [[nodiscard]] auto effects_of(op_id o) const noexcept -> effects { return at(o).effects; }
    [[nodiscard]] auto op_workspace(op_id o) const noexcept -> bytes_t { return at(o).workspace; }
    [[nodiscard]] auto inputs(op_id o) const noexcept -> std::span<tensor_id const> { return at(o).inputs; }
    [[nodiscard]] auto outputs(op_id o) const noexcept -> std::span<tensor_id const> { return at(o).outputs; }
    [[nodiscard]] auto mutates(op_id o) const noexcept -> std::span<tensor_id const> { return at(o).mutates; }
    [[nodiscard]] auto backward_of(op_id o) const noexcept -> op_id { return at(o).backward_of; }

    [[nodiscard]] auto tensor_name(tensor_id t) const noexcept -> std::string const& { return tensor(t).name; }
    [[nodiscard]] auto tensor_bytes(tensor_id t) const noexcept -> bytes_t { return tensor(t).bytes; }
    [[nodiscard]] auto kind_of(tensor_id t) const noexcept -> tensor_kind { return tensor(t).kind; }
    [[nodiscard]] auto view_of(tensor_id t) const noexcept -> tensor_id { return tensor(t).view_of; }

    friend auto operator==(training_graph const&, training_graph const&) -> bool
        requires std::equality_comparable<Op>
    = default;

private:
    training_graph() = default;
    [[nodiscard]] auto at(op_id o) const noexcept -> graph_op<Op> const& { return ops_[static_cast<std::size_t>(o)]; }
    [[nodiscard]] auto tensor(tensor_id t) const noexcept -> graph_tensor const&
    {
        return tensors_[static_cast<std::size_t>(t)];
    }

    std::string name_;
    std::vector<graph_op<Op>> ops_;
    std::vector<graph_tensor> tensors_;
    std::vector<tensor_id> targets_;
};

} // namespace strata
