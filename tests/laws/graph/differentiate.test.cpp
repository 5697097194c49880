// SPDX-License-Identifier: Apache-2.0
#include <strata/graph/builder.hpp>
#include <strata/graph/differentiate.hpp>

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"

// Every tensor holds one number, so that a training graph can be run: its parameter gradients must be the derivatives
// that running the forward graph on dual numbers gives, whatever buffers gradients share.
namespace graph_differentiate_test {

using namespace strata;

struct op {
    std::string type;
    std::vector<double> factors = {};
};

auto at(std::int32_t i) -> std::size_t { return static_cast<std::size_t>(i); }

auto rule(op const& x, gradient_request const& ask) -> op_gradient<op>
{
    using namespace strata::grad;
    if (x.type == "mul") {
        return {.ops = {{op{"times"}, {input(1), of_output(0)}, {of_input(0)}},
                        {op{"times"}, {input(0), of_output(0)}, {of_input(1)}}}};
    }
    if (x.type == "add") {
        return {.passes = {{0, 0, op{"copy"}}, {0, 1, op{"copy"}}}};
    }
    if (x.type == "axpy") { // a, b -> a + 2b: the gradient is passed through and read as well
        return {.ops = {{op{"weighted", {2}}, {of_output(0)}, {of_input(1)}}}, .passes = {{0, 0, op{"copy"}}}};
    }
    if (x.type == "reshape") {
        return {.passes = {{0, 0, op{"copy"}}}};
    }
    if (x.type == "view") { // never needs an op
        return {.passes = {{0, 0}}};
    }
    if (x.type == "sin") {
        return {.saved = {{"cos", 8}}, .ops = {{op{"times"}, {saved(0), of_output(0)}, {of_input(0)}}}};
    }
    if (x.type == "tanh_" || x.type == "tanh") {
        return {.ops = {{op{"tanh_b"}, {output(0), of_output(0)}, {of_input(0)}}}};
    }
    if (x.type == "split") { // x -> x, 2x, -3x; by way of a temporary
        std::vector<double> factors;
        for (std::size_t k = 0; k < 3; ++k) {
            if (ask.has_output_gradient(k)) {
                factors.push_back(k == 0 ? 1 : k == 1 ? 2 : -3);
            }
        }
        return {.temporaries = {{"sum", 8}},
                .ops = {{op{"weighted", factors}, {of_output(0), of_output(1), of_output(2)}, {temporary(0)}},
                        {op{"copy"}, {temporary(0)}, {of_input(0)}}}};
    }
    return {}; // "sign" has no gradient
}

/// A value and its derivative by one parameter.
struct dual {
    double v = 0, d = 0;
};

/// Runs `g` with one number per buffer. Gradients are added into, everything else is set.
auto run(training_graph<op> const& g, std::function<dual(tensor_id)> const& given) -> std::vector<dual>
{
    std::vector<dual> value(at(g.tensor_count()));
    std::function<tensor_id(tensor_id)> const buffer = [&](tensor_id t) {
        return g.view_of(t) == none ? t : buffer(g.view_of(t));
    };
    for (tensor_id t = 0; t < g.tensor_count(); ++t) {
        value[at(t)] = given(t);
    }
    for (op_id o = 0; o < g.op_count(); ++o) {
        auto const in = [&](std::size_t k) { return value[at(buffer(g.inputs(o)[k]))]; };
        auto const set = [&](std::size_t k, dual x) { value[at(buffer(g.outputs(o)[k]))] = x; };
        auto const add = [&](double x) {
            for (auto t : g.outputs(o)) {
                value[at(t)].v += x;
            }
        };
        auto const& type = g.op(o).type;
        if (type == "mul") {
            set(0, {in(0).v * in(1).v, in(0).v * in(1).d + in(0).d * in(1).v});
        } else if (type == "add") {
            set(0, {in(0).v + in(1).v, in(0).d + in(1).d});
        } else if (type == "axpy") {
            set(0, {in(0).v + 2 * in(1).v, in(0).d + 2 * in(1).d});
        } else if (type == "reshape") {
            set(0, in(0));
        } else if (type == "sin") {
            auto const x = in(0);
            set(0, {std::sin(x.v), std::cos(x.v) * x.d});
            if (g.outputs(o).size() > 1) {
                set(1, {std::cos(x.v), 0});
            }
        } else if (type == "tanh" || type == "tanh_") {
            auto const y = std::tanh(in(0).v);
            set(0, {y, (1 - y * y) * in(0).d});
        } else if (type == "split") {
            auto const x = in(0);
            set(0, x);
            set(1, {2 * x.v, 2 * x.d});
            set(2, {-3 * x.v, -3 * x.d});
        } else if (type == "sign") {
            set(0, {in(0).v > 0 ? 1.0 : -1.0, 0});
        } else if (type == "times") {
            add(in(0).v * in(1).v);
        } else if (type == "copy") {
            add(in(0).v);
        } else if (type == "tanh_b") {
            add((1 - in(0).v * in(0).v) * in(1).v);
        } else if (type == "weighted") {
            double sum = 0;
            for (std::size_t k = 0; k < g.op(o).factors.size(); ++k) {
                sum += g.op(o).factors[k] * in(k).v;
            }
            add(sum);
        } else if (type == "one") {
            add(1);
        } else {
            REQUIRE(type == "view");
        }
    }
    return value;
}

struct sample {
    graph_builder<op> b;
    std::vector<tensor_id> parameters, losses;
};

auto random_forward(std::mt19937& random) -> sample
{
    sample s;
    auto const below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    std::vector<tensor_id> usable{s.b.input("x", 8)};
    for (std::size_t k = 0; k < 1 + below(3); ++k) {
        s.parameters.push_back(s.b.parameter("w" + std::to_string(k), 8));
        usable.push_back(s.parameters.back());
    }
    auto const any = [&] { return usable[below(usable.size())]; };
    for (std::size_t k = 0; k < 2 + below(9); ++k) {
        auto const name = "t" + std::to_string(k);
        auto const one = [&](char const* type, std::vector<tensor_id> in) {
            usable.push_back(s.b.add(op{type}, std::move(in), {{.name = name, .bytes = 8}}));
        };
        switch (below(9)) {
        case 0:
        case 1: one("mul", {any(), any()}); break;
        case 2:
        case 3: one(below(3) == 0 ? "axpy" : "add", {any(), any()}); break;
        case 4: one("reshape", {any()}); break;
        case 5: one("sin", {any()}); break;
        case 6: {
            auto const x = any();
            usable.push_back(s.b.add(op{"view"}, {x}, {{.name = name, .bytes = 8, .view_of = x}}));
            break;
        }
        case 7: {
            auto const parts = s.b.add(
                op{"split"},
                {any()},
                {{.name = name + "a", .bytes = 8}, {.name = name + "b", .bytes = 8}, {.name = name + "c", .bytes = 8}});
            usable.insert(usable.end(), parts.outputs.begin(), parts.outputs.end());
            break;
        }
        default:
            if (below(3) == 0) {
                one("sign", {any()});
            } else { // a value of its own, changed in place at once
                auto const c = s.b.add(op{"add"}, {any(), any()}, {{.name = name, .bytes = 8}});
                usable.push_back(
                    s.b.add(op{"tanh_"}, {c}, {{.name = name + "_", .bytes = 8, .view_of = c}}, {.mutates = {c}}));
            }
        }
    }
    s.losses.push_back(s.b.add(op{"mul"}, {usable.back(), usable.back()}, {{.name = "loss", .bytes = 8}}));
    if (below(2) == 0) {
        s.losses.push_back(s.b.add(op{"add"}, {s.losses[0], any()}, {{.name = "loss2", .bytes = 8}}));
    }
    return s;
}

TEST_CASE("differentiate: on random graphs the parameter gradients are the derivatives")
{
    int differentiated = 0;
    int shared = 0;
    for (std::uint32_t seed = 0; seed < 3000; ++seed) {
        std::mt19937 random(seed);
        auto const s = random_forward(random);
        auto const forward = s.b.build();
        INFO("seed " << seed);
        REQUIRE(forward);
        auto const step = differentiate(*forward, rule, {.losses = s.losses, .seed = backward_op<op>(op{"one"})});
        if (!step) { // a loss that depends on no parameter
            REQUIRE(step.error().code == errc::invalid_argument);
            continue;
        }
        ++differentiated;
        auto const start = [&](tensor_id by) {
            return [&s, by](tensor_id t) {
                bool const known = t <= s.parameters.back();
                return known ? dual{0.3 + 0.2 * t, t == by ? 1.0 : 0.0} : dual{};
            };
        };
        auto const values = run(*step, start(none));
        for (auto w : s.parameters) {
            auto const exact = run(*forward, start(w));
            double wanted = 0;
            for (auto l : s.losses) {
                wanted += exact[at(l)].d;
            }
            double found = 0;
            for (tensor_id t = 0; t < step->tensor_count(); ++t) {
                if (step->tensor_name(t) == "w" + std::to_string(w - 1) + ".grad") {
                    REQUIRE(step->kind_of(t) == tensor_kind::parameter_gradient);
                    found = values[at(t)].v;
                }
            }
            INFO("parameter " << w);
            REQUIRE(found == Approx(wanted).margin(1e-9));
        }
        for (op_id o = 0; o < step->op_count(); ++o) {
            shared += step->phase_of(o) == phase::backward && step->outputs(o).size() == 1 && step->op(o).type == "copy"
                          ? 1
                          : 0;
        }
    }
    CHECK(differentiated > 1500);
    CHECK(shared > 500);
}

} // namespace graph_differentiate_test
