// expect-error: strata::task_graph: effects are spelled `effects_of\(o\)`, const, and return strata::effects
// SPDX-License-Identifier: Apache-2.0
#include <strata/cost/table_cost.hpp>
#include <strata/problem/lower.hpp>

#include <vector>

struct graph {
    [[nodiscard]] auto op_count() const -> int { return 1; }
    [[nodiscard]] auto tensor_count() const -> int { return 1; }
    [[nodiscard]] auto inputs(int) const -> std::vector<int> { return {}; }
    [[nodiscard]] auto outputs(int) const -> std::vector<int> { return {0}; }
    [[nodiscard]] auto tensor_bytes(int) const -> int { return 8; }
#ifdef STRATA_EXPECT_OK
    [[nodiscard]] auto effects_of(int) const -> strata::effects { return strata::effect::random; }
#else
    [[nodiscard]] auto effects(int) const -> strata::effects { return strata::effect::random; }
#endif
};

int main() { return strata::lower(graph{}, strata::table_cost({1})) ? 0 : 1; }
