// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Everything that a certified plan promises, checked inside a test case.
#pragma once

#include <strata/pipeline/certificate.hpp>
#include <strata/place/check.hpp>
#include <strata/place/lifetimes.hpp>
#include <strata/problem/fingerprint.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/replay.hpp>
#include <strata/schedule/validate.hpp>

#include "tests/support/broken_laws.hpp"
#include "tests/support/catch.hpp"

namespace strata::test {

/// Requires that `plan`, made for `p` under `budget` bytes, is what its certificate says. `made_for` is the problem
/// whose fingerprint it bears, if that is not `p` itself (which may be realigned).
inline void
judge_unplaced(problem const& p, certified_plan const& plan, bytes_t budget, problem const* made_for = nullptr)
{
    auto const& c = plan.certificate;
    auto const judged = validate(p, plan.schedule, budget);
    REQUIRE(judged.ok());
    REQUIRE(c.budget == budget);
    REQUIRE(c.peak == judged.peak);
    REQUIRE(c.peak <= budget);
    REQUIRE(c.cost == judged.cost);
    auto const measured = replay(p, plan.schedule);
    REQUIRE(measured);
    REQUIRE(measured->peak == c.peak);
    REQUIRE(measured->cost == c.cost);
    REQUIRE(c.keep_all_peak == keep_all_peak(p));
    REQUIRE(c.resident == p.resident_bytes());
    REQUIRE(c.base_cost == p.base_cost());
    REQUIRE(c.lower_bound >= c.base_cost);
    REQUIRE(c.lower_bound <= c.cost);
    REQUIRE(c.overhead() >= c.overhead_bound());
    REQUIRE(c.gap() >= 0);
    REQUIRE_FALSE(c.solver.empty());
    REQUIRE(plan.fingerprint == fingerprint(made_for == nullptr ? p : *made_for));
    REQUIRE(plan.placement.alignment == p.alignment());
}

/// Also judges its placement.
inline void judge_plan(problem const& p, certified_plan const& plan, bytes_t budget, problem const* made_for = nullptr)
{
    judge_unplaced(p, plan, budget, made_for);
    auto const& c = plan.certificate;
    auto const misplaced = check(plan.placement);
    if (misplaced) {
        FAIL(misplaced->message);
    }
    REQUIRE(plan.placement.lifetimes == lifetimes_of(p, plan.schedule));
    REQUIRE(plan.placement.arena <= budget - p.resident_bytes());
    REQUIRE(plan.placement.arena >= c.peak - p.resident_bytes());
}

} // namespace strata::test
