// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A repetitive network and its backward pass.
#pragma once

#include <strata/problem/problem.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/problems.hpp"

namespace strata::test {

/// Appends the backward ops of all ops of `s`, last first: each reads what its op read and the gradients that arrive, and
/// adds into the gradients of what its op read. The first op's gradient is the target.
inline auto with_backward(problem_spec s) -> problem_spec
{
    std::map<tensor_id, tensor_id> gradient;
    auto const n = s.ops.size();
    for (std::size_t i = 0; i < n; ++i) {
        s.ops[i].phase = phase::forward;
    }
    for (auto i = n; i-- > 0;) {
        auto reads = s.ops[i].inputs;
        std::vector<tensor_id> writes;
        for (auto t : s.ops[i].outputs) {
            reads.push_back(gradient.count(t) != 0 ? gradient[t] : t);
        }
        for (auto t : s.ops[i].inputs) {
            if (gradient.count(t) == 0) {
                gradient[t] = add_tensor(s, s.tensors[static_cast<std::size_t>(t)].bytes, tensor_kind::gradient);
            }
            writes.push_back(gradient[t]);
        }
        if (writes.empty()) {
            writes.push_back(add_tensor(s, 1, tensor_kind::gradient));
            s.targets.push_back(writes.back());
        }
        auto const o = add_op(s, 2 * s.ops[i].cost, reads, writes);
        s.ops[static_cast<std::size_t>(o)].phase = phase::backward;
        s.ops[static_cast<std::size_t>(o)].backward_of = static_cast<op_id>(i);
    }
    return s;
}

/// Ops of a layer of `layered_spec`.
inline constexpr op_id layer_ops = 7;

/// An op, `layers` layers, and two ops. A layer: norm, three projections of it, two that join these, and a sum with what
/// the layer read.
inline auto layered_spec(int layers) -> problem_spec
{
    problem_spec s;
    s.name = "layered";
    auto const op = [&](cost_t cost, std::vector<tensor_id> in, bytes_t bytes) {
        auto const out = add_tensor(s, bytes);
        add_op(s, cost, std::move(in), {out});
        return out;
    };
    auto x = op(5, {}, 8);
    for (int i = 0; i < layers; ++i) {
        auto const n = op(1, {x}, 8);
        auto const q = op(7, {n}, 8);
        auto const k = op(7, {n}, 8);
        auto const v = op(7, {n}, 8);
        auto const a = op(4, {q, k}, 20);
        auto const m = op(3, {a, v}, 8);
        x = op(2, {x, m}, 8);
    }
    auto const h = op(9, {x}, 30);
    op(1, {h}, 1);
    return with_backward(std::move(s));
}

} // namespace strata::test
