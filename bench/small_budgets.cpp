// SPDX-License-Identifier: Apache-2.0
// Small budgets and real traces: plans beside what earlier work measured, and the smallest budgets met beside the proven limit.
//
//     small_budgets [--smoke] [--deadline SECONDS] [--part cells|goals|feasible] [GRAPH...]
//
// Cells at 30 % and below, and those that do not reach the study at once, are planned again with the deadline (10 s unless told
// otherwise). Seconds are of the processor.
#include <strata/bound/last_run_limit.hpp>
#include <strata/bound/regressed_limit.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/pipeline/thorough.hpp>
#include <strata/solve/cut.hpp>
#include <strata/solve/minimum_memory.hpp>
#include <strata/solve/tree_width.hpp>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>

#include "bench/known_results.hpp"
#include "bench/study.hpp"
#include "bench/support.hpp"
#include "examples/zoo/models.hpp"

namespace {

using namespace strata;

struct options {
    bool smoke = false;
    double deadline = 10;
    std::string_view part = {};
    std::vector<std::string_view> graphs = {};

    [[nodiscard]] auto wants(std::string_view graph) const -> bool
    {
        return graphs.empty() || std::find(graphs.begin(), graphs.end(), graph) != graphs.end();
    }
    [[nodiscard]] auto wants_part(std::string_view name) const -> bool { return part.empty() || part == name; }
};

int refused = 0;

auto ratio(double overhead) -> double { return overhead < 0 ? -1 : 1 + overhead / 100; }
auto cell(double x, int digits = 4) -> std::string { return x < 0 ? "none" : bench::number(x, digits); }
auto reaches(double found, double known) -> bool { return known < 0 || (found > 0 && found < known + 0.00005); }

/// A plan and the processor time it took.
struct timed_answer {
    bench::answer plan;
    double seconds = 0;
};

auto ask(problem const& p, bytes_t bytes, std::optional<double> deadline) -> timed_answer
{
    auto const begin = std::clock();
    std::optional<std::chrono::nanoseconds> until;
    if (deadline) {
        until = std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * *deadline));
    }
    timed_answer a{bench::plan_and_judge(p, bytes, thorough{}, 1, until)};
    a.seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    refused += a.plan.refused;
    return a;
}

/// Share of the reference peak, resident tensors included.
auto share_of_reference(bench::measured_graph const& g, double share) -> bytes_t
{
    return static_cast<bytes_t>(static_cast<double>(g.reference_peak) * share);
}

void cells(options const& o)
{
    std::cout
        << "\n| graph | budget | bound | planned | s | with the deadline | s | study | DTR | arena / peak | by |\n"
           "|---|---|---|---|---|---|---|---|---|---|---|\n";
    int asked = 0;
    int reached = 0;
    int beside_dtr = 0;
    int at_dtr = 0;
    for (auto const& known : bench::real) {
        if (!o.wants(known.graph) || (o.smoke && (known.graph != "dtr_unet" || known.budget != 50))) {
            continue;
        }
        auto const g = bench::load(known.graph);
        if (!g) {
            std::cout << "| " << known.graph << " | not there: skipped |\n";
            continue;
        }
        auto const bytes = share_of_reference(*g, known.budget / 100.0);
        auto const quick = ask(g->numbers, bytes, {});
        auto longer = quick;
        constexpr int small = 30; // percent
        if (!reaches(ratio(quick.plan.overhead), known.ratio) || (known.budget <= small && !o.smoke)) {
            longer = ask(g->numbers, bytes, o.deadline);
        }
        auto const best = ratio(longer.plan.overhead);
        ++asked;
        reached += reaches(best, known.ratio) ? 1 : 0;
        beside_dtr += known.dtr > 0 ? 1 : 0;
        at_dtr += known.dtr > 0 && reaches(best, known.dtr) ? 1 : 0;
        std::cout << "| " << known.graph << " | " << known.budget << " % | " << cell(ratio(longer.plan.bound)) << " | "
                  << cell(ratio(quick.plan.overhead)) << " | " << bench::number(quick.seconds, 2) << " | " << cell(best)
                  << (reaches(best, known.ratio) ? "" : " (above)") << " | " << bench::number(longer.seconds, 2)
                  << " | " << cell(known.ratio) << " | " << cell(known.dtr, 3) << " | "
                  << bench::number(longer.plan.arena_over_peak, 4) << " | " << longer.plan.solver << " |\n"
                  << std::flush;
    }
    std::cout << '\n'
              << reached << " of " << asked << " cells at the study or below, " << at_dtr << " of " << beside_dtr
              << " at DTR or below\n";
}

/// As high a limit as is proven, not above `feasible`.
auto proven_limit(problem const& p, bytes_t feasible) -> byte_limit
{
    return regressed_limit(p, last_run_limit(p, minimum_budget(p)), feasible);
}

/// What is aimed at beyond the study.
struct goal {
    std::string_view graph;
    double share;      ///< of the budget
    bool of_reference; ///< of the reference peak, resident tensors included; else of the dynamic keep-all peak
    double most;       ///< percent of overhead; -1: any plan
};
constexpr std::array goals = {
    goal{"dtr_unet", 0.3, true, 25},
    goal{"dtr_resnet32", 0.1, true, 45},
    goal{"dtr_transformer", 0.1, true, -1},
    goal{"checkmate_resnet50", 0.105, true, -1},
    goal{"resnet50", 0.2, false, 26},
    goal{"resnet50", 0.15, false, -1},
    goal{"resnet101", 0.1, false, -1},
    goal{"unet5_20", 0.2, false, 15.2},
    goal{"unet4_2", 0.4, false, 7.59},
    goal{"unet4_2", 0.2, false, -1},
};

void reach_goals(options const& o)
{
    std::cout << "\n| graph | budget | bound % | planned % | s | with the deadline % | s | aimed at | by |\n"
                 "|---|---|---|---|---|---|---|---|---|\n";
    for (auto const& x : goals) {
        auto const g = o.wants(x.graph) && !o.smoke ? bench::load(x.graph) : std::nullopt;
        if (!g) {
            continue;
        }
        auto const& p = g->numbers;
        auto const dynamic = peak_of(p, keep_all_order(p)) - p.resident_bytes();
        auto const bytes = x.of_reference ? share_of_reference(*g, x.share)
                                          : budget::fraction(x.share).resolve(p.resident_bytes(), dynamic);
        auto const quick = ask(p, bytes, {});
        auto const longer = ask(p, bytes, o.deadline);
        auto const found = longer.plan.overhead;
        bool const there = found >= 0 && (x.most < 0 || found <= x.most);
        bool const none = found < 0 && bytes < proven_limit(p, dynamic + p.resident_bytes()).bytes;
        std::cout << "| " << x.graph << " | " << bench::number(100 * x.share, 1) << " % | "
                  << cell(longer.plan.bound, 2) << " | " << cell(quick.plan.overhead, 2) << " | "
                  << bench::number(quick.seconds, 2) << " | " << cell(found, 2)
                  << (there  ? ""
                      : none ? ", proven"
                             : " (above)")
                  << " | " << bench::number(longer.seconds, 2) << " | "
                  << (x.most < 0 ? std::string("a plan") : "≤ " + bench::number(x.most, 2)) << " | "
                  << longer.plan.solver << " |\n"
                  << std::flush;
    }
}

/// What finds plans of the smallest budgets.
struct smallest {
    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "smallest"; }
    void solve(search& on) const
    {
        minimum_memory{.runs = 100'000}.solve(on);
        if (!on.best()) {
            tree_width{}.solve(on);
        }
        if (!on.best()) {
            cut{.points = 5, .fine = true}.solve(on);
        }
    }
};

/// Fewest bytes of an order that `smallest` finds, to half a percent, within the processor time allowed.
auto fewest_bytes(problem const& p, double seconds) -> bytes_t
{
    strata::detail::planner const with(p);
    auto yes = least_walk_peak(p, with.least().bytes, with.keep_all_peak());
    auto no = proven_limit(p, yes).bytes - 1;
    auto const begin = std::clock();
    for (auto next = no + 1; yes - no > 1 + no / 200; next = no + (yes - no) / 2) {
        if (static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC > seconds) {
            break;
        }
        auto const studied = with.analyse(next, {});
        auto const found =
            studied ? with.best_order(next, *studied, {}, {}, smallest{}, nullptr) : result<candidate>(studied.error());
        if (found) {
            yes = std::min(next, peak_of(p, found->order));
            refused += validate(p, free_early(p, found->order), next).ok() ? 0 : 1;
        } else {
            no = next;
        }
    }
    return yes;
}

void feasible(options const& o)
{
    std::cout << "\n| graph | ops | keep all | one op's limit | proven limit | s | walks | smallest met | s | over the "
                 "limit | op "
                 "that sets it |\n|---|---|---|---|---|---|---|---|---|---|---|\n";
    int graphs = 0;
    int near = 0;
    auto const row = [&](std::string_view name, problem const& p) {
        auto const of_one = minimum_budget(p);
        auto const over = [&](bytes_t x) { return static_cast<double>(x) / static_cast<double>(of_one.bytes); };
        auto const since = [](std::clock_t begin) {
            return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
        };
        auto const most = peak_of(p, keep_all_order(p));
        auto const walks = least_walk_peak(p, of_one.bytes, most);
        auto begin = std::clock();
        auto const fewest = fewest_bytes(p, o.deadline);
        auto const searched = since(begin);
        begin = std::clock();
        auto const limit = proven_limit(p, fewest);
        auto const proven = since(begin);
        auto const ratio = static_cast<double>(fewest) / static_cast<double>(limit.bytes);
        ++graphs;
        near += ratio <= 1.1 ? 1 : 0;
        std::cout << "| " << name << " | " << p.op_count() << " | " << bench::number(over(most), 2) << " | "
                  << of_one.bytes << " | " << bench::number(over(limit.bytes), 3) << " | " << bench::number(proven, 2)
                  << " | " << bench::number(over(walks), 3) << " | " << bench::number(over(fewest), 3) << " | "
                  << bench::number(searched, 1) << " | " << bench::number(ratio, 3) << " | "
                  << p.op(limit.pinned_by).name << " |\n"
                  << std::flush;
    };
    std::vector<std::string> files;
    if (!bench::data_folder().empty() && !o.smoke) {
        for (auto const& f : std::filesystem::directory_iterator(bench::data_folder() / "graphs")) {
            files.push_back(f.path().stem().string());
        }
    }
    std::sort(files.begin(), files.end());
    for (auto const& name : files) {
        if (auto const g = o.wants(name) ? bench::load(name) : std::nullopt) {
            row(name, g->numbers);
        }
    }
    for (auto const& name : zoo::names()) {
        auto const model = zoo::describe(name);
        if (model && model->pass == zoo::pass::training && o.wants(name) && (!o.smoke || name == "unet")) {
            if (auto const p = zoo::make_problem(name)) {
                row(name, *p);
            }
        }
    }
    std::cout << '\n' << near << " of " << graphs << " graphs within 1.1 times the proven limit\n";
}

} // namespace

int main(int argc, char** argv)
{
    options o;
    o.smoke = strata::bench::smoke(argc, argv);
    for (int i = o.smoke ? 2 : 1; i < argc; ++i) {
        std::string_view const word = argv[i];
        if (word == "--deadline" && i + 1 < argc) {
            o.deadline = std::atof(argv[++i]);
        } else if (word == "--part" && i + 1 < argc) {
            o.part = argv[++i];
        } else {
            o.graphs.push_back(word);
        }
    }
    strata::bench::print_setting("small_budgets: total cost over the plain step's; budgets of the reference peak");
    if (strata::bench::data_folder().empty()) {
        std::cout << "no measurement data (set STRATA_DATA): traces skipped\n";
    }
    if (o.wants_part("cells")) {
        cells(o);
    }
    if (o.wants_part("goals")) {
        reach_goals(o);
    }
    if (o.wants_part("feasible")) {
        feasible(o);
    }
    std::cout << "plans refused by the judge: " << refused << '\n';
    return refused == 0 ? 0 : 1;
}
