// SPDX-License-Identifier: Apache-2.0
// Plan the training step of a net into 60 % of its memory. The output is checked against 01_quickstart.expected.
#include <strata/strata.hpp>

#include <iostream>

struct layer { // an operator can be of any type
    double ns;
};

int main()
{
    strata::graph_builder<layer> net("layers");
    auto h = net.input("images", 1 << 20);
    for (int i = 0; i < 24; ++i) { // dear and cheap layers in turn, 32 MiB each
        h = net.add(layer{i % 2 == 0 ? 9e5 : 5e4}, {h}, {{.name = "h", .bytes = 32 << 20}});
    }
    auto const backward = [](layer const& op, auto const&) -> strata::op_gradient<layer> {
        using namespace strata::grad; // it reads the layer's input and the gradient of its output
        return {.ops = {{layer{2 * op.ns}, {input(0), of_output(0)}, {of_input(0)}}}};
    };
    auto const step = strata::differentiate(*net.build(), backward, {.losses = {h}, .input_gradients = {0}});
    auto const ns = strata::priced_by([](layer const& op) { return op.ns; });
    auto const plan = strata::plan(*step, ns, {.budget = strata::budget::fraction(0.6)});
    std::cout << describe(plan->certificate) << '\n';
}
