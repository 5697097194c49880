// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Products with trained matrices, products of activations, embeddings, and the losses at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "examples/zoo/network.hpp"

namespace strata::zoo {

/// y = x W' + b over the innermost axis, with weights that exist. Backward: W for the gradient of x, x for that of W
/// and b.
inline auto product(network& n,
                    std::string const& name,
                    value const& x,
                    value const& weight,
                    std::optional<value> const& bias = std::nullopt) -> value
{
    if (weight.size(-1) != x.size(-1)) {
        throw model_error("weights of shape " + to_string(weight.dims) + " do not fit an input of shape " +
                          to_string(x.dims));
    }
    std::vector reads{x, weight};
    std::vector trained{of_input(1)};
    if (bias) {
        reads.push_back(*bias);
        trained.push_back(of_input(2));
    }
    auto const y = x.with_last(weight.size(0));
    auto const work = per_number(2 * static_cast<double>(x.size(-1)), y);
    return n.add({"linear", op_kind::gemm, work},
                 reads,
                 {y},
                 {.ops = {{op{"linear.input_gradient", op_kind::gemm, work}, {input(1), of_output(0)}, {of_input(0)}},
                          {op{"linear.weight_gradient", op_kind::gemm, work}, {input(0), of_output(0)}, trained}}},
                 {.name = name});
}

/// `product` with new weights.
inline auto linear(network& n, std::string const& name, value const& x, std::int64_t out, bool bias = true) -> value
{
    auto const weight = n.parameter(name + ".weight", {out, x.size(-1)});
    return product(n, name, x, weight, bias ? std::optional(n.parameter(name + ".bias", {out})) : std::nullopt);
}

/// Batched product of activations, result of shape `s`, sums of `inner` terms. Backward of each factor reads the other.
inline auto matmul(network& n, std::string const& name, value const& a, value const& b, shape s, std::int64_t inner)
    -> value
{
    auto const work = per_number(2 * static_cast<double>(inner), s);
    return n.add(
        {"matmul", op_kind::gemm, work},
        {a, b},
        {std::move(s)},
        {.ops = {{op{"matmul.first_gradient", op_kind::gemm, work}, {input(1), of_output(0)}, {of_input(0)}},
                 {op{"matmul.second_gradient", op_kind::gemm, work}, {input(0), of_output(0)}, {of_input(1)}}}},
        {.name = name});
}

/// Rows of `table` for every id. No gradient to ids; backward reads them to know which rows to add into.
inline auto embedding(network& n, std::string const& name, value const& ids, value const& table) -> value
{
    auto s = ids.dims;
    s.push_back(table.size(-1));
    auto const rows = per_number(static_cast<double>(table.element), s);
    return n.add({"embedding", op_kind::lookup, 0, 2 * rows},
                 {ids, table},
                 {s},
                 {.ops = {{op{"embedding.backward", op_kind::lookup, per_number(1, s), 3 * rows},
                           {input(0), of_output(0)},
                           {of_input(1)}}}},
                 {.name = name});
}

/// Token ids or labels: 8 bytes each, resident.
inline auto ids(network& n, std::string const& name, shape s) -> value { return n.input(name, std::move(s), 8); }

/// Mean cross entropy of logits over the innermost axis against a label each, an input called `labels`. Backward reads
/// logits, labels and the log of each row's sum of exponentials, which forward saves in fp32.
inline auto cross_entropy(network& n, value const& logits, std::string const& labels = "labels") -> value
{
    auto rows = logits.dims;
    rows.pop_back();
    auto const saved_bytes = bytes_of(count(rows), 4);
    return n.add({"cross_entropy", op_kind::reduction, per_number(5, logits)},
                 {logits, ids(n, labels, std::move(rows))},
                 {made({1}, 4)},
                 {.saved = {{.name = "log_sum_exp", .bytes = saved_bytes}},
                  .ops = {{op{"cross_entropy.backward", op_kind::elementwise, per_number(4, logits)},
                           {input(0), input(1), saved(0), of_output(0)},
                           {of_input(0)}}}});
}

/// Mean over all numbers of a loss between `x` and an input called `target`; backward reads both. `type` and `backward`
/// are names.
inline auto pointwise_loss(network& n, char const* type, char const* backward, value const& x) -> value
{
    return n.add({type, op_kind::reduction, per_number(4, x)},
                 {x, n.input("target", x.dims)},
                 {made({1}, 4)},
                 {.ops = {{op{backward, op_kind::elementwise, per_number(4, x)},
                           {input(0), input(1), of_output(0)},
                           {of_input(0)}}}});
}

} // namespace strata::zoo
