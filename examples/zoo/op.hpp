// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The operator of every graph in the zoo: what it is called, what it asks of a device, and of which device.
#pragma once

#include <strata/cost/roofline_cost.hpp>
#include <strata/graph/training_graph.hpp>
#include <strata/units.hpp>

#include <cstdint>
#include <string>

#include "examples/zoo/options.hpp"

namespace strata::zoo {

/// What an op is to a device: each class reaches its own share of the peak rates.
enum class op_kind : std::uint8_t {
    gemm,          ///< matrix product
    convolution,   ///< dense or grouped convolution
    attention,     ///< fused attention
    scan,          ///< recurrence over the sequence in one kernel
    normalisation, ///< two passes over rows or channels
    elementwise,   ///< one pass over its tensors
    reduction,     ///< sums, pooling, losses
    movement,      ///< copies without arithmetic
    lookup,        ///< rows gathered from or added into a table
    view,          ///< nothing runs: another name for the same bytes
};

/// Name of an enumerator, as written in the source.
[[nodiscard]] constexpr auto to_string(op_kind c) noexcept -> char const*
{
    switch (c) {
    case op_kind::gemm: return "gemm";
    case op_kind::convolution: return "convolution";
    case op_kind::attention: return "attention";
    case op_kind::scan: return "scan";
    case op_kind::normalisation: return "normalisation";
    case op_kind::elementwise: return "elementwise";
    case op_kind::reduction: return "reduction";
    case op_kind::movement: return "movement";
    case op_kind::lookup: return "lookup";
    case op_kind::view: return "view";
    }
    return "unknown";
}

/// One operator. Its tensors are the graph's business; this is what prices it (see strata/cost/work.hpp).
struct op {
    char const* type = ""; ///< for instance `linear.weight_gradient`; a literal
    op_kind kind = op_kind::elementwise;
    double flops = 0;
    double moved = 0; ///< bytes read and written, if not those of its tensors

    [[nodiscard]] auto op_class() const -> std::string { return to_string(kind); }
    friend auto operator==(op const&, op const&) -> bool = default;
};

/// Bytes that op `o` of a graph of the zoo reads and writes; a view moves none.
[[nodiscard]] inline auto bytes_moved(training_graph<op> const& g, op_id o) -> double
{
    auto const& x = g.op(o);
    auto sum = x.moved;
    if (x.moved == 0 && x.kind != op_kind::view) {
        for (auto ids : {g.inputs(o), g.outputs(o)}) {
            for (auto t : ids) {
                sum += static_cast<double>(g.tensor_bytes(t));
            }
        }
    }
    return sum;
}

/// A data-centre accelerator of 312 TFLOP/s in half precision (156 in fp32, by its tensor cores), 1555 GB/s and 3 µs a
/// launch, of which each class of ops reaches a share that is usual for it. For int8 a microcontroller: 1 Gop/s, 0.5 GB/s,
/// 10 µs a call.
[[nodiscard]] inline auto default_device(dtype d) -> roofline
{
    auto device = d == dtype::int8 ? roofline::device(1e-3, 0.5, 10'000)
                                   : roofline::device(d == dtype::fp32 ? 156 : 312, 1555, 3000);
    device.efficiency = {{"gemm", 0.6},
                         {"convolution", 0.5},
                         {"attention", 0.5},
                         {"scan", 0.5},
                         {"normalisation", 0.7},
                         {"elementwise", 0.8},
                         {"reduction", 0.7},
                         {"movement", 0.8},
                         {"lookup", 0.5}};
    return device;
}

} // namespace strata::zoo
