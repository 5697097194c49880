// SPDX-License-Identifier: Apache-2.0
#include <strata/cost/table_cost.hpp>
#include <strata/graph/builder.hpp>
#include <strata/graph/differentiate.hpp>
#include <strata/problem/lower.hpp>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"

namespace graph_differentiate_test {

using namespace strata;
using namespace strata::grad;
using op = std::string;
using lines = std::vector<std::string>;

auto b_op(char const* name, std::vector<gradient_ref> reads, std::vector<gradient_ref> writes) -> backward_op<op>
{
    return {name, std::move(reads), std::move(writes), {.name = name}};
}

/// The ops of these tests. The payload is the type.
auto rule(op const& type, gradient_request const&) -> op_gradient<op>
{
    if (type == "linear") { // x, w -> y
        return {.ops = {{"dgrad", {input(1), of_output(0)}, {of_input(0)}, {.type = "dgrad", .workspace = 3}},
                        {"wgrad", {input(0), of_output(0)}, {of_input(1)}, {.type = "wgrad"}}}};
    }
    if (type == "relu") {
        return {.ops = {{"relu_b", {output(0), of_output(0)}, {of_input(0)}}}};
    }
    if (type == "gelu") {
        return {.ops = {{"gelu_b", {input(0), of_output(0)}, {of_input(0)}}}};
    }
    if (type == "dropout") {
        return {.saved = {{"mask", 2}}, .ops = {{"dropout_b", {saved(0), of_output(0)}, {of_input(0)}}}};
    }
    if (type == "add") {
        return {.passes = {{0, 0, backward_op<op>("copy", {}, {}, {.type = "copy"})},
                           {0, 1, backward_op<op>("copy", {}, {}, {.type = "copy"})}}};
    }
    if (type == "bare add") {
        return {.passes = {{0, 0}, {0, 1}}};
    }
    if (type == "reshape") {
        return {.passes = {{0, 0}}};
    }
    if (type == "split") { // x -> a, b, c
        return {.ops = {{"split_b", {of_output(0), of_output(1), of_output(2)}, {of_input(0)}}}};
    }
    if (type == "mul") { // a, b -> y
        return {.ops = {{"mul_a", {input(1), of_output(0)}, {of_input(0)}},
                        {"mul_b", {input(0), of_output(0)}, {of_input(1)}}}};
    }
    if (type == "attention") { // q, k -> y, with a probability gradient between two kernels
        return {.saved = {{"lse", 4}},
                .temporaries = {{"dp", 5}},
                .ops = {{"dp", {output(0), saved(0), of_output(0)}, {temporary(0)}},
                        {"dq", {input(1), temporary(0)}, {of_input(0)}},
                        {"dk", {input(0), temporary(0)}, {of_input(1)}}}};
    }
    if (type == "ddp") { // x -> y, tells other ranks about the gradient
        return {.ops = {{"all_reduce", {of_output(0)}, {}, {.effects = effect::collective}}}, .passes = {{0, 0}}};
    }
    if (type == "loss") { // x, labels -> l
        return {.ops = {{"loss_b", {input(0), input(1), of_output(0)}, {of_input(0)}}}};
    }
    return {};
}

/// Backward ops, and tensors that the forward graph does not have, as text.
auto backward_of(training_graph<op> const& g) -> lines
{
    lines r;
    for (op_id o = 0; o < g.op_count(); ++o) {
        if (g.phase_of(o) != phase::backward) {
            continue;
        }
        std::string line = g.op_name(o) + ":";
        for (auto t : g.inputs(o)) {
            line += " " + g.tensor_name(t);
        }
        line += " ->";
        for (auto t : g.outputs(o)) {
            line += " " + g.tensor_name(t);
        }
        r.push_back(line);
    }
    return r;
}

auto forward_only(training_graph<op> const& g) -> op_id
{
    op_id n = 0;
    while (n < g.op_count() && g.phase_of(n) == phase::forward) {
        ++n;
    }
    return n;
}

struct net {
    graph_builder<op> b = graph_builder<op>("net");
    auto add(op type, std::vector<tensor_id> in, std::string const& out) -> tensor_id
    {
        return b.add(type, std::move(in), {{.name = out, .bytes = 8}}, {.name = type + " " + out, .type = type});
    }
    [[nodiscard]] auto differentiate(differentiate_options<op> options = {}) const -> result<training_graph<op>>
    {
        auto const g = b.build();
        REQUIRE(g);
        return strata::differentiate(*g, rule, std::move(options));
    }
    [[nodiscard]] auto ok(differentiate_options<op> options = {}) const -> training_graph<op>
    {
        auto g = differentiate(std::move(options));
        INFO((g ? "" : g.error().message));
        REQUIRE(g);
        auto const l = lower(*g, table_cost(std::vector<cost_t>(static_cast<std::size_t>(g->op_count()), 1)));
        INFO((l ? "" : l.error().message));
        REQUIRE(l); // whatever differentiate makes is a problem
        return *std::move(g);
    }
    [[nodiscard]] auto refusal(differentiate_options<op> options = {}) const -> std::string
    {
        auto g = differentiate(std::move(options));
        REQUIRE_FALSE(g);
        return g.error().message;
    }
};

TEST_CASE("differentiate: a chain gets dgrad and wgrad apart, in reverse order, and no gradient for its input")
{
    net n;
    auto const x = n.b.input("x", 8);
    auto const w = n.b.parameter("w", 64);
    auto const h = n.add("linear", {x, w}, "h");
    auto const r = n.add("relu", {h}, "r");
    auto const u = n.b.parameter("u", 32);
    n.b.target(n.add("linear", {r, u}, "y"));
    auto const g = n.ok();

    auto const expected = training_graph<op>::make(
        "net",
        {{"linear", "linear h", "linear", phase::forward, {}, 0, {0, 1}, {2}, {}, none},
         {"relu", "relu r", "relu", phase::forward, {}, 0, {2}, {3}, {}, none},
         {"linear", "linear y", "linear", phase::forward, {}, 0, {3, 4}, {5}, {}, none},
         {"dgrad", "linear y.backward0", "dgrad", phase::backward, {}, 3, {4, 6}, {7}, {}, 2},
         {"wgrad", "linear y.backward1", "wgrad", phase::backward, {}, 0, {3, 6}, {8}, {}, 2},
         {"relu_b", "relu r.backward", "relu.backward", phase::backward, {}, 0, {3, 7}, {9}, {}, 1},
         {"wgrad", "linear h.backward", "wgrad", phase::backward, {}, 0, {0, 9}, {10}, {}, 0}},
        {{"x", 8, tensor_kind::input},
         {"w", 64, tensor_kind::parameter},
         {"h", 8},
         {"r", 8},
         {"u", 32, tensor_kind::parameter},
         {"y", 8},
         {"y.grad", 8, tensor_kind::input},
         {"r.grad", 8, tensor_kind::gradient},
         {"u.grad", 32, tensor_kind::parameter_gradient},
         {"h.grad", 8, tensor_kind::gradient},
         {"w.grad", 64, tensor_kind::parameter_gradient}},
        {5});
    REQUIRE(expected);
    CHECK(g == *expected);
}

TEST_CASE("differentiate: a residual is copied late, after the branch has added its part")
{
    net n;
    auto const x = n.b.input("x", 8);
    auto const w = n.b.parameter("w", 64);
    auto const a = n.add("linear", {x, w}, "a");
    auto const h = n.add("gelu", {a}, "h");
    auto const s = n.add("add", {a, h}, "s");
    n.b.target(n.add("relu", {s}, "y"));
    // The sum's gradient is that of h (read once) without an op; a has another reader and needs one.
    CHECK(backward_of(n.ok()) == lines{"relu y.backward: y y.grad -> s.grad",
                                       "gelu h.backward: a s.grad -> a.grad",
                                       "add s.accumulate0: s.grad -> a.grad",
                                       "linear a.backward: x a.grad -> w.grad"});
}

TEST_CASE("differentiate: a sum of two tensors that nobody else reads costs no op at all")
{
    net n;
    auto const x = n.b.input("x", 8);
    auto const w = n.b.parameter("w", 64);
    auto const u = n.b.parameter("u", 64);
    auto const a = n.add("linear", {x, w}, "a");
    auto const b = n.add("linear", {x, u}, "b");
    n.b.target(n.add("bare add", {a, b}, "s"));
    CHECK(backward_of(n.ok()) ==
          lines{"linear b.backward: x s.grad -> u.grad", "linear a.backward: x s.grad -> w.grad"});
}

TEST_CASE("differentiate: a tensor added to itself is added twice")
{
    net n;
    auto const x = n.b.input("x", 8);
    auto const w = n.b.parameter("w", 64);
    auto const a = n.add("linear", {x, w}, "a");
    n.b.target(n.add("add", {a, a}, "s"));
    CHECK(backward_of(n.ok()) == lines{"add s.accumulate0: s.grad -> a.grad",
                                       "add s.accumulate1: s.grad -> a.grad",
                                       "linear a.backward: x a.grad -> w.grad"});
}

TEST_CASE("differentiate: a pass-through that needs an op and has none is refused")
{
    net n;
    auto const x = n.b.input("x", 8);
    auto const w = n.b.parameter("w", 64);
    auto const a = n.add("linear", {x, w}, "a");
    SECTION("since others add into the gradient")
    {
        auto const h = n.add("gelu", {a}, "h");
        n.b.target(n.add("bare add", {a, h}, "s"));
        CHECK(n.refusal() ==
              "strata::differentiate: op 2 (bare add s) passes the gradient of its output 0 on to input 0 (a), which "
              "needs an op here, since other ops add into that gradient too; give the pass-through a fallback");
    }
    SECTION("since the sizes differ")
    {
        n.b.target(n.b.add("reshape", {a}, {{.name = "half", .bytes = 4}}, {.name = "slice"}));
        CHECK(n.refusal() ==
              "strata::differentiate: op 1 (slice) passes the gradient of its output 0 on to input 0 (a), which needs "
              "an op here, since the two differ in bytes; give the pass-through a fallback");
    }
}

TEST_CASE("differentiate: a reshape of a tensor with other readers costs no op: its readers add into the one gradient")
{
    net n;
    auto const x = n.b.input("x", 8);
    auto const w = n.b.parameter("w", 64);
    auto const a = n.add("linear", {x, w}, "a");
    auto const v = n.add("reshape", {a}, "v");
    auto const p = n.add("gelu", {v}, "p");
    auto const q = n.add("gelu", {a}, "q");
    n.b.target(n.add("add", {p, q}, "s"));
    CHECK(backward_of(n.ok()) == lines{"gelu q.backward: a s.grad -> a.grad",
                                       "gelu p.backward: v s.grad -> a.grad",
                                       "linear a.backward: x a.grad -> w.grad"});
}

TEST_CASE("differentiate: a reshape of the residual costs no op either: the sum's own op adds into the one gradient")
{
    net n;
    auto const x = n.b.input("x", 8);
    auto const w = n.b.parameter("w", 64);
    auto const a = n.add("linear", {x, w}, "a");
    auto const v = n.add("reshape", {a}, "v");
    auto const q = n.add("gelu", {a}, "q");
    n.b.target(n.add("add", {v, q}, "s"));
    CHECK(backward_of(n.ok()) == lines{"gelu q.backward: a s.grad -> a.grad",
                                       "add s.accumulate0: s.grad -> a.grad",
                                       "linear a.backward: x a.grad -> w.grad"});
}

TEST_CASE("differentiate: a chain of views ends at a parameter without an op, also below a sum")
{
    net n;
    auto const w = n.b.parameter("w", 8);
    auto const u = n.b.parameter("u", 8);
    auto const v1 = n.add("reshape", {w}, "v1");
    auto const v2 = n.add("reshape", {v1}, "v2");
    auto const k = n.add("gelu", {u}, "k");
    SECTION("read by an op")
    {
        n.b.target(n.add("mul", {v2, v2}, "y"));
        CHECK(backward_of(n.ok()) ==
              lines{"mul y.backward0: v2 y.grad -> w.grad", "mul y.backward1: v2 y.grad -> w.grad"});
    }
    SECTION("below a sum, whose op is the only one")
    {
        n.b.target(n.add("add", {v2, k}, "y"));
        CHECK(backward_of(n.ok()) ==
              lines{"add y.accumulate0: y.grad -> w.grad", "gelu k.backward: u y.grad -> u.grad"});
    }
}

TEST_CASE("differentiate: the view of a parameter adds straight into the parameter's gradient")
{
    net n;
    auto const x = n.b.input("x", 8);
    auto const w = n.b.parameter("w", 8);
    tensor_id const t = n.b.add("reshape", {w}, {{.name = "wT", .bytes = 8, .view_of = w}}, {.name = "t"});
    n.b.target(n.add("linear", {x, t}, "y"));
    auto const g = n.ok();
    CHECK(backward_of(g) == lines{"linear y.backward: x y.grad -> w.grad"});
    CHECK(g.kind_of(g.outputs(g.op_count() - 1)[0]) == tensor_kind::parameter_gradient);
}

TEST_CASE("differentiate: tied weights have one gradient buffer that two ops add into")
{
    net n;
    auto const x = n.b.input("x", 8);
    auto const w = n.b.parameter("w", 64);
    auto const a = n.add("linear", {x, w}, "a");
    n.b.target(n.add("linear", {a, w}, "y"));
    auto const g = n.ok();
    CHECK(backward_of(g) == lines{"linear y.backward0: w y.grad -> a.grad",
                                  "linear y.backward1: a y.grad -> w.grad",
                                  "linear a.backward: x a.grad -> w.grad"});
    CHECK(g.outputs(3)[0] == g.outputs(4)[0]);
}

TEST_CASE("differentiate: unused outputs have no gradient, and used ones need not all be used")
{
    net n;
    auto const x = n.b.input("x", 8);
    auto const w = n.b.parameter("w", 64);
    auto const a = n.add("linear", {x, w}, "a");
    auto const parts = n.b.add("split",
                               {a},
                               {{.name = "p", .bytes = 8}, {.name = "q", .bytes = 8}, {.name = "r", .bytes = 8}},
                               {.name = "split", .type = "split"});
    n.b.target(n.add("mul", {parts[2], parts[0]}, "y"));
    CHECK(backward_of(n.ok()) == lines{"mul y.backward0: p y.grad -> r.grad",
                                       "mul y.backward1: r y.grad -> p.grad",
                                       "split.backward: p.grad r.grad -> a.grad",
                                       "linear a.backward: x a.grad -> w.grad"});
}

TEST_CASE("differentiate: an op without gradient stops it, on the way back and for those behind it")
{
    net n;
    auto const x = n.b.input("x", 8);
    auto const w = n.b.parameter("w", 64);
    auto const a = n.add("linear", {x, w}, "a");
    auto const k = n.add("argmax", {a}, "k");
    auto const m = n.add("gelu", {k}, "m"); // depends on w only through argmax: wants no gradient
    n.b.target(n.add("mul", {a, m}, "y"));
    CHECK(backward_of(n.ok()) == lines{"mul y.backward: m y.grad -> a.grad", "linear a.backward: x a.grad -> w.grad"});
}

TEST_CASE("differentiate: hidden saved tensors become outputs of the forward op, if a backward op reads them")
{
    net n;
    auto const x = n.b.input("x", 8);
    auto const w = n.b.parameter("w", 64);
    auto const drop = n.b.add("dropout", {x}, {{.name = "in", .bytes = 8}}, {.name = "d0", .effects = effect::random});
    auto const a = n.add("linear", {drop, w}, "a");
    n.b.target(n.b.add("dropout", {a}, {{.name = "y", .bytes = 8}}, {.name = "d1", .effects = effect::random}));
    auto const g = n.ok();
    CHECK(backward_of(g) == lines{"d1.backward: d1.mask y.grad -> a.grad", "linear a.backward: in a.grad -> w.grad"});
    CHECK(g.outputs(0).size() == 1); // x wants no gradient: no mask
    REQUIRE(g.outputs(2).size() == 2);
    CHECK(g.kind_of(g.outputs(2)[1]) == tensor_kind::saved);
    CHECK(g.tensor_bytes(g.outputs(2)[1]) == 2);
    CHECK(g.effects_of(2) == effects(effect::random));
    CHECK(forward_only(g) == 3);
}

TEST_CASE("differentiate: a frozen parameter gets neither gradient nor ops, and what only feeds it gets none")
{
    net n;
    auto const x = n.b.input("x", 8);
    auto const w = n.b.parameter("w", 64);
    auto const u = n.b.parameter("u", 64);
    auto const a = n.add("linear", {x, w}, "a");
    n.b.target(n.add("linear", {a, u}, "y"));
    CHECK(backward_of(n.ok({.frozen = {w}})) == lines{"linear y.backward: a y.grad -> u.grad"});
    CHECK(backward_of(n.ok({.frozen = {u}})) ==
          lines{"linear y.backward: u y.grad -> a.grad", "linear a.backward: x a.grad -> w.grad"});
    CHECK(n.refusal({.frozen = {u, w}}) == "strata::differentiate: loss tensor 4 (y) depends on no parameter or input "
                                           "whose gradient is wanted through ops "
                                           "that have one");
}

TEST_CASE("differentiate: the gradient of an input that is asked for becomes a target")
{
    net n;
    auto const x = n.b.input("x", 8);
    auto const w = n.b.parameter("w", 64);
    auto const y = n.add("linear", {x, w}, "y");
    n.b.target(y);
    auto const g = n.ok({.input_gradients = {x}, .frozen = {w}});
    CHECK(backward_of(g) == lines{"linear y.backward: w y.grad -> x.grad"});
    REQUIRE(g.targets().size() == 2);
    CHECK(g.tensor_name(g.targets()[1]) == "x.grad");
    CHECK(g.kind_of(g.targets()[1]) == tensor_kind::gradient);

    auto const other = n.b.input("other", 8);
    CHECK(
        n.refusal({.input_gradients = {other}}) ==
        "strata::differentiate: the gradient of tensor 3 (other) was asked for, but no loss depends on it through ops "
        "that have a gradient");
}

TEST_CASE("differentiate: several losses share the gradients of what both depend on")
{
    net n;
    auto const x = n.b.input("x", 8);
    auto const w = n.b.parameter("w", 64);
    auto const t = n.b.input("t", 8);
    auto const a = n.add("linear", {x, w}, "a");
    auto const l1 = n.add("loss", {a, t}, "l1");
    auto const l2 = n.add("loss", {a, t}, "l2");
    CHECK(backward_of(n.ok({.losses = {l2, l1}})) == lines{"loss l2.backward: a t l2.grad -> a.grad",
                                                           "loss l1.backward: a t l1.grad -> a.grad",
                                                           "linear a.backward: x a.grad -> w.grad"});
    SECTION("a seed op writes the gradient of each loss")
    {
        auto const g = n.ok({.losses = {l1, l2}, .seed = backward_op<op>("ones")});
        CHECK(backward_of(g) == lines{"l1.seed: -> l1.grad",
                                      "l2.seed: -> l2.grad",
                                      "loss l2.backward: a t l2.grad -> a.grad",
                                      "loss l1.backward: a t l1.grad -> a.grad",
                                      "linear a.backward: x a.grad -> w.grad"});
        CHECK(g.kind_of(g.outputs(3)[0]) == tensor_kind::gradient);
    }
    SECTION("a loss on the way to another needs a seed op")
    {
        auto const total = n.add("add", {l1, l2}, "total");
        CHECK(n.refusal({.losses = {l1, total}}) ==
              "strata::differentiate: loss tensor 4 (l1) is also used on the way to another loss, so its gradient has "
              "several parts; give options.seed, an op that adds the gradient of a loss into its buffer");
        CHECK(backward_of(n.ok({.losses = {l1, total}, .seed = backward_op<op>("ones")})) ==
              lines{"l1.seed: -> l1.grad",
                    "total.seed: -> total.grad",
                    "loss l2.backward: a t total.grad -> a.grad",
                    "add total.accumulate0: total.grad -> l1.grad",
                    "loss l1.backward: a t l1.grad -> a.grad",
                    "linear a.backward: x a.grad -> w.grad"});
    }
}

TEST_CASE("differentiate: tensors handed between the backward ops of one op, and dropped with their last reader")
{
    net n;
    auto const x = n.b.input("x", 8);
    auto const w = n.b.parameter("w", 64);
    auto const q = n.add("linear", {x, w}, "q");
    auto const k = n.add("linear", {x, w}, "k");
    n.b.target(n.add("attention", {q, k}, "y"));
    CHECK(backward_of(n.ok()) == lines{"attention y.backward0: y attention y.lse y.grad -> attention y.dp",
                                       "attention y.backward1: k attention y.dp -> q.grad",
                                       "attention y.backward2: q attention y.dp -> k.grad",
                                       "linear k.backward: x k.grad -> w.grad",
                                       "linear q.backward: x q.grad -> w.grad"});
    net m;
    auto const p = m.b.parameter("p", 8);
    auto const in = m.b.input("in", 8);
    m.b.target(m.add("attention", {p, in}, "y"));
    CHECK(backward_of(m.ok()) == lines{"attention y.backward0: y attention y.lse y.grad -> attention y.dp",
                                       "attention y.backward1: in attention y.dp -> p.grad"});
}

TEST_CASE("differentiate: a backward op without results is kept for its effects")
{
    net n;
    auto const x = n.b.input("x", 8);
    auto const w = n.b.parameter("w", 64);
    auto const a = n.add("linear", {x, w}, "a");
    n.b.target(n.add("ddp", {a}, "y"));
    auto const g = n.ok();
    CHECK(backward_of(g) == lines{"ddp y.backward: y.grad ->", "linear a.backward: x y.grad -> w.grad"});
    CHECK(g.effects_of(2) == effects(effect::collective));
}

TEST_CASE("differentiate: an in-place op whose result is a tensor of its own is differentiated like any other")
{
    net n;
    auto const x = n.b.input("x", 8);
    auto const w = n.b.parameter("w", 64);
    auto const a = n.add("linear", {x, w}, "a");
    tensor_id const r = n.b.add(
        "relu", {a}, {{.name = "r", .bytes = 8, .view_of = a}}, {.name = "relu_", .type = "relu", .mutates = {a}});
    n.b.target(n.add("linear", {r, w}, "y"));
    CHECK(backward_of(n.ok()) == lines{"linear y.backward0: w y.grad -> r.grad",
                                       "linear y.backward1: r y.grad -> w.grad",
                                       "relu_.backward: r r.grad -> a.grad",
                                       "linear a.backward: x a.grad -> w.grad"});
}

TEST_CASE("differentiate: a value that is overwritten before its backward needs it is refused")
{
    net n;
    auto const x = n.b.input("x", 8);
    auto const w = n.b.parameter("w", 64);
    auto const a = n.add("linear", {x, w}, "a");
    SECTION("by the op that needs it")
    {
        n.b.target(n.b.add("gelu", {a}, {{.name = "r", .bytes = 8, .view_of = a}}, {.name = "gelu_", .mutates = {a}}));
        CHECK(n.refusal() == "strata::differentiate: op 1 (gelu_) needs tensor 2 (a) in its backward, but op 1 (gelu_) "
                             "overwrites it; let "
                             "the rule name another tensor, or make that op work out of place");
    }
    SECTION("by a later op")
    {
        auto const y = n.add("gelu", {a}, "y");
        n.b.add("relu", {a}, {{.name = "r", .bytes = 8, .view_of = a}}, {.name = "relu_", .mutates = {a}});
        n.b.target(y);
        CHECK(
            n.refusal() ==
            "strata::differentiate: op 1 (gelu y) needs tensor 2 (a) in its backward, but op 2 (relu_) overwrites it; "
            "let the rule name another tensor, or make that op work out of place");
    }
    SECTION("when the new value goes by the old name")
    {
        n.b.add("relu", {a}, {}, {.name = "relu_", .mutates = {a}});
        n.b.target(n.add("linear", {a, w}, "y"));
        CHECK(
            n.refusal() ==
            "strata::differentiate: op 2 (linear y) reads tensor 2 (a) after op 1 (relu_) changed it in place; read "
            "the "
            "result of that op instead, an output that is a view of the changed tensor, so that gradients can tell the "
            "old value from the new");
    }
}

TEST_CASE("differentiate: answers of a rule that name nothing are refused")
{
    net n;
    auto const w = n.b.parameter("w", 64);
    n.b.target(n.add("any", {w}, "y"));
    auto const g = n.b.build();
    REQUIRE(g);
    auto const refusal = [&](op_gradient<op> const& a) {
        auto const r = differentiate(*g, [&](op const&, gradient_request const&) { return a; });
        REQUIRE_FALSE(r);
        CHECK(r.error().code == errc::malformed_graph);
        return r.error().message;
    };
    std::string const who = "strata::differentiate: op 0 (any y) has a rule ";
    CHECK(refusal({.ops = {b_op("b", {input(1)}, {of_input(0)})}}) ==
          who + "whose backward op reads what does not exist: entry 1 of its inputs");
    CHECK(refusal({.ops = {b_op("b", {of_input(0)}, {of_input(0)})}}) ==
          who + "whose backward op reads what does not exist: entry 0 of the gradients of its inputs");
    CHECK(refusal({.ops = {b_op("b", {saved(0)}, {of_input(0)})}}) ==
          who + "whose backward op reads what does not exist: entry 0 of its saved tensors");
    CHECK(refusal({.ops = {b_op("b", {of_output(0)}, {output(0)})}}) ==
          who + "whose backward op writes what it may not or what does not exist: entry 0 of its outputs");
    CHECK(refusal({.temporaries = {{"t", 1}}, .ops = {b_op("b", {temporary(0)}, {of_input(0)})}}) ==
          who + "whose backward op reads temporary 0 before one writes it");
    CHECK(refusal({.passes = {{0, 3}}}) ==
          who + "that passes a gradient from output 0 to input 3, one of which does not exist");
}

TEST_CASE("differentiate: losses and options that make no sense are refused")
{
    net n;
    auto const w = n.b.parameter("w", 64);
    auto const y = n.add("relu", {w}, "y");
    CHECK(n.refusal() == "strata::differentiate: no loss; name one in options.losses or make it a target of the graph");
    CHECK(n.refusal({.losses = {9}}) == "strata::differentiate: loss 9 does not exist; the graph has 2 tensors");
    CHECK(n.refusal({.losses = {w}}) == "strata::differentiate: loss 0 (w) is produced by no op");
    CHECK(n.refusal({.losses = {y}, .frozen = {-1}}) ==
          "strata::differentiate: frozen parameter -1 does not exist; the graph has 2 tensors");
}

} // namespace graph_differentiate_test
