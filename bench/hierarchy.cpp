// SPDX-License-Identifier: Apache-2.0
// Partition, solve, merge: what each pipeline makes by itself, after repair and fill, and after polish; and what solving
// each kind of block once is worth.
//
//     bench_hierarchy [--smoke] [--moves N]     polish makes N moves, 20,000 by default
#include <strata/glpk/glpk.hpp>
#include <strata/merge/expand.hpp>
#include <strata/merge/promise.hpp>
#include <strata/partition/at_cut_points.hpp>
#include <strata/partition/bottom_up.hpp>
#include <strata/partition/hierarchy.hpp>
#include <strata/partition/repeated.hpp>
#include <strata/partition/whole.hpp>
#include <strata/pipeline/hierarchical.hpp>
#include <strata/pipeline/planner.hpp>
#include <strata/problem/lower.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/block_dp.hpp>
#include <strata/solve/checkmate.hpp>
#include <strata/solve/default_solver.hpp>
#include <strata/solve/hierarchical_ilp.hpp>
#include <strata/solve/polish.hpp>
#include <strata/solve/portfolio.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/small_gpt.hpp"
#include "bench/support.hpp"
#include "examples/zoo/models.hpp"

namespace {

using namespace strata;
using now = std::chrono::steady_clock;

int refused = 0; // plans that the judge did not accept
std::int64_t moves = 20'000;

auto cell(double x) -> std::string { return x < 0 ? "none" : bench::number(x, 2); }

/// A step under one budget.
struct task {
    problem const& p;
    detail::planner const& with;
    bytes_t bytes;
    detail::planner::analysis studied;
    limits lim = {};
    stop_watch stop = {};

    [[nodiscard]] auto percent(cost_t cost) const -> double
    {
        return 100 * (static_cast<double>(cost) / static_cast<double>(p.base_cost()) - 1);
    }
    [[nodiscard]] auto begin() const -> search { return {p, bytes, studied.points, studied.bound, lim, stop}; }
    [[nodiscard]] auto judged(run_order const& order) const -> double
    {
        auto const v = validate(p, free_early(p, order), bytes);
        refused += v.ok() ? 0 : 1;
        return percent(v.cost);
    }
};

void print_row(
    std::string_view what, double alone, double filled, double polished, double options_s, double rest_s, double bound)
{
    std::cout << " | " << what << " | " << cell(alone) << " | " << cell(filled) << " | " << cell(polished) << " | "
              << bench::number(options_s, 2) << " | " << bench::number(rest_s, 2) << " | "
              << (polished < 0 ? "" : bench::number(polished - bound, 2)) << " |\n"
              << std::flush;
}

/// What `on` has found, and what polish makes of it.
void finish(task const& t, search& on, double& filled, double& polished)
{
    if (on.best()) {
        filled = t.judged(on.best()->order);
        polish{.moves = moves}.solve(on);
        polished = t.judged(on.best()->order);
    }
}

template <class S>
void flat(std::string_view head, std::string_view what, task const& t, double bound, S const& s)
{
    double filled = -1;
    double polished = -1;
    auto const start = now::now();
    auto on = t.begin();
    s.solve(on);
    auto const seconds = bench::seconds_since(start);
    finish(t, on, filled, polished);
    std::cout << head;
    print_row(what, -1, filled, polished, 0, seconds, bound);
}

/// A pipeline whose options, which do not depend on the budget, are made once.
template <class H>
struct prepared {
    H solver;
    std::optional<hierarchy> cut = {};
    std::optional<block_graph> top = {};
    double seconds = 0;

    prepared(H how, task const& t)
        : solver(how)
    {
        auto const start = now::now();
        auto made = hierarchy::make(t.p, solver.partition);
        if (made && !(*made)[0].parts.empty()) {
            cut = *std::move(made);
            auto const on = t.begin();
            top = solver.top(*cut, solver.options_of(*cut, on));
        }
        seconds = bench::seconds_since(start);
    }

    void run(std::string_view head, std::string_view what, task const& t, double bound) const
    {
        std::cout << head;
        if (!top) {
            std::cout << " | " << what << " | takes no such step |||||\n";
            return;
        }
        double alone = -1;
        double filled = -1;
        double polished = -1;
        auto const start = now::now();
        auto on = t.begin();
        if (auto const plan = solver.merge.merge(*top, t.bytes, t.stop)) {
            auto const promise = promise_of(*top, *plan);
            auto const order = in_first_run_order(t.p, expand(*top, *plan));
            alone = promise.peak <= t.bytes && peak_of(t.p, order) <= t.bytes ? t.judged(order) : -1;
            on.propose({.make = [&] { return order; }, .name = "merged"});
        }
        auto const rest = bench::seconds_since(start);
        finish(t, on, filled, polished);
        print_row(what, alone, filled, polished, seconds, rest, bound);
    }
};

using hiremate = hierarchical<bottom_up, quick_solver, hierarchical_ilp<glpk>>;
using rockmate = hierarchical<at_cut_points<whole>, portfolio<quick_solver, checkmate<glpk>>, block_dp>;
using quick_dp = hierarchical<bottom_up, quick_solver, block_dp>;

void ablation(std::string_view name, problem const& p, std::vector<int> const& budgets)
{
    detail::planner const with(p);
    auto const all = with.analyse(with.keep_all_peak(), {});
    if (!all) {
        return;
    }
    task const any{p, with, with.keep_all_peak(), *all};
    option_effort const few{.budgets = 5, .peaks = 1, .most_options = 4}; // integer programs grow with each option
    prepared const ilp(hiremate{.merge = {{}, {.max_nodes = 50}}, .effort = few}, any);
    prepared const rock(rockmate{.solve_block = portfolio(quick_solver{}, checkmate<glpk>{{}, {.max_nodes = 20}}),
                                 .effort = {.budgets = 6}},
                        any);
    prepared const dp(quick_dp{}, any);
    for (auto budget : budgets) {
        auto const bytes =
            budget::fraction(budget / 100.0).resolve(p.resident_bytes(), with.keep_all_peak() - p.resident_bytes());
        auto const head = "| " + std::string(name) + " | " + std::to_string(budget) + " %";
        auto studied = with.analyse(bytes, {});
        if (!studied) {
            std::cout << head << " | infeasible ||||||\n";
            continue;
        }
        task const t{p, with, bytes, *std::move(studied)};
        auto const keep = candidate{with.keep_all(), p.base_cost(), ""};
        auto const bound = t.percent(with.tighten(bytes, keep, t.studied.bound, {}).bound.cost);
        ilp.run(head, "HiRemate: bottom_up, H-ILP on GLPK", t, bound);
        rock.run(head, "Rockmate: at_cut_points, checkmate on GLPK, block_dp", t, bound);
        dp.run(head, "bottom_up, cuts, block_dp", t, bound);
        flat(head, "flat: one cut", t, bound, cut{.one_shot = true});
        flat(head, "flat: default seeds", t, bound, default_solver{});
    }
}

template <class P>
void kinds(std::string_view name, problem const& p, P const& by)
{
    hierarchical<P> const solver{.partition = by};
    limits const lim;
    auto const cut = hierarchy::make(p, by);
    if (!cut) {
        std::cout << "| " << name << " | " << by.name() << " | " << cut.error().message << " |||||\n";
        return;
    }
    search const on(p, max_bytes, {}, {p.base_cost(), none, false}, lim, {});
    auto start = now::now();
    auto const counts = solver.count(p);
    auto const cutting = bench::seconds_since(start);
    start = now::now();
    auto const options = solver.options_of(*cut, on);
    auto const once = bench::seconds_since(start);
    // The same without noticing what is alike: every block by itself.
    start = now::now();
    for (std::size_t i = 1; i < cut->size(); ++i) {
        auto const& b = (*cut)[i].ops;
        if ((*cut)[i].parts.empty() && !b.forward.empty() && !b.backward.empty()) {
            (void)options_by_solver(p, b, quick_solver{}, solver.effort, lim, {});
        }
    }
    auto const each = bench::seconds_since(start);
    std::cout << "| " << name << " | " << by.name() << " | " << p.op_count() << " | " << counts->blocks << " | "
              << counts->kinds << " | " << counts->solved << " | " << bench::number(cutting, 3) << " | "
              << bench::number(once, 3) << " | " << bench::number(each, 3) << " |\n"
              << std::flush;
}

auto gpt_of(std::int64_t layers) -> problem
{
    constexpr auto type = zoo::dtype::fp16;
    zoo::network n("gpt", type);
    auto const loss = bench::small_gpt(n, layers, 0.1);
    auto const graph = std::move(n).train(loss);
    return lower(graph.value(), roofline_cost(zoo::default_device(type))).value().problem();
}

} // namespace

int main(int argc, char** argv)
{
    auto const smoke = bench::smoke(argc, argv);
    for (int i = 1; i + 1 < argc; ++i) {
        moves = std::string_view(argv[i]) == "--moves" ? std::atol(argv[i + 1]) : moves;
    }
    bench::print_setting("hierarchy");
    std::cout << "\n| graph | by | ops | blocks | kinds | solved | cut and sort s | options s | every block s |\n"
                 "|---|---|---|---|---|---|---|---|---|\n";
    for (auto const* name : {"gpt12", "gpt48", "gpt250", "encdec6_6", "resnet50"}) {
        auto const g = smoke ? std::nullopt : bench::load(name);
        if (g) {
            kinds(name, g->numbers, at_cut_points<whole>{});
            kinds(name, g->numbers, bottom_up{});
            kinds(name, g->numbers, repeated<whole>{});
        } else if (!smoke) {
            std::cout << "| " << name << " | not there: skipped ||||||||\n";
        }
    }
    std::cout
        << "\n| graph | budget | pipeline | alone | + repair, fill | + polish | options s | merge to fill s | gap |\n"
           "|---|---|---|---|---|---|---|---|---|\n";
    if (smoke) {
        moves = 100;
        ablation("gpt of 1 layer", gpt_of(1), {95});
    } else {
        std::vector<int> const budgets = {80, 60, 50, 40, 30, 20};
        ablation("gpt of 5 layers", gpt_of(5), budgets);
        for (auto const* name : {"gpt12", "encdec6_6", "resnet50", "unet4_2"}) {
            if (auto const g = bench::load(name)) {
                ablation(name, g->numbers, budgets);
            } else {
                std::cout << "| " << name << " | not there: skipped |||||||\n";
            }
        }
    }
    std::cout << '\n' << refused << " plans refused by the judge\n";
    return refused == 0 ? 0 : 1;
}
