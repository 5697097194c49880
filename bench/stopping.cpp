// SPDX-License-Identifier: Apache-2.0
// How late an answer comes: processor time from a deadline of 1 ms, or from a request to stop, until the call returns.
//
//     stopping [--smoke] [--solver NAME] [GRAPH...]
//
// On steps of some ten thousand ops, of every entry point and every solver. An answer is a plan, or the error that says that
// time was up.
#include <strata/partition/at_cut_points.hpp>
#include <strata/partition/bottom_up.hpp>
#include <strata/pipeline/frontier.hpp>
#include <strata/pipeline/hierarchical.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/pipeline/plan_free_order.hpp>
#include <strata/pipeline/thorough.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/chain_dp.hpp>
#include <strata/solve/exhaustive.hpp>
#include <strata/solve/recompute_all.hpp>
#include <strata/solve/sqrt_checkpoint.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <ctime>
#include <stop_token>
#include <thread>

#include "bench/support.hpp"
#include "examples/zoo/models.hpp"
#include "tests/support/any_solver.hpp"
#include "tests/support/random_problem.hpp"

namespace {

using namespace strata;

constexpr std::array solvers{
    test::any<default_solver>("default"),
    test::any<thorough>("thorough"),
    test::any<cut>("cut"),
    test::any<greedy>("greedy"),
    test::any<priced_cuts>("priced_cuts"),
    test::any<chain_dp>("chain_dp"),
    test::any<hierarchical<at_cut_points<>, quick_solver, block_dp>>("at_cut_points"),
    test::any<hierarchical<bottom_up>>("bottom_up"),
    test::any<tree_width>("tree_width"),
    test::any<budgeted>("budgeted"),
    test::any<minimum_memory>("minimum_memory"),
    test::any<exhaustive>("exhaustive"),
    test::any<sqrt_checkpoint>("sqrt_checkpoint"),
    test::any<recompute_all>("recompute_all"),
};

enum class call : std::uint8_t { plan, frontier, free_order };
constexpr std::string_view names_of_calls[] = {"plan", "frontier", "plan_free_order"};

int refused = 0;

/// Processor time of this program.
auto now() -> double { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void judge(problem const& p, certified_plan const& made)
{
    refused += validate(p, made.schedule, made.certificate.budget).ok() ? 0 : 1;
}

/// What came back, in a word.
auto ask(problem const& p, call what, limits const& lim, test::any_solver const& s) -> std::pair<double, std::string>
{
    auto const said = [](error const& e) {
        bool const in_time = e.code == errc::deadline || e.code == errc::cancelled || e.code == errc::infeasible;
        refused += in_time ? 0 : 1;
        return std::string(e.code == errc::infeasible ? "infeasible" : "out of time");
    };
    if (what == call::plan) {
        auto const made = plan(p, lim, s);
        auto const end = now();
        if (made) {
            judge(p, *made);
        }
        return {end, made ? made->certificate.solver : said(made.error())};
    }
    if (what == call::free_order) {
        auto const made = plan_free_order(p, lim, s);
        auto const end = now();
        if (made) {
            judge(p, made->plan);
        }
        return {end, made ? made->plan.certificate.solver : said(made.error())};
    }
    constexpr std::size_t budgets = 10;
    auto const made = frontier(p, even_budgets(p, budgets), lim, s);
    auto const end = now();
    for (auto const& x : made ? *made : std::vector<certified_plan>{}) {
        judge(p, x);
    }
    return {end, made ? std::to_string(made->size()) + " plans" : said(made.error())};
}

/// Milliseconds from a request to stop, `after` milliseconds into the call, until it returns; negative if it returned before.
auto late_after_request(problem const& p, call what, double share, test::any_solver const& s, int after) -> double
{
    limits lim;
    lim.budget = budget::fraction(share);
    std::stop_source stop;
    lim.cancel = stop.get_token();
    std::atomic<double> asked = 1e9;
    std::atomic<bool> over = false;
    std::jthread const caller([&] {
        for (int i = 0; i < after && !over; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        asked = now();
        stop.request_stop();
    });
    auto const end = ask(p, what, lim, s).first;
    over = true;
    return 1e3 * (end - asked);
}

struct graph {
    std::string name;
    problem numbers;
};

auto graphs(bool smoke) -> std::vector<graph>
{
    std::vector<graph> all;
    if (smoke) {
        all.push_back({"gpt2-medium", *zoo::make_problem("gpt2-medium", {.layers = 2})});
        return all;
    }
    for (auto const* name : {"gptflash250", "gpt250"}) {
        if (auto g = bench::load(name)) {
            all.push_back({name, std::move(g->numbers)});
        }
    }
    auto const add = [&](std::string_view model, zoo::options const& how) {
        all.push_back({std::string(model), zoo::make_problem(model, how).value()});
    };
    add("resnet50", {});
    add("lstm", {.layers = 8, .seq = 300});
    add("densenet121", {});
    add("randwire", {.layers = 1200});
    test::random_options o;
    o.ops = 10'000;
    o.effects = 0;
    o.state = 0;
    o.reach = 2;
    o.training = true;
    all.push_back({"random training step", test::random_problem(1, o)});
    o.training = false;
    all.push_back({"random layers", test::random_problem(2, o)});
    return all;
}

} // namespace

int main(int argc, char** argv)
{
    bool const smoke = bench::smoke(argc, argv);
    std::vector<std::string_view> names;
    std::string_view one = {};
    for (int i = smoke ? 2 : 1; i < argc; ++i) {
        if (std::string_view(argv[i]) == "--solver" && i + 1 < argc) {
            one = argv[++i];
        } else {
            names.emplace_back(argv[i]);
        }
    }
    bench::print_setting("stopping: how many ms late an answer is; processor time");
    std::cout << "\n| graph | ops | call | solver | budget | deadline 1 ms | answer | stop asked for after 5 ms | 50 | "
                 "200 | 1000 |\n"
                 "|---|---|---|---|---|---|---|---|---|---|---|\n";
    double latest_deadline = 0;
    double latest_request = 0;
    for (auto const& g : graphs(smoke)) {
        if (!names.empty() && std::find(names.begin(), names.end(), g.name) == names.end()) {
            continue;
        }
        for (auto const what : {call::plan, call::frontier, call::free_order}) {
            for (auto const& s : solvers) {
                bool const own = what != call::plan && s.label != "default" && s.label != "thorough";
                if (own || (!one.empty() && s.label != one)) {
                    continue;
                }
                for (double share : {0.5, 0.15}) {
                    limits lim;
                    lim.budget = budget::fraction(share);
                    lim.deadline = std::chrono::milliseconds(1);
                    auto const begin = now();
                    auto const [end, answer] = ask(g.numbers, what, lim, s);
                    auto const late = 1e3 * (end - begin) - 1;
                    latest_deadline = std::max(latest_deadline, late);
                    std::cout << "| " << g.name << " | " << g.numbers.op_count() << " | "
                              << names_of_calls[static_cast<int>(what)] << " | " << s.label << " | "
                              << bench::number(100 * share, 0) << " % | " << bench::number(late, 0) << " | " << answer;
                    for (int after : {5, 50, 200, 1000}) {
                        auto const x = late_after_request(g.numbers, what, share, s, after);
                        latest_request = std::max(latest_request, x);
                        std::cout << " | " << (x < 0 ? "done" : bench::number(x, 0));
                    }
                    std::cout << " |\n" << std::flush;
                    if (what == call::frontier) {
                        break;
                    }
                }
            }
        }
    }
    std::cout << "\nlatest: " << bench::number(latest_deadline, 0) << " ms after the deadline, "
              << bench::number(latest_request, 0) << " ms after a request\nanswers refused: " << refused << '\n';
    return refused == 0 ? 0 : 1;
}
