// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

auto main() -> int
{
    auto const p = strata::problem::make({.name = "one op", .ops = {{.name = "op", .cost = 1}}});
    return p && p->op_count() == 1 ? 0 : 1;
}
