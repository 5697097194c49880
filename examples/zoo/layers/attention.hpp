// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Attention, op by op or fused, with what it needs around: rotary positions and repeated heads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "examples/zoo/layers/elementwise.hpp"
#include "examples/zoo/layers/linear.hpp"
#include "examples/zoo/layers/normalise.hpp"
#include "examples/zoo/network.hpp"

namespace strata::zoo {

struct attention_options {
    std::int64_t heads = 1;
    std::int64_t kv_heads = 0; ///< 0: as many as `heads`
    bool fused = false;
    bool causal = false;
    double dropout = 0;
    std::optional<value> mask = std::nullopt; ///< padding mask, resident
};

/// x turned by its position; backward reads the table of angles alone.
inline auto rotary(network& n, value const& x, value const& angles) -> value
{
    return n.add({"rotary", op_kind::elementwise, per_number(3, x)},
                 {x, angles},
                 {x},
                 {.ops = {{op{"rotary.backward", op_kind::elementwise, per_number(3, x)},
                           {input(1), of_output(0)},
                           {of_input(0)}}}});
}

/// Each head of x [batch, seq, width] `times` times, copied; backward sums.
inline auto repeat_heads(network& n, value const& x, std::int64_t times) -> value
{
    if (times == 1) {
        return x;
    }
    auto const s = x.with_last(x.size(-1) * times);
    return n.add(
        {"repeat_heads", op_kind::movement},
        {x},
        {s},
        {.ops = {{op{"repeat_heads.backward", op_kind::reduction, per_number(1, s)}, {of_output(0)}, {of_input(0)}}}});
}

namespace detail {

/// One kernel. Backward reads q, k, v, the result, and one fp32 log-sum-exp per row; it needs an fp32 gradient of q and
/// one number per row as workspace.
inline auto fused_attention(network& n, value const& q, value const& k, value const& v, attention_options const& o)
    -> value
{
    auto const rows = count({q.size(0), q.size(1), o.heads});
    auto const work = per_number((o.causal ? 2.0 : 4.0) * static_cast<double>(k.size(1)), q);
    std::vector reads{q, k, v};
    std::vector needs{input(0), input(1), input(2), output(0), saved(0), of_output(0)};
    if (o.mask) {
        reads.push_back(*o.mask);
        needs.push_back(input(3));
    }
    return n.add({"fused_attention", op_kind::attention, work},
                 reads,
                 {q},
                 {.saved = {{.name = "log_sum_exp", .bytes = bytes_of(rows, 4)}},
                  .ops = {{op{"fused_attention.backward", op_kind::attention, 2.5 * work},
                           needs,
                           {of_input(0), of_input(1), of_input(2)},
                           {.workspace = bytes_of(count(q) + rows, 4)}}}},
                 {.effects = o.dropout > 0 ? effects(effect::random) : effects()});
}

} // namespace detail

/// Attention of q [batch, queries, width] over k and v [batch, keys, ...]. Op by op it keeps q, k, v, the probabilities
/// and, with dropout, their mask and the dropped probabilities; fused it keeps q, k, v, the result and a row statistic.
inline auto attention(network& n, value const& q, value const& k, value const& v, attention_options o) -> value
{
    o.kv_heads = o.kv_heads == 0 ? o.heads : o.kv_heads;
    if (q.size(-1) % o.heads != 0 || o.heads % o.kv_heads != 0) {
        throw model_error("heads must divide the width, and kv_heads the heads: width " + std::to_string(q.size(-1)) +
                          ", heads " + std::to_string(o.heads) + ", kv_heads " + std::to_string(o.kv_heads));
    }
    if (o.fused) {
        return detail::fused_attention(n, q, k, v, o);
    }
    auto const keys = repeat_heads(n, k, o.heads / o.kv_heads);
    auto const values = repeat_heads(n, v, o.heads / o.kv_heads);
    shape const square{q.size(0), o.heads, q.size(1), k.size(1)};
    auto const scores = matmul(n, "scores", q, keys, square, q.size(-1) / o.heads);
    auto const chosen = dropout(n, softmax(n, scores, o.mask), o.dropout);
    return matmul(n, "mix", chosen, values, q.dims, k.size(1));
}

} // namespace strata::zoo
