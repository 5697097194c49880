// SPDX-License-Identifier: Apache-2.0
// Run a plan on your own engine: one function runs an op, strata gives it memory. The gradient of the input comes out the
// same, bit by bit, from a quarter of the memory.
#include <strata/execute/compile.hpp>
#include <strata/execute/executor.hpp>
#include <strata/strata.hpp>

#include <cmath>
#include <cstring>
#include <iostream>
#include <span>
#include <vector>

constexpr int numbers = 1000; // per tensor

// [engine]
enum class kind { forward, backward, seed };
struct layer { // h = tanh(a x), its backward op, and the op that begins the backward phase
    kind what;
    float a;
};
using graph = strata::training_graph<layer>;

struct engine {
    graph const& g;
    static constexpr strata::bytes_t alignment = 64;

    void run(strata::op_id o, strata::buffers const& b)
    {
        auto const [what, a] = g.op(o);
        auto* y = b.as<float>(g.outputs(o)[0]);
        for (int i = 0; i < numbers; ++i) {
            auto const t = what == kind::seed ? 0 : std::tanh(a * b.as<float>(g.inputs(o)[0])[i]);
            y[i] = what == kind::forward    ? t
                   : what == kind::backward ? b.as<float>(g.inputs(o)[1])[i] * a * (1 - t * t)
                                            : 1;
        }
    }
};
// [engine]

auto main() -> int
{
    strata::graph_builder<layer> net("tanh");
    auto const x = net.input("x", numbers * sizeof(float));
    strata::tensor_id h = x;
    for (int i = 0; i < 40; ++i) {
        h = net.add(layer{kind::forward, 1 + 0.01F * static_cast<float>(i)},
                    {h},
                    {{.name = "h", .bytes = numbers * sizeof(float)}});
    }
    auto const rule = [](layer const& f, auto const&) -> strata::op_gradient<layer> {
        using namespace strata::grad;
        return {.ops = {{layer{kind::backward, f.a}, {input(0), of_output(0)}, {of_input(0)}}}};
    };
    auto const step =
        strata::differentiate(*net.build(), rule, {.losses = {h}, .input_gradients = {x}, .seed = layer{kind::seed, 0}})
            .value();
    auto const cost = strata::priced_by([](layer const& f) { return f.what == kind::backward ? 2.0 : 1.0; });

    std::vector<float> input(numbers, 0.5F);
    std::vector<float> first;
    // [run]
    auto const from = strata::lower(step, cost, {.alignment = 64});
    for (double share : {1.0, 0.25}) {
        auto const plan = strata::plan(from->problem(), {.budget = strata::budget::fraction(share)});
        auto const program = strata::compile(*from, *plan);
        engine e{step};
        strata::executor run(*program, e); // one slab of plan->placement.arena bytes
        run.bind(x, std::span(input));
        run.run();
        // [run]
        auto const* dx = run.as<float>(step.targets().back());
        first = first.empty() ? std::vector<float>(dx, dx + numbers) : first;
        std::cout << describe(plan->certificate) << "; gradient "
                  << (std::memcmp(dx, first.data(), numbers * sizeof(float)) == 0 ? "the same" : "DIFFERENT") << '\n';
    }
}
