// SPDX-License-Identifier: Apache-2.0
// Plans in an order of their own against the exact optimum over all orders, and their bounds against that over their own.
#include <strata/pipeline/plan_free_order.hpp>
#include <strata/problem/reordering.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/support/brute_force.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/judge_plan.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/sanitized.hpp"

namespace pipeline_plan_free_order_test {

using namespace strata;
using namespace strata::test;

/// First runs of `s`, in order.
auto first_runs_of(problem const& p, schedule const& s) -> run_order
{
    std::vector<char> ran(static_cast<std::size_t>(p.op_count()), 0);
    run_order order;
    for (auto o : runs_of(s)) {
        if (ran[static_cast<std::size_t>(o)]++ == 0) {
            order.push_back(o);
        }
    }
    return order;
}

TEST_CASE("plan_free_order: plans are valid in the ids given, bounds hold for their own order, answers for every order")
{
    int plans = 0, cheaper = 0, below = 0, optimal = 0, refused = 0;
    // From 71: the first twenty from there hold steps that another order makes cheaper, and ones that it makes possible.
    for (std::uint64_t seed = 71; seed <= (sanitized ? 90 : 190); ++seed) {
        auto const p = varied_problem(seed, 10);
        CAPTURE(seed);
        brute_force any(p, first_runs::in_any_order);
        brute_force given(p);
        auto const least = any.minimum_budget();
        auto const keep_all = validate(p, free_early(p, index_order(p))).peak;
        for (auto const b :
             {least - 1, least, least + (keep_all - least) / 3, least + (keep_all - least) * 2 / 3, keep_all}) {
            CAPTURE(b);
            auto const made = plan_free_order(p, {.budget = budget::bytes(b)});
            auto const truth = b < 0 ? std::nullopt : any.solve(b);
            if (!made) {
                if (made.error().code == errc::invalid_argument) {
                    REQUIRE(b < 0);
                    continue;
                }
                REQUIRE(made.error().code == errc::infeasible);
                REQUIRE(made.error().limit->lower_limit <= least);
                REQUIRE(made.error().limit->known_feasible.value_or(keep_all) >= least);
                ++refused;
                continue;
            }
            REQUIRE(truth);
            judge_plan(p, made->plan, b);
            REQUIRE(made->order.lower_limit <= made->order.peak);
            REQUIRE(made->order.peak <= keep_all);
            REQUIRE(made->plan.certificate.cost >= truth->cost);
            ++plans;
            optimal += made->plan.certificate.cost == truth->cost ? 1 : 0;
            auto const by = reordering::make(p, first_runs_of(p, made->plan.schedule)).value();
            auto const own = brute_force(by.problem()).solve(b);
            REQUIRE(own);
            REQUIRE(made->plan.certificate.lower_bound <= own->cost);
            auto const as_given = given.solve(b);
            below += !as_given ? 1 : 0;
            cheaper += as_given && made->plan.certificate.cost < as_given->cost ? 1 : 0;
        }
    }
    INFO(plans << " plans, " << optimal << " optimal, " << cheaper << " cheaper than any in the order given, " << below
               << " where that has none, " << refused << " refused");
    CHECK(plans > (sanitized ? 50 : 300));
    CHECK(optimal * 10 > plans * 9);
    CHECK(cheaper > 0);
    CHECK(below > 0);
}

TEST_CASE("plan_free_order: never dearer than planning in the order given, where the default finds a plan")
{
    for (std::uint64_t seed = 1; seed <= (sanitized ? 4 : 20); ++seed) {
        auto const p = varied_problem(seed + 500, 30);
        CAPTURE(seed);
        for (auto const share : {0.4, 0.6, 0.8, 1.0}) {
            limits const lim{.budget = budget::fraction(share)};
            auto const given = plan(p, lim);
            auto const made = plan_free_order(p, lim);
            if (given) {
                REQUIRE(made);
                judge_plan(p, made->plan, given->certificate.budget);
                auto const worst = given->certificate.cost + given->certificate.base_cost / 200; // see detail::better
                REQUIRE(made->plan.certificate.cost <= worst);
            } else if (made) {
                judge_plan(p, made->plan, made->plan.certificate.budget);
            }
        }
    }
}

} // namespace pipeline_plan_free_order_test
