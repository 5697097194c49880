// SPDX-License-Identifier: Apache-2.0
#include <strata/graph/builder.hpp>
#include <strata/graph/training_graph.hpp>

#include <string>

#include "tests/support/catch.hpp"

namespace graph_builder_test {

using namespace strata;

/// The message of a graph that must be refused.
auto refusal(graph_builder<int> const& b) -> std::string
{
    auto const g = b.build();
    REQUIRE_FALSE(g);
    CHECK(g.error().code == errc::malformed_graph);
    return g.error().message;
}

TEST_CASE("graph_builder: ids count up in order, ops and tensors keep what they were told")
{
    graph_builder<std::string> b("net");
    auto const x = b.input("x", 8);
    auto const w = b.parameter("w", 16);
    auto const mean = b.state("mean", 4);
    auto const y = b.add("conv", {x, w}, {{.name = "y", .bytes = 32}}, {.type = "conv", .workspace = 5});
    auto const z = b.add("norm",
                         {y},
                         {{.name = "z", .bytes = 32}, {.name = "std", .bytes = 2, .kind = tensor_kind::saved}},
                         {.name = "bn", .effects = effect::stateful, .phase = phase::forward, .writes = {mean}});
    auto const v = b.add("view", {z[0]}, {{.name = "v", .bytes = 32, .view_of = z[0]}});
    auto const g =
        b.add("grad", {v}, {{.name = "g", .bytes = 1, .kind = tensor_kind::gradient}}, {.backward_of = y.id});
    b.add("more", {v, z[1]}, {}, {.mutates = {mean}, .writes = {g}});
    b.target(v);
    auto const graph = b.build();
    REQUIRE(graph);

    auto const expected = training_graph<std::string>::make(
        "net",
        {{.op = "conv", .name = "conv#0", .type = "conv", .workspace = 5, .inputs = {0, 1}, .outputs = {3}},
         {.op = "norm",
          .name = "bn",
          .phase = phase::forward,
          .effects = effect::stateful,
          .inputs = {3},
          .outputs = {4, 5, 2}},
         {.op = "view", .name = "op#2", .inputs = {4}, .outputs = {6}},
         {.op = "grad", .name = "op#3", .inputs = {6}, .outputs = {7}, .backward_of = 0},
         {.op = "more", .name = "op#4", .inputs = {6, 5}, .outputs = {7}, .mutates = {2}}},
        {{"x", 8, tensor_kind::input},
         {"w", 16, tensor_kind::parameter},
         {"mean", 4, tensor_kind::state},
         {"y", 32},
         {"z", 32},
         {"std", 2, tensor_kind::saved},
         {"v", 32, tensor_kind::activation, 4},
         {"g", 1, tensor_kind::gradient}},
        {6});
    REQUIRE(expected);
    CHECK(*graph == *expected);
}

TEST_CASE("graph_builder: a graph without ops is refused")
{
    graph_builder<int> b;
    b.input("x", 1);
    CHECK(refusal(b) == "strata::training_graph: a step needs at least one op");
}

TEST_CASE("graph_builder: every broken rule is refused with the op or tensor and the rule")
{
    graph_builder<int> b;
    auto const x = b.input("x", 8);
    SECTION("an id that does not exist")
    {
        b.add(0, {x, 9}, {}, {.name = "a"});
        CHECK(refusal(b) == "strata::training_graph: op 0 (a) names tensor 9, but there are 1 tensors");
    }
    SECTION("an output that an op does not have")
    {
        auto const two = b.add(0, {x}, {{.name = "p", .bytes = 1}, {.name = "q", .bytes = 1}}, {.name = "a"});
        b.add(0, {two}, {}, {.name = "b"});
        CHECK(refusal(b) == "strata::training_graph: op 1 (b) names tensor -1, but there are 3 tensors");
        CHECK(two[2] == none);
    }
    SECTION("negative bytes")
    {
        b.add(0, {x}, {{.name = "y", .bytes = -1}});
        CHECK(refusal(b) == "strata::training_graph: tensor 1 (y) has -1 bytes, must not be negative");
    }
    SECTION("negative workspace")
    {
        b.add(0, {x}, {}, {.name = "a", .workspace = -3});
        CHECK(refusal(b) == "strata::training_graph: op 0 (a) has a workspace of -3 bytes, must not be negative");
    }
    SECTION("a tensor that nobody makes")
    {
        auto const t = b.tensor({.name = "ghost", .bytes = 4});
        b.add(0, {t}, {}, {.name = "a"});
        CHECK(
            refusal(b) ==
            "strata::training_graph: op 0 (a) reads tensor 1 (ghost), which no op produces and which is not resident");
    }
    SECTION("a tensor read before it is made")
    {
        b.add(0, {2}, {{.name = "y", .bytes = 1}}, {.name = "a"});
        b.add(0, {x}, {{.name = "z", .bytes = 1}}, {.name = "b"});
        CHECK(refusal(b) == "strata::training_graph: op 0 (a) reads tensor 2 (z) before op 1 (b) has produced it: ops "
                            "must stand in first-run order");
    }
    SECTION("two producers")
    {
        auto const y = b.add(0, {x}, {{.name = "y", .bytes = 1}}, {.name = "a"});
        b.add(0, {x}, {}, {.name = "b", .writes = {y}});
        CHECK(refusal(b) == "strata::training_graph: tensor 1 (y) is produced by op 0 (a) and by op 1 (b); only a "
                            "gradient may have several producers, and an op that changes a tensor in place names it in "
                            "mutates, not in outputs");
    }
    SECTION("a gradient read before it is complete")
    {
        auto const g = b.gradient("g", 4);
        b.add(0, {x}, {}, {.name = "a", .writes = {g}});
        b.add(0, {g}, {}, {.name = "b"});
        b.add(0, {x}, {}, {.name = "c", .writes = {g}});
        CHECK(refusal(b) == "strata::training_graph: op 1 (b) reads tensor 1 (g) before op 2 (c) has produced it: ops "
                            "must stand in first-run order");
    }
    SECTION("an op that reads what it makes")
    {
        b.add(0, {1}, {{.name = "y", .bytes = 1}}, {.name = "a"});
        CHECK(refusal(b) == "strata::training_graph: op 0 (a) reads tensor 1 (y), which it produces itself; an op that "
                            "works in place names the tensor in mutates");
    }
    SECTION("an op that makes and changes one tensor")
    {
        b.add(0, {x}, {{.name = "y", .bytes = 1}}, {.name = "a", .mutates = {1}});
        CHECK(refusal(b) ==
              "strata::training_graph: op 0 (a) changes tensor 1 (y) in place and produces it too; name it "
              "in outputs or in mutates, not in both");
    }
    SECTION("a view of itself by way of another")
    {
        auto const p = b.tensor({.name = "p", .view_of = 2});
        b.tensor({.name = "q", .view_of = p});
        b.add(0, {x}, {});
        CHECK(refusal(b) ==
              "strata::training_graph: tensor 1 (p) is a view of itself; a chain of views must end at a buffer");
    }
    SECTION("a view of nothing")
    {
        b.tensor({.name = "p", .view_of = 77});
        b.add(0, {x}, {});
        CHECK(refusal(b) == "strata::training_graph: tensor 1 (p) is a view of tensor 77, but there are 2 tensors");
    }
    SECTION("a view used before it is made")
    {
        auto const y = b.add(0, {x}, {{.name = "y", .bytes = 1}}, {.name = "a"});
        b.add(0, {2}, {}, {.name = "b"});
        b.add(0, {y}, {{.name = "v", .bytes = 1, .view_of = y}}, {.name = "c"});
        CHECK(refusal(b) == "strata::training_graph: op 1 (b) reads tensor 2 (v) before op 2 (c) makes this view: ops "
                            "must stand in first-run order");
    }
    SECTION("a target that nobody makes")
    {
        b.add(0, {x}, {});
        b.target(b.tensor({.name = "t"}));
        CHECK(refusal(b) == "strata::training_graph: target tensor 1 (t) is neither resident nor produced by any op");
    }
    SECTION("a target that does not exist")
    {
        b.add(0, {x}, {});
        b.target(-4);
        CHECK(refusal(b) == "strata::training_graph: target -4 does not exist; there are 1 tensors");
    }
    SECTION("a backward op of nothing")
    {
        b.add(0, {x}, {}, {.name = "a", .backward_of = 3});
        CHECK(refusal(b) == "strata::training_graph: op 0 (a) is backward of op 3, but there are 1 ops");
    }
}

TEST_CASE("graph_builder: it may go on after build")
{
    graph_builder<int> b;
    auto const x = b.input("x", 8);
    b.add(1, {x}, {{.name = "y", .bytes = 2}});
    auto const first = b.build();
    b.add(2, {x}, {{.name = "z", .bytes = 2}});
    auto const second = b.build();
    REQUIRE((first && second));
    CHECK(first->op_count() == 1);
    CHECK(second->op_count() == 2);
    CHECK(b.tensor_bytes(x) == 8);
}

} // namespace graph_builder_test
