// SPDX-License-Identifier: Apache-2.0
// What every budget costs, and what happens when one is too small.
#include <strata/strata.hpp>

#include <iostream>

namespace {

auto layers(int n) -> strata::problem
{
    strata::problem_spec s;
    s.tensors.push_back({"input", 1 << 20, strata::tensor_kind::input});
    for (int i = 0; i < n; ++i) {
        s.tensors.push_back({"h" + std::to_string(i), 8 << 20, strata::tensor_kind::activation});
        s.ops.push_back(
            {.name = "layer" + std::to_string(i), .cost = 100 + 50 * (i % 3), .inputs = {i}, .outputs = {i + 1}});
    }
    for (int i = n; i-- > 0;) {
        auto const above = static_cast<strata::tensor_id>(s.tensors.size()) - 1;
        s.tensors.push_back({"g" + std::to_string(i), 8 << 20, strata::tensor_kind::gradient});
        s.ops.push_back(
            {.name = "back" + std::to_string(i), .cost = 300, .inputs = {i, above}, .outputs = {above + 1}});
    }
    s.targets = {2 * n};
    return strata::problem::make(s).value();
}

} // namespace

int main()
{
    auto const p = layers(32);
    // [frontier]
    auto const plans = strata::frontier(p, strata::even_budgets(p, 6));
    for (auto const& one : *plans) {
        auto const& c = one.certificate;
        std::cout << (c.budget >> 20) << " MiB: " << describe(c) << '\n';
    }
    // [frontier]
    // [infeasible]
    auto const none = strata::plan(p, {.budget = strata::budget::bytes(10 << 20)});
    std::cout << none.error().message << '\n';
    // [infeasible]
}
