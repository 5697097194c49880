// SPDX-License-Identifier: Apache-2.0
#include <strata/io/terminal_picture.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"

using namespace strata;

namespace io_terminal_picture_test {

/// A training chain of four layers, each tensor 1 MiB and each op 1 us.
auto layers() -> problem
{
    auto spec = test::training_chain_spec(4);
    for (auto& t : spec.tensors) {
        t.bytes <<= 20U;
    }
    for (auto& o : spec.ops) {
        o.cost = 1000;
    }
    return problem::make(spec).value();
}

auto plan_of(problem const& p, run_order const& order, bytes_t limit) -> certified_plan
{
    certified_plan plan;
    plan.schedule = free_early(p, order);
    plan.certificate.budget = limit;
    return plan;
}

auto recomputing() -> run_order { return {0, 1, 2, 3, 4, 0, 1, 5, 0, 6, 7}; }

auto lines_of(std::string const& text) -> std::vector<std::string>
{
    std::vector<std::string> lines(1);
    for (char const c : text) {
        if (c == '\n') {
            lines.emplace_back();
        } else {
            lines.back() += c;
        }
    }
    lines.pop_back();
    return lines;
}

TEST_CASE("terminal picture: before is light, after solid, the budget a line, replays below")
{
    auto const p = layers();
    // MiB before: 2 3 4 5 6 5 4 3, after: 2 3 3 3 4 3 4 4 3 4 3
    auto const plan = plan_of(p, recomputing(), bytes_t{5} << 20U);
    auto const picture = terminal_picture(p, plan, {45, 6, true, "ns"});
    CHECK(picture == R"(     6 MiB ┤            ░░░
     5 MiB ┤╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
           │      ░░░░░░███░░░██████   ███
           │   ██████████████████████████████
     2 MiB ┤█████████████████████████████████
           │█████████████████████████████████
         0 └─────────────────────────────────
            0                           11 us
first runs  |forward    |backward
   replays                 ██████   ███
            ░ keep-all 6 MiB   █ plan 4 MiB
            ╌ budget 5 MiB
)");
}

TEST_CASE("terminal picture: without Unicode every character is ASCII")
{
    auto const p = layers();
    auto const plan = plan_of(p, recomputing(), bytes_t{5} << 20U);
    auto const picture = terminal_picture(p, plan, {60, 10, false, "ns"});
    CHECK(std::all_of(picture.begin(), picture.end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
    CHECK(picture.find("11 us") != std::string::npos);
    CHECK(picture.find('#') != std::string::npos);
    CHECK(picture.find("---") != std::string::npos);
}

TEST_CASE("terminal picture: no line is wider than asked for and none ends in spaces")
{
    auto const p = layers();
    auto const plan = plan_of(p, recomputing(), bytes_t{5} << 20U);
    for (std::size_t const width : {40U, 41U, 57U, 78U, 200U}) {
        for (bool const unicode : {true, false}) {
            std::size_t widest = 0;
            for (auto const& line : lines_of(terminal_picture(p, plan, {width, 9, unicode, "ns"}))) {
                widest = std::max(widest, detail::columns_in(line));
                CHECK(line.back() != ' ');
            }
            CHECK(widest == width);
        }
    }
}

TEST_CASE("terminal picture: sizes too small to draw in are raised to the smallest that are not")
{
    auto const p = layers();
    auto const plan = plan_of(p, recomputing(), bytes_t{5} << 20U);
    CHECK(terminal_picture(p, plan, {0, 0, true, "ns"}) == terminal_picture(p, plan, {40, 4, true, "ns"}));
}

TEST_CASE("terminal picture: a budget far above the curves is named but not drawn, no budget not even named")
{
    auto const p = layers();
    auto const far = terminal_picture(p, plan_of(p, recomputing(), bytes_t{1} << 40U));
    CHECK(far.find("budget 1 TiB") != std::string::npos);
    CHECK(far.find("╌╌") == std::string::npos);
    auto const unlimited = terminal_picture(p, plan_of(p, recomputing(), max_bytes));
    CHECK(unlimited.find("budget") == std::string::npos);
}

TEST_CASE("terminal picture: the share of replays is drawn column by column")
{
    auto const p = layers();
    auto const none_replayed = lines_of(terminal_picture(p, plan_of(p, {0, 1, 2, 3, 4, 5, 6, 7}, max_bytes)));
    CHECK(std::find(none_replayed.begin(), none_replayed.end(), "   replays") != none_replayed.end());
}

TEST_CASE("terminal picture: a step without cost or bytes is drawn over its runs")
{
    auto spec = test::training_chain_spec(4);
    for (auto& o : spec.ops) {
        o.cost = 0;
    }
    for (auto& t : spec.tensors) {
        t.bytes = 0;
    }
    auto const p = problem::make(spec).value();
    auto const picture = terminal_picture(p, plan_of(p, recomputing(), 0));
    CHECK(picture.find("11 runs") != std::string::npos);
    CHECK(picture.find("plan 0 B") != std::string::npos);
}

TEST_CASE("terminal picture: a plan of another problem is misuse")
{
    auto plan = plan_of(layers(), recomputing(), max_bytes);
    CHECK_THROWS_AS(terminal_picture(problem::make(test::chain_spec(1)).value(), plan), bad_result_access);
}

} // namespace io_terminal_picture_test
