// SPDX-License-Identifier: Apache-2.0
// GPTs of a few layers, small enough for integer programs.
#pragma once

#include "examples/zoo/models.hpp"

namespace strata::bench {

inline auto small_gpt(zoo::network& n, std::int64_t layers, double dropout) -> zoo::value
{
    return zoo::gpt2(n,
                     {.layers = layers,
                      .batch = 8,
                      .seq = 1024,
                      .width = 1024,
                      .hidden = 4096,
                      .heads = 16,
                      .vocab = 50304,
                      .dropout = dropout,
                      .fused = false});
}

} // namespace strata::bench
