// SPDX-License-Identifier: Apache-2.0
#include <strata/cost/table_cost.hpp>
#include <strata/graph/builder.hpp>
#include <strata/io/read_plan.hpp>
#include <strata/io/write_plan.hpp>
#include <strata/pipeline/plan_graph.hpp>
#include <strata/place/check.hpp>
#include <strata/place/place.hpp>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"

namespace pipeline_plan_graph_test {

using namespace strata;

/// x -> linear -> y; relu_ works in y; next reads y and makes z; last reads z.
auto in_place_graph() -> training_graph<int>
{
    graph_builder<int> b;
    auto const x = b.input("x", 8);
    auto const y = b.add(0, {x}, {{.name = "y", .bytes = 16}}, {.name = "linear"});
    b.add(0, {y}, {}, {.name = "relu_", .workspace = 4, .mutates = {y}});
    auto const z = b.add(0, {y}, {{.name = "z", .bytes = 8}}, {.name = "next"});
    auto const out = b.add(0, {z}, {{.name = "out", .bytes = 8}}, {.name = "last"});
    b.target(out);
    return b.build().value();
}

auto planned(lowering const& l) -> certified_plan { return plan(l.problem()).value(); }

TEST_CASE("in_graph_ids: a plan names every op of the graph, and its buffers live over the graph's steps")
{
    auto const l = lower(in_place_graph(), table_cost({1, 2, 3, 4})).value();
    REQUIRE_FALSE(l.identity());
    auto const mine = planned(l);
    auto const graphs = in_graph_ids(mine, l);
    CHECK(graphs.schedule.steps == std::vector<step>{run(0), run(1), run(2), free(1), run(3), free(2)});
    std::vector<lifetime> const expected = {{0, 3, 16, 1}, {0, 2, 4, none}, {2, 5, 8, 2}, {4, 6, 8, 3}};
    CHECK(graphs.placement.lifetimes == expected);
}

TEST_CASE("in_problem_ids: the way back is exact, also through a file")
{
    auto const l = lower(in_place_graph(), table_cost({1, 2, 3, 4})).value();
    auto mine = planned(l);
    mine.fingerprint = fingerprint(l.problem());
    auto const graphs = in_graph_ids(mine, l);
    CHECK(in_problem_ids(graphs, l).value() == mine);
    CHECK(read_plan(write_plan(graphs, "g"), l).value() == mine);
    CHECK_FALSE(check(l.problem(), mine.schedule, mine.placement));
}

TEST_CASE("in_problem_ids: ops that share a buffer must run one after the other")
{
    auto const l = lower(in_place_graph(), table_cost({1, 2, 3, 4})).value();
    auto x = in_graph_ids(planned(l), l);
    std::swap(x.schedule.steps[1], x.schedule.steps[2]);
    auto const r = in_problem_ids(x, l);
    REQUIRE_FALSE(r);
    CHECK(r.error().code == errc::invalid_plan);
    CHECK(r.error().message.find("one after the other") != std::string::npos);
}

TEST_CASE("in_problem_ids: a lifetime of a tensor that has no buffer of its own is refused")
{
    auto const l = lower(in_place_graph(), table_cost({1, 2, 3, 4})).value();
    auto x = in_graph_ids(planned(l), l);
    x.placement.lifetimes[0].tensor = 77;
    auto const r = in_problem_ids(x, l);
    REQUIRE_FALSE(r);
    CHECK(r.error().message.find("lifetime 0 is of tensor 77") != std::string::npos);
}

TEST_CASE("in_problem_ids: a free among ops that run as one comes after them, and so do lifetimes that end there")
{
    auto const l = lower(in_place_graph(), table_cost({1, 2, 3, 4})).value();
    auto x = in_graph_ids(planned(l), l);
    // z is made again and freed between linear and relu_, which run as one.
    x.schedule.steps = {run(0), run(1), run(2), run(3), run(0), free(2), run(1), free(1)};
    x.placement.lifetimes = {{2, 5, 8, 2}};
    x.placement.offsets = {0};
    auto const good = in_problem_ids(x, l);
    REQUIRE(good);
    CHECK(good->schedule.steps == std::vector<step>{run(0), run(1), run(2), run(0), free(2), free(1)});
    CHECK(good->placement.lifetimes == std::vector<lifetime>{{1, 4, 8, 2}});
    x.placement.lifetimes = {{5, 6, 8, 2}};
    auto const bad = in_problem_ids(x, l);
    REQUIRE_FALSE(bad);
    CHECK(bad.error().code == errc::invalid_plan);
    CHECK(bad.error().message.find("lifetime 0 begins at step 5") != std::string::npos);
    x.placement.lifetimes = {{6, 7, 8, 2}};
    REQUIRE(in_problem_ids(x, l));
}

} // namespace pipeline_plan_graph_test
