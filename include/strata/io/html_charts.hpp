// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The charts of a report along the time axis: memory before and after, first runs and replays.
#pragma once

#include <strata/io/format.hpp>
#include <strata/io/html_markup.hpp>
#include <strata/io/html_plot.hpp>
#include <strata/io/memory_curve.hpp>
#include <strata/pipeline/certificate.hpp>
#include <strata/problem/effects.hpp>
#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace strata::detail::html {

/// What every part of a report looks at.
struct report_view {
    problem const& p;
    certified_plan const& plan;
    memory_curve before; ///< keep-all
    memory_curve after;  ///< the plan
    std::string cost_unit;

    /// Right end of the common time axis.
    [[nodiscard]] auto length() const noexcept -> double { return std::max(before.length(), after.length()); }
    /// A mark on the time axis: the unit is not repeated at the origin.
    [[nodiscard]] auto time_mark(double at) const -> std::string { return at > 0 ? time(at) : "0"; }
    /// A point of the time axis in words.
    [[nodiscard]] auto time(double at) const -> std::string
    {
        return before.timed ? format_cost(at, cost_unit) : short_number(at) + " runs";
    }
    [[nodiscard]] auto op_name(op_id o) const -> std::string
    {
        auto const& name = p.op(o).name;
        return name.empty() ? "op " + std::to_string(o) : shortened(name);
    }
    [[nodiscard]] auto tensor_name(tensor_id t) const -> std::string
    {
        if (t == none) {
            return "workspace";
        }
        auto const& name = p.tensor(t).name;
        return name.empty() ? "tensor " + std::to_string(t) : shortened(name);
    }
    [[nodiscard]] auto has_budget() const noexcept -> bool { return plan.certificate.budget != max_bytes; }
};

/// One entry of a legend: the style of its sample and what it stands for.
struct legend_item {
    char const* style;
    std::string meaning;
};

inline void write_legend(markup& out, std::vector<legend_item> const& items)
{
    out.open("ul", {{"class", "legend"}});
    for (auto const& item : items) {
        bool const line = std::string_view(item.style).find("line") != std::string_view::npos;
        out.open("li").open("svg", {{"width", "30"}, {"height", "13"}, {"aria-hidden", "true"}});
        if (line) {
            out.shape("line", {{"class", item.style}, {"x1", "0"}, {"x2", "30"}, {"y1", "7"}, {"y2", "7"}});
        } else {
            out.shape("rect", {{"class", item.style}, {"width", "30"}, {"height", "13"}, {"rx", "2"}});
        }
        out.close().text(unbroken(item.meaning)).close();
    }
    out.close();
}

/// A curve as a staircase, and the same closed down to the floor.
struct staircase {
    path line;
    path area;
};

/// Draws run by run while that is short, else by columns: both keep every peak.
[[nodiscard]] inline auto staircase_of(memory_curve const& curve, double length, plot const& frame) -> staircase
{
    constexpr std::size_t most_runs = 1500;
    constexpr std::size_t columns = 1000;
    staircase s;
    auto const step = [&](double begin, double end, bytes_t bytes) {
        auto const top = frame.y(static_cast<double>(bytes));
        if (s.line.empty()) {
            s.line.move(frame.x(begin), top);
            s.area.move(frame.x(begin), frame.height()).down(top);
        } else {
            s.line.down(top);
            s.area.down(top);
        }
        s.line.across(frame.x(end));
        s.area.across(frame.x(end));
    };
    if (curve.runs.size() <= most_runs) {
        for (auto const& r : curve.runs) {
            step(r.begin, r.end, r.bytes);
        }
    } else {
        auto const wide = length / static_cast<double>(columns);
        auto const all = columns_of(curve, length, columns);
        for (std::size_t k = 0; k < columns && all[k].bytes >= 0; ++k) {
            step(static_cast<double>(k) * wide, static_cast<double>(k + 1) * wide, all[k].bytes);
        }
    }
    s.area.down(frame.height()).close();
    return s;
}

/// Invisible columns that say what is live when: the tooltips of the memory chart.
inline void write_memory_tips(plot& frame, report_view const& v)
{
    constexpr std::size_t columns = 160;
    auto const before = columns_of(v.before, v.length(), columns);
    auto const after = columns_of(v.after, v.length(), columns);
    auto const wide = plot::width / static_cast<double>(columns);
    auto const line = [&](char const* what, curve_column const& c, memory_curve const& curve) {
        if (c.bytes < 0) {
            return std::string(what) + ": done";
        }
        auto const& r = curve.runs[c.highest];
        return std::string(what) + ": " + format_bytes(c.bytes) + " in " + v.op_name(r.op) +
               (r.replay ? " (replay)" : "");
    };
    for (std::size_t k = 0; k < columns; ++k) {
        auto const at = v.length() * (static_cast<double>(k) + 0.5) / static_cast<double>(columns);
        frame.box("hit",
                  static_cast<double>(k) * wide,
                  0,
                  wide,
                  frame.height(),
                  "at " + v.time(at) + "\n" + line("plan", after[k], v.after) + "\n" +
                      line("keep-all", before[k], v.before));
    }
}

/// Top of the memory axis: room for both curves, and for the budget unless it is far above them.
[[nodiscard]] inline auto memory_top(report_view const& v) -> double
{
    auto const peaks = static_cast<double>(std::max({v.before.peak(), v.after.peak(), bytes_t{1}}));
    auto const limit = static_cast<double>(v.plan.certificate.budget);
    return 1.08 * (v.has_budget() && limit < 1.3 * peaks ? std::max(peaks, limit) : peaks);
}

/// Marks the peak of a curve with a dot and `text`, which `shift` moves down.
inline void label_peak(plot& frame, memory_curve const& curve, char const* dot, std::string const& text, double shift)
{
    if (curve.runs.empty()) {
        return;
    }
    auto const& r = curve.runs[curve.peak_run];
    auto const middle = (r.begin + r.end) / 2;
    frame.dot(dot, middle, static_cast<double>(r.bytes), 3.5, text);
    frame.label(middle, static_cast<double>(r.bytes), shift, text, frame.fitting(middle));
}

/// Names both peaks: each at its place where they are apart, together where they are not.
inline void label_peaks(plot& frame, report_view const& v)
{
    auto const height = [&](memory_curve const& c) { return frame.y(static_cast<double>(c.peak())); };
    auto const before = "keep-all peak " + format_bytes(v.before.peak());
    auto const after = "plan peak " + format_bytes(v.after.peak());
    if (height(v.after) - height(v.before) > 24) {
        label_peak(frame, v.before, "keep-dot", before, -9);
        // Under the plateau that a plan makes of its budget, not on it.
        label_peak(frame, v.after, "dot", after, 32);
    } else {
        label_peak(frame, v.before, "keep-dot", before + ", " + after, -9);
    }
}

/// Memory over the step, before and after, with the budget.
inline void write_memory_chart(markup& out, report_view const& v)
{
    auto const top = memory_top(v);
    auto const limit = static_cast<double>(v.plan.certificate.budget);
    bool const limit_seen = v.has_budget() && limit <= top;
    auto const says = "Memory over the step. Keep-all peaks at " + format_bytes(v.before.peak()) + ", the plan at " +
                      format_bytes(v.after.peak()) +
                      (v.has_budget() ? ", the budget is " + format_bytes(v.plan.certificate.budget) : "");
    plot frame(out, says, 320, {0, v.length()}, {0, top});
    frame.y_axis(byte_ticks({0, top}));
    frame.open_area();
    auto const before = staircase_of(v.before, v.length(), frame);
    auto const after = staircase_of(v.after, v.length(), frame);
    frame.draw("keep-area", before.area);
    frame.draw("plan-area", after.area);
    auto const resident = frame.y(static_cast<double>(v.p.resident_bytes()));
    if (v.p.resident_bytes() > 0) {
        frame.draw("resident", path().box(0, resident, plot::width, frame.height() - resident));
    }
    frame.draw("keep-line", before.line);
    frame.draw("plan-line", after.line);
    if (limit_seen) {
        frame.draw("budget-line", path().move(0, frame.y(limit)).across(plot::width));
    }
    write_memory_tips(frame, v);
    frame.close_area();
    label_peaks(frame, v);
    if (limit_seen) {
        frame.label(0, limit, -7, "budget " + format_bytes(v.plan.certificate.budget), align::start);
    }
    frame.finish();
}

/// First runs by phase above, the share of time spent on replays below.
inline void write_run_strip(markup& out, report_view const& v)
{
    constexpr double row = 20;
    constexpr double bars_top = 26;
    constexpr double bars_floor = 60;
    constexpr std::size_t columns = 250;
    plot frame(out, "First runs by phase, and replays, on the same time axis", bars_floor, {0, v.length()}, {0, 1});
    out.element("text", {{"x", "-8"}, {"y", "14"}, {"text-anchor", "end"}}, "first runs");
    out.element("text", {{"x", "-8"}, {"y", "54"}, {"text-anchor", "end"}}, "replays");
    auto const stretches = phases_of(v.p, v.after, v.length() / 200);
    frame.open_area();
    for (auto const& s : stretches) {
        auto const style = "f-" + std::string(to_string(s.phase));
        frame.box(style.c_str(),
                  frame.x(s.begin),
                  0,
                  frame.x(s.end) - frame.x(s.begin),
                  row,
                  std::string(to_string(s.phase)) + "\n" + v.time(s.begin) + " to " + v.time(s.end));
    }
    path bars;
    auto const all = columns_of(v.after, v.length(), columns);
    auto const wide = plot::width / static_cast<double>(columns);
    for (std::size_t k = 0; k < columns; ++k) {
        if (all[k].replayed > 0) {
            auto const tall = std::max(2.0, all[k].replayed * (bars_floor - bars_top));
            bars.box(static_cast<double>(k) * wide, bars_floor - tall, wide, tall);
        }
    }
    frame.draw("replayed", bars);
    frame.close_area();
    for (auto const& s : stretches) {
        if (s.end - s.begin > v.length() * 0.22) {
            frame.label(s.begin + v.length() * 0.01, 1, 14.5, to_string(s.phase), align::start);
        }
    }
    frame.x_axis(decimal_ticks({0, v.length()}, 8, [&](double at) { return v.time_mark(at); }));
    frame.finish();
}

/// The first section of a report: memory and runs on one time axis, with their legend.
inline void write_memory_section(markup& out, report_view const& v)
{
    out.element("h2", "Memory over the step");
    out.open("figure");
    std::vector<legend_item> legend{{"keep-area", "keep-all: everything is kept"}, {"plan-line", "this plan"}};
    if (v.has_budget()) {
        legend.push_back({"budget-line", "budget"});
    }
    if (static_cast<double>(v.p.resident_bytes()) > 0.004 * memory_top(v)) { // else it is too thin to be seen
        legend.push_back({"resident", "resident (parameters, inputs, state): " + format_bytes(v.p.resident_bytes())});
    }
    legend.push_back({"replayed", "replays: share of the time spent on recomputing"});
    write_legend(out, legend);
    out.open("div", {{"class", "plot"}});
    write_memory_chart(out, v);
    out.open("div", {{"class", "runs"}});
    write_run_strip(out, v);
    out.close().close();
    out.element("figcaption",
                v.before.timed
                    ? "Left to right: time, as the costs of the ops add up. The plan ends later by the time its "
                      "replays take."
                    : "Left to right: runs, one after another; no op of this step has a cost.");
    out.close();
}

} // namespace strata::detail::html
