// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A plan as one HTML page: its certificate, memory before and after, what is recomputed, the arena.
///
/// The page is self-contained: no network, no fonts, no libraries. It can be read without script, in light and dark, on
/// a telephone, and in grey. docs/report.md says how to read it.
#pragma once

#include <strata/io/html_charts.hpp>
#include <strata/io/html_maps.hpp>
#include <strata/io/html_markup.hpp>
#include <strata/io/html_style.hpp>
#include <strata/io/html_tables.hpp>
#include <strata/io/memory_curve.hpp>
#include <strata/pipeline/certificate.hpp>
#include <strata/problem/problem.hpp>

#include <string>
#include <utility>
#include <vector>

namespace strata {

/// What a report shows beyond the plan.
struct report_options {
    std::string title;                  ///< above the page; empty: the problem's name
    std::string cost_unit = "ns";       ///< of the problem's costs: ns, us, ms, s, or any other word
    std::vector<report_point> frontier; ///< plans for other budgets, in any order; empty: no frontier is drawn
};

/// The report on `plan`. Its size is bounded: long schedules are thinned without losing a peak, and only the largest
/// buffers are drawn one by one.
/// Requires: `plan` was made for `p`.
/// Throws: `bad_result_access` when a step of the plan names what `p` does not have.
/// Complexity: O(steps log steps + reads and writes of all runs).
[[nodiscard]] inline auto html_report(problem const& p, certified_plan const& plan, report_options const& options = {})
    -> std::string
{
    detail::html::report_view const v{
        p, plan, detail::keep_all_curve(p), detail::curve_of(p, plan.schedule), options.cost_unit};
    auto const title = !options.title.empty() ? options.title
                       : !p.name().empty()    ? p.name()
                                              : std::string("Unnamed step");
    detail::html::markup out;
    out.raw("<!DOCTYPE html>\n").open("html", {{"lang", "en"}}).open("head").raw("<meta charset=\"utf-8\">");
    out.raw("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">");
    out.element("title", title + " – strata report");
    out.open("style").raw(detail::html::report_css()).close().close();
    out.open("body").raw(detail::html::report_patterns).open("main");
    out.open("header").element("p", {{"class", "eyebrow"}}, "strata report").element("h1", title);
    out.element("p", {{"class", "verdict"}}, detail::unbroken(detail::html::verdict_sentence(plan.certificate)));
    detail::html::write_tiles(out, v);
    detail::html::write_certificate(out, v);
    out.close();
    detail::html::write_memory_section(out, v);
    detail::html::write_replay_section(out, v);
    detail::html::write_peak_section(out, v);
    detail::html::write_frontier_section(out, v, options.frontier);
    detail::html::write_arena_section(out, v);
    out.element(
        "footer",
        "Bytes are binary units; peaks include resident tensors. The lower bound holds for plans that run every op "
        "first in the order of the graph.");
    out.close().open("script").raw(detail::html::report_js).close().close().close();
    return std::move(out).take() + "\n";
}

} // namespace strata
