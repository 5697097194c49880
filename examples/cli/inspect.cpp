// SPDX-License-Identifier: Apache-2.0
// strata inspect: what is in a graph, and what can be said about its budgets before any plan is made.
#include <strata/bound/lower_bound.hpp>
#include <strata/bound/minimum_budget.hpp>
#include <strata/io/dot.hpp>
#include <strata/io/format.hpp>
#include <strata/io/json_text.hpp>
#include <strata/schedule/replay.hpp>
#include <strata/solve/keep_all.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "common.hpp"
#include "show.hpp"

namespace cli {

namespace {

struct inspect_settings : settings {
    std::string dot;
};

/// What is proven about one budget.
struct bound_row {
    int percent = 0;
    strata::bytes_t budget = 0;
    strata::cost_bound bound;
};

/// Everything `inspect` says.
struct findings {
    strata::timeline keep_all;
    strata::byte_limit least;
    strata::op_id largest = strata::none; ///< the op with the most bytes of its own: reads, writes and workspace
    strata::bytes_t largest_bytes = 0;
    std::int64_t replayable = 0;
    std::array<std::int64_t, 3> ops_by_phase{};
    std::array<std::int64_t, 7> tensors_by_kind{};
    std::array<strata::bytes_t, 7> bytes_by_kind{};
    std::vector<bound_row> bounds;
};

auto look_at(strata::problem const& p) -> strata::result<findings>
{
    auto const order = strata::keep_all_order(p);
    auto measured = strata::replay(p, strata::free_early(p, order));
    if (!measured) {
        return std::move(measured).error();
    }
    findings f;
    f.keep_all = *std::move(measured);
    f.least = strata::minimum_budget(p);
    for (strata::op_id o = 0; o < p.op_count(); ++o) {
        auto own = p.workspace(o);
        for (auto const list : {p.inputs(o), p.outputs(o)}) {
            for (auto const t : list) {
                own += p.size(t);
            }
        }
        if (f.largest == strata::none || own > f.largest_bytes) {
            f.largest = o;
            f.largest_bytes = own;
        }
        f.replayable += p.replayable(o) ? 1 : 0;
        ++f.ops_by_phase[static_cast<std::size_t>(p.op(o).phase)];
    }
    for (strata::tensor_id t = 0; t < p.tensor_count(); ++t) {
        auto const kind = static_cast<std::size_t>(p.tensor(t).kind);
        ++f.tensors_by_kind[kind];
        f.bytes_by_kind[kind] += p.size(t);
    }
    auto const points = strata::time_points(p, order, 8, 4, 100);
    for (auto const percent : {90, 80, 70, 60, 50, 40, 30, 20}) {
        auto const dynamic = f.keep_all.peak - p.resident_bytes();
        auto const bytes = strata::budget::fraction(percent / 100.0).resolve(p.resident_bytes(), dynamic);
        auto b = strata::lower_bound(p, bytes, points);
        b.infeasible = b.infeasible || bytes < f.least.bytes;
        f.bounds.push_back({percent, bytes, b});
    }
    return f;
}

auto overhead(strata::problem const& p, strata::cost_bound const& b) -> double
{
    return p.base_cost() == 0 ? 0.0 : static_cast<double>(b.cost - p.base_cost()) / static_cast<double>(p.base_cost());
}

auto op_label(strata::problem const& p, strata::op_id o) -> std::string
{
    auto const& n = p.op(o).name;
    return "op " + std::to_string(o) + (n.empty() ? "" : " (" + n + ")");
}

auto text_of(subject const& s, findings const& f) -> std::string
{
    using strata::format_bytes;
    auto const& p = s.problem;
    std::string phases;
    for (auto const ph : {strata::phase::forward, strata::phase::backward, strata::phase::other}) {
        if (auto const n = f.ops_by_phase[static_cast<std::size_t>(ph)]; n > 0) {
            phases += (phases.empty() ? "   " : ", ") + strata::detail::grouped(n) + " " + to_string(ph);
        }
    }
    std::vector<std::pair<std::string, std::string>> rows{
        {"ops", strata::detail::grouped(p.op_count()) + phases},
        {"may be recomputed", strata::detail::grouped(f.replayable) + " of them"},
        {"cost of one pass", strata::format_cost(static_cast<double>(p.base_cost()), s.cost_unit)},
        {"tensors", strata::detail::grouped(p.tensor_count())},
    };
    for (std::size_t k = 0; k < f.tensors_by_kind.size(); ++k) {
        if (f.tensors_by_kind[k] > 0) {
            rows.emplace_back("  " + std::string(to_string(static_cast<strata::tensor_kind>(k))),
                              format_bytes(f.bytes_by_kind[k]) + "   " + count_of(f.tensors_by_kind[k], "tensor"));
        }
    }
    rows.emplace_back("alignment", format_bytes(p.alignment()));
    rows.emplace_back("resident", format_bytes(p.resident_bytes()));
    rows.emplace_back("keep-all peak", format_bytes(f.keep_all.peak) + "   at " + op_label(p, f.keep_all.peak_op));
    if (s.reference_peak) {
        rows.emplace_back("reference peak", format_bytes(*s.reference_peak) + "   as the file states it");
    }
    rows.emplace_back("largest op", format_bytes(f.largest_bytes) + "   " + op_label(p, f.largest));
    rows.emplace_back("least budget",
                      format_bytes(f.least.bytes) + "   proven; " + op_label(p, f.least.pinned_by) + " needs it");
    auto out = s.name + "\n\n" + two_columns(rows) + "\n  no plan in this first-run order has less overhead than\n";
    rows.clear();
    for (auto const& b : f.bounds) {
        rows.emplace_back("  at " + std::to_string(b.percent) + " %, " + format_bytes(b.budget),
                          b.bound.infeasible ? "(nothing fits)" : strata::format_percent(overhead(p, b.bound)));
    }
    return out + two_columns(rows);
}

auto json_of(subject const& s, findings const& f) -> std::string
{
    auto const& p = s.problem;
    std::string out = "{\"graph\":";
    auto const whole = [&](char const* key, std::int64_t n) {
        out += key;
        strata::append_json_number(out, n);
    };
    auto const name = [&](char const* key, std::string const& text) {
        out += key;
        strata::append_json_string(out, text);
    };
    strata::append_json_string(out, s.name);
    whole(",\"ops\":", p.op_count());
    whole(",\"tensors\":", p.tensor_count());
    whole(",\"replayable_ops\":", f.replayable);
    whole(",\"base_cost\":", p.base_cost());
    name(",\"cost_unit\":", s.cost_unit);
    whole(",\"alignment\":", p.alignment());
    whole(",\"resident_bytes\":", p.resident_bytes());
    whole(",\"keep_all_peak_bytes\":", f.keep_all.peak);
    whole(",\"keep_all_peak_op\":", f.keep_all.peak_op);
    if (s.reference_peak) {
        whole(",\"reference_peak_bytes\":", *s.reference_peak);
    }
    whole(",\"largest_op\":", f.largest);
    name(",\"largest_op_name\":", p.op(f.largest).name);
    whole(",\"largest_op_bytes\":", f.largest_bytes);
    whole(",\"minimum_budget_bytes\":", f.least.bytes);
    whole(",\"minimum_budget_op\":", f.least.pinned_by);
    out += ",\"bytes_by_kind\":{";
    for (std::size_t k = 0; k < f.bytes_by_kind.size(); ++k) {
        out += k == 0 ? "\"" : ",\"";
        out += to_string(static_cast<strata::tensor_kind>(k));
        whole("\":", f.bytes_by_kind[k]);
    }
    out += "},\"lower_bounds\":[";
    for (std::size_t i = 0; i < f.bounds.size(); ++i) {
        auto const& b = f.bounds[i];
        whole(i == 0 ? "{\"budget_bytes\":" : ",{\"budget_bytes\":", b.budget);
        out += ",\"overhead\":";
        if (b.bound.infeasible) {
            out += "null}";
        } else {
            strata::append_json_number(out, overhead(p, b.bound));
            out += '}';
        }
    }
    return out + "]}\n";
}

auto run_inspect(inspect_settings const& s) -> int
{
    if (auto const e = check_writable(s.dot)) {
        return refuse(*e);
    }
    auto const on = load(s);
    if (!on) {
        return refuse(on.error());
    }
    auto const f = look_at(on->problem);
    if (!f) {
        return refuse(f.error(), on->where);
    }
    if (!s.dot.empty()) {
        if (auto const e = write_text(s.dot, strata::to_dot(on->problem))) {
            return refuse(*e);
        }
    }
    if (s.json) {
        print(json_of(*on, *f));
    } else if (!s.quiet) {
        print(text_of(*on, *f) + (s.dot.empty() ? "" : "\n  wrote " + s.dot + "   a graph for Graphviz\n"));
    }
    return planned;
}

} // namespace

void add_inspect(CLI::App& program, int& status)
{
    auto* const command = program.add_subcommand("inspect", "Say what is in a graph and which budgets make sense");
    auto const s = std::make_shared<inspect_settings>();
    add_graph_options(*command, *s);
    command->add_option("--dot", s->dot, "write a Graphviz graph to this file");
    command->add_flag("--json", s->json, "print one JSON object instead of the text");
    command->callback([s, &status] { status = run_inspect(*s); });
}

} // namespace cli
