// SPDX-License-Identifier: Apache-2.0
#include <strata/cost/overridden.hpp>
#include <strata/cost/scaled.hpp>
#include <strata/cost/table_cost.hpp>
#include <strata/graph/builder.hpp>
#include <strata/problem/lower.hpp>

#include <limits>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"

namespace cost_table_cost_test {

using namespace strata;

auto three_ops() -> training_graph<int>
{
    graph_builder<int> b;
    auto const x = b.input("x", 4);
    for (int k = 0; k < 3; ++k) {
        b.add(k, {x}, {{.name = "y", .bytes = 4}}, {.name = "op" + std::to_string(k)});
    }
    return b.build().value();
}

template <class C>
auto costs(C const& c) -> std::vector<cost_t>
{
    auto const l = lower(three_ops(), c);
    INFO((l ? "" : l.error().message));
    REQUIRE(l);
    return {l->problem().cost(0), l->problem().cost(1), l->problem().cost(2)};
}

template <class C>
auto refusal(C const& c) -> std::string
{
    auto const l = lower(three_ops(), c);
    REQUIRE_FALSE(l);
    return l.error().message;
}

TEST_CASE("table_cost: every op has its measured cost, zero and very large ones included")
{
    CHECK(costs(table_cost({0, 7, 10'000'000'000'000})) == std::vector<cost_t>{0, 7, 10'000'000'000'000});
}

TEST_CASE("table_cost: a table of another graph is refused when it is made, and at the op it lacks otherwise")
{
    auto const g = three_ops();
    auto const few = table_cost::make(g, {1, 2});
    REQUIRE_FALSE(few);
    CHECK(few.error() == fail(errc::invalid_argument,
                              "strata::table_cost: 2 costs for 3 ops; measure one per op, in first-run order"));
    auto const negative = table_cost::make(g, {1, -2, 3});
    REQUIRE_FALSE(negative);
    CHECK(negative.error() == fail(errc::invalid_argument, "strata::table_cost: op 1 costs -2, must not be negative"));
    auto const good = table_cost::make(g, {1, 2, 3});
    REQUIRE(good);
    CHECK(*good == table_cost({1, 2, 3}));
    CHECK(refusal(table_cost({1, 2})) ==
          "strata::lower: the cost of op 2 (op2) is -1, must not be negative; a cost model "
          "answers below zero for an op it does not know");
}

TEST_CASE("scaled: costs are multiplied and rounded once, at the end")
{
    table_cost const t({1, 3, 1000});
    CHECK(costs(scaled(t, 0.5)) == std::vector<cost_t>{1, 2, 500});
    CHECK(costs(scaled(scaled(t, 0.1), 10)) == std::vector<cost_t>{1, 3, 1000});
    CHECK(costs(scaled(t, 0)) == std::vector<cost_t>{0, 0, 0});
}

TEST_CASE("scaled: factors and upstream costs that make no sense are refused by lower")
{
    auto const nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(refusal(scaled(table_cost({1, 1, 1}), -1)).find("op 0 (op0) is -1") != std::string::npos);
    CHECK(refusal(scaled(table_cost({0, 1, 1}), -1)).find("op 0 (op0) is -1") != std::string::npos);
    CHECK(refusal(scaled(table_cost({1, 1, 1}), nan)).find("op 0 (op0) is -1") != std::string::npos);
    CHECK(refusal(scaled(table_cost({-1, 1, 1}), 0)).find("op 0 (op0) is -1") != std::string::npos);
    CHECK(refusal(scaled(table_cost({1, 4, 1}), 4e18)).find("op 1 (op1) is not a number") != std::string::npos);
}

TEST_CASE("overridden: listed ops have the given cost, the last of several, and the others the upstream's")
{
    table_cost const t({1, 2, 3});
    CHECK(costs(overridden(t, {{2, 30}, {0, 5}, {0, 10}})) == std::vector<cost_t>{10, 2, 30});
    CHECK(costs(overridden(t, {})) == std::vector<cost_t>{1, 2, 3});
    auto const most = std::numeric_limits<cost_t>::max();
    CHECK(costs(overridden(table_cost({0, 0, 0}), {{1, most - 1}})) == std::vector<cost_t>{0, most - 1, 0});
    CHECK(refusal(overridden(t, {{1, -7}})).find("op 1 (op1) is -7") != std::string::npos);
}

} // namespace cost_table_cost_test
