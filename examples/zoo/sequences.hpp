// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Models that carry a state along the sequence: LSTM, unrolled in time, and Mamba, a selective state space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "examples/zoo/layers.hpp"
#include "examples/zoo/network.hpp"
#include "examples/zoo/options.hpp"

namespace strata::zoo {

/// Language model of LSTM layers: an op per gate product and time step, weights shared by all steps.
inline auto lstm(network& n, options const& o) -> value
{
    auto const d = *o.width;
    constexpr std::int64_t most_cells = 100'000;
    if (*o.seq > most_cells / *o.layers) {
        throw model_error("an LSTM is unrolled, so layers times seq must be at most " + std::to_string(most_cells) +
                          ", not " + std::to_string(*o.layers) + " times " + std::to_string(*o.seq));
    }
    auto const steps = static_cast<std::size_t>(*o.seq);
    auto const tokens = ids(n, "tokens", {*o.batch, *o.seq});
    auto const x = embedding(n, "embed", tokens, n.parameter("tokens.weight", {*o.vocab, d}));
    auto line = split(n, reshaped(x, {*o.batch, *o.seq * d}), std::vector<std::int64_t>(steps, d)).outputs;
    for (std::int64_t i = 0; i < *o.layers; ++i) {
        network::scope const in(n, "layer" + std::to_string(i));
        auto const weight_x = n.parameter("input.weight", {4 * d, d});
        auto const weight_h = n.parameter("hidden.weight", {4 * d, d});
        auto const bias_x = n.parameter("input.bias", {4 * d});
        auto const bias_h = n.parameter("hidden.bias", {4 * d});
        auto h = n.input("first_hidden", {*o.batch, d});
        auto cell = n.input("first_cell", {*o.batch, d});
        for (std::size_t t = 0; t < steps; ++t) {
            network::scope const at(n, "step" + std::to_string(t));
            auto const from_input = product(n, "input", dropout(n, line[t], *o.dropout), weight_x, bias_x);
            auto const gates = add(n, from_input, product(n, "hidden", h, weight_h, bias_h));
            auto const next = lstm_cell(n, gates, cell);
            line[t] = h = next[0];
            cell = next[1];
        }
    }
    auto const top = reshaped(concat(n, line, 1), {*o.batch, *o.seq, d});
    auto const logits = linear(n, "head", dropout(n, top, *o.dropout), *o.vocab);
    return cross_entropy(n, logits);
}

/// Mamba: gated blocks of causal convolution and selective scan, twice the width inside; tied embedding.
inline auto mamba(network& n, options const& o) -> value
{
    auto const d = *o.width;
    auto const inner = 2 * d;
    auto const rank = (d + 15) / 16; // of the step size's projection
    auto const table = n.parameter("tokens.weight", {*o.vocab, d});
    auto x = embedding(n, "embed", ids(n, "tokens", {*o.batch, *o.seq}), table);
    for (std::int64_t i = 0; i < *o.layers; ++i) {
        network::scope const in(n, "layer" + std::to_string(i));
        auto const both = split(n, linear(n, "in", rms_norm(n, "norm", x), 2 * inner, false), {inner, inner});
        auto const u = silu(n, causal_conv(n, "conv", both[0], 4));
        auto const parts = split(n, linear(n, "select", u, rank + 2 * *o.state, false), {rank, *o.state, *o.state});
        auto const step = linear(n, "step", parts[0], inner);
        auto const y = selective_scan(n, "scan", {u, step, parts[1], parts[2]}, *o.fused);
        x = add(n, x, linear(n, "out", multiply(n, y, silu(n, both[1])), d, false));
    }
    auto const logits = product(n, "head", rms_norm(n, "norm", x), table);
    return cross_entropy(n, logits);
}

} // namespace strata::zoo
