// SPDX-License-Identifier: Apache-2.0
// The integer program on small steps: what the linear relaxation proves without and with closure cuts, what each backend
// finds and proves, beside the min-cut bound, the default solver, and `thorough` polished by a number of moves. `--seconds n`
// is the limit of each solve.
#include <strata/bound/lower_bound.hpp>
#include <strata/cbc/cbc.hpp>
#include <strata/glpk/glpk.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/pipeline/thorough.hpp>
#include <strata/problem/lower.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/checkmate.hpp>

#include <algorithm>
#include <array>
#include <numeric>

#include "bench/small_gpt.hpp"
#include "bench/support.hpp"
#include "examples/zoo/layers.hpp"
#include "examples/zoo/models.hpp"

namespace {

using namespace strata;
using zoo::network;
using zoo::value;

// Linear layers of changing width with an activation after each.
auto chain(network& n, int layers) -> value
{
    constexpr std::array<std::int64_t, 4> widths = {1024, 2048, 512, 1536};
    auto x = n.input("x", {8192, 1024});
    for (int i = 0; i < layers; ++i) {
        network::scope const in(n, "layer" + std::to_string(i));
        x = gelu(n, linear(n, "linear", x, widths[static_cast<std::size_t>(i * 7 + i / 3) % widths.size()]));
    }
    return cross_entropy(n, linear(n, "head", x, 256));
}

// Blocks of a transformer without its attention.
auto residual_mlp(network& n, int layers) -> value
{
    auto x = linear(n, "in", n.input("x", {8192, 256}), 1024);
    for (int i = 0; i < layers; ++i) {
        network::scope const in(n, "layer" + std::to_string(i));
        auto const inner = gelu(n, linear(n, "up", layer_norm(n, "norm", x), 4096));
        x = add(n, x, dropout(n, linear(n, "down", inner, 1024), 0.1));
    }
    return cross_entropy(n, linear(n, "head", x, 256));
}

// Two convolutions a level, as many levels down and up.
auto tiny_u_net(network& n, int levels) -> value
{
    auto const twice = [&](value x, std::int64_t out) {
        for (auto const* name : {"conv1", "conv2"}) {
            x = relu(n, zoo::batch_norm(n, name, zoo::conv(n, name, x, out, {})));
        }
        return x;
    };
    auto x = n.input("image", {8, 3, 256, 256});
    std::vector<value> skips;
    for (int level = 0; level < levels; ++level) {
        network::scope const in(n, "down" + std::to_string(level));
        x = twice(x, 64 << level);
        skips.push_back(x);
        x = zoo::max_pool(n, x, {.kernel = 2, .stride = 2, .padding = 0});
    }
    x = twice(x, 64 << levels);
    for (int level = levels; level-- > 0;) {
        network::scope const in(n, "up" + std::to_string(level));
        auto const larger = zoo::conv_transpose(n, "up", x, 64 << level);
        x = twice(zoo::concat(n, {skips[static_cast<std::size_t>(level)], larger}, 1), 64 << level);
    }
    return zoo::pointwise_loss(
        n, "binary_cross_entropy", "binary_cross_entropy.backward", zoo::conv(n, "head", x, 1, {.kernel = 1}));
}

auto gpt(network& n, int layers) -> value { return bench::small_gpt(n, layers, 0); }

struct instance {
    std::string_view name;
    value (*add)(network&, int);
    int size;
    std::vector<int> budgets; // percent of the dynamic keep-all peak
};

auto make(instance const& i) -> problem
{
    constexpr auto type = zoo::dtype::fp16;
    network n(std::string(i.name), type);
    auto const loss = i.add(n, i.size);
    auto const graph = std::move(n).train(loss);
    return lower(graph.value(), roofline_cost(zoo::default_device(type))).value().problem();
}

auto cell(double x) -> std::string { return x < 0 ? "none" : bench::number(x, 3); }

struct trial {
    problem const* p;
    bytes_t bytes;
    run_order known;
    std::chrono::seconds patience;
    int wrong = 0;
    cost_t optimum = max_cost; // the least that a program has proven to be that of its class

    [[nodiscard]] auto percent(double extra) const -> double
    {
        return 100 * extra / static_cast<double>(std::max<cost_t>(1, p->base_cost()));
    }
    [[nodiscard]] auto stop() const -> stop_watch
    {
        limits lim;
        lim.deadline = patience;
        return stop_watch(lim);
    }

    template <mip_backend B>
    void relaxation(B const& b, int closure) const
    {
        auto const begin = std::chrono::steady_clock::now();
        auto const bound = checkmate_relaxation(*p, bytes, b, {.passes = 1, .closure_every = closure}, stop());
        std::cout << cell(bound ? percent(*bound) : -1) << " | " << bench::number(bench::seconds_since(begin), 2)
                  << " | " << std::flush;
    }

    template <mip_backend B>
    void program(B const& b, int closure)
    {
        auto const begin = std::chrono::steady_clock::now();
        checkmate_options how{.passes = 1, .closure_every = closure};
        how.known = known.empty() ? std::nullopt : std::optional(known);
        auto const found = solve_checkmate(*p, bytes, b, how, stop());
        auto const seconds = bench::seconds_since(begin);
        if (!found) {
            std::cout << to_string(found.error().code) << " | " << bench::number(seconds, 2) << " | " << std::flush;
            return;
        }
        auto const judged = validate(*p, free_early(*p, found->order), bytes);
        wrong += judged.ok() && judged.cost == found->cost ? 0 : 1;
        optimum = found->optimal ? std::min(optimum, found->cost) : optimum;
        auto const extra = [&](cost_t c) { return percent(static_cast<double>(c - p->base_cost())); };
        std::cout << (found->optimal ? cell(extra(found->cost))
                                     : "in [" + cell(extra(found->bound)) + ", " + cell(extra(found->cost)) + "]")
                  << " | " << bench::number(seconds, 2) << " | " << std::flush;
    }
};

struct tally {
    int wrong = 0;  // orders that the judge refuses or prices otherwise
    int proven = 0; // rows with a proven optimum
    int met = 0;    // of them, those at which the portfolio is there or below
};

void rows_of(instance const& i, std::chrono::seconds patience, tally& t)
{
    auto const p = make(i);
    auto const dynamic = peak_of(p, keep_all_order(p)) - p.resident_bytes();
    for (auto percent : i.budgets) {
        auto const bytes = budget::fraction(percent / 100.0).resolve(p.resident_bytes(), dynamic);
        trial r{&p, bytes, {}, patience};
        std::vector<op_id> all(static_cast<std::size_t>(p.op_count()));
        std::iota(all.begin(), all.end(), 0);
        auto const cut = lower_bound(p, bytes, all);
        auto const begin = std::chrono::steady_clock::now();
        auto const planned = plan(p, {.budget = budget::bytes(bytes)});
        auto const seconds = bench::seconds_since(begin);
        std::cout << "| " << i.name << " | " << p.op_count() << " | " << percent << " % | "
                  << (cut.infeasible ? "infeasible" : cell(r.percent(static_cast<double>(cut.cost - p.base_cost()))))
                  << " | " << (planned ? cell(100 * planned->certificate.overhead()) : "none") << " | "
                  << bench::number(seconds, 3) << " | " << std::flush;
        auto const start = std::chrono::steady_clock::now();
        auto const portfolio = plan(p, {.budget = budget::bytes(bytes)}, thorough{.polish = {.moves = 50'000}});
        std::cout << (portfolio ? cell(100 * portfolio->certificate.overhead()) : "none") << " | "
                  << bench::number(bench::seconds_since(start), 2) << " | " << std::flush;
        if (planned) {
            r.known = runs_of(planned->schedule);
        }
        r.relaxation(cbc{}, 0);
        r.relaxation(cbc{}, 1);
        r.program(glpk{}, 0);
        r.program(glpk{}, 1);
        r.program(cbc{}, 0);
        r.program(cbc{}, 1);
        std::cout << '\n' << std::flush;
        t.wrong += r.wrong;
        t.wrong += portfolio && !validate(p, portfolio->schedule, bytes).ok() ? 1 : 0;
        t.proven += r.optimum < max_cost ? 1 : 0;
        t.met += r.optimum < max_cost && portfolio && portfolio->certificate.cost <= r.optimum ? 1 : 0;
    }
}

} // namespace

int main(int argc, char** argv)
{
    auto const smoke = bench::smoke(argc, argv);
    auto const patience =
        std::chrono::seconds(argc == 3 && std::string_view(argv[1]) == "--seconds" ? std::atoi(argv[2]) : 60);
    bench::print_setting(
        "ilp: overhead in percent of the plain step's cost, one pass per stage, each solve limited to " +
        std::to_string(patience.count()) + " s; each program starts from the default solver's plan");
    std::cout << "\n| graph | ops | budget | cut bound | default | s | polished | s | LP | s | LP, closure | s | GLPK "
                 "| s | GLPK, "
                 "closure | s "
                 "| CBC | s | CBC, closure | s |\n"
                 "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    std::vector<instance> instances = {{"chain6", chain, 6, {60, 50, 40}},
                                       {"chain8", chain, 8, {60, 50}},
                                       {"chain10", chain, 10, {60, 50}},
                                       {"chain14", chain, 14, {60}},
                                       {"resmlp2", residual_mlp, 2, {60, 50}},
                                       {"resmlp3", residual_mlp, 3, {60, 50}},
                                       {"resmlp4", residual_mlp, 4, {60, 50}},
                                       {"unet1", tiny_u_net, 1, {60, 50}},
                                       {"gpt1", gpt, 1, {80, 75}},
                                       {"unet2", tiny_u_net, 2, {60, 50}},
                                       {"gpt2", gpt, 2, {70, 60}}};
    if (smoke) {
        instances = {{"chain6", chain, 6, {60}}, {"resmlp2", residual_mlp, 2, {60}}};
    }
    tally t;
    for (auto const& i : instances) {
        rows_of(i, patience, t);
    }
    std::cout << "\norders that the judge refuses or prices otherwise: " << t.wrong << "\nproven optima: " << t.proven
              << ", reached by thorough and polish, or improved on beyond the program's class: " << t.met << '\n';
    return t.wrong == 0 ? 0 : 1;
}
