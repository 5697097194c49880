// SPDX-License-Identifier: Apache-2.0
// A graph type of one's own, planned where it lies: strata asks it questions through free functions and never copies it.
#include <strata/strata.hpp>

#include <cstddef>
#include <iostream>
#include <string>
#include <vector>

// [graph]
namespace engine { // knows nothing of strata

struct buffer {
    std::string name;
    std::size_t bytes;
};
struct instruction {
    std::string name;
    std::vector<std::size_t> reads, writes; // indices of buffers
    std::size_t overwrites = SIZE_MAX;      // the buffer it changes in place, if any
    bool dice = false;                      // draws random numbers
};
struct tape {
    std::vector<buffer> buffers;
    std::vector<instruction> code; // in the order it runs first
};
// [graph]

// [answers]
// The five answers strata needs, found by argument-dependent lookup.
auto op_count(tape const& t) -> std::size_t { return t.code.size(); }
auto tensor_count(tape const& t) -> std::size_t { return t.buffers.size(); }
auto inputs(tape const& t, std::size_t o) -> std::vector<std::size_t> const& { return t.code[o].reads; }
auto outputs(tape const& t, std::size_t o) -> std::vector<std::size_t> const& { return t.code[o].writes; }
auto tensor_bytes(tape const& t, std::size_t b) -> std::size_t { return t.buffers[b].bytes; }

// Three of the optional ones; the others have defaults.
auto mutates(tape const& t, std::size_t o) -> std::vector<std::size_t>
{
    return t.code[o].overwrites == SIZE_MAX ? std::vector<std::size_t>() : std::vector{t.code[o].overwrites};
}
auto effects_of(tape const& t, std::size_t o) -> strata::effects
{
    return t.code[o].dice ? strata::effects(strata::effect::random) : strata::effects();
}
auto targets(tape const& t) -> std::vector<std::size_t> { return {t.buffers.size() - 1}; }
// [answers]

} // namespace engine

static_assert(strata::task_graph<engine::tape>);

int main()
{
    engine::tape t{{{"x", 1000}, {"w", 4000}}, {}};
    constexpr std::size_t layers = 8;
    auto const buffer = [&](std::string const& name) {
        t.buffers.push_back({name, 1000});
        return t.buffers.size() - 1;
    };
    std::vector<std::size_t> h{0};
    for (std::size_t i = 0; i < layers; ++i) { // a product, and in place a nonlinear function with noise
        auto const n = std::to_string(i);
        h.push_back(buffer("h" + n));
        t.code.push_back({"product" + n, {h[i], 1}, {h[i + 1]}});
        t.code.push_back({"noise" + n, {h[i + 1]}, {}, h[i + 1], true});
    }
    for (auto i = layers; i-- > 0;) { // the way back reads every h
        auto const above = t.buffers.size() - 1;
        t.code.push_back({"back" + std::to_string(i), {h[i + 1], above}, {buffer("g" + std::to_string(i))}});
    }

    strata::table_cost const measured(std::vector<strata::cost_t>(t.code.size(), 100));
    auto const plan = strata::plan(t, measured, {.budget = strata::budget::fraction(0.6)});
    std::vector<bool> done(t.code.size());
    std::cout << "again:"; // a product and the noise that overwrites it always run together
    for (auto o : strata::runs_of(plan->schedule)) {
        std::cout << (done[static_cast<std::size_t>(o)] ? " " + t.code[static_cast<std::size_t>(o)].name : "");
        done[static_cast<std::size_t>(o)] = true;
    }
    std::cout << '\n' << describe(plan->certificate) << '\n';
}
