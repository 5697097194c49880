// expect-error: strata::task_graph: needs `g.tensor_bytes\(t\)` or `tensor_bytes\(g, t\)`, const
// SPDX-License-Identifier: Apache-2.0
#include <strata/cost/table_cost.hpp>
#include <strata/problem/lower.hpp>

#include <vector>

struct graph {
    [[nodiscard]] auto op_count() const -> int { return 1; }
    [[nodiscard]] auto tensor_count() const -> int { return 1; }
    [[nodiscard]] auto inputs(int) const -> std::vector<int> { return {}; }
    [[nodiscard]] auto outputs(int) const -> std::vector<int> { return {0}; }
#ifdef STRATA_EXPECT_OK
    [[nodiscard]] auto tensor_bytes(int) const -> int { return 8; }
#else
    [[nodiscard]] auto tensor_bytes(int) -> int { return 8; } // not const
#endif
};

int main() { return strata::lower(graph{}, strata::table_cost({1})) ? 0 : 1; }
