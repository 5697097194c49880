// SPDX-License-Identifier: Apache-2.0
// Fit an inference pass into the RAM of a microcontroller, in an order of our choice. The output is checked against 09_inference.expected.
#include <strata/strata.hpp>

#include <array>
#include <cstddef>
#include <iostream>
#include <string>
#include <vector>

namespace {

using strata::tensor_id;

struct kernel {
    double microseconds;
};

/// Cells of four branches, each of which widens and narrows again. A cell reads the two before it, and its ops are listed
/// kind by kind. Weights lie in flash and are left out; the image comes from a sensor, once.
auto irregular_net() -> strata::training_graph<kernel>
{
    strata::graph_builder<kernel> net("cells");
    auto const add = [&](std::string const& name, double us, std::vector<tensor_id> reads, strata::bytes_t kib) {
        return tensor_id(net.add({us}, std::move(reads), {{.name = name, .bytes = kib << 10}}, {.name = name}));
    };
    tensor_id const image =
        net.add({100}, {}, {{.name = "image", .bytes = 12 << 10}}, {.effects = strata::effect::once});
    auto const detail = add("detail", 400, {image}, 48); // for the first cell, and for the result
    std::array before{detail, add("stem", 400, {image}, 24)};
    for (int cell = 0; cell < 4; ++cell) {
        auto const name = "cell" + std::to_string(cell);
        std::vector<tensor_id> wide, narrow;
        for (std::size_t branch = 0; branch < 4; ++branch) {
            wide.push_back(add(name + ".wide", 900, {before[branch % 2]}, 60));
        }
        for (auto w : wide) {
            narrow.push_back(add(name + ".narrow", 700, {w}, 12));
        }
        before = {before[1], add(name, 300, narrow, 24)};
    }
    net.target(add("mask", 500, {before[0], before[1], detail}, 12));
    return net.build().value();
}

auto kib(strata::bytes_t n) -> std::string { return std::to_string(n >> 10) + " KiB"; }

} // namespace

int main()
{
    auto const net = irregular_net();
    auto const us = strata::priced_by([](kernel const& k) { return k.microseconds; });
    // [free]
    auto const made = strata::plan_free_order(net, us);
    auto const& c = made->plan.certificate;
    std::cout << "as listed " << kib(c.keep_all_peak) << ", reordered " << kib(c.peak)
              << (made->order.minimal() ? ", which no order beats" : "") << ", arena "
              << kib(made->plan.placement.arena) << '\n';
    // [free]
    for (int const budget : {256, 160, 144, 128}) {
        auto const small = strata::plan_free_order(net, us, {.budget = strata::budget::bytes(budget << 10)});
        std::cout << budget << " KiB: " << (small ? describe(small->plan.certificate) : small.error().message) << '\n';
    }
}
