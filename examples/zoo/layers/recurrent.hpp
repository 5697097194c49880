// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Layers that carry a state along the sequence: LSTM cell, causal convolution, selective scan.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "examples/zoo/network.hpp"

namespace strata::zoo {

/// One step of an LSTM from the sums of its four gates [batch, 4 width] and the last cell; outputs hidden state and cell.
/// Backward reads the activated gates, which forward saves, the last cell and the new one.
inline auto lstm_cell(network& n, value const& gates, value const& cell) -> added
{
    return n.add({"lstm_cell", op_kind::elementwise, per_number(6, gates)},
                 {gates, cell},
                 {cell, cell},
                 {.saved = {{.name = "gates", .bytes = bytes_of(count(gates), gates.element)}},
                  .ops = {{op{"lstm_cell.backward", op_kind::elementwise, per_number(8, gates)},
                           {input(1), output(1), saved(0), of_output(0), of_output(1)},
                           {of_input(0), of_input(1)}}}});
}

/// Each channel of x [batch, seq, channels] convolved with its own `kernel` weights over the past. Backward reads x.
inline auto causal_conv(network& n, std::string const& name, value const& x, std::int64_t kernel) -> value
{
    auto const weight = n.parameter(name + ".weight", {x.size(-1), kernel});
    auto const bias = n.parameter(name + ".bias", {x.size(-1)});
    auto const work = per_number(2.0 * static_cast<double>(kernel), x);
    return n.add({"causal_conv", op_kind::elementwise, work},
                 {x, weight, bias},
                 {x},
                 {.ops = {{op{"causal_conv.backward", op_kind::elementwise, 2 * work},
                           {input(0), input(1), of_output(0)},
                           {of_input(0), of_input(1), of_input(2)}}}},
                 {.name = name});
}

/// Tensors of a selective scan: x and step [batch, seq, channels]; b and c [batch, seq, state].
struct scan_inputs {
    value x, step, b, c;
};

/// State-space recurrence with trained decay [channels, state] and skip [channels]. Backward reads all inputs and the
/// states: those of every token (fp32) as forward computes them, or, fused, two per chunk of 2048 tokens, from which
/// the kernel runs the recurrence again.
inline auto selective_scan(network& n, std::string const& name, scan_inputs const& in, bool fused) -> value
{
    auto const state = in.b.size(-1);
    auto const decay = n.parameter(name + ".decay", {in.x.size(-1), state});
    auto const skip = n.parameter(name + ".skip", {in.x.size(-1)});
    auto const chunks = (in.x.size(1) + 2047) / 2048;
    shape const states{in.x.size(0), fused ? 2 * chunks : in.x.size(1), in.x.size(-1), state};
    auto const work = per_number(9.0 * static_cast<double>(state), in.x);
    return n.add({"selective_scan", op_kind::scan, work},
                 {in.x, in.step, in.b, in.c, decay, skip},
                 {in.x},
                 {.saved = {{.name = "states", .bytes = bytes_of(count(states), 4)}},
                  .ops = {{op{"selective_scan.backward", op_kind::scan, (fused ? 3 : 2) * work},
                           {input(0), input(1), input(2), input(3), input(4), input(5), saved(0), of_output(0)},
                           {of_input(0), of_input(1), of_input(2), of_input(3), of_input(4), of_input(5)}}}},
                 {.name = name});
}

} // namespace strata::zoo
