// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Runs one planning unit of a step in flight, forward and backward.
#pragma once

#include <strata/torch/compat.hpp>
#include <strata/torch/local_graph.hpp>
#include <strata/torch/refusal.hpp>
#include <strata/torch/saved_tensors.hpp>
#include <strata/torch/step_state.hpp>
#include <strata/torch/trace.hpp>
#include <strata/torch/units.hpp>

#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace strata::torch::detail {

/// How a unit runs forward.
struct forward_mode {
    bool graph = true;  ///< with a graph for backward
    bool quiet = false; ///< running statistics are left alone
};

/// Runs unit `i` forward: its results are there afterwards, and its graph if it has one.
inline void run_forward(step_state& s, std::int32_t i, forward_mode how)
{
    auto const& u = s.units().all[at(i)];
    auto const& t = s.of();
    auto graph = how.graph && u.backward ? std::make_unique<local_graph>(s) : nullptr;
    std::vector<at::Tensor> used(u.uses.size());
    std::vector<at::Tensor> local(u.locals.size());
    {
        at::NoGradGuard const guard;
        for (std::size_t k = 0; k < u.uses.size(); ++k) {
            auto const& x = u.uses[k];
            used[k] = s.tensor(x.value);
            if (graph && x.grad) {
                if (t.values[at(x.value)].from != origin::made) {
                    used[k] = used[k].variable_data();
                }
                graph->watch(used[k], static_cast<std::int32_t>(k));
            }
        }
    }
    saved_tensor_keeper::scope const kept(graph.get());
    c10::impl::ExcludeDispatchKeyGuard const as_captured(c10::autocast_dispatch_keyset); // casts are ops of the pass
    std::size_t made = 0;
    for (std::size_t k = 0; k < u.ops.size(); ++k) {
        auto const& op = t.ops[at(u.ops[k])];
        at::AutoGradMode const mode(graph != nullptr && op.grad_mode);
        auto read = u.reads[k].begin();
        auto const next = [&](std::int32_t v) -> at::Tensor {
            if (v == none) {
                return {};
            }
            auto const from = *read++;
            auto const& list = op.statistics;
            if (how.quiet && !list.empty() &&
                std::find(list.begin(), list.end(), t.values[at(v)].group) != list.end()) {
                return {}; // without statistics to update, the results are the same
            }
            return from < 0 ? used[at(~from)] : local[at(from)];
        };
        ::torch::jit::Stack stack;
        stack.reserve(op.arguments.size());
        for (auto const& a : op.arguments) {
            switch (a.what) {
            case argument::kind::constant: stack.push_back(a.constant); break;
            case argument::kind::tensor: stack.emplace_back(next(a.values[0])); break;
            case argument::kind::tensors: {
                c10::List<at::Tensor> list;
                for (auto v : a.values) {
                    list.push_back(next(v));
                }
                stack.emplace_back(std::move(list));
                break;
            }
            case argument::kind::optional_tensors: {
                c10::List<c10::optional<at::Tensor>> list;
                for (auto v : a.values) {
                    list.push_back(v == none ? c10::optional<at::Tensor>() : c10::optional<at::Tensor>(next(v)));
                }
                stack.emplace_back(std::move(list));
                break;
            }
            }
        }
        if (op.own != nullptr) {
            op.own->run(stack);
        } else {
            op.handle.callBoxed(&stack);
        }
        if (op.expected.isBool() && stack[0].toBool() != op.expected.toBool()) {
            throw refusal(op.name(),
                          "answers otherwise than when forward was captured, which may do other ops now",
                          "compare tensors outside of forward, and tell the two cases apart by options::mode");
        }
        auto const take = [&](std::int32_t v, at::Tensor const& y) {
            if (v != none && made < u.locals.size() && u.locals[made] == v) {
                local[made++] = y;
            }
        };
        for (std::size_t r = 0; r < op.answers.size(); ++r) {
            if (op.answers[r].list) {
                auto const all = stack[r].toTensorVector();
                for (std::size_t e = 0; e < all.size(); ++e) {
                    take(op.answers[r].values[e], all[e]);
                }
            } else if (!op.answers[r].values.empty()) {
                take(op.answers[r].values[0], stack[r].toTensor());
            }
        }
    }
    for (auto k : u.results) {
        auto const v = u.locals[at(k)];
        if (auto const g = t.values[at(v)].group; t.groups[at(g)].made()) {
            s.storages[at(g)] = local[at(k)].storage();
        }
        if (graph) {
            graph->add_root(local[at(k)], v);
        }
    }
    if (graph) {
        graph->refer(u);
        s.graphs[at(i)] = std::move(graph);
    }
}

/// Runs unit `i` backward: takes the gradients of its results, adds to those of what it uses.
inline void run_backward(step_state& s, std::int32_t i)
{
    auto const graph = std::move(s.graphs[at(i)]);
    TORCH_CHECK(graph != nullptr, "strata::torch: a unit without its graph runs backward");
    at::NoGradGuard const guard;
    std::vector<at::Tensor> given;
    for (auto v : graph->root_values()) {
        given.push_back(s.gradients[at(v)].take());
    }
    for (auto& [use, part] : graph->run(std::move(given))) {
        auto const& x = s.units().all[at(i)].uses[at(use)];
        s.gradients[at(x.value)].add(x.rank, std::move(part));
    }
}

} // namespace strata::torch::detail
