// SPDX-License-Identifier: Apache-2.0
// strata sweep: the frontier of bytes and cost.
#include <strata/io/format.hpp>
#include <strata/io/html_report.hpp>
#include <strata/io/json_text.hpp>
#include <strata/pipeline/frontier.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "common.hpp"
#include "interrupt.hpp"
#include "progress_bar.hpp"
#include "show.hpp"
#include "solvers.hpp"

namespace cli {

namespace {

using plans = std::vector<strata::certified_plan>;

struct sweep_settings : settings {
    std::size_t points = 20;
    std::string solver, report;
    bool csv = false;
};

auto csv(plans const& all) -> std::string
{
    std::string out = "budget_bytes,peak_bytes,arena_bytes,base_cost,cost,overhead,lower_bound,gap,seconds,solver\n";
    for (auto const& x : all) {
        auto const& c = x.certificate;
        for (auto const n : {c.budget, c.peak, x.placement.arena, c.base_cost, c.cost}) {
            strata::append_json_number(out, n);
            out += ',';
        }
        for (auto const n : {c.overhead(), c.overhead_bound(), c.gap(), c.seconds}) {
            strata::append_json_number(out, n);
            out += ',';
        }
        out += c.solver + "\n";
    }
    return out;
}

auto json(subject const& s, plans const& all) -> std::string
{
    std::string out = "{\"graph\":";
    strata::append_json_string(out, s.name);
    out += ",\"ops\":";
    strata::append_json_number(out, std::int64_t{s.problem.op_count()});
    out += ",\"plans\":[";
    char const* separator = "\n";
    for (auto const& x : all) {
        out += separator + plan_json(s, x, judged(s, x, x.certificate.budget, nullptr));
        separator = ",\n";
    }
    return out + "]}\n";
}

auto table(subject const& s, plans const& all) -> std::string
{
    auto const cell = [](std::string const& text, std::size_t width) {
        return std::string(text.size() < width ? width - text.size() : 0, ' ') + text;
    };
    auto const row = [&](std::vector<std::string> const& cells) {
        std::string line;
        for (auto const& c : cells) {
            line += cell(c, 12);
        }
        return line + "\n";
    };
    std::string out = s.name + ": " + count_of(static_cast<std::int64_t>(all.size()), "plan") + "\n\n" +
                      row({"budget", "peak", "overhead", "bound", "gap", "seconds"});
    for (auto const& x : all) {
        auto const& c = x.certificate;
        out += row({strata::format_bytes(c.budget),
                    strata::format_bytes(c.peak),
                    strata::format_percent(c.overhead()),
                    strata::format_percent(c.overhead_bound()),
                    strata::detail::fixed(c.gap() * 100, 2) + " pt",
                    strata::detail::fixed(c.seconds, 3)});
    }
    return out;
}

auto report(subject const& s, plans const& all) -> std::string
{
    // The report is about the plan nearest to half of what keep-all needs beside the resident tensors.
    auto const& c = all.front().certificate;
    auto const half = c.resident + (c.keep_all_peak - c.resident) / 2;
    auto const at = std::min_element(all.begin(), all.end(), [&](auto const& a, auto const& b) {
        return std::abs(a.certificate.budget - half) < std::abs(b.certificate.budget - half);
    });
    strata::report_options o;
    o.title = s.name;
    o.cost_unit = s.cost_unit;
    for (auto const& x : all) {
        o.frontier.push_back(
            {x.certificate.budget, x.certificate.peak, x.certificate.overhead(), x.certificate.overhead_bound()});
    }
    return strata::html_report(s.problem, *at, o);
}

auto run_sweep(sweep_settings const& s) -> int
{
    constexpr std::size_t most = 10'000;
    if (s.points < 1 || s.points > most) {
        return refuse(
            strata::fail(strata::errc::invalid_argument,
                         "--points is " + std::to_string(s.points) + ", must be from 1 to " + std::to_string(most)));
    }
    if (s.csv && s.json) {
        return refuse(strata::fail(strata::errc::invalid_argument, "--csv and --json cannot both be printed"));
    }
    auto const solver = find_solver(s.solver);
    if (!solver) {
        return refuse(solver.error());
    }
    auto lim = limits_of(s);
    if (!lim) {
        return refuse(lim.error());
    }
    if (auto const e = check_writable(s.report)) {
        return refuse(*e);
    }
    auto const on = load(s);
    if (!on) {
        return refuse(on.error());
    }
    auto const all = [&] {
        interrupt ctrl_c;
        progress_bar bar(!s.quiet);
        lim->cancel = ctrl_c.token();
        bar.watch(*lim);
        return strata::frontier(on->problem, strata::even_budgets(on->problem, s.points), *lim, *solver);
    }();
    if (!all) {
        return refuse(all.error(), on->where);
    }
    if (!s.report.empty()) {
        if (auto const e = write_text(s.report, report(*on, *all))) {
            return refuse(*e);
        }
    }
    if (s.csv) {
        print(csv(*all));
    } else if (s.json) {
        print(json(*on, *all));
    } else if (!s.quiet) {
        print(table(*on, *all) + (s.report.empty() ? "" : "\n  wrote " + s.report + "   a report for the browser\n"));
    }
    for (auto const& x : *all) {
        if (std::string why; !judged(*on, x, x.certificate.budget, &why)) {
            complain("fault in strata: the plan for " + std::to_string(x.certificate.budget) +
                     " bytes is not valid: " + why);
            return fault;
        }
    }
    return planned;
}

} // namespace

void add_sweep(CLI::App& program, int& status)
{
    auto* const command = program.add_subcommand("sweep", "Plan for many budgets, from the least to keep-all");
    auto const s = std::make_shared<sweep_settings>();
    s->solver = solvers().front().label;
    add_graph_options(*command, *s);
    command->add_option("--points", s->points, "how many budgets (default: 20)");
    command->add_option("--solver", s->solver, "see `strata solvers`");
    add_limit_options(*command, *s);
    command->add_flag("--csv", s->csv, "print comma-separated values instead of the table");
    command->add_flag("--json", s->json, "print one JSON object instead of the table");
    command->add_option("--report", s->report, "write an HTML report with the frontier to this file");
    command->callback([s, &status] { status = run_sweep(*s); });
}

} // namespace cli
