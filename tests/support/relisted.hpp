// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The same step with its ops and tensors listed in another order, and two steps side by side as one.
#pragma once

#include <strata/problem/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace strata::test {

/// Ops in the order of `order`, tensors in that of `tensors`.
inline auto reordered(problem_spec const& s, std::vector<op_id> const& order, std::vector<tensor_id> const& tensors)
    -> problem_spec
{
    auto const at = [](auto i) { return static_cast<std::size_t>(i); };
    std::vector<op_id> op(order.size());
    std::vector<tensor_id> tensor(tensors.size());
    problem_spec r;
    r.name = s.name;
    r.alignment = s.alignment;
    for (std::size_t i = 0; i < order.size(); ++i) {
        op[at(order[i])] = static_cast<op_id>(i);
    }
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        tensor[at(tensors[i])] = static_cast<tensor_id>(i);
        r.tensors.push_back(s.tensors[at(tensors[i])]);
    }
    for (auto o : order) {
        auto x = s.ops[at(o)];
        for (auto* ids : {&x.inputs, &x.outputs}) {
            for (auto& t : *ids) {
                t = tensor[at(t)];
            }
        }
        x.backward_of = x.backward_of == none ? none : op[at(x.backward_of)];
        r.ops.push_back(std::move(x));
    }
    for (auto t : s.targets) {
        r.targets.push_back(tensor[at(t)]);
    }
    return r;
}

/// `s` with its forward ops, its backward ops and its tensors in random order. `order`: the ops of `s` by op of the answer.
inline auto relisted(problem_spec const& s, dice& d, std::vector<op_id>* order = nullptr) -> problem_spec
{
    auto const at = [](auto i) { return static_cast<std::size_t>(i); };
    auto const p = make(s);
    auto const n = p.op_count();
    std::vector<op_id> list;
    std::vector<char> listed(at(n), 0);
    auto const ready = [&](op_id o) {
        for (auto t : p.inputs(o)) {
            for (auto maker : p.producers(t)) {
                if (listed[at(maker)] == 0) {
                    return false;
                }
            }
        }
        return listed[at(o)] == 0;
    };
    auto const forward = [&](op_id o) { return p.op(o).phase == phase::forward; };
    while (static_cast<op_id>(list.size()) < n) {
        std::vector<op_id> open;
        for (bool turned : {false, true}) {
            for (op_id o = 0; o < n && open.size() < 50; ++o) {
                if (forward(o) != turned && ready(o)) {
                    open.push_back(o);
                }
            }
            if (!open.empty()) {
                break;
            }
        }
        list.push_back(d.pick(open));
        listed[at(list.back())] = 1;
    }
    std::vector<tensor_id> tensors(s.tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        tensors[i] = static_cast<tensor_id>(i);
        std::swap(tensors[i], tensors[at(d.below(static_cast<std::int64_t>(i) + 1))]);
    }
    if (order != nullptr) {
        *order = list;
    }
    return reordered(s, list, tensors);
}

/// Both steps as one: forward ops of `a`, then of `b`, backward ops of `b`, then of `a`.
inline auto side_by_side(problem_spec const& a, problem_spec const& b) -> problem_spec
{
    problem_spec all = a;
    auto const shift = static_cast<tensor_id>(a.tensors.size());
    auto const ops = static_cast<op_id>(a.ops.size());
    all.tensors.insert(all.tensors.end(), b.tensors.begin(), b.tensors.end());
    for (auto x : b.ops) {
        for (auto* ids : {&x.inputs, &x.outputs}) {
            for (auto& t : *ids) {
                t += shift;
            }
        }
        x.backward_of += x.backward_of == none ? 0 : ops;
        all.ops.push_back(std::move(x));
    }
    for (auto t : b.targets) {
        all.targets.push_back(t + shift);
    }
    std::vector<op_id> order;
    auto const add = [&](op_id from, op_id to, bool forward) {
        for (auto o = from; o < to; ++o) {
            if ((all.ops[static_cast<std::size_t>(o)].phase == phase::forward) == forward) {
                order.push_back(o);
            }
        }
    };
    auto const end = static_cast<op_id>(all.ops.size());
    add(0, ops, true);
    add(ops, end, true);
    add(ops, end, false);
    add(0, ops, false);
    std::vector<tensor_id> tensors;
    for (std::size_t t = 0; t < all.tensors.size(); ++t) {
        tensors.push_back(static_cast<tensor_id>(t));
    }
    return reordered(all, order, tensors);
}

} // namespace strata::test
