// SPDX-License-Identifier: Apache-2.0
#include <strata/solve/checkmate.hpp>
#include <strata/strata.hpp>

#define HEADER(name) <strata/name/name.hpp>
#include HEADER(BACKEND)

auto main() -> int
{
    // One op makes what the third reads again; there is room for two bytes at a time.
    auto const p = strata::problem::make({.ops = {{.name = "a", .cost = 1, .outputs = {0}},
                                                  {.name = "b", .cost = 1, .workspace = 2, .outputs = {1}},
                                                  {.name = "c", .cost = 1, .inputs = {0, 1}}},
                                          .tensors = {{.name = "x", .bytes = 1}, {.name = "y", .bytes = 1}}});
    auto const found = strata::solve_checkmate(p.value(), 3, strata::BACKEND{});
    return found && found->optimal && found->cost == 4 ? 0 : 1;
}
