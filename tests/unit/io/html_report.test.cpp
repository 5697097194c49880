// SPDX-License-Identifier: Apache-2.0
#include <strata/io/html_report.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"

using namespace strata;

namespace io_html_report_test {

constexpr bytes_t mib = bytes_t{1} << 20U;

/// A training chain of `n` layers, each tensor 1 MiB and each op 1 us, forward "layer", backward "layer_backward".
auto layers_spec(int n) -> problem_spec
{
    auto spec = test::training_chain_spec(n);
    for (auto& t : spec.tensors) {
        t.bytes = mib;
    }
    for (auto& o : spec.ops) {
        o.cost = 1000;
        o.type = o.phase == phase::forward ? "layer" : "layer_backward";
    }
    return spec;
}

auto layers(int n = 4) -> problem { return problem::make(layers_spec(n)).value(); }

auto recomputing() -> run_order { return {0, 1, 2, 3, 4, 0, 1, 5, 0, 6, 7}; }

auto plan_of(problem const& p, run_order const& order) -> certified_plan
{
    certified_plan plan;
    plan.schedule = free_early(p, order);
    auto const measured = replay(p, plan.schedule).value();
    plan.certificate.budget = measured.peak;
    plan.certificate.peak = measured.peak;
    plan.certificate.keep_all_peak = detail::keep_all_curve(p).peak();
    plan.certificate.resident = p.resident_bytes();
    plan.certificate.cost = measured.cost;
    plan.certificate.base_cost = p.base_cost();
    plan.certificate.lower_bound = p.base_cost() + (measured.cost - p.base_cost()) / 2;
    plan.certificate.solver = "cut";
    return plan;
}

/// Every buffer at an offset of its own: overlaps do not matter to a picture.
auto placed(problem const& p, certified_plan plan) -> certified_plan
{
    std::vector<std::size_t> open(static_cast<std::size_t>(p.tensor_count()), 0);
    auto const& steps = plan.schedule.steps;
    for (std::size_t k = 0; k < steps.size(); ++k) {
        if (steps[k].action == action::free) {
            plan.placement.lifetimes[open[static_cast<std::size_t>(steps[k].id)]].end = k;
            continue;
        }
        for (auto t : p.outputs(steps[k].id)) {
            open[static_cast<std::size_t>(t)] = plan.placement.lifetimes.size();
            plan.placement.lifetimes.push_back({k, steps.size(), p.size(t), t});
            plan.placement.offsets.push_back(static_cast<bytes_t>(k % 8) * mib);
        }
    }
    plan.placement.arena = 8 * mib;
    return plan;
}

auto contains(std::string_view text, std::string_view part) -> bool
{
    return text.find(part) != std::string_view::npos;
}

auto count(std::string_view text, std::string_view part) -> std::size_t
{
    std::size_t n = 0;
    for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) {
        ++n;
    }
    return n;
}

/// The page without its style and script, whose text is no markup.
auto body_of(std::string html) -> std::string
{
    for (std::string const tag : {"style", "script"}) {
        auto const begin = html.find("<" + tag + ">") + tag.size() + 2;
        html.erase(begin, html.find("</" + tag + ">") - begin);
    }
    return html;
}

/// Tags of `html` in order, as "<name ...>" without the brackets.
auto tags_of(std::string const& html) -> std::vector<std::string>
{
    std::vector<std::string> tags;
    for (auto at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
        tags.push_back(html.substr(at + 1, html.find('>', at) - at - 1));
    }
    return tags;
}

/// Empty when every element that is opened is closed in order; else the tag that breaks the rule.
auto first_misnested(std::string const& html) -> std::string
{
    std::vector<std::string> open;
    for (auto const& tag : tags_of(html)) {
        if (tag.front() == '!' || tag.substr(0, 4) == "meta" || tag.back() == '/') {
            continue;
        }
        if (tag.front() != '/') {
            open.push_back(tag.substr(0, tag.find_first_of(" \n")));
            continue;
        }
        if (open.empty() || open.back() != tag.substr(1)) {
            return tag;
        }
        open.pop_back();
    }
    return open.empty() ? "" : open.back();
}

auto full_report() -> std::string
{
    auto const p = layers();
    report_options options;
    options.frontier = {{6 * mib, 6 * mib, 0, 0}, {4 * mib, 4 * mib, 0.375, 0.25}};
    return html_report(p, placed(p, plan_of(p, recomputing())), options);
}

TEST_CASE("html report: every element that is opened is closed, in order")
{
    CHECK(first_misnested(body_of(full_report())).empty());
}

TEST_CASE("html report: nothing is fetched from anywhere")
{
    auto const html = full_report();
    for (auto const* const word : {"http", "src=", "href=", "@import", "@font-face", "fetch(", "<link", "//"}) {
        INFO(word);
        CHECK_FALSE(contains(html, word));
    }
    CHECK(count(html, "url(") == count(html, "url(#"));
}

TEST_CASE("html report: names that look like markup stay text, wherever they come from")
{
    std::string const evil = "</script><script>alert('1')</script>&\"x";
    auto spec = layers_spec(4);
    spec.name = evil;
    for (auto& o : spec.ops) {
        o.name = evil;
        o.type = evil;
    }
    for (auto& t : spec.tensors) {
        t.name = evil;
    }
    auto const p = problem::make(spec).value();
    auto plan = placed(p, plan_of(p, recomputing()));
    plan.certificate.solver = evil;
    report_options options;
    options.cost_unit = evil;
    for (auto const& title : {std::string(), evil}) {
        options.title = title;
        auto const html = html_report(p, plan, options);
        CHECK_FALSE(contains(html, "alert('"));
        CHECK(count(html, "<script") == 1);
        CHECK(contains(html, "&lt;/script&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;&quot;x"));
        CHECK(first_misnested(body_of(html)).empty());
    }
}

TEST_CASE("html report: it says who it is about, and in which language")
{
    auto const p = layers();
    auto const plan = plan_of(p, recomputing());
    CHECK(contains(html_report(p, plan), "<h1>training_chain</h1>"));
    CHECK(contains(html_report(p, plan, {"GPT, batch 8", "ns", {}}), "<h1>GPT, batch 8</h1>"));
    CHECK(contains(html_report(p, plan), "<html lang=\"en\">"));
    auto nameless = layers_spec(4);
    nameless.name.clear();
    auto const q = problem::make(nameless).value();
    CHECK(contains(html_report(q, plan_of(q, recomputing())), "<h1>Unnamed step</h1>"));
}

TEST_CASE("html report: the certificate is written out")
{
    auto const p = layers();
    auto plan = placed(p, plan_of(p, recomputing()));
    plan.certificate.seconds = 0.25;
    auto const html = html_report(p, plan);
    auto const says = [&](std::string const& what, std::string const& value) {
        INFO(what);
        CHECK(contains(html, "<th scope=\"row\">" + what + "</th><td>" + value + "</td>"));
    };
    says("budget", "4 MiB");
    says("peak of keep-all", "6 MiB");
    says("peak of this plan", "4 MiB");
    says("resident, part of every peak", "1 MiB");
    says("arena", "8 MiB");
    says("arena / peak without resident", "2.6667");
    says("ops in the step", "8");
    says("recomputed runs", "3");
    says("every op once", "8 us");
    says("this plan", "11 us");
    says("overhead", "37.5 %");
    says("proven lower bound of it", "18.8 %");
    says("gap, in points", "18.8");
    says("found by", "cut");
    says("planned in", "250 ms");
}

TEST_CASE("html report: the verdict says what fits, what it costs and what is proven")
{
    certificate c;
    c.budget = 6 * mib;
    c.peak = 6 * mib;
    c.keep_all_peak = 11 * mib;
    c.resident = 1 * mib;
    c.base_cost = 1000;
    c.cost = 1038;
    c.lower_bound = 1037;
    using detail::html::verdict_sentence;
    CHECK(verdict_sentence(c) == "Fits 6 MiB (50 % of what keep-all needs) at 3.8 % more time; provably no plan under "
                                 "this order can be below 3.7 %.");
    c.lower_bound = 1038;
    CHECK(verdict_sentence(c) ==
          "Fits 6 MiB (50 % of what keep-all needs) at 3.8 % more time; provably no plan under this order takes less.");
    c.lower_bound = 1000;
    CHECK(verdict_sentence(c) == "Fits 6 MiB (50 % of what keep-all needs) at 3.8 % more time; how far below that a "
                                 "plan could be is not proven.");
    c.cost = 1000;
    CHECK(verdict_sentence(c) == "Fits 6 MiB (50 % of what keep-all needs) at no extra time; no plan can take less.");
    c.budget = max_bytes;
    CHECK(verdict_sentence(c) == "Needs 6 MiB at no extra time; no plan can take less.");
    c.budget = 5 * mib;
    CHECK(verdict_sentence(c) == "Does not fit 5 MiB: needs 6 MiB at no extra time; no plan can take less.");
    c = {};
    c.budget = 100;
    CHECK(verdict_sentence(c) == "Fits 100 B at no extra time; no plan can take less.");
}

TEST_CASE("html report: replays are counted by operator type, the costliest first")
{
    auto spec = layers_spec(4);
    spec.ops[0].type = "cheap";
    spec.ops[1].type = "dear";
    spec.ops[1].cost = 9000;
    auto const p = problem::make(spec).value();
    auto const html = html_report(p, plan_of(p, recomputing()));
    auto const cheap = html.find("<th scope=\"row\">cheap</th>");
    auto const dear = html.find("<th scope=\"row\">dear</th>");
    REQUIRE(cheap != std::string::npos);
    CHECK(dear < cheap);
    CHECK(contains(html,
                   "<td class=\"n\">1</td><td class=\"n wide\">1</td><td class=\"n\">9 us</td><td "
                   "class=\"n\">81.8 %</td>"));
    CHECK(contains(html,
                   "<td class=\"n\">2</td><td class=\"n wide\">1</td><td class=\"n\">2 us</td><td "
                   "class=\"n\">18.2 %</td>"));
}

TEST_CASE("html report: many types of replays end in one row for the rest")
{
    auto spec = layers_spec(30);
    for (std::size_t i = 0; i < spec.ops.size(); ++i) {
        spec.ops[i].type = "type" + std::to_string(i);
    }
    auto const p = problem::make(spec).value();
    run_order order;
    for (op_id o = 0; o < 30; ++o) {
        order.push_back(o);
    }
    for (op_id o = 0; o < 20; ++o) {
        order.push_back(o);
    }
    for (op_id o = 30; o < 60; ++o) {
        order.push_back(o);
    }
    auto const html = html_report(p, plan_of(p, order));
    CHECK(contains(html, "<th scope=\"row\">8 other types</th>"));
    CHECK(contains(html, "<td class=\"n\">8</td><td class=\"n wide\">8</td><td class=\"n\">8 us</td>"));
}

TEST_CASE("html report: a plan without replays says so")
{
    auto const p = layers();
    auto const html = html_report(p, plan_of(p, {0, 1, 2, 3, 4, 5, 6, 7}));
    CHECK(contains(html, "Nothing: every op runs once."));
    CHECK_FALSE(contains(html, "costliest"));
}

TEST_CASE("html report: the tensors live at the peak are listed, largest first, with their producer")
{
    auto spec = layers_spec(4);
    spec.tensors[2].bytes = 3 * mib;
    spec.ops[4].workspace = 2 * mib;
    auto const p = problem::make(spec).value();
    auto const html = html_report(p, plan_of(p, {0, 1, 2, 3, 4, 5, 6, 7}));
    CHECK(
        contains(html, "while op4\u00a0runs: 10\u00a0MiB, of which 1\u00a0MiB are resident and 2\u00a0MiB workspace."));
    CHECK(contains(html, "All tensors that are live then."));
    auto const first = html.find("<th scope=\"row\" class=\"name\">t2</th><td class=\"n\">3 MiB</td>");
    auto const second = html.find("<th scope=\"row\" class=\"name\">t1</th><td class=\"n\">1 MiB</td>");
    REQUIRE(first != std::string::npos);
    REQUIRE(second != std::string::npos);
    CHECK(first < second);
    CHECK(contains(html, "<td>gradient</td><td class=\"name\">op4</td>"));
}

TEST_CASE("html report: the frontier is drawn by budget, with its bound and the plan, when there are points")
{
    auto const p = layers();
    auto const plan = plan_of(p, recomputing());
    CHECK_FALSE(contains(html_report(p, plan), "The frontier"));
    auto const html = full_report();
    CHECK(contains(html, "The frontier"));
    CHECK(contains(html, "this plan 37.5 %"));
    CHECK(contains(html, "bound-line"));
    CHECK(html.find("<td class=\"n\">4 MiB</td><td class=\"n\">4 MiB</td><td class=\"n\">37.5 %</td><td "
                    "class=\"n\">25 %</td>") < html.find("<td class=\"n\">6 MiB</td><td class=\"n\">6 MiB</td>"));
}

TEST_CASE("html report: a frontier of one point, of no limit, or of no number is harmless")
{
    auto const p = layers();
    auto const plan = plan_of(p, recomputing());
    report_options options;
    auto const nan = std::numeric_limits<double>::quiet_NaN();
    options.frontier = {{max_bytes, 6 * mib, 0, 0}, {4 * mib, 4 * mib, nan, 0}};
    auto const html = html_report(p, plan, options);
    CHECK(contains(html, "budget 6 MiB\npeak 6 MiB"));
    CHECK_FALSE(contains(html, "\"?\""));
    CHECK(first_misnested(body_of(html)).empty());
    options.frontier = {{4 * mib, 4 * mib, nan, 0}};
    CHECK_FALSE(contains(html_report(p, plan, options), "The frontier"));
}

TEST_CASE("html report: the map of the arena has one rectangle per buffer and tells recomputed ones apart")
{
    auto const p = layers();
    auto const plan = plan_of(p, recomputing());
    CHECK_FALSE(contains(html_report(p, plan), "Map of the arena"));
    auto const html = html_report(p, placed(p, plan));
    CHECK(count(html, "class=\"box b-kept\"") == 4);
    CHECK(count(html, "class=\"box b-recomputed\"") == 3);
    CHECK(count(html, "class=\"box b-gradient\"") == 4);
    CHECK(contains(html, "Each rectangle is one buffer."));
    CHECK_FALSE(contains(html, "smaller buffers"));
}

TEST_CASE("html report: whatever a chart shows is also said in words or in a table")
{
    auto const html = body_of(full_report());
    for (auto const& tag : tags_of(html)) {
        INFO(tag);
        if (tag.substr(0, 4) == "svg " && !contains(tag, "viewBox")) {
            CHECK((contains(tag, "aria-hidden=\"true\"") ||
                   (contains(tag, "role=\"img\"") && contains(tag, "aria-label=\"") && !contains(tag, "label=\"\""))));
        }
        if (tag.substr(0, 2) == "th" && tag.substr(0, 5) != "thead") {
            CHECK(contains(tag, "scope="));
        }
    }
    CHECK(count(html, "<table") == count(html, "<caption"));
}

TEST_CASE("html report: what shares a chart differs in more than colour")
{
    auto const css = detail::html::report_css();
    auto const rule = [&](std::string const& name) {
        auto const at = css.find("." + name + "{");
        REQUIRE(at != std::string::npos);
        return css.substr(at, css.find('}', at) - at);
    };
    std::set<std::string> dashes;
    for (auto const* const line : {"keep-line", "plan-line", "budget-line", "bound-line"}) {
        auto const r = rule(line);
        auto const at = r.find("stroke-dasharray:");
        dashes.insert(at == std::string::npos ? "solid" : r.substr(at));
    }
    CHECK(dashes.size() == 4);
    std::set<std::string> fills;
    for (auto const* const box : {"b-recomputed", "b-gradient", "b-saved", "b-workspace"}) {
        auto const r = rule(box);
        CHECK(contains(r, "url(#p-"));
        fills.insert(r.substr(r.find("url(")));
    }
    CHECK(fills.size() == 4);
}

TEST_CASE("html report: every colour and pattern that is used is defined")
{
    auto const html = full_report();
    for (std::string const open : {"var(--", "url(#"}) {
        for (auto at = html.find(open); at != std::string::npos; at = html.find(open, at + 1)) {
            auto const begin = at + open.size();
            auto const name = html.substr(begin, html.find(')', begin) - begin);
            INFO(name);
            bool const defined =
                open == "url(#" ? contains(html, "id=\"" + name + "\"") : count(html, "--" + name + ":#") == 2;
            CHECK(defined);
        }
    }
}

TEST_CASE("html report: a step without cost is drawn over its runs")
{
    auto spec = layers_spec(4);
    for (auto& o : spec.ops) {
        o.cost = 0;
    }
    auto const p = problem::make(spec).value();
    auto const html = html_report(p, placed(p, plan_of(p, recomputing())));
    CHECK(contains(html, "10 runs"));
    CHECK(contains(html, "no op of this step has a cost"));
    CHECK(first_misnested(body_of(html)).empty());
}

TEST_CASE("html report: a step without bytes is drawn all the same")
{
    auto spec = layers_spec(4);
    for (auto& t : spec.tensors) {
        t.bytes = 0;
    }
    auto const p = problem::make(spec).value();
    auto const html = html_report(p, placed(p, plan_of(p, recomputing())));
    CHECK(contains(html, "plan peak 0 B"));
    CHECK(first_misnested(body_of(html)).empty());
}

TEST_CASE("html report: a hundred thousand ops make a page of less than two megabytes that keeps the peak")
{
    constexpr int n = 50'000;
    auto spec = layers_spec(n);
    spec.ops[30'000].workspace = bytes_t{1} << 40U;
    auto const p = problem::make(spec).value();
    run_order order;
    for (op_id o = 0; o < n; ++o) {
        order.push_back(o);
    }
    for (op_id o = n; o < 2 * n; ++o) {
        auto const forward = 2 * n - 1 - o; // the op whose output the backward op before it needed
        if (forward % 5 == 0 && forward > 0) {
            order.push_back(forward - 1);
        }
        order.push_back(o);
    }
    auto const html = html_report(p, placed(p, plan_of(p, order)));
    CHECK(html.size() < 2'000'000);
    CHECK(contains(html, "while op30000\u00a0runs: 1.02\u00a0TiB"));
    CHECK(contains(html, "smaller buffers, together"));
    // The spike of one op in 100,000 reaches the top of the staircase, 1 / 1.08 of the chart.
    auto const top = detail::html::coordinate(320 * (1 - 1 / 1.08));
    CHECK(count(html, "V" + top + "H") >= 2);
    CHECK(contains(html, "keep-all peak 1.03 TiB, plan peak 1.02 TiB"));
    CHECK(first_misnested(body_of(html)).empty());
}

TEST_CASE("html report: a plan of another problem is misuse")
{
    auto const p = layers();
    CHECK_THROWS_AS(html_report(problem::make(test::chain_spec(1)).value(), plan_of(p, recomputing())),
                    bad_result_access);
}

} // namespace io_html_report_test
