// SPDX-License-Identifier: Apache-2.0
#include <strata/cost/table_cost.hpp>
#include <strata/graph/builder.hpp>
#include <strata/pipeline/plan_free_order.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/judge_plan.hpp"
#include "tests/support/problems.hpp"

namespace pipeline_plan_free_order_test {

using namespace strata;
using namespace strata::test;

/// Three branches of two ops, 100 bytes and then 1, listed level by level, and an op that joins them. In the order given
/// three hundreds are there at once.
auto branches() -> problem_spec
{
    problem_spec s;
    s.name = "branches";
    std::vector<tensor_id> large, small;
    for (int i = 0; i < 3; ++i) {
        large.push_back(add_tensor(s, 100));
        add_op(s, 10, {}, {large.back()});
    }
    for (auto t : large) {
        small.push_back(add_tensor(s, 1));
        add_op(s, 10, {t}, {small.back()});
    }
    auto const out = add_tensor(s, 4);
    add_op(s, 10, small, {out});
    s.targets = {out};
    return s;
}

TEST_CASE("plan_free_order: a budget that no plan in the order given reaches without replays needs none in another")
{
    auto const p = make(branches());
    limits const lim{.budget = budget::bytes(103)};
    CHECK(plan(p, lim)->certificate.cost > p.base_cost());
    auto const made = plan_free_order(p, lim).value();
    judge_plan(p, made.plan, 103);
    CHECK(made.plan.certificate.cost == p.base_cost());
    CHECK(made.plan.certificate.keep_all_peak == 301);
    CHECK(made.plan.certificate.solver == "reorder+keep_all");
    CHECK(made.order.peak == 103);
    CHECK(made.order.minimal());
}

TEST_CASE("plan_free_order: a share of memory is a share of what the order given needs")
{
    auto const p = make(branches());
    auto const made = plan_free_order(p, {.budget = budget::fraction(0.5)}).value();
    CHECK(made.plan.certificate.budget == 150);
    CHECK(made.plan.certificate.peak == 103);
}

TEST_CASE("plan_free_order: what is refused needs more in every order, and what is said to work works")
{
    auto const p = make(branches());
    auto const none = plan_free_order(p, {.budget = budget::bytes(100)});
    REQUIRE_FALSE(none);
    CHECK(none.error().code == errc::infeasible);
    REQUIRE(none.error().limit);
    CHECK(none.error().limit->lower_limit == 101);
    CHECK(none.error().limit->pinned_by == 3);
    CHECK(none.error().message.find("strata::plan_free_order: no plan fits 100 bytes: op 3") == 0);
    CHECK(none.error().message.find(" alone needs 101 bytes") != std::string::npos);
    REQUIRE(none.error().limit->known_feasible);
    auto const enough = *none.error().limit->known_feasible;
    judge_plan(p, plan_free_order(p, {.budget = budget::bytes(enough)})->plan, enough);
}

TEST_CASE("plan_free_order: alignment, deadline and progress are those of the limits")
{
    auto const p = make(branches());
    auto spec = branches();
    spec.alignment = 64;
    auto const aligned = make(spec);
    auto const made = plan_free_order(p, {.alignment = 64}).value();
    judge_plan(aligned, made.plan, made.plan.certificate.budget, &p);
    CHECK(made.plan.certificate.peak == 128 + 2 * 64 + 64);
    auto const late = plan_free_order(p, {.deadline = std::chrono::nanoseconds(0)});
    CHECK((late || late.error().code == errc::deadline));
    double done = 0;
    bool falls = false;
    limits lim{.budget = budget::bytes(102)};
    lim.on_progress = [&](progress const& now) {
        falls = falls || now.done < done;
        done = now.done;
    };
    (void)plan_free_order(p, lim);
    CHECK_FALSE(falls);
    CHECK_FALSE(plan_free_order(p, {.budget = budget::fraction(-1)}));
    CHECK_FALSE(plan_free_order(p, {.alignment = -1}));
}

TEST_CASE("plan_free_order: for a graph, plan and order name its ops, also those that work in place")
{
    graph_builder<int> b("graph");
    std::vector<tensor_id> large, small;
    for (int i = 0; i < 3; ++i) {
        large.push_back(b.add(0, {}, {{.name = "large", .bytes = 100}}));
        b.add(0, {large.back()}, {}, {.mutates = {large.back()}});
    }
    for (auto t : large) {
        small.push_back(b.add(0, {t}, {{.name = "small", .bytes = 1}}));
    }
    b.target(b.add(0, small, {{.name = "out", .bytes = 4}}));
    auto const g = b.build().value();
    table_cost const ones(std::vector<std::int64_t>(10, 1));
    auto const made = plan_free_order(g, ones, {.budget = budget::bytes(103)}).value();
    CHECK(made.plan.certificate.peak == 103);
    CHECK(made.plan.certificate.cost == 10);
    CHECK(runs_of(made.plan.schedule) == made.order.order);
    CHECK(made.order.order == run_order{0, 1, 6, 2, 3, 7, 4, 5, 8, 9});
    auto const lowered = lower(g, ones).value();
    auto const back = in_problem_ids(made.plan, lowered).value();
    judge_plan(lowered.problem(), back, 103);
}

} // namespace pipeline_plan_free_order_test
