// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The two charts of a report that look beyond the curve: the frontier of plans, and the map of the arena.
#pragma once

#include <strata/io/format.hpp>
#include <strata/io/html_charts.hpp>
#include <strata/io/html_markup.hpp>
#include <strata/io/html_plot.hpp>
#include <strata/io/html_tables.hpp>
#include <strata/io/memory_curve.hpp>
#include <strata/pipeline/certificate.hpp>
#include <strata/place/placement.hpp>
#include <strata/problem/effects.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace strata {

/// One plan of a frontier: what it was allowed, what it needs, what it costs, what is proven.
struct report_point {
    bytes_t budget = 0;
    bytes_t peak = 0;
    double overhead = 0; ///< fraction
    double bound = 0;    ///< proven minimum of `overhead`
    friend auto operator==(report_point const&, report_point const&) -> bool = default;
};

} // namespace strata

namespace strata::detail::html {

/// Overhead of the points, and the bound under them, against the budget. Requires: points ascend by budget.
inline void write_frontier_chart(markup& out, report_view const& v, std::vector<report_point> const& points)
{
    auto const& c = v.plan.certificate;
    double top = c.overhead();
    for (auto const& x : points) {
        top = std::max({top, x.overhead, x.bound});
    }
    auto const least = static_cast<double>(points.front().budget);
    auto const most = static_cast<double>(points.back().budget);
    auto const margin = std::max(1.0, 0.04 * (most - least));
    span_of_values const bytes{least - margin, most + margin};
    span_of_values const extra{0, top > 0 ? top * 1.1 : 0.01};
    plot frame(out, "Overhead against budget: the plans found, and the proven lower bound", 280, bytes, extra);
    frame.y_axis(decimal_ticks(extra, 6, [](double x) { return format_percent(x); }));
    frame.open_area();
    path plans;
    path bounds;
    path between;
    for (auto const& x : points) {
        auto const at = frame.x(static_cast<double>(x.budget));
        if (plans.empty()) {
            plans.move(at, frame.y(x.overhead));
            bounds.move(at, frame.y(x.bound));
            between.move(at, frame.y(x.overhead));
        } else {
            plans.line(at, frame.y(x.overhead));
            bounds.line(at, frame.y(x.bound));
            between.line(at, frame.y(x.overhead));
        }
    }
    for (auto x = points.rbegin(); x != points.rend(); ++x) {
        between.line(frame.x(static_cast<double>(x->budget)), frame.y(x->bound));
    }
    frame.draw("gap-area", between.close());
    frame.draw("bound-line", bounds);
    frame.draw("plan-line", plans);
    frame.close_area();
    for (auto const& x : points) {
        frame.dot("dot",
                  static_cast<double>(x.budget),
                  x.overhead,
                  4,
                  "budget " + format_bytes(x.budget) + "\npeak " + format_bytes(x.peak) + "\noverhead " +
                      format_percent(x.overhead) + "\nproven minimum " + format_percent(x.bound));
    }
    if (c.budget >= points.front().budget && c.budget <= points.back().budget) {
        auto const at = static_cast<double>(c.budget);
        frame.dot("here", at, c.overhead(), 6, "this plan");
        bool const room = at < (least + 2 * most) / 3; // the curve falls: to the right of the point the space is free
        frame.label(
            at, c.overhead(), -13, "this plan " + format_percent(c.overhead()), room ? align::start : align::end);
    }
    frame.x_axis(byte_ticks(bytes));
    frame.finish();
}

/// The plans of a frontier against the bound, as a chart and as a table. Nothing without points;
/// points that hold no number are left out.
inline void write_frontier_section(markup& out, report_view const& v, std::vector<report_point> points)
{
    std::erase_if(points, [](auto const& x) { return !std::isfinite(x.overhead) || !std::isfinite(x.bound); });
    if (points.empty()) {
        return;
    }
    for (auto& x : points) { // "no limit" has no place on an axis; the peak does
        x.budget = x.budget == max_bytes ? x.peak : x.budget;
    }
    std::stable_sort(points.begin(), points.end(), [](auto const& a, auto const& b) { return a.budget < b.budget; });
    out.element("h2", "The frontier").open("figure");
    write_legend(out,
                 {{"plan-line", "overhead of the plans found"},
                  {"bound-line", "proven lower bound"},
                  {"gap-area", "what is left open between them"}});
    out.open("div", {{"class", "plot"}});
    write_frontier_chart(out, v, points);
    out.close()
        .element("figcaption", "Left to right: the budget. Upwards: extra time over running every op once.")
        .close();
    out.open("details").element("summary", "The points as a table");
    open_table(out,
               "By budget.",
               {{"budget", column_of::numbers},
                {"peak", column_of::numbers},
                {"overhead", column_of::numbers},
                {"lower bound", column_of::numbers}});
    for (auto const& x : points) {
        out.open("tr");
        write_number(out, format_bytes(x.budget));
        write_number(out, format_bytes(x.peak));
        write_number(out, format_percent(x.overhead));
        write_number(out, format_percent(x.bound));
        out.close();
    }
    close_table(out);
    out.close();
}

/// A lifetime as a rectangle of the map.
struct map_box {
    std::size_t index = 0; ///< of the lifetime
    double left = 0;
    double top = 0;
    double width = 0;
    double height = 0;
};

/// Rectangles of all lifetimes that take time and bytes, the largest first.
[[nodiscard]] inline auto map_boxes(report_view const& v, plot const& frame) -> std::vector<map_box>
{
    auto const& placed = v.plan.placement;
    auto const last = v.after.step_time.size() - 1;
    std::vector<map_box> boxes;
    for (std::size_t k = 0; k < placed.lifetimes.size() && k < placed.offsets.size(); ++k) {
        auto const& l = placed.lifetimes[k];
        auto const left = frame.x(v.after.step_time[std::min(l.begin, last)]);
        auto const right = frame.x(v.after.step_time[std::min(l.end, last)]);
        auto const top = frame.y(static_cast<double>(placed.offsets[k]) + static_cast<double>(l.size));
        auto const floor = frame.y(static_cast<double>(placed.offsets[k]));
        if (right > left && floor > top) {
            boxes.push_back({k, left, top, right - left, floor - top});
        }
    }
    std::stable_sort(boxes.begin(), boxes.end(), [](auto const& a, auto const& b) {
        return a.width * a.height > b.width * b.height;
    });
    return boxes;
}

/// True when the buffer of `l` is written by a replay.
[[nodiscard]] inline auto made_by_replay(report_view const& v, lifetime const& l) -> bool
{
    auto const& runs = v.after.runs;
    auto const found = std::lower_bound(
        runs.begin(), runs.end(), l.begin, [](auto const& r, std::size_t step) { return r.step < step; });
    return found != runs.end() && found->step == l.begin && found->replay;
}

/// What a buffer of the map can be, and how that is drawn.
struct buffer_kind {
    char const* style;
    char const* meaning;
};

inline constexpr std::array<buffer_kind, 5> buffer_kinds{{{"b-kept", "activation, first run"},
                                                          {"b-recomputed", "recomputed"},
                                                          {"b-gradient", "gradient"},
                                                          {"b-saved", "saved"},
                                                          {"b-workspace", "workspace"}}};

/// Index in `buffer_kinds`.
[[nodiscard]] inline auto kind_of(report_view const& v, lifetime const& l) -> std::size_t
{
    if (l.tensor == none) {
        return 4;
    }
    if (made_by_replay(v, l)) {
        return 1;
    }
    switch (v.p.tensor(l.tensor).kind) {
    case tensor_kind::gradient: return 2;
    case tensor_kind::saved: return 3;
    default: return 0;
    }
}

/// What a tooltip says about a buffer.
[[nodiscard]] inline auto describe(report_view const& v, lifetime const& l, bytes_t offset) -> std::string
{
    auto const& time = v.after.step_time;
    auto const end = std::min(l.end, time.size() - 1);
    return v.tensor_name(l.tensor) + "\n" + format_bytes(l.size) + " at " + format_bytes(offset) + "\n" +
           v.time(time[std::min(l.begin, end)]) + " to " + v.time(time[end]);
}

/// The boxes from `first` on as the cells of a grid they cover: what is too small to be drawn alone.
[[nodiscard]] inline auto covered_cells(std::vector<map_box> const& boxes, std::size_t first, double height) -> path
{
    constexpr std::size_t columns = 250;
    constexpr std::size_t rows = 100;
    auto const wide = plot::width / static_cast<double>(columns);
    auto const tall = height / static_cast<double>(rows);
    std::vector<char> covered(columns * rows, 0);
    auto const cell = [](double x, double size, std::size_t count) {
        return std::min(static_cast<std::size_t>(std::max(0.0, x / size)), count - 1);
    };
    for (auto k = first; k < boxes.size(); ++k) {
        auto const& b = boxes[k];
        for (auto column = cell(b.left, wide, columns); column <= cell(b.left + b.width, wide, columns); ++column) {
            for (auto row = cell(b.top, tall, rows); row <= cell(b.top + b.height, tall, rows); ++row) {
                covered[row * columns + column] = 1;
            }
        }
    }
    path cells;
    for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t column = 0; column < columns; ++column) {
            auto const from = column;
            while (column < columns && covered[row * columns + column] != 0) {
                ++column;
            }
            if (column > from) {
                cells.box(static_cast<double>(from) * wide,
                          static_cast<double>(row) * tall,
                          static_cast<double>(column - from) * wide,
                          tall);
            }
        }
    }
    return cells;
}

/// The arena: offsets upwards, time to the right, one rectangle per buffer as far as they can be told apart.
inline void write_arena_section(markup& out, report_view const& v)
{
    constexpr std::size_t most = 1200;
    auto const& placed = v.plan.placement;
    if (placed.lifetimes.empty()) {
        return;
    }
    markup chart;
    auto const arena = static_cast<double>(std::max(placed.arena, bytes_t{1}));
    plot frame(chart, "Map of the arena: where each buffer lies and how long", 380, {0, v.length()}, {0, arena});
    frame.y_axis(byte_ticks({0, arena}));
    frame.open_area();
    auto const boxes = map_boxes(v, frame);
    auto const alone = std::min(most, boxes.size());
    frame.draw("b-small", covered_cells(boxes, alone, frame.height()));
    std::array<bool, buffer_kinds.size()> met{};
    for (std::size_t k = 0; k < alone; ++k) {
        auto const& b = boxes[k];
        auto const& l = placed.lifetimes[b.index];
        auto const kind = kind_of(v, l);
        met[kind] = true;
        // An edge would hide a box that is hardly thicker than the edge.
        auto const style = std::string(b.width > 3 && b.height > 3 ? "box " : "thin ") + buffer_kinds[kind].style;
        frame.box(style.c_str(), b.left, b.top, b.width, b.height, describe(v, l, placed.offsets[b.index]));
    }
    frame.close_area();
    frame.x_axis(decimal_ticks({0, v.length()}, 8, [&](double at) { return v.time_mark(at); }));
    frame.finish();

    out.element("h2", "Map of the arena").open("figure");
    std::vector<legend_item> legend;
    for (std::size_t k = 0; k < met.size(); ++k) {
        if (met[k]) {
            legend.push_back({buffer_kinds[k].style, buffer_kinds[k].meaning});
        }
    }
    if (boxes.size() > alone) {
        legend.push_back({"b-small", "smaller buffers, together"});
    }
    write_legend(out, legend);
    out.open("div", {{"class", "plot"}}).raw(std::move(chart).take()).close();
    out.element("figcaption",
                boxes.size() > alone
                    ? "Left to right: time. Upwards: offset. The " + grouped(static_cast<std::int64_t>(alone)) +
                          " largest buffers are drawn one by one, the other " +
                          grouped(static_cast<std::int64_t>(boxes.size() - alone)) + " together."
                    : std::string("Left to right: time. Upwards: offset. Each rectangle is one buffer."));
    out.close();
}

} // namespace strata::detail::html
