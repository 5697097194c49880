// SPDX-License-Identifier: Apache-2.0
// strata plan: one plan for one budget.
#include <strata/io/budget_text.hpp>
#include <strata/io/chrome_trace.hpp>
#include <strata/io/dot.hpp>
#include <strata/io/format.hpp>
#include <strata/io/html_report.hpp>
#include <strata/io/json_text.hpp>
#include <strata/io/terminal_picture.hpp>
#include <strata/io/write_plan.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/pipeline/plan_free_order.hpp>
#include <strata/pipeline/plan_graph.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

#include "commands.hpp"
#include "common.hpp"
#include "interrupt.hpp"
#include "progress_bar.hpp"
#include "show.hpp"
#include "solvers.hpp"
#include <sys/ioctl.h>

namespace cli {

namespace {

struct plan_settings : settings {
    std::string budget, solver, out, report, trace, dot;
    std::string order = "given";
};

auto picture_for_terminal(std::string const& cost_unit) -> strata::picture_options
{
    strata::picture_options o;
    o.cost_unit = cost_unit;
    winsize size{};
    if (isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        o.width = std::clamp<std::size_t>(size.ws_col - 1U, 40, 120);
    }
    // The first of these that is set decides, as for every program.
    for (auto const* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        auto const* const value = std::getenv(name);
        if (value != nullptr && *value != '\0') {
            std::string_view const locale(value);
            auto const has = [&](std::string_view part) { return locale.find(part) != std::string_view::npos; };
            o.unicode = has("UTF-8") || has("utf8") || has("UTF8") || has("utf-8");
            break;
        }
    }
    return o;
}

/// Writes what the options ask for. Returns: the lines that say so.
auto write_files(plan_settings const& s, subject const& on, strata::certified_plan const& x)
    -> strata::result<std::string>
{
    std::string said;
    auto const write = [&](std::string const& path, char const* what, std::string const& text) {
        auto e = write_text(path, text);
        said += "  wrote " + path + "   " + what + "\n";
        return e;
    };
    if (!s.out.empty()) {
        if (auto e = write(
                s.out, "the plan", strata::write_plan(on.file ? strata::in_graph_ids(x, *on.file) : x, on.name))) {
            return *std::move(e);
        }
    }
    if (!s.report.empty()) {
        strata::report_options o;
        o.title = on.name;
        o.cost_unit = on.cost_unit;
        if (auto e = write(s.report, "a report for the browser", strata::html_report(on.problem, x, o))) {
            return *std::move(e);
        }
    }
    if (!s.trace.empty()) {
        auto text = strata::chrome_trace(on.problem, x.schedule, x.certificate.budget, on.cost_unit);
        if (!text) {
            return std::move(text).error();
        }
        if (auto e = write(s.trace, "a trace for chrome://tracing or Perfetto", *text)) {
            return *std::move(e);
        }
    }
    if (!s.dot.empty()) {
        if (auto e = write(s.dot, "a graph for Graphviz", strata::to_dot(on.problem, {&x.schedule, false}))) {
            return *std::move(e);
        }
    }
    return said;
}

/// Plans in the order given, or in a free one; then what is known of that order is there too.
auto make_plan(plan_settings const& s, strata::problem const& p, strata::limits const& lim, solver_entry const& by)
    -> strata::result<strata::free_order_plan>
{
    if (s.order == "free") {
        return strata::plan_free_order(p, lim, by);
    }
    auto made = strata::plan(p, lim, by);
    if (!made) {
        return std::move(made).error();
    }
    return strata::free_order_plan{*std::move(made), {}};
}

/// One line about the order that was found.
auto order_line(strata::memory_order const& o) -> std::string
{
    return "  in another order, every op once: peak " + strata::format_bytes(o.peak) +
           (o.minimal() ? ", proven least" : ", not below " + strata::format_bytes(o.lower_limit)) + "\n";
}

/// The same as members of the JSON object.
auto order_json(strata::memory_order const& o) -> std::string
{
    std::string out = ",\"order_peak_bytes\":";
    strata::append_json_number(out, o.peak);
    out += ",\"order_limit_bytes\":";
    strata::append_json_number(out, o.lower_limit);
    return out;
}

auto run_plan(plan_settings const& s) -> int
{
    if (s.order != "given" && s.order != "free") {
        return refuse(
            strata::fail(strata::errc::invalid_argument, "--order is \"" + s.order + "\", must be given or free"));
    }
    auto const solver = find_solver(s.solver);
    if (!solver) {
        return refuse(solver.error());
    }
    auto lim = limits_of(s);
    if (!lim) {
        return refuse(lim.error());
    }
    auto const budget = strata::parse_budget(s.budget);
    if (!budget) {
        return refuse(budget.error());
    }
    lim->budget = *budget;
    for (auto const& path : {s.out, s.report, s.trace, s.dot}) {
        if (auto const e = check_writable(path)) {
            return refuse(*e);
        }
    }
    auto const on = load(s);
    if (!on) {
        return refuse(on.error());
    }
    auto const made = [&] {
        interrupt ctrl_c;
        progress_bar bar(!s.quiet);
        lim->cancel = ctrl_c.token();
        bar.watch(*lim);
        return make_plan(s, on->problem, *lim, *solver);
    }();
    if (!made) {
        return refuse(made.error(), on->where);
    }
    auto const* const x = &made->plan;
    bool const reordered = s.order == "free";
    std::string why;
    bool const valid = judged(*on, *x, x->certificate.budget, &why);
    auto const said = write_files(s, *on, *x);
    if (!said) {
        return refuse(said.error());
    }
    if (s.json) {
        auto text = plan_json(*on, *x, valid);
        text.insert(text.size() - 1, reordered ? order_json(made->order) : "");
        print(text + "\n");
    } else if (!s.quiet) {
        print(plan_table(*on, *x, s.budget) + (reordered ? order_line(made->order) : "") + "\n" +
              strata::terminal_picture(on->problem, *x, picture_for_terminal(on->cost_unit)) +
              (said->empty() ? "" : "\n" + *said));
    }
    if (!valid) {
        complain("fault in strata: this plan is not valid: " + why);
        return fault;
    }
    return planned;
}

} // namespace

void add_plan(CLI::App& program, int& status)
{
    auto* const command = program.add_subcommand("plan", "Plan one step under a budget");
    auto const s = std::make_shared<plan_settings>();
    s->solver = solvers().front().label;
    add_graph_options(*command, *s);
    command
        ->add_option("--budget,-b",
                     s->budget,
                     "bytes the step may use: a share of what is not resident (60%) or an amount (8GiB, 500MB)")
        ->required();
    command->add_option("--solver", s->solver, "see `strata solvers`");
    command->add_option(
        "--order", s->order, "given: ops first run as listed; free: in an order with a low peak if that helps");
    add_limit_options(*command, *s);
    command->add_option("--out,-o", s->out, "write the plan to this file");
    command->add_option("--report", s->report, "write an HTML report to this file");
    command->add_option("--trace", s->trace, "write a Chrome trace to this file");
    command->add_option("--dot", s->dot, "write a Graphviz graph to this file");
    command->add_flag("--json", s->json, "print one JSON object instead of the table");
    command->callback([s, &status] { status = run_plan(*s); });
}

} // namespace cli
