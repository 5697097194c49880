// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Checks of the engine: gradients against finite differences, the rules that an engine keeps, and that both
/// networks learn.
#include <strata/execute/checking.hpp>
#include <strata/execute/executor.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory_resource>
#include <string>
#include <utility>
#include <vector>

#include "examples/engine_eigen/layers.hpp"
#include "examples/engine_eigen/models.hpp"
#include "examples/engine_eigen/optimizer.hpp"
#include "examples/engine_eigen/plain_step.hpp"
#include "examples/engine_eigen/planned_step.hpp"

namespace engine_eigen {
namespace {

int failures = 0;

void check(bool ok, std::string const& what)
{
    std::printf("%-6s %s\n", ok ? "ok" : "FAILED", what.c_str());
    failures += ok ? 0 : 1;
}

/// The value of an answer that must be there.
template <class T>
auto get(strata::result<T> r) -> T
{
    if (!r) {
        std::printf("FAILED %s\n", r.error().message.c_str());
        std::exit(1);
    }
    return *std::move(r);
}

/// A layer, and the shape of what it reads.
struct subject {
    char const* name;
    shape reads;
    std::function<value(network&, std::string const&, value const&)> layer;
    bool in_place = false;
};

auto subjects() -> std::vector<subject>
{
    return {
        {"linear", {3, 5}, [](network& n, std::string const& f, value const& x) { return linear(n, f, x, 4); }},
        {"convolution",
         {2, 3, 4, 6},
         [](network& n, std::string const& f, value const& x) { return convolution(n, f, x, 2); }},
        {"convolution, window of 5",
         {2, 1, 4, 4},
         [](network& n, std::string const& f, value const& x) { return convolution(n, f, x, 2, 5); }},
        {"layer norm", {6, 4}, [](network& n, std::string const& f, value const& x) { return layer_norm(n, f, x); }},
        {"batch norm",
         {4, 2, 3, 2},
         [](network& n, std::string const& f, value const& x) { return batch_norm(n, f, x); }},
        {"gelu", {4, 4}, [](network& n, std::string const& f, value const& x) { return gelu(n, f, x); }},
        {"relu in place",
         {8, 4},
         [](network& n, std::string const& f, value const& x) { return relu_in_place(n, f, x); },
         true},
        {"dropout", {8, 4}, [](network& n, std::string const& f, value const& x) { return dropout(n, f, x, 0.3F); }},
        {"add",
         {4, 4},
         [](network& n, std::string const& f, value const& x) { return add(n, f, x, gelu(n, f + ".gelu", x)); }},
        {"attention",
         {2, 5, 24},
         [](network& n, std::string const& f, value const& x) { return attention(n, f, x, 2); }},
        {"max pool", {2, 2, 4, 6}, [](network& n, std::string const& f, value const& x) { return max_pool(n, f, x); }},
        {"global average pool and flatten",
         {3, 4, 2, 4},
         [](network& n, std::string const& f, value const& x) {
             return flatten(n, f, global_average_pool(n, f + ".mean", x));
         }},
    };
}

/// A net that ends in cross entropy over classes of 4; all it reads is trained, so that all of it has a gradient.
template <class Build>
auto ends_in_loss(Build const& build) -> model
{
    network n("check");
    value const y = build(n);
    auto const rows = count(y.dims) / 4;
    auto const targets = n.input("targets", {rows}, sizeof(std::int32_t));
    return get(std::move(n).train(cross_entropy(n, "loss", {y.id, {rows, 4}}, targets)));
}

/// Largest error of a gradient of `m`, as a share of the norm of its tensor. Every run draws the same random numbers.
auto gradient_error(model const& m) -> double
{
    engine e(m, 5);
    generator noise(6);
    for (auto const& p : m.parameters) {
        for (auto& x : e.resident().as(p.value)) {
            x += 0.5F * noise.normal();
        }
    }
    for (strata::tensor_id t = 0; t < m.step.tensor_count(); ++t) {
        if (m.step.kind_of(t) == strata::tensor_kind::input) {
            for (auto& token : e.resident().as<std::int32_t>(t)) {
                token = static_cast<std::int32_t>(noise.below(4));
            }
        }
    }
    plain_step step(m, e);
    auto const loss = [&] {
        e.set_random_state(generator(7));
        return static_cast<double>(step.run());
    };
    e.zero_gradients();
    loss();
    std::vector<std::vector<float>> gradients;
    for (auto const& p : m.parameters) {
        auto const g = e.resident().as(p.gradient);
        gradients.emplace_back(g.begin(), g.end());
    }
    double worst = 0;
    constexpr float h = 2e-3F;
    for (std::size_t k = 0; k < m.parameters.size(); ++k) {
        auto const x = e.resident().as(m.parameters[k].value);
        double error = 0;
        double norm = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            auto const before = x[i];
            x[i] = before + h;
            auto const above = loss();
            x[i] = before - h;
            auto const below = loss();
            x[i] = before;
            auto const g = static_cast<double>(gradients[k][i]);
            error += std::pow((above - below) / (2 * static_cast<double>(h)) - g, 2);
            norm += g * g;
        }
        worst = std::max(worst, std::sqrt(error / norm));
    }
    return worst;
}

void check_gradients(std::string const& name, model const& m)
{
    auto const error = gradient_error(m);
    char text[100];
    std::snprintf(text, sizeof text, "gradients of %s: error %.1e", name.c_str(), error);
    check(error < 1e-2, text);
}

void check_all_gradients()
{
    for (auto const& s : subjects()) {
        auto const x = [&](network& n) { return value{n.parameter("x", s.reads, 0, 1), s.reads}; };
        // A gradient of an activation is overwritten by its only producer, that of a parameter is added into.
        check_gradients(s.name, ends_in_loss([&](network& n) { return s.layer(n, "f", gelu(n, "x.gelu", x(n))); }));
        if (!s.in_place) {
            check_gradients(std::string(s.name) + ", added",
                            ends_in_loss([&](network& n) { return s.layer(n, "f", x(n)); }));
        }
        // Two layers that read one activation: the second backward op adds.
        check_gradients(std::string(s.name) + ", twice", ends_in_loss([&](network& n) {
                            auto const h = gelu(n, "x.gelu", x(n));
                            auto const other = gelu(n, "other", h);
                            auto const y = s.layer(n, "f", s.in_place ? gelu(n, "h.gelu", h) : h);
                            return add(n, "sum", y, s.layer(n, "g", other));
                        }));
    }
    check_gradients("cross entropy", ends_in_loss([](network& n) {
                        return value{n.parameter("logits", {6, 4}, 0, 1), {6, 4}};
                    }));
    check_gradients("embedding", ends_in_loss([](network& n) {
                        return embedding(n, "f", n.input("tokens", {3, 4}, sizeof(std::int32_t)), 4, 8);
                    }));
}

/// Every op writes what it says and nothing else, uses its workspace whole, and makes the same bytes when it runs again.
/// The plan repeats an op with effect `repeated`.
void check_rules(std::string const& name, model const& m, strata::effect repeated)
{
    auto const plan = get(plan_step(m, strata::budget::fraction(0.2)));
    engine e(m, 1);
    generator data(2);
    strata::executor step(plan, e, strata::checking(*std::pmr::new_delete_resource()));
    bind_resident(step, m, e);
    std::string fault;
    try {
        for (int i = 0; i < 2; ++i) {
            m.next_batch(data, e.resident());
            step.run();
        }
    } catch (strata::engine_fault const& x) {
        fault = x.what();
    }
    check(fault.empty(), name + " keeps the rules of an engine" + fault);
    bool whole = true;
    for (strata::op_id o = 0; o < m.step.op_count(); ++o) {
        whole = whole && step.memory().touched_workspace(o) == m.step.op_workspace(o);
    }
    check(whole, name + " uses the workspace that it asks for");
    auto const again = repeated == strata::effect::random ? plan.replayed_random_op() : plan.replayed_stateful_op();
    check(again != strata::none, name + " runs an op again that is " + strata::to_string(repeated));
}

void check_accumulation()
{
    auto const m = get(gpt({.layers = 1, .width = 16, .heads = 2, .context = 8, .batch = 2}));
    engine e(m, 1);
    generator data(2);
    plain_step step(m, e);
    m.next_batch(data, e.resident());
    e.set_random_state(generator(3));
    step.run();
    auto const gradient = e.resident().as(m.parameters.back().gradient);
    std::vector<float> const once(gradient.begin(), gradient.end());
    e.set_random_state(generator(3));
    step.run();
    bool twice = true;
    for (std::size_t i = 0; i < once.size(); ++i) {
        twice = twice && std::abs(gradient[i] - 2 * once[i]) <= 1e-5F;
    }
    check(twice, "gradients of parameters add up over steps");
}

void check_learning(std::string const& name, model const& m, optimizer with)
{
    engine e(m, 1);
    generator data(2);
    plain_step step(m, e);
    constexpr int steps = 60;
    constexpr int part = 10;
    float first = 0;
    float last = 0;
    for (int i = 0; i < steps; ++i) {
        m.next_batch(data, e.resident());
        e.zero_gradients();
        auto const loss = step.run();
        update(with, m, e);
        first += i < part ? loss / part : 0;
        last += i >= steps - part ? loss / part : 0;
    }
    char text[100];
    std::snprintf(text,
                  sizeof text,
                  "%s learns: loss %.3f to %.3f",
                  name.c_str(),
                  static_cast<double>(first),
                  static_cast<double>(last));
    check(last < 0.9F * first, text);
}

} // namespace
} // namespace engine_eigen

auto main() -> int
{
    using namespace engine_eigen;
    check_all_gradients();
    check_rules("gpt", get(gpt()), strata::effect::random);
    check_rules("convnet", get(convnet()), strata::effect::stateful);
    check_accumulation();
    check_learning("gpt, AdamW,", get(gpt()), adamw{});
    check_learning("convnet, SGD,", get(convnet()), sgd{});
    return failures == 0 ? 0 : 1;
}
