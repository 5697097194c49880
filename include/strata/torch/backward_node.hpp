// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The one node that a planned step shows to autograd: it runs the backward part of the plan.
#pragma once

#include <strata/torch/compat.hpp>
#include <strata/torch/planned_step.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace strata::torch::detail {

/// Owns one step in flight and its plan.
class backward_node final : public autograd::Node {
public:
    backward_node(std::shared_ptr<planned_step const> plan, std::unique_ptr<running_step> step)
        : plan_(std::move(plan))
        , returned_(plan_->returned())
        , step_(std::move(step))
    {
        auto const& t = plan_->captured();
        for (auto v : returned_) {
            add_next_edge(autograd::impl::gradient_edge(step_->state.tensor(v)));
        }
        for (std::size_t v = 0; v < t.values.size(); ++v) {
            auto const& x = t.values[v];
            if (x.from != origin::made && !t.groups[at(x.group)].changed) {
                watch(step_->state.tensor(static_cast<std::int32_t>(v)));
            }
        }
    }

    /// Joins a result to the graph through `self`, this node. Requires: in the order in which they are returned.
    void attach(node_pointer const& self, at::Tensor const& y, std::int32_t v)
    {
        auto const place = add_input_metadata(y);
        autograd::impl::set_gradient_edge(y, {self, place});
        if (plan_->reads_again(plan_->captured().values[at(v)].group)) {
            watch(y);
        }
    }

    auto apply(autograd::variable_list&& gradients) -> autograd::variable_list override
    {
        if (at::GradMode::is_enabled()) {
            throw std::logic_error("strata::torch: gradients of gradients (create_graph) cannot be taken through a "
                                   "planned step; use the plain model for them");
        }
        if (!step_) {
            throw std::logic_error("strata::torch: backward through a planned step a second time; its memory is gone "
                                   "after the first (retain_graph does not keep it): call forward again");
        }
        for (auto const& [counter, version] : versions_) {
            if (counter.current_version() != version) {
                throw std::logic_error(
                    "strata::torch: a parameter, an input or a result of a planned step was changed in "
                    "place between its forward and its backward; change it after backward, or a copy");
            }
        }
        auto const step = std::move(step_);
        step->run_backward(std::move(gradients));
        autograd::variable_list all;
        for (auto v : returned_) {
            all.push_back(step->state.gradients[at(v)].take());
        }
        return all;
    }
    auto name() const -> std::string override { return "StrataStepBackward"; }

private:
    void watch(at::Tensor const& t)
    {
        if (!t.is_inference()) {
            auto const& counter = autograd::impl::version_counter(t);
            versions_.emplace_back(counter, counter.current_version());
        }
    }

    std::shared_ptr<planned_step const> plan_;
    std::vector<std::int32_t> returned_; // values, per edge
    std::unique_ptr<running_step> step_;
    std::vector<std::pair<c10::VariableVersion, std::uint32_t>> versions_;
};

/// Runs the forward part of a step and hands out its results, joined to autograd's graph.
/// Returns: one tensor per result, in order.
[[nodiscard]] inline auto run_step(std::shared_ptr<planned_step const> const& plan, std::vector<at::Tensor> inputs)
    -> std::vector<at::Tensor>
{
    auto step = plan->begin(std::move(inputs));
    auto const& t = plan->captured();
    std::vector<at::Tensor> results;
    for (auto v : t.outputs) {
        results.push_back(v == none ? at::Tensor() : step->state.tensor(v));
    }
    if (plan->has_backward()) {
        auto const made = make_node<backward_node>(plan, std::move(step));
        auto& node = static_cast<backward_node&>(*made);
        for (std::size_t k = 0; k < results.size(); ++k) {
            auto const v = t.outputs[k];
            if (v != none && t.values[at(v)].from == origin::made && t.values[at(v)].grad) {
                node.attach(made, results[k], v);
            }
        }
    }
    return results;
}

} // namespace strata::torch::detail
