// SPDX-License-Identifier: Apache-2.0
#include <strata/cost/by_type.hpp>
#include <strata/graph/builder.hpp>
#include <strata/problem/lower.hpp>

#include <variant>
#include <vector>

#include "tests/support/catch.hpp"

namespace cost_by_type_test {

using namespace strata;

struct conv {
    double flops = 0;
};
struct relu {};
struct pool {};

template <class Op>
auto chain(std::vector<Op> ops) -> training_graph<Op>
{
    graph_builder<Op> b;
    tensor_id t = b.input("x", 16);
    for (auto& op : ops) {
        t = b.add(op, {t}, {{.name = "y", .bytes = 16}});
    }
    return b.build().value();
}

TEST_CASE("cost_by_type: numbers, callables of the op, and callables of op, graph and number")
{
    using op = std::variant<conv, relu, pool>;
    auto const g = chain<op>({conv{600}, relu{}, pool{}, conv{90}});
    auto const c = cost_by_type(priced<relu>(12.4),
                                priced<conv>([](conv const& x) { return x.flops / 60; }),
                                priced<pool>([](pool const&, auto const& graph, op_id o) {
                                    return graph.tensor_bytes(graph.outputs(o)[0]) * (o + 1);
                                }));
    auto const l = lower(g, c);
    REQUIRE(l);
    CHECK(l->problem().cost(0) == 10);
    CHECK(l->problem().cost(1) == 12);
    CHECK(l->problem().cost(2) == 48);
    CHECK(l->problem().cost(3) == 2);
}

TEST_CASE("cost_by_type: a graph of one operator type needs no variant, and types it lacks may be priced")
{
    auto const l = lower(chain<conv>({conv{30}}),
                         cost_by_type(priced<conv>([](conv const& x) { return x.flops; }), priced<relu>(1)));
    REQUIRE(l);
    CHECK(l->problem().cost(0) == 30);
}

} // namespace cost_by_type_test
