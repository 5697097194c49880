// SPDX-License-Identifier: Apache-2.0
// The integer program of a level on chains of equal layers, the setting in which HiRemate's own was measured: what each
// backend finds and proves without and with closure cuts, beside a simple plan and the linear relaxation.
// `--seconds n` is the limit of each solve.
#include <strata/cbc/cbc.hpp>
#include <strata/glpk/glpk.hpp>
#include <strata/merge/promise.hpp>
#include <strata/merge/rules.hpp>
#include <strata/solve/hierarchical_ilp.hpp>

#include <cstdlib>
#include <iostream>

#include "bench/support.hpp"

namespace {

using namespace strata;

constexpr std::size_t large = 10'000'000;

// What a layer keeps and how long its backward op then takes.
struct way {
    bytes_t kept;
    cost_t backward;
};

// Layers with a loss at the end. A backward op reads the layer's input, the gradient that arrives and what is kept; outputs
// and gradients have 1 byte, the input of the chain is resident.
auto chain(int layers, cost_t forward, std::vector<way> const& ways) -> problem
{
    problem_spec s;
    auto const tensor = [&](bytes_t bytes, tensor_kind kind) {
        s.tensors.push_back({"", bytes, kind});
        return static_cast<tensor_id>(s.tensors.size() - 1);
    };
    std::vector<tensor_id> x{tensor(1, tensor_kind::input)};
    std::vector<tensor_id> saved;
    for (op_id i = 0; i < layers; ++i) {
        x.push_back(tensor(1, tensor_kind::activation));
        saved.push_back(tensor(ways.front().kept, tensor_kind::saved));
        s.ops.push_back({.phase = phase::forward,
                         .cost = forward,
                         .inputs = {x[x.size() - 2]},
                         .outputs = {x.back(), saved.back()}});
    }
    auto gradient = tensor(1, tensor_kind::gradient);
    s.ops.push_back({.phase = phase::backward, .inputs = {x.back()}, .outputs = {gradient}});
    for (op_id i = layers; i-- > 0;) {
        auto const k = static_cast<std::size_t>(i);
        auto const arriving = std::exchange(gradient, tensor(1, tensor_kind::gradient));
        s.ops.push_back({.phase = phase::backward,
                         .cost = ways.front().backward,
                         .inputs = {x[k], saved[k], arriving},
                         .outputs = {gradient},
                         .backward_of = i});
    }
    s.targets = {gradient};
    return problem::make(s).value();
}

// One part for each layer and one for the loss. The ways stand for options of layers not spelled out: they differ in what
// they keep and in what backward costs, and have no peaks beyond what is kept.
auto level(problem const& p, int layers, std::vector<way> const& ways) -> block_graph
{
    std::vector<block> parts{{{}, {static_cast<op_id>(layers)}}};
    std::vector<std::vector<option>> options{{describe(p, parts[0], {}, parts[0].backward)}};
    for (op_id i = 0; i < layers; ++i) {
        parts.push_back({{i}, {p.op_count() - 1 - i}});
        auto const all = describe(p, parts.back(), parts.back().forward, parts.back().backward);
        options.emplace_back();
        for (auto const& w : ways) {
            auto o = all;
            o.kept = w.kept;
            o.forward.records = o.backward.records = {{0, w.kept}};
            o.backward.cost = w.backward;
            options.back().push_back(std::move(o));
        }
    }
    return block_graph::make(p, std::move(parts), std::move(options)).value();
}

struct trial {
    block_graph const* g;
    bytes_t budget;
    cost_t base;
    std::chrono::seconds patience;
    int wrong = 0;

    [[nodiscard]] auto stop() const -> stop_watch
    {
        limits lim;
        lim.deadline = patience;
        return stop_watch(lim);
    }
    [[nodiscard]] auto cell(double cost) const -> std::string
    {
        return bench::number(cost - static_cast<double>(base), 2);
    }

    template <mip_backend B>
    void program(B const& b, int closure)
    {
        auto const begin = std::chrono::steady_clock::now();
        auto const found = solve_hierarchical(*g, budget, b, {.closure_every = closure, .max_entries = large}, stop());
        auto const seconds = bench::seconds_since(begin);
        if (!found) {
            std::cout << to_string(found.error().code) << " | " << bench::number(seconds, 2) << " | " << std::flush;
            return;
        }
        auto const promise = promise_of(*g, found->plan);
        wrong += is_block_plan(*g, found->plan) && promise.peak <= budget && promise.cost == found->cost ? 0 : 1;
        auto const extra = [&](cost_t c) { return std::to_string(c - base); };
        std::cout << (found->optimal ? extra(found->cost)
                                     : "in [" + extra(found->bound) + ", " + extra(found->cost) + "]")
                  << " | " << bench::number(seconds, 2) << " | " << std::flush;
    }

    void row(int layers)
    {
        hierarchical_model const m(*g, budget, {.max_entries = large});
        std::cout << "| " << layers << " | " << budget - g->subject().resident_bytes() << " | " << m.model().columns()
                  << " | " << m.model().row_count() << " | ";
        auto const simple = solve_hierarchical(*g, budget, glpk{}, {.max_entries = 1}, stop());
        std::cout << (simple ? std::to_string(simple->cost - base) : "none") << " | ";
        for (int closure : {0, 1}) {
            auto const bound =
                hierarchical_relaxation(*g, budget, cbc{}, {.closure_every = closure, .max_entries = large}, stop());
            std::cout << (bound ? cell(*bound) : "none") << " | ";
        }
        program(glpk{}, 0);
        program(glpk{}, 1);
        program(cbc{}, 0);
        program(cbc{}, 1);
        std::cout << '\n' << std::flush;
    }
};

} // namespace

int main(int argc, char** argv)
{
    auto const smoke = bench::smoke(argc, argv);
    auto const patience =
        std::chrono::seconds(argc == 3 && std::string_view(argv[1]) == "--seconds" ? std::atoi(argv[2]) : 60);
    bench::print_setting("hierarchical_ilp: cost beyond that of the cheapest options once each; limit of each solve " +
                         std::to_string(patience.count()) + " s");
    int wrong = 0;
    auto const head = "\n| layers | budget | columns | rows | simple | LP | LP, closure | GLPK | s | GLPK, closure | s "
                      "| CBC | s | CBC, closure | s |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    std::cout << "\none option: keeps 4, forward 1, backward 2" << head;
    for (auto [layers, dynamic] :
         {std::pair(4, 16), std::pair(8, 16), std::pair(8, 20), std::pair(8, 26), std::pair(8, 32)}) {
        std::vector<way> const ways = {{4, 2}};
        auto const p = chain(layers, 1, ways);
        auto const g = level(p, layers, ways);
        trial t{&g, p.resident_bytes() + dynamic, p.base_cost(), patience};
        t.row(layers);
        wrong += t.wrong;
        if (smoke) {
            break;
        }
    }
    std::cout
        << "\nfour options: keep 8, 4, 2, 0, forward 3, backward 6, 7, 8, 9; 70, 50, 35, 25 % of keep-all and input"
        << head;
    for (int layers : {4, 6, 8, 10, 14, 20}) {
        std::vector<way> const ways = {{8, 6}, {4, 7}, {2, 8}, {0, 9}};
        auto const p = chain(layers, 3, ways);
        auto const g = level(p, layers, ways);
        auto const all = promise_of(g, once_each(g, std::vector<int>(g.size(), 0))).peak - p.resident_bytes();
        for (int percent : {70, 50, 35, 25}) {
            trial t{&g, p.resident_bytes() + (all + 1) * percent / 100, p.base_cost(), patience};
            t.row(layers);
            wrong += t.wrong;
        }
        if (smoke) {
            break;
        }
    }
    std::cout << "\nplans that break a rule, do not fit or cost otherwise: " << wrong << '\n';
    return wrong == 0 ? 0 : 1;
}
