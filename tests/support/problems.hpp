// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Small named problems whose numbers can be checked by hand.
#pragma once

#include <strata/problem/problem.hpp>

#include <string>
#include <utility>
#include <vector>

namespace strata::test {

/// Adds a tensor and says its id.
inline auto add_tensor(problem_spec& s, bytes_t bytes, tensor_kind kind = tensor_kind::activation) -> tensor_id
{
    s.tensors.push_back({"t" + std::to_string(s.tensors.size()), bytes, kind});
    return static_cast<tensor_id>(s.tensors.size() - 1);
}

/// Adds an op and says its id.
inline auto add_op(problem_spec& s,
                   cost_t cost,
                   std::vector<tensor_id> inputs,
                   std::vector<tensor_id> outputs,
                   strata::effects effects = {},
                   bytes_t workspace = 0) -> op_id
{
    op_spec o;
    o.name = "op" + std::to_string(s.ops.size());
    o.cost = cost;
    o.workspace = workspace;
    o.inputs = std::move(inputs);
    o.outputs = std::move(outputs);
    o.effects = effects;
    s.ops.push_back(std::move(o));
    return static_cast<op_id>(s.ops.size() - 1);
}

/// `n` ops in a row, each of cost 1 with an output of 1 byte; the last output is the target.
/// Keeps two tensors at a time, so its keep-all peak is 2 bytes (1 if n is 1).
inline auto chain_spec(int n) -> problem_spec
{
    problem_spec s;
    s.name = "chain";
    tensor_id last = none;
    for (int i = 0; i < n; ++i) {
        auto const out = add_tensor(s, 1);
        add_op(s, 1, last == none ? std::vector<tensor_id>{} : std::vector<tensor_id>{last}, {out});
        last = out;
    }
    s.targets = {last};
    return s;
}

/// One op feeds two, which feed the last: op0 → op1, op2 → op3. Every cost 1, every output 1 byte, the last a target.
inline auto diamond_spec() -> problem_spec
{
    problem_spec s;
    s.name = "diamond";
    auto const a = add_tensor(s, 1);
    auto const b = add_tensor(s, 1);
    auto const c = add_tensor(s, 1);
    auto const d = add_tensor(s, 1);
    add_op(s, 1, {}, {a});
    add_op(s, 1, {a}, {b});
    add_op(s, 1, {a}, {c});
    add_op(s, 1, {b, c}, {d});
    s.targets = {d};
    return s;
}

/// A chain of `n` forward ops and its backward: ops 0..n-1 forward (the first reads the resident input), n..2n-1
/// backward in reverse. Every cost 1, every tensor 1 byte; the backward of op i reads the output of op i-1 and the
/// gradient that arrives, the target is the gradient of the model's input.
/// Keep-all needs n + 1 dynamic bytes and one resident byte.
inline auto training_chain_spec(int n) -> problem_spec
{
    problem_spec s;
    s.name = "training_chain";
    std::vector<tensor_id> x{add_tensor(s, 1, tensor_kind::input)};
    for (int i = 0; i < n; ++i) {
        x.push_back(add_tensor(s, 1));
        auto const o = add_op(s, 1, {x[x.size() - 2]}, {x.back()});
        s.ops[static_cast<std::size_t>(o)].phase = phase::forward;
    }
    auto arriving = x.back(); // the loss seeds its own gradient
    for (int i = n; i-- > 0;) {
        auto const g = add_tensor(s, 1, tensor_kind::gradient);
        auto const o = add_op(s, 1, {x[static_cast<std::size_t>(i)], arriving}, {g});
        s.ops[static_cast<std::size_t>(o)].phase = phase::backward;
        s.ops[static_cast<std::size_t>(o)].backward_of = i;
        arriving = g;
    }
    s.targets = {arriving};
    return s;
}

/// A U: `depth` ops down whose outputs are read again, in reverse, by `depth` ops up. Every cost 1; the output of the
/// op at level i has 2^(depth - i) bytes on both arms; the last output is the target.
inline auto u_net_spec(int depth) -> problem_spec
{
    problem_spec s;
    s.name = "u_net";
    std::vector<tensor_id> down;
    auto const size = [&](int level) { return bytes_t{1} << (depth - level); };
    for (int i = 0; i < depth; ++i) {
        auto const out = add_tensor(s, size(i));
        add_op(s, 1, down.empty() ? std::vector<tensor_id>{} : std::vector<tensor_id>{down.back()}, {out});
        down.push_back(out);
    }
    auto last = add_tensor(s, size(depth));
    add_op(s, 1, {down.back()}, {last});
    for (int i = depth; i-- > 0;) {
        auto const out = add_tensor(s, size(i));
        add_op(s, 1, {down[static_cast<std::size_t>(i)], last}, {out});
        last = out;
    }
    s.targets = {last};
    return s;
}

/// A gradient that three ops add into, read by a fourth: op0 → t0; op1, op2, op3 read t0 and add into t1; op4 reads t1.
inline auto shared_gradient_spec() -> problem_spec
{
    problem_spec s;
    s.name = "shared_gradient";
    auto const x = add_tensor(s, 2);
    auto const g = add_tensor(s, 3, tensor_kind::gradient);
    auto const y = add_tensor(s, 1);
    add_op(s, 1, {}, {x});
    add_op(s, 1, {x}, {g});
    add_op(s, 1, {x}, {g});
    add_op(s, 1, {x, g}, {g});
    add_op(s, 1, {g}, {y});
    s.targets = {y};
    return s;
}

/// The problem of a spec that is known to be sound.
inline auto make(problem_spec s) -> problem { return problem::make(std::move(s)).value(); }

/// 0, 1, …, n-1: the first-run order.
inline auto index_order(problem const& p) -> std::vector<op_id>
{
    std::vector<op_id> r(static_cast<std::size_t>(p.op_count()));
    for (std::size_t i = 0; i < r.size(); ++i) {
        r[i] = static_cast<op_id>(i);
    }
    return r;
}

/// To make `wide` takes 8 bytes for a moment and leaves 1. It is read when a gradient of 4 that cannot be made again is there;
/// an op before the gradient needs 8 bytes itself.
inline auto late_use_spec() -> problem_spec
{
    problem_spec s;
    auto const wide = add_tensor(s, 7);
    auto const narrow = add_tensor(s, 1);
    auto const gradient = add_tensor(s, 4);
    auto const y = add_tensor(s, 1);
    add_op(s, 1, {}, {wide});
    add_op(s, 1, {wide}, {narrow});
    add_op(s, 1, {}, {}, {}, 8);
    add_op(s, 1, {}, {gradient}, effect::once);
    add_op(s, 1, {narrow, gradient}, {y});
    s.targets = {y};
    return s;
}

/// Two chains of large tensors end in one op: whichever is walked last, the end of the other waits.
inline auto two_chains_spec() -> problem_spec
{
    problem_spec s;
    std::vector<tensor_id> ends;
    for (int chain = 0; chain < 2; ++chain) {
        auto const first = add_tensor(s, 10);
        auto const second = add_tensor(s, 10);
        ends.push_back(add_tensor(s, 4));
        add_op(s, 1, {}, {first});
        add_op(s, 1, {first}, {second});
        add_op(s, 1, {second}, {ends.back()});
    }
    auto const sum = add_tensor(s, 1);
    add_op(s, 1, ends, {sum});
    s.targets = {sum};
    return s;
}

} // namespace strata::test
