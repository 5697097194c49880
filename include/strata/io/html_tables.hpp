// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The parts of a report that are read: verdict, certificate, what is recomputed, what is live at the peak.
#pragma once

#include <strata/io/format.hpp>
#include <strata/io/html_charts.hpp>
#include <strata/io/html_markup.hpp>
#include <strata/io/html_plot.hpp>
#include <strata/io/memory_curve.hpp>
#include <strata/pipeline/certificate.hpp>
#include <strata/problem/effects.hpp>
#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace strata::detail::html {

/// One row of a table of pairs.
using pair_row = std::pair<std::string, std::string>;

inline void write_pairs(markup& out, char const* caption, std::vector<pair_row> const& rows)
{
    out.open("table").element("caption", caption).open("tbody");
    for (auto const& [what, value] : rows) {
        out.open("tr").element("th", {{"scope", "row"}}, what).element("td", value).close();
    }
    out.close().close();
}

/// What stands in a column of a table. Numbers of the second kind and bars leave a narrow page.
enum class column_of { text, numbers, lesser_numbers, bars };

/// The class attribute of the cells of a column.
[[nodiscard]] inline auto cell_class(column_of what) -> char const*
{
    switch (what) {
    case column_of::text: return "";
    case column_of::numbers: return "n";
    case column_of::lesser_numbers: return "n wide";
    case column_of::bars: return "size";
    }
    return "";
}

struct table_column {
    char const* title;
    column_of what;
};

/// Opens a table with its head.
inline void open_table(markup& out, std::string const& caption, std::vector<table_column> const& columns)
{
    out.open("div", {{"class", "scroll"}}).open("table").element("caption", caption).open("thead").open("tr");
    for (auto const& c : columns) {
        bool const bars = c.what == column_of::bars;
        out.element(bars ? "td" : "th",
                    {{"class", cell_class(c.what)}, {bars ? "aria-hidden" : "scope", bars ? "true" : "col"}},
                    c.title);
    }
    out.close().close().open("tbody");
}
inline void close_table(markup& out) { out.close().close().close(); }

inline void write_number(markup& out, std::string const& value, column_of what = column_of::numbers)
{
    out.element("td", {{"class", cell_class(what)}}, value);
}

/// A cell with a bar; the number beside it says the same.
inline void write_size_bar(markup& out, double share)
{
    out.open("td", {{"class", "size"}, {"aria-hidden", "true"}});
    out.element("span", {{"class", "bar"}, {"style", "width:" + coordinate(100 * share) + "%"}}, "").close();
}

/// `part` of `whole` as a fraction; 0 of nothing is 0.
[[nodiscard]] inline auto share_of(double part, double whole) -> double { return whole > 0 ? part / whole : 0.0; }

/// Bytes that are not resident.
[[nodiscard]] inline auto dynamic_bytes(certificate const& c, bytes_t n) -> double
{
    return static_cast<double>(n) - static_cast<double>(c.resident);
}

[[nodiscard]] inline auto arena_share(certified_plan const& plan) -> std::string
{
    auto const dynamic = dynamic_bytes(plan.certificate, plan.certificate.peak);
    return dynamic > 0 ? fixed(static_cast<double>(plan.placement.arena) / dynamic, 4) : "–";
}

/// The certificate, memory beside time.
inline void write_certificate(markup& out, report_view const& v)
{
    auto const& c = v.plan.certificate;
    auto const cost = [&](cost_t x) { return format_cost(static_cast<double>(x), v.cost_unit); };
    out.open("section", {{"class", "pairs"}, {"aria-label", "Certificate"}});
    write_pairs(out,
                "Certificate: memory",
                {{"budget", v.has_budget() ? format_bytes(c.budget) : "none"},
                 {"peak of keep-all", format_bytes(c.keep_all_peak)},
                 {"peak of this plan", format_bytes(c.peak)},
                 {"resident, part of every peak", format_bytes(c.resident)},
                 {"arena", v.plan.placement.lifetimes.empty() ? "not placed" : format_bytes(v.plan.placement.arena)},
                 {"arena / peak without resident", v.plan.placement.lifetimes.empty() ? "–" : arena_share(v.plan)},
                 {"ops in the step", grouped(v.p.op_count())},
                 {"recomputed runs", grouped(v.after.replays())}});
    write_pairs(out,
                "Certificate: time",
                {{"every op once", cost(c.base_cost)},
                 {"this plan", cost(c.cost)},
                 {"overhead", format_percent(c.overhead())},
                 {"proven lower bound of it", format_percent(c.overhead_bound())},
                 {"gap, in points", short_number(c.gap() * 100)},
                 {"of it out of the proof's sight", short_number(c.gap_out_of_sight() * 100)},
                 {"found by", c.solver.empty() ? "–" : c.solver},
                 {"planned in", format_cost(c.seconds, "s")}});
    out.close();
}

/// The certificate in one sentence.
[[nodiscard]] inline auto verdict_sentence(certificate const& c) -> std::string
{
    auto const whole = dynamic_bytes(c, c.keep_all_peak);
    std::string says;
    if (c.budget == max_bytes) {
        says = "Needs " + format_bytes(c.peak);
    } else if (c.peak > c.budget) {
        says = "Does not fit " + format_bytes(c.budget) + ": needs " + format_bytes(c.peak);
    } else {
        auto const part = share_of(dynamic_bytes(c, c.budget), whole);
        says = "Fits " + format_bytes(c.budget) +
               (whole > 0 && part < 10 ? " (" + fixed(part * 100, 0) + " % of what keep-all needs)" : "");
    }
    if (c.cost <= c.base_cost) {
        return says + " at no extra time; no plan can take less.";
    }
    says += " at " + format_percent(c.overhead()) + " more time; ";
    auto const* const order = c.bound_orders == first_run_orders::any ? "in any order" : "under this order";
    if (c.lower_bound >= c.cost) {
        return says + "provably no plan " + order + " takes less.";
    }
    if (c.lower_bound <= c.base_cost) {
        return says + "how far below that a plan could be is not proven.";
    }
    return says + "provably no plan " + order + " can be below " + format_percent(c.overhead_bound()) + ".";
}

/// The four numbers to see first.
inline void write_tiles(markup& out, report_view const& v)
{
    auto const& c = v.plan.certificate;
    auto const tile = [&](char const* what, std::string const& number, std::string const& detail) {
        out.open("li").element("span", {{"class", "what"}}, what).element("b", number).element("span", detail).close();
    };
    out.open("ul", {{"class", "tiles"}});
    tile("Peak memory", format_bytes(c.peak), "instead of " + format_bytes(c.keep_all_peak));
    tile("Extra time",
         format_percent(c.overhead()),
         "on top of " + format_cost(static_cast<double>(c.base_cost), v.cost_unit));
    tile("Proven minimum", format_percent(c.overhead_bound()), "gap " + short_number(c.gap() * 100) + " points");
    tile("Recomputed runs", grouped(v.after.replays()), "of a step of " + grouped(v.p.op_count()) + " ops");
    out.close();
}

/// The replays of one operator type.
struct replay_group {
    std::string type;
    std::int64_t runs = 0;
    std::set<op_id> ops;
    double cost = 0;
    std::vector<double> when; ///< share of each column of the time axis
};

/// Replays by operator type, the costliest first.
[[nodiscard]] inline auto replay_groups(report_view const& v, std::size_t columns) -> std::vector<replay_group>
{
    std::map<std::string, replay_group> by_type;
    std::vector<replay_group*> group_of_run(v.after.runs.size(), nullptr);
    for (std::size_t k = 0; k < v.after.runs.size(); ++k) {
        auto const& r = v.after.runs[k];
        if (r.replay) {
            auto& g = by_type[v.p.op(r.op).type];
            g.type = v.p.op(r.op).type;
            ++g.runs;
            g.ops.insert(r.op);
            g.cost += static_cast<double>(v.p.cost(r.op));
            g.when.resize(columns);
            group_of_run[k] = &g;
        }
    }
    for_each_column(v.after, v.length(), columns, [&](std::size_t column, std::size_t run, double share) {
        if (group_of_run[run] != nullptr) {
            group_of_run[run]->when[column] += share;
        }
    });
    std::vector<replay_group> groups;
    for (auto& [type, g] : by_type) {
        groups.push_back(std::move(g));
    }
    std::stable_sort(groups.begin(), groups.end(), [](auto const& a, auto const& b) { return a.cost > b.cost; });
    return groups;
}

/// Gathers all groups from `first` on in one.
inline void join_groups_from(std::vector<replay_group>& groups, std::size_t first)
{
    if (groups.size() <= first + 1) {
        return;
    }
    replay_group rest{std::to_string(groups.size() - first) + " other types", 0, {}, 0, {}};
    rest.when.resize(groups[first].when.size());
    for (auto k = first; k < groups.size(); ++k) {
        rest.runs += groups[k].runs;
        rest.ops.insert(groups[k].ops.begin(), groups[k].ops.end());
        rest.cost += groups[k].cost;
        for (std::size_t i = 0; i < rest.when.size(); ++i) {
            rest.when[i] += groups[k].when[i];
        }
    }
    groups.resize(first);
    groups.push_back(std::move(rest));
}

/// A strip on the time axis: bars where `when` is more than nothing.
inline void write_when(markup& out, std::string const& label, std::vector<double> const& when)
{
    constexpr double height = 20;
    auto const wide = plot::width / static_cast<double>(when.size());
    plot frame(out, label, height, {0, 1}, {0, 1});
    frame.open_area();
    path bars;
    for (std::size_t k = 0; k < when.size(); ++k) {
        if (when[k] > 0) {
            auto const tall = std::max(6.0, std::min(1.0, when[k]) * height);
            bars.box(static_cast<double>(k) * wide, height - tall, wide, tall);
        }
    }
    frame.draw("replayed", bars);
    frame.close_area();
    frame.finish();
}

/// Replays by operator type: how many, what they cost, when they run.
inline void write_replay_table(markup& out, report_view const& v)
{
    constexpr std::size_t columns = 120;
    constexpr std::size_t most = 12;
    auto groups = replay_groups(v, columns);
    join_groups_from(groups, most);
    double all = 0;
    for (auto const& g : groups) {
        all += g.cost;
    }
    open_table(out,
               "By operator type; the strips show when, on the time axis of the picture above.",
               {{"type", column_of::text},
                {"when", column_of::text},
                {"replays", column_of::numbers},
                {"ops", column_of::lesser_numbers},
                {"time", column_of::numbers},
                {"share", column_of::numbers}});
    for (auto const& g : groups) {
        auto const type = g.type.empty() ? std::string("(no type)") : shortened(g.type);
        out.open("tr").element("th", {{"scope", "row"}}, type).open("td", {{"class", "strip"}});
        write_when(out, "when " + type + " is recomputed", g.when);
        out.close();
        write_number(out, grouped(g.runs));
        write_number(out, grouped(static_cast<std::int64_t>(g.ops.size())), column_of::lesser_numbers);
        write_number(out, format_cost(g.cost, v.cost_unit));
        write_number(out, format_percent(share_of(g.cost, all)));
        out.close();
    }
    close_table(out);
}

/// The ops whose replays cost most, folded away.
inline void write_costliest_ops(markup& out, report_view const& v)
{
    struct entry {
        op_id op = none;
        std::int64_t runs = 0;
        double first = 0;
    };
    constexpr std::size_t most = 15;
    std::map<op_id, entry> by_op;
    for (auto const& r : v.after.runs) {
        if (r.replay) {
            auto& e = by_op.try_emplace(r.op, entry{r.op, 0, r.begin}).first->second;
            ++e.runs;
        }
    }
    std::vector<entry> entries;
    for (auto const& [o, e] : by_op) {
        entries.push_back(e);
    }
    auto const cost = [&](entry const& e) { return static_cast<double>(v.p.cost(e.op)) * static_cast<double>(e.runs); };
    std::stable_sort(entries.begin(), entries.end(), [&](auto const& a, auto const& b) { return cost(a) > cost(b); });
    entries.resize(std::min(entries.size(), most));
    out.open("details").element("summary", "The costliest ops to recompute");
    open_table(out,
               "By the time all replays of the op take.",
               {{"op", column_of::text},
                {"replays", column_of::numbers},
                {"time", column_of::numbers},
                {"first at", column_of::numbers}});
    for (auto const& e : entries) {
        out.open("tr").element("th", {{"scope", "row"}, {"class", "name"}}, v.op_name(e.op));
        write_number(out, grouped(e.runs));
        write_number(out, format_cost(cost(e), v.cost_unit));
        write_number(out, v.time(e.first));
        out.close();
    }
    close_table(out);
    out.close();
}

/// What is recomputed and when.
inline void write_replay_section(markup& out, report_view const& v)
{
    out.element("h2", "What is recomputed");
    if (v.after.replays() == 0) {
        out.element("p", "Nothing: every op runs once.");
        return;
    }
    write_replay_table(out, v);
    write_costliest_ops(out, v);
}

/// Who writes `t`, in words.
[[nodiscard]] inline auto produced_by(report_view const& v, tensor_id t) -> std::string
{
    auto const writers = v.p.producers(t);
    if (writers.empty()) {
        return "–";
    }
    auto const more = writers.size() - 1;
    return v.op_name(writers.front()) + (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

/// The largest tensors at the plan's peak.
inline void write_peak_section(markup& out, report_view const& v)
{
    constexpr std::size_t most = 15;
    out.element("h2", "The largest tensors at the peak");
    if (v.after.runs.empty()) {
        out.element("p", "Nothing runs.");
        return;
    }
    auto const& live = v.after.live_at_peak;
    auto const& r = v.after.runs[v.after.peak_run];
    auto const scratch = v.p.workspace(r.op);
    out.element("p",
                unbroken("The plan peaks at " + v.time(r.begin) + " while " + v.op_name(r.op) +
                         (r.replay ? " is replayed" : " runs") + ": " + format_bytes(r.bytes) + ", of which " +
                         format_bytes(v.p.resident_bytes()) + " are resident" +
                         (scratch > 0 ? " and " + format_bytes(scratch) + " workspace" : "") + "."));
    if (live.empty()) {
        return;
    }
    open_table(out,
               live.size() > most ? std::to_string(most) + " of the " +
                                        grouped(static_cast<std::int64_t>(live.size())) + " tensors that are live then."
                                  : "All tensors that are live then.",
               {{"tensor", column_of::text},
                {"bytes", column_of::numbers},
                {"", column_of::bars},
                {"kind", column_of::text},
                {"produced by", column_of::text}});
    for (std::size_t k = 0; k < std::min(live.size(), most); ++k) {
        auto const t = live[k];
        auto const bytes = static_cast<double>(v.p.size(t));
        out.open("tr").element("th", {{"scope", "row"}, {"class", "name"}}, v.tensor_name(t));
        write_number(out, format_bytes(v.p.size(t)));
        write_size_bar(out, share_of(bytes, static_cast<double>(v.p.size(live[0]))));
        out.element("td", to_string(v.p.tensor(t).kind)).element("td", {{"class", "name"}}, produced_by(v, t)).close();
    }
    close_table(out);
}

} // namespace strata::detail::html
