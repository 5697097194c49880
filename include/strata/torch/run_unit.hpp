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
#include <span>
#include <utility>
#include <vector>

namespace strata::torch::detail {

/// How a unit runs forward.
struct forward_mode {
    bool graph = true;                          ///< with a graph for backward
    bool quiet = false;                         ///< running statistics are left alone
    std::span<std::int32_t const> last_of = {}; ///< groups that it is the last to read, before they go or are made anew
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
    if (!graph || u.undisturbed) { // then what is read no more can go as soon as it has been read
        for (auto g : how.last_of) {
            s.storages[at(g)] = {};
        }
    }
    saved_tensor_keeper::scope const kept(u.undisturbed ? nullptr : graph.get());
    c10::impl::ExcludeDispatchKeyGuard const as_captured(c10::autocast_dispatch_keyset); // casts are ops of the pass
    auto const* operand = u.code.operands.data();
    auto const* answer = u.code.answers.data();
    auto const* end = u.code.ends.data();
    auto const next = [&]() -> at::Tensor {
        auto const& x = *operand++;
        if (x.what == unit_code::operand::kind::absent || (how.quiet && x.statistic)) {
            return {}; // without statistics to update, the results are the same
        }
        return x.from < 0 ? used[at(~x.from)] : local[at(x.from)];
    };
    ::torch::jit::Stack stack;
    for (auto const& call : u.code.calls) {
        at::AutoGradMode const mode(graph != nullptr && call.grad_mode);
        for (std::int32_t k = 0; k < call.operands; ++k) {
            switch (operand->what) {
            case unit_code::operand::kind::constant: stack.push_back((operand++)->constant); break;
            case unit_code::operand::kind::tensor:
            case unit_code::operand::kind::absent: stack.emplace_back(next()); break;
            case unit_code::operand::kind::tensors: {
                c10::List<at::Tensor> list;
                for (auto n = (operand++)->from; n > 0; --n) {
                    list.push_back(next());
                }
                stack.emplace_back(std::move(list));
                break;
            }
            case unit_code::operand::kind::optional_tensors: {
                c10::List<c10::optional<at::Tensor>> list;
                for (auto n = (operand++)->from; n > 0; --n) {
                    bool const absent = operand->what == unit_code::operand::kind::absent;
                    auto x = next();
                    list.push_back(absent ? c10::optional<at::Tensor>() : c10::optional<at::Tensor>(std::move(x)));
                }
                stack.emplace_back(std::move(list));
                break;
            }
            }
        }
        if (call.own) {
            call.op->own->run(stack);
        } else {
            call.handle.callBoxed(&stack);
        }
        if (call.compares && stack[0].toBool() != call.op->expected.toBool()) {
            throw refusal(call.op->name(),
                          "answers otherwise than when forward was captured, which may do other ops now",
                          "compare tensors outside of forward, and tell the two cases apart by options::mode");
        }
        for (std::size_t r = 0; r < at(call.answers); ++r) {
            auto const k = *answer++;
            if (k >= 0) {
                local[at(k)] = std::move(stack[r]).toTensor();
            } else if (k != none) {
                auto all = stack[r].toTensorVector();
                for (std::int32_t e = 0; e < unit_code::elements(k); ++e, ++answer) {
                    if (*answer != none) {
                        local[at(*answer)] = std::move(all[at(e)]);
                    }
                }
            }
        }
        stack.clear();
        for (auto n = call.ends; n > 0; --n, ++end) {
            (*end < 0 ? used[at(~*end)] : local[at(*end)]) = at::Tensor();
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

/// Runs unit `i` backward: takes the gradients of its results, adds to those of what it uses. `last_of`: as for forward.
inline void run_backward(step_state& s, std::int32_t i, std::span<std::int32_t const> last_of = {})
{
    auto const graph = std::move(s.graphs[at(i)]);
    TORCH_CHECK(graph != nullptr, "strata::torch: a unit without its graph runs backward");
    auto const& uses = s.units().all[at(i)].uses;
    if (s.units().all[at(i)].undisturbed) {
        for (auto g : last_of) {
            s.storages[at(g)] = {};
        }
    }
    at::NoGradGuard const guard;
    std::vector<at::Tensor> given;
    for (auto v : graph->root_values()) {
        given.push_back(s.gradients[at(v)].take());
    }
    std::vector<at::Tensor> begun;
    for (auto k : graph->watched()) {
        auto const& x = uses[at(k)];
        begun.push_back(x.parts > 1 ? s.gradients[at(x.value)].hand_over(x.rank) : at::Tensor());
    }
    auto arrived = graph->run(std::move(given), std::move(begun));
    for (std::size_t n = 0; n < arrived.size(); ++n) {
        auto const& x = uses[at(graph->watched()[n])];
        auto& sum = s.gradients[at(x.value)];
        if (x.parts > 1) {
            sum.take_over(std::move(arrived[n]), x.rank + x.parts);
        } else {
            sum.add(x.rank, std::move(arrived[n]));
        }
    }
}

} // namespace strata::torch::detail
