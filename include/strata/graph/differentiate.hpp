// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief From a forward graph and one gradient rule per op to the graph of the whole training step.
///
/// ```cpp
/// auto step = strata::differentiate(forward, rule, {.losses = {loss}, .frozen = {embedding}});
/// ```
/// Gradients are shared: every consumer of a tensor adds into one gradient buffer. Parameter gradients are resident,
/// so a weight used twice has two ops that add into its buffer. See graph/gradient_rule.hpp for what a rule says.
#pragma once

#include <strata/graph/access.hpp>
#include <strata/graph/backward_plan.hpp>
#include <strata/graph/backward_writer.hpp>
#include <strata/graph/concepts.hpp>
#include <strata/graph/gradient_rule.hpp>
#include <strata/graph/to_spec.hpp>
#include <strata/graph/training_graph.hpp>
#include <strata/result.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace strata {

namespace detail {

template <class G>
using payload_t = std::remove_cvref_t<decltype(access::op(std::declval<G const&>(), op_id{}))>;

template <class Rule, class G>
using rule_op_t = typename std::remove_cvref_t<
    std::invoke_result_t<Rule const&, payload_t<G> const&, gradient_request const&>>::op_type;

} // namespace detail

/// A callable that knows the backward ops of every op of `G`.
///
/// Given `R const& rule`, the operator object `op` of an op of `G`, a `gradient_request const& request`:
///   - `rule(op, request)` → `op_gradient<Op>`, where `Op` can be made from an operator object of `G`
///
/// Laws:       the same op and request get the same answer; the answer names only tensors the op has.
/// Not needed: copying, knowledge of other ops, care for gradients that are absent or not wanted.
/// Cost:       asked twice per op that a wanted gradient passes.
/// Models:     any function object of that form.
/// Near miss:  a callable that returns a list of `backward_op` by itself.
// clang-format off
template <class R, class G>
concept gradient_rule = requires(R const& rule, G const& g, gradient_request const& request) {
    typename detail::rule_op_t<R, G>;
    { rule(access::op(g, op_id{}), request) } -> std::convertible_to<op_gradient<detail::rule_op_t<R, G>>>;
    requires std::constructible_from<detail::rule_op_t<R, G>, detail::payload_t<G> const&>;
};
// clang-format on

/// What `differentiate` needs to know beyond graph and rule.
template <class Op>
struct differentiate_options {
    std::vector<tensor_id> losses = {};          ///< default: the targets of the graph
    std::vector<tensor_id> input_gradients = {}; ///< tensors whose gradient is wanted; it becomes a target
    std::vector<tensor_id> frozen = {};          ///< parameters that get no gradient
    /// Op that writes the gradient of each loss (its `reads` and `writes` are ignored). Default: a resident input.
    std::optional<backward_op<Op>> seed = std::nullopt;
};

namespace detail {

/// Which gradients are wanted, and by which losses; ids ascending.
struct wanted_gradients {
    std::vector<tensor_id> losses, requested, trained;
};

/// Sorted, without repetitions, and checked to exist.
template <class = void>
[[nodiscard]] auto existing(std::vector<tensor_id> ids, aliased_spec const& spec, char const* what)
    -> result<std::vector<tensor_id>>
{
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    for (auto t : ids) {
        if (t < 0 || static_cast<std::size_t>(t) >= spec.plain.tensors.size()) {
            return fail(errc::invalid_argument,
                        std::string("strata::differentiate: ") + what + " " + std::to_string(t) +
                            " does not exist; the graph has " + std::to_string(spec.plain.tensors.size()) + " tensors");
        }
    }
    return ids;
}

template <class = void>
[[nodiscard]] auto find_losses(std::vector<tensor_id> ids, aliased_spec const& spec, buffer_table const& table)
    -> result<std::vector<tensor_id>>
{
    auto losses = existing(std::move(ids), spec, "loss");
    if (losses && losses->empty()) {
        return fail(errc::invalid_argument,
                    "strata::differentiate: no loss; name one in options.losses or make it a target of the graph");
    }
    if (losses) {
        for (auto t : *losses) {
            if (table.producers[static_cast<std::size_t>(t)].empty()) {
                return fail(errc::invalid_argument,
                            "strata::differentiate: loss " + std::to_string(t) + " (" +
                                spec.plain.tensors[static_cast<std::size_t>(t)].name + ") is produced by no op");
            }
        }
    }
    return losses;
}

template <class = void>
[[nodiscard]] auto trained_parameters(aliased_spec const& spec, std::vector<tensor_id> const& frozen)
    -> std::vector<tensor_id>
{
    std::vector<tensor_id> trained;
    for (tensor_id t = 0; t < static_cast<tensor_id>(spec.plain.tensors.size()); ++t) {
        auto const at = static_cast<std::size_t>(t);
        if (spec.plain.tensors[at].kind == tensor_kind::parameter && spec.view_of[at] == none &&
            !std::binary_search(frozen.begin(), frozen.end(), t)) {
            trained.push_back(t);
        }
    }
    return trained;
}

template <class Op>
[[nodiscard]] auto find_wanted(differentiate_options<Op> const& options,
                               aliased_spec const& spec,
                               buffer_table const& table) -> result<wanted_gradients>
{
    auto losses = find_losses(options.losses.empty() ? spec.plain.targets : options.losses, spec, table);
    if (!losses) {
        return std::move(losses).error();
    }
    auto requested = existing(options.input_gradients, spec, "requested input gradient");
    if (!requested) {
        return std::move(requested).error();
    }
    auto const frozen = existing(options.frozen, spec, "frozen parameter");
    if (!frozen) {
        return frozen.error();
    }
    return wanted_gradients{*std::move(losses), *std::move(requested), trained_parameters(spec, *frozen)};
}

/// The ops of `g` as the step begins with them.
template <class Op, class G>
[[nodiscard]] auto forward_ops(G const& g, aliased_spec const& spec) -> std::vector<graph_op<Op>>
{
    std::vector<graph_op<Op>> ops;
    for (std::size_t o = 0; o < spec.plain.ops.size(); ++o) {
        auto const& x = spec.plain.ops[o];
        ops.push_back({.op = Op(access::op(g, static_cast<op_id>(o))),
                       .name = x.name,
                       .type = x.type,
                       .phase = phase::forward,
                       .effects = x.effects,
                       .workspace = x.workspace,
                       .inputs = x.inputs,
                       .outputs = x.outputs,
                       .mutates = spec.mutates[o]});
    }
    return ops;
}

template <class = void>
[[nodiscard]] auto forward_tensors(aliased_spec const& spec) -> std::vector<graph_tensor>
{
    std::vector<graph_tensor> tensors;
    for (std::size_t t = 0; t < spec.plain.tensors.size(); ++t) {
        auto const& x = spec.plain.tensors[t];
        tensors.push_back({x.name, x.bytes, x.kind, spec.view_of[t]});
    }
    return tensors;
}

} // namespace detail

/// The training step of forward graph `g`: its ops (phase forward), then the backward ops in reverse order.
///
/// Forward ids stay what they are; tensors a rule saves follow, then gradients, named after their tensor. Gradients
/// of several consumers share a buffer; a pass-through costs no op where nobody else adds into the input's gradient, or
/// where nobody else reads the output's. Ops whose rule answers nothing stop propagation; what no trained parameter
/// or requested input needs is left out. Targets are those of `g` and the gradients asked for.
/// Errors: `malformed_graph` if `g` breaks a rule of `check_aliases`, a rule's answer names what does not exist, a
/// backward op needs a value that was overwritten in place, or a pass-through lacks the `fallback` it needs;
/// `invalid_argument` if there is no loss, a loss depends on nothing trained, or a requested gradient never arrives.
/// Complexity: O(n log n) in ops, tensors, reads and writes, and two questions to the rule per op.
/// Example: examples/02_own_graph.cpp
template <class G, class Rule>
    requires task_graph<G> && gradient_rule<Rule, G>
[[nodiscard]] auto
differentiate(G const& g, Rule const& rule, differentiate_options<detail::rule_op_t<Rule, G>> const& options = {})
    -> result<training_graph<detail::rule_op_t<Rule, G>>>
{
    using op_type = detail::rule_op_t<Rule, G>;
    auto const spec = to_spec(g, "strata::differentiate");
    if (!spec) {
        return spec.error();
    }
    auto const table = check_aliases(*spec, "strata::differentiate");
    if (!table) {
        return table.error();
    }
    auto const wanted = detail::find_wanted(options, *spec, *table);
    if (!wanted) {
        return wanted.error();
    }
    auto const ask = [&](op_id o, gradient_request const& request) -> op_gradient<op_type> {
        return rule(access::op(g, o), request);
    };
    auto plan = detail::backward_planner<op_type, decltype(ask)>(
                    *spec, *table, wanted->losses, wanted->requested, options.seed.has_value(), ask)
                    .run(wanted->trained);
    if (!plan) {
        return std::move(plan).error();
    }
    detail::backward_writer<op_type> writer(
        *std::move(plan), detail::forward_ops<op_type>(g, *spec), detail::forward_tensors(*spec));
    if (auto e = writer.run(wanted->losses, options.seed)) {
        return *std::move(e);
    }
    auto targets = spec->plain.targets;
    for (auto t : wanted->requested) {
        if (std::find(targets.begin(), targets.end(), writer.gradient(t)) == targets.end()) {
            targets.push_back(writer.gradient(t));
        }
    }
    return training_graph<op_type>::make(
        spec->plain.name, writer.take_ops(), writer.take_tensors(), std::move(targets));
}

} // namespace strata
