// SPDX-License-Identifier: Apache-2.0
#include <strata/pipeline/annealed_plan.hpp>

#include <chrono>
#include <stop_token>

#include "tests/support/catch.hpp"
#include "tests/support/judge_plan.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace pipeline_annealed_plan_test {

using namespace strata;
using namespace strata::test;

auto layers() -> problem
{
    random_options o;
    o.ops = 60;
    o.effects = 0;
    o.state = 0;
    return random_problem(5, o);
}

TEST_CASE("annealed_plan: fits, has its place, and does not depend on threads")
{
    auto const p = layers();
    strata::detail::planner const with(p);
    auto const bytes = p.resident_bytes() + (with.keep_all_peak() - p.resident_bytes()) * 8 / 10;
    limits lim;
    auto const one = strata::detail::annealed_plan(with, bytes, lim, stop_watch(lim));
    REQUIRE(one);
    auto named = *one;
    named.fingerprint = fingerprint(p);
    judge_plan(p, named, bytes);
    lim.threads = 3;
    CHECK(strata::detail::annealed_plan(with, bytes, lim, stop_watch(lim)) == one);
    lim.place = false;
    auto const unplaced = strata::detail::annealed_plan(with, bytes, lim, stop_watch(lim));
    REQUIRE(unplaced);
    CHECK(unplaced->certificate.cost <= one->certificate.cost);
}

TEST_CASE("annealed_plan: of two plans the cheaper one, and of equal ones that with the smaller arena")
{
    certified_plan a;
    a.certificate.cost = 10;
    a.placement.arena = 5;
    auto b = a;
    b.placement.arena = 4;
    CHECK(strata::detail::cheaper(b, a));
    CHECK_FALSE(strata::detail::cheaper(a, b));
    b.certificate.cost = 11;
    CHECK(strata::detail::cheaper(a, b));
}

TEST_CASE("annealed_plan: none when nothing can fit or time is up")
{
    auto const p = layers();
    strata::detail::planner const with(p);
    limits lim;
    lim.deadline = std::chrono::milliseconds(300);
    CHECK_FALSE(strata::detail::annealed_plan(with, p.resident_bytes(), lim, stop_watch(lim)));
    std::stop_source stop;
    stop.request_stop();
    limits stopped;
    stopped.cancel = stop.get_token();
    CHECK_FALSE(strata::detail::annealed_plan(with, with.keep_all_peak(), stopped, stop_watch(stopped)));
}

} // namespace pipeline_annealed_plan_test
