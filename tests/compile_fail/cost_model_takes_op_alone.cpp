// expect-error: strata::cost_model: needs `c.cost\(g, o\)`, const, for this graph, convertible to strata::cost_t
// SPDX-License-Identifier: Apache-2.0
#include <strata/graph/builder.hpp>
#include <strata/problem/lower.hpp>

struct model {
#ifdef STRATA_EXPECT_OK
    [[nodiscard]] auto cost(strata::training_graph<int> const&, strata::op_id) const -> long { return 1; }
#else
    [[nodiscard]] auto cost(strata::op_id) const -> long { return 1; }
#endif
};

int main()
{
    strata::graph_builder<int> b;
    b.add(0, {}, {});
    return strata::lower(b.build().value(), model{}) ? 0 : 1;
}
