// SPDX-License-Identifier: Apache-2.0
#include <strata/cost/table_cost.hpp>
#include <strata/graph/builder.hpp>
#include <strata/problem/lower.hpp>
#include <strata/schedule/schedule.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"

namespace problem_lower_test {

using namespace strata;
using groups = std::vector<std::vector<op_id>>;

/// Op k costs 10^k, so that a sum shows its parts.
auto lowered(graph_builder<int> const& b, lower_options options = {}) -> lowering
{
    auto const g = b.build();
    INFO((g ? "" : g.error().message));
    REQUIRE(g);
    std::vector<cost_t> costs;
    for (op_id o = 0; o < g->op_count(); ++o) {
        costs.push_back(o == 0 ? 1 : costs.back() * 10);
    }
    auto l = lower(*g, table_cost(costs), options);
    INFO((l ? "" : l.error().message));
    REQUIRE(l);
    return *std::move(l);
}

auto groups_of(lowering const& l) -> groups
{
    groups r;
    for (op_id p = 0; p < l.problem().op_count(); ++p) {
        r.emplace_back(l.members(p).begin(), l.members(p).end());
    }
    return r;
}

auto out(char const* name, bytes_t bytes) -> std::vector<graph_tensor> { return {{.name = name, .bytes = bytes}}; }
auto view(char const* name, tensor_id of) -> std::vector<graph_tensor>
{
    return {{.name = name, .bytes = 8, .view_of = of}};
}

TEST_CASE("lower: without views and in-place ops the problem has the ids and numbers of the graph")
{
    graph_builder<int> b("plain");
    auto const x = b.input("x", 5);
    auto const w = b.parameter("w", 7);
    auto const y =
        b.add(0, {x, w}, out("y", 9), {.name = "a", .type = "lin", .effects = effect::random, .workspace = 3});
    auto const g = b.gradient("g", 11);
    b.add(0, {y}, {}, {.name = "b", .phase = phase::backward, .writes = {g}, .backward_of = 0});
    b.add(0, {y, y}, {}, {.name = "c", .writes = {g}});
    b.target(g);
    auto const l = lowered(b, {.alignment = 4});

    problem_spec expected;
    expected.name = "plain";
    expected.alignment = 4;
    expected.ops = {{"a", "lin", phase::other, 1, 3, {0, 1}, {2}, effect::random, none},
                    {"b", "", phase::backward, 10, 0, {2}, {3}, {}, 0},
                    {"c", "", phase::other, 100, 0, {2}, {3}, {}, none}};
    expected.tensors = {{"x", 5, tensor_kind::input},
                        {"w", 7, tensor_kind::parameter},
                        {"y", 9, tensor_kind::activation},
                        {"g", 11, tensor_kind::gradient}};
    expected.targets = {3};
    CHECK(l.problem().spec() == expected);
    CHECK(l.problem().size(2) == 12);
    CHECK(l.identity());
    schedule const s{{run(0), run(1), run(2), free(2)}};
    CHECK(l.expand(s) == s);
    auto const back = l.collapse(s);
    REQUIRE(back);
    CHECK(*back == s);
}

TEST_CASE("lower: an in-place op runs as one with the op that made the buffer")
{
    graph_builder<int> b;
    auto const x = b.input("x", 8);
    auto const y = b.add(0, {x}, out("y", 8), {.name = "linear", .effects = effect::random, .phase = phase::forward});
    b.add(0, {y}, {}, {.name = "relu_", .workspace = 4, .mutates = {y}});
    auto const z = b.add(0, {y}, out("z", 8), {.name = "next"});
    b.target(z);
    auto const l = lowered(b);
    CHECK(groups_of(l) == groups{{0, 1}, {2}});

    problem_spec expected;
    expected.ops = {{"linear+relu_", "", phase::forward, 11, 4, {0}, {1}, effect::random, none},
                    {"next", "", phase::other, 100, 0, {1}, {2}, {}, none}};
    expected.tensors = {
        {"x", 8, tensor_kind::input}, {"y", 8, tensor_kind::activation}, {"z", 8, tensor_kind::activation}};
    expected.targets = {2};
    CHECK(l.problem().spec() == expected);
    CHECK_FALSE(l.identity());
}

TEST_CASE("lower: a reader of the old value is part of the group, a reader of the new one is not")
{
    graph_builder<int> b;
    auto const x = b.input("x", 8);
    auto const y = b.add(0, {x}, out("y", 8));
    auto const old = b.add(0, {y}, out("old", 8));
    b.add(0, {y}, {}, {.mutates = {y}});
    auto const fresh = b.add(0, {y}, out("fresh", 8));
    b.target(old);
    b.target(fresh);
    auto const l = lowered(b);
    CHECK(groups_of(l) == groups{{0, 1, 2}, {3}});
    CHECK(l.problem().outputs(0).size() == 2);
}

TEST_CASE("lower: an in-place op that is the last and only reader of its buffer")
{
    graph_builder<int> b;
    auto const x = b.input("x", 8);
    auto const y = b.add(0, {x}, out("y", 8));
    b.add(0, {}, {}, {.mutates = {y}}); // does not even list it as an input
    b.target(y);
    auto const l = lowered(b);
    CHECK(groups_of(l) == groups{{0, 1}});
    CHECK(l.problem().spec().targets == std::vector<tensor_id>{1});
}

TEST_CASE("lower: ops on the way between two members belong to the group")
{
    // y = f(x); p = g(y); q = h(p); y += q. The group {f, +=} waits for h, which waits for f.
    graph_builder<int> b;
    auto const x = b.input("x", 8);
    auto const side = b.add(0, {x}, out("side", 8), {.name = "side"});
    auto const y = b.add(0, {x}, out("y", 8), {.name = "f"});
    auto const v = b.add(0, {y}, out("v", 8), {.name = "g"}); // reads y: a member by itself
    auto const p = b.add(0, {v}, out("p", 8), {.name = "h"}); // reads no y: a member by closure
    auto const other = b.add(0, {side}, out("other", 8), {.name = "other"});
    b.add(0, {y, p}, {}, {.name = "add_", .mutates = {y}});
    b.target(y);
    b.target(other);
    auto const l = lowered(b);
    CHECK(groups_of(l) == groups{{0}, {1, 2, 3, 5}, {4}});
}

TEST_CASE("lower: a group whose last member needs a later op runs after that op")
{
    graph_builder<int> b;
    auto const x = b.input("x", 8);
    auto const y = b.add(0, {x}, out("y", 8));
    auto const k = b.add(0, {x}, out("k", 8));
    b.add(0, {k}, {}, {.mutates = {y}});
    b.target(y);
    CHECK(groups_of(lowered(b)) == groups{{1}, {0, 2}});
}

TEST_CASE("lower: two groups that wait for each other become one")
{
    graph_builder<int> b;
    auto const x = b.input("x", 8);
    auto const y = b.add(0, {x}, out("y", 8));
    auto const z = b.add(0, {x}, out("z", 8));
    b.add(0, {z}, {}, {.mutates = {y}}); // {0, 2} after 1
    b.add(0, {y}, {}, {.mutates = {z}}); // {1, 2, 3}: 2 has read z
    b.target(y);
    CHECK(groups_of(lowered(b)) == groups{{0, 1, 2, 3}});
}

TEST_CASE("lower: a view joins the op that owns the buffer, also a view of a view, and readers read the buffer")
{
    graph_builder<int> b;
    auto const x = b.input("x", 8);
    auto const y = b.add(0, {x}, out("y", 8), {.name = "make"});
    auto const between = b.add(0, {x}, out("between", 8), {.name = "between"});
    auto const v = b.add(0, {y}, view("v", y), {.name = "reshape"});
    auto const u = b.add(0, {v}, view("u", v), {.name = "slice"});
    auto const z = b.add(0, {u, between}, out("z", 8), {.name = "use"});
    b.target(z);
    auto const l = lowered(b);
    CHECK(groups_of(l) == groups{{0, 2, 3}, {1}, {4}});

    problem_spec expected;
    expected.ops = {{"make+reshape+slice", "", phase::other, 1101, 0, {0}, {1}, {}, none},
                    {"between", "", phase::other, 10, 0, {0}, {2}, {}, none},
                    {"use", "", phase::other, 10000, 0, {1, 2}, {3}, {}, none}};
    expected.tensors = {{"x", 8, tensor_kind::input},
                        {"y", 8, tensor_kind::activation},
                        {"between", 8, tensor_kind::activation},
                        {"z", 8, tensor_kind::activation}};
    expected.targets = {3};
    CHECK(l.problem().spec() == expected);
    CHECK(l.tensor_of(u) == 1);
    CHECK(l.owner(1) == 1);

    schedule const s{{run(0), run(1), run(2), free(1), free(2)}};
    schedule const wide{{run(0), run(2), run(3), run(1), run(4), free(1), free(2)}};
    CHECK(l.expand(s) == wide);
    auto const back = l.collapse(wide);
    REQUIRE(back);
    CHECK(*back == s);
}

TEST_CASE("lower: an in-place op on a view changes the buffer")
{
    graph_builder<int> b;
    auto const x = b.input("x", 8);
    auto const y = b.add(0, {x}, out("y", 8));
    auto const v = b.add(0, {y}, view("v", y));
    auto const old = b.add(0, {y}, out("old", 8)); // reads through the base what the next op changes through the view
    b.add(0, {v}, view("v2", v), {.mutates = {v}});
    b.target(old);
    b.target(y);
    CHECK(groups_of(lowered(b)) == groups{{0, 1, 2, 3}});
}

TEST_CASE("lower: views of resident tensors stay ops of their own, without an output")
{
    graph_builder<int> b;
    auto const x = b.input("x", 8);
    auto const w = b.parameter("w", 8);
    auto const t = b.add(0, {w}, view("wT", w));
    auto const y = b.add(0, {x, t}, out("y", 8));
    b.target(y);
    auto const l = lowered(b);
    CHECK(groups_of(l) == groups{{0}, {1}});
    CHECK(l.problem().op(0).outputs.empty());
    CHECK(l.problem().op(0).inputs == std::vector<tensor_id>{w});
    CHECK(l.problem().op(1).inputs == std::vector<tensor_id>{x, w});
    CHECK(l.problem().tensor_count() == 3);
    CHECK_FALSE(l.identity());
}

TEST_CASE("lower: a resident tensor changed in place is written, also through a view")
{
    graph_builder<int> b;
    auto const x = b.input("x", 8);
    auto const s = b.state("s", 8);
    auto const v = b.add(0, {s}, view("v", s));
    auto const y = b.add(0, {x, s}, out("y", 8));
    b.add(0, {y}, {}, {.mutates = {v}});
    b.target(y);
    auto const l = lowered(b);
    CHECK(groups_of(l) == groups{{0}, {1}, {2}});
    CHECK(l.problem().op(2).outputs == std::vector<tensor_id>{s});
    CHECK_FALSE(l.problem().replayable(2)); // writes what lives on
    CHECK_FALSE(l.problem().replayable(1)); // has read what is overwritten later
}

TEST_CASE("lower: the view of a gradient that several ops add into stays an op of its own")
{
    graph_builder<int> b;
    auto const x = b.input("x", 8);
    auto const g = b.gradient("g", 8);
    b.add(0, {x}, {}, {.writes = {g}});
    b.add(0, {x}, {}, {.writes = {g}});
    auto const v = b.add(0, {g}, view("v", g));
    auto const y = b.add(0, {v}, out("y", 8));
    b.target(y);
    auto const l = lowered(b);
    CHECK(groups_of(l) == groups{{0}, {1}, {2}, {3}});
    CHECK(l.problem().op(2).outputs.empty());
    CHECK(l.problem().op(3).inputs == std::vector<tensor_id>{g});
}

TEST_CASE("lower: a gradient changed in place takes all that add into it along, and the group never repeats")
{
    graph_builder<int> b;
    auto const x = b.input("x", 8);
    auto const g = b.gradient("g", 8);
    b.add(0, {x}, {}, {.writes = {g}});
    auto const far = b.add(0, {x}, out("far", 8));
    b.add(0, {x}, {}, {.writes = {g}});
    b.add(0, {}, {}, {.name = "clip_", .mutates = {g}});
    b.target(g);
    b.target(far);
    auto const l = lowered(b);
    CHECK(groups_of(l) == groups{{0, 2, 3}, {1}});
    CHECK(l.problem().op(0).effects == effects(effect::once));
    CHECK_FALSE(l.problem().accumulated(1));
}

TEST_CASE("lower: a group that adds into a gradient and reads it has all that add into it")
{
    graph_builder<int> b;
    auto const x = b.input("x", 8);
    auto const g = b.gradient("g", 8);
    b.add(0, {x}, {}, {.writes = {g}});
    auto const y = b.add(0, {x}, out("y", 8), {.writes = {g}});
    b.add(0, {y, g}, {}, {.mutates = {y}}); // fused with op 1, reads the whole of g
    b.target(y);
    CHECK(groups_of(lowered(b)) == groups{{0, 1, 2}});
}

TEST_CASE("lower: a tensor that only its group touches counts in the group's workspace")
{
    // bytes while the group runs; y is its output, t and u are temporaries
    //   make y, t   ws 1    t        = 1 + 100
    //   u = f(t)    ws 0    t u      = 100 + 30
    //   y += u      ws 50     u      = 50 + 30
    graph_builder<int> b;
    auto const x = b.input("x", 8);
    auto const y =
        b.add(0, {x}, {{.name = "y", .bytes = 8}, {.name = "t", .bytes = 100}}, {.name = "make", .workspace = 1});
    auto const u = b.add(0, {y[0], y[1]}, out("u", 30), {.name = "f"});
    b.add(0, {u}, {}, {.name = "add_", .workspace = 50, .mutates = {y[0]}});
    b.target(y[0]);
    auto const l = lowered(b);
    CHECK(groups_of(l) == groups{{0, 1, 2}});
    CHECK(l.problem().op(0).workspace == 130);
    CHECK(l.problem().tensor_count() == 2);
    CHECK(l.tensor_of(y[1]) == none);
    CHECK(lowered(b, {.alignment = 64}).problem().workspace(0) == 192); // 128 + 64

    schedule const s{{run(0)}};
    schedule const wide{{run(0), run(1), free(y[1]), run(2), free(u)}};
    CHECK(l.expand(s) == wide);
    auto const back = l.collapse(wide);
    REQUIRE(back);
    CHECK(*back == s);
}

TEST_CASE("lower: a group whose replay no single effect forbids, but which would see new values, runs once")
{
    graph_builder<int> b;
    auto const x = b.input("x", 8);
    auto const s = b.state("s", 8);
    SECTION("it reads a state and then updates it")
    {
        auto const y = b.add(0, {x, s}, out("y", 8));
        b.add(0, {y}, {}, {.effects = effect::stateful, .mutates = {y}, .writes = {s}});
        b.target(y);
        auto const l = lowered(b);
        CHECK(l.problem().op(0).effects == (effect::stateful | effect::once));
    }
    SECTION("one member is stateful, another writes a state without being so")
    {
        auto const y = b.add(0, {x}, out("y", 8), {.effects = effect::stateful});
        b.add(0, {y}, {}, {.mutates = {y}, .writes = {s}});
        b.target(y);
        CHECK_FALSE(lowered(b).problem().replayable(0));
    }
    SECTION("a stateful op that nothing else disturbs may be replayed")
    {
        auto const y = b.add(0, {x}, out("y", 8), {.effects = effect::stateful, .writes = {s}});
        b.add(0, {y}, {}, {.mutates = {y}});
        b.target(y);
        auto const l = lowered(b);
        CHECK(l.problem().op(0).effects == effects(effect::stateful));
        CHECK(l.problem().replayable(0));
    }
}

TEST_CASE("lower: ordered effects keep their order when ops move to their groups")
{
    graph_builder<int> b;
    auto const x = b.input("x", 8);
    auto const y = b.add(0, {x}, out("y", 8), {.effects = effect::random});
    auto const z = b.add(0, {x}, out("z", 8), {.effects = effect::random});
    b.add(0, {}, {}, {.effects = effect::random, .mutates = {y}}); // 0 and 2 as one would pass 1
    b.target(y);
    b.target(z);
    CHECK(groups_of(lowered(b)) == groups{{0, 1, 2}});
}

TEST_CASE("lower: what is backward of a member is backward of its group")
{
    graph_builder<int> b;
    auto const x = b.input("x", 8);
    auto const y = b.add(0, {x}, out("y", 8), {.type = "linear"});
    auto const r = b.add(0, {y}, view("r", y), {.type = "relu_", .mutates = {y}});
    auto const g = b.add(0, {r}, out("g", 8), {.phase = phase::backward, .backward_of = 1});
    b.target(g);
    auto const l = lowered(b);
    CHECK(l.problem().op(0).type == "linear+relu_");
    CHECK(l.problem().op(1).backward_of == 0);
}

TEST_CASE("lower: costs that are no costs name the op")
{
    graph_builder<int> b;
    auto const x = b.input("x", 8);
    b.add(0, {x}, out("y", 8), {.name = "a"});
    b.add(0, {x}, out("z", 8), {.name = "b"});
    auto const g = b.build();
    REQUIRE(g);
    struct model {
        double first, second;
        auto cost(training_graph<int> const&, op_id o) const -> double { return o == 0 ? first : second; }
    };
    auto const refusal = [&](double first, double second) {
        auto const l = lower(*g, model{first, second});
        REQUIRE_FALSE(l);
        return l.error();
    };
    CHECK(refusal(1, -3) ==
          fail(errc::malformed_graph,
               "strata::lower: the cost of op 1 (b) is -3, must not be negative; a cost model answers "
               "below zero for an op it does not know"));
    CHECK(refusal(std::numeric_limits<double>::quiet_NaN(), 1) ==
          fail(errc::overflow, "strata::lower: the cost of op 0 (a) is not a number that fits 64 bits"));
    CHECK(refusal(1, 1e19) ==
          fail(errc::overflow, "strata::lower: the cost of op 1 (b) is not a number that fits 64 bits"));
    CHECK(refusal(9e18, 9e18) ==
          fail(errc::overflow,
               "strata::lower: the sum of all costs does not fit 64 bits at op 1 (b); measure in a "
               "coarser unit"));
    CHECK(lower(*g, model{0, 1e13}).value().problem().base_cost() == 10'000'000'000'000);
    auto const unaligned = lower(*g, model{1, 1}, {.alignment = 0});
    REQUIRE_FALSE(unaligned);
    CHECK(unaligned.error() == fail(errc::invalid_argument, "strata::lower: alignment is 0 bytes, must be at least 1"));
}

TEST_CASE("lower: temporaries of a group that do not fit 64 bits name an op")
{
    graph_builder<int> b;
    auto const x = b.input("x", 8);
    auto const half = std::numeric_limits<bytes_t>::max() / 2 + 1;
    auto const y = b.add(
        0, {x}, {{.name = "y", .bytes = 8}, {.name = "t", .bytes = half}, {.name = "u", .bytes = half}}, {.name = "a"});
    b.add(0, {}, {}, {.name = "b", .mutates = {y[0]}});
    b.target(y[0]);
    auto const g = b.build();
    REQUIRE(g);
    auto const l = lower(*g, table_cost({1, 1}));
    REQUIRE_FALSE(l);
    CHECK(l.error() == fail(errc::overflow,
                            "strata::lower: the temporaries of the ops that run together with op 0 (a) do not fit 64 "
                            "bits"));
}

TEST_CASE("lowering: a schedule of the graph that tears a group apart is refused")
{
    graph_builder<int> b;
    auto const x = b.input("x", 8);
    auto const y = b.add(0, {x}, out("y", 8));
    b.add(0, {y}, {}, {.mutates = {y}});
    auto const z = b.add(0, {x}, out("z", 8));
    auto const v = b.add(0, {z}, view("v", z));
    b.add(0, {z}, out("k", 8));
    b.target(y);
    auto const l = lowered(b);
    auto const refusal = [&](schedule const& s) {
        auto const r = l.collapse(s);
        REQUIRE_FALSE(r);
        CHECK(r.error().code == errc::invalid_plan);
        return r.error().message;
    };
    CHECK(refusal({{run(0), run(2)}}) ==
          "strata::lowering: step 1 runs op 2 where op 1 must run: ops that share a buffer "
          "in place or through a view run one after the other");
    CHECK(refusal({{run(1)}}) == "strata::lowering: step 0 runs op 1 where op 0 must run: ops that share a buffer in "
                                 "place or through a view run one after the other");
    CHECK(refusal({{run(0)}}) == "strata::lowering: step 1 is missing: op 1 must run right after op 0");
    CHECK(refusal({{run(0), free(y), run(1)}}) ==
          "strata::lowering: step 1 frees tensor 1, which op 1 or one that runs together with it still uses");
    CHECK(refusal({{run(0), run(1), run(2), run(3), free(v)}}) ==
          "strata::lowering: step 4 frees tensor 3, which is a view; free the tensor it views");
    CHECK(refusal({{run(9)}}) == "strata::lowering: step 0 names an op or tensor that does not exist: 9");
    CHECK(refusal({{free(-1)}}) == "strata::lowering: step 0 names an op or tensor that does not exist: -1");

    // A tensor that the group no longer needs may be freed while it runs; that counts as freed after it.
    auto const late = l.collapse({{run(2), run(3), run(4), run(0), free(z), run(1)}});
    REQUIRE(late);
    CHECK(*late == schedule{{run(1), run(2), run(0), free(l.tensor_of(z))}});
}

} // namespace problem_lower_test
