// SPDX-License-Identifier: Apache-2.0
// How good plans are and how long they take, graph by graph and budget by budget, beside what earlier work measured.
//
//     plan_quality [--smoke] [--polish MOVES]     what so many moves of polish make of it, in a column of its own
#include <strata/pipeline/plan.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/cut.hpp>
#include <strata/solve/polish.hpp>
#include <strata/solve/portfolio.hpp>

#include <algorithm>

#include "bench/known_results.hpp"
#include "bench/study.hpp"
#include "bench/support.hpp"

namespace {

using namespace strata;

using bench::answer;

int refused = 0;

template <class S>
auto ask(problem const& p, bytes_t bytes, S const& s, int repeats = 3) -> answer
{
    auto a = bench::plan_and_judge(p, bytes, s, repeats);
    refused += a.refused;
    return a;
}

/// The best order before it has its place; counts what the judge refuses.
auto in_sum(problem const& p, bytes_t bytes) -> bench::order_found
{
    auto found = bench::search_alone(p, bytes, default_solver{}, 3);
    refused += found.valid ? 0 : 1;
    return found;
}

auto cell(double x, int digits = 2) -> std::string { return x < 0 ? "none" : bench::number(x, digits); }

/// The bound, in percent, on plans that run every backward op once: the rule of the study, where phases are no labels.
auto bound_of_the_study(problem const& p, bytes_t bytes) -> double
{
    auto spec = p.spec();
    for (auto& o : spec.ops) {
        o.effects = o.phase == phase::backward ? o.effects | effects(effect::once) : o.effects;
    }
    auto const strict = problem::make(std::move(spec)).value();
    constexpr op_id all_points = 3000;
    auto const b = lower_bound(strict, bytes, time_points(strict, keep_all_order(strict), 30, 10, all_points));
    auto const base = static_cast<double>(p.base_cost());
    return b.infeasible ? -1 : 100 * (static_cast<double>(b.cost) / base - 1);
}

struct tally {
    int cells = 0, matched = 0, slower = 0, bounds_lower = 0;
    double worst_arena = 1;
};

void synthetic(bool smoke, int moves, tally& t)
{
    std::cout << "\n| graph | budget | bound | study's bound | one cut | s | study | default | s | search s | study | "
                 "study's s | "
                 "with search | polished | arena / peak | by |\n"
                 "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    auto const wanted = [&](bench::study_cell const& known) { return !smoke || known.graph == "gpt12"; };
    bench::for_each_cell(wanted, [&](bench::study_cell const& known, problem const& p, bytes_t bytes) {
        auto const one = ask(p, bytes, cut{.one_shot = true});
        auto const all = ask(p, bytes, default_solver{});
        auto const found = in_sum(p, bytes);
        auto const polished =
            moves > 0 ? ask(p, bytes, portfolio(default_solver{}, polish{.moves = moves}), 1) : answer{};
        bool const counted = known.budget >= 40;
        bool const match = all.overhead >= 0 && all.overhead <= known.seeds + 0.1;
        if (counted) {
            ++t.cells;
            t.matched += match ? 1 : 0;
            t.slower += found.seconds > std::max(known.seeds_seconds, 0.01) ? 1 : 0;
        }
        auto bound = cell(all.bound);
        if (all.bound >= 0 && all.bound < known.bound - 0.015) {
            auto const strict = bound_of_the_study(p, bytes);
            bound += " (" + cell(strict) + " by the study's rule)";
            t.bounds_lower += counted && strict < known.bound - 0.015 ? 1 : 0;
        }
        t.worst_arena = std::max({t.worst_arena, one.arena_over_peak, all.arena_over_peak, polished.arena_over_peak});
        std::cout << "| " << known.graph << " | " << known.budget << " % | " << bound << " | " << cell(known.bound)
                  << " | " << cell(one.overhead) << " | " << cell(one.seconds, 3) << " | " << cell(known.one_seed)
                  << " | " << cell(all.overhead) << " | " << cell(all.seconds, 3) << " | " << cell(found.seconds, 3)
                  << " | " << cell(known.seeds) << " | " << cell(known.seeds_seconds) << " | " << cell(known.searched)
                  << " | " << (moves > 0 ? cell(polished.overhead) : "") << " | " << cell(all.arena_over_peak, 4)
                  << " | " << all.solver << (counted && !match ? " (above)" : "") << " |\n"
                  << std::flush;
    });
}

void real(bool smoke, tally& t)
{
    std::cout << "\n| graph | budget | bound | study's bound | ratio | in sum | study | DTR | s | arena / peak | by "
                 "|\n|---|---|---|---|---|---|---|---|---|---|---|\n";
    for (auto const& known : bench::real) {
        if (smoke && known.graph != "dtr_unet") {
            continue;
        }
        auto const g = bench::load(known.graph);
        if (!g) {
            std::cout << "| " << known.graph << " | not there: skipped |\n";
            return;
        }
        auto const bytes = static_cast<bytes_t>(static_cast<double>(g->reference_peak) * known.budget / 100);
        auto const a = ask(g->numbers, bytes, default_solver{});
        auto const ratio = a.overhead < 0 ? -1 : 1 + a.overhead / 100;
        auto const found = in_sum(g->numbers, bytes);
        auto const sum = found.overhead < 0 ? -1 : 1 + found.overhead / 100;
        // The study's plans have no place in an arena: the like of them are ours before they have theirs.
        bool const match = sum > 0 && sum <= known.ratio + 0.003 && ratio > 0 && (known.dtr < 0 || ratio <= known.dtr);
        if (known.budget >= 50) {
            ++t.cells;
            t.matched += match ? 1 : 0;
        }
        t.worst_arena = std::max(t.worst_arena, a.arena_over_peak);
        std::cout << "| " << known.graph << " | " << known.budget << " % | "
                  << cell(a.bound < 0 ? -1 : 1 + a.bound / 100, 4) << " | " << cell(known.bound, 4) << " | "
                  << cell(ratio, 4) << " | " << cell(sum, 4) << " | " << cell(known.ratio, 4) << " | "
                  << cell(known.dtr, 3) << " | " << cell(a.seconds, 3) << " | " << cell(a.arena_over_peak, 4) << " | "
                  << a.solver << (known.budget >= 50 && !match ? " (above)" : "") << " |\n"
                  << std::flush;
    }
}

} // namespace

int main(int argc, char** argv)
{
    auto const smoke = strata::bench::smoke(argc, argv);
    int moves = 0;
    for (int i = 1; i + 1 < argc; ++i) {
        moves = std::string_view(argv[i]) == "--polish" ? std::atoi(argv[i + 1]) : moves;
    }
    strata::bench::print_setting("plan_quality: overhead in percent of the plain step's cost; fastest of three runs");
    if (strata::bench::data_folder().empty()) {
        std::cout << "no measurement data (set STRATA_DATA): skipped\n";
        return 0;
    }
    tally study, traces;
    synthetic(smoke, moves, study);
    real(smoke, traces);
    std::cout << "\nsynthetic, budgets of 40 % and more: " << study.matched << " of " << study.cells
              << " cells within 0.1 points of the study's seeds, " << study.slower << " slower, " << study.bounds_lower
              << " with a lower bound below the study's by its own rule\nreal, 50 % and more: " << traces.matched
              << " of " << traces.cells
              << " cells within 0.3 points of the study and not above DTR\nlargest arena / peak: "
              << strata::bench::number(std::max(study.worst_arena, traces.worst_arena), 5)
              << "\nplans refused by the judge: " << refused << '\n';
    return refused == 0 ? 0 : 1;
}
