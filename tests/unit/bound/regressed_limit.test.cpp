// SPDX-License-Identifier: Apache-2.0
#include <strata/bound/minimum_budget.hpp>
#include <strata/bound/regressed_limit.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/keep_all.hpp>

#include <chrono>
#include <cstdint>

#include "tests/support/brute_force.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace bound_regressed_limit_test {

using namespace strata;
using namespace strata::test;

auto raised(problem const& p, regression_effort const& effort = {}) -> byte_limit
{
    return regressed_limit(p, minimum_budget(p), peak_of(p, keep_all_order(p)), effort);
}

TEST_CASE("regressed_limit: between the need of one op and what enumeration needs, and mostly what it needs")
{
    int higher = 0;
    int tight = 0;
    int tight_before = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        auto const p = varied_problem(seed, 10);
        auto const known = minimum_budget(p);
        auto const truth = brute_force(p).minimum_budget();
        CAPTURE(seed);
        for (op_id const window : {2, 30}) {
            for (double const small : {0.0, 0.02, 0.3}) {
                auto const limit = raised(p, {.window = window, .small = small});
                REQUIRE(limit.bytes >= known.bytes);
                REQUIRE(limit.bytes <= truth);
                REQUIRE(limit.pinned_by >= 0);
                REQUIRE(limit.pinned_by < p.op_count());
            }
        }
        auto const limit = raised(p, {.small = 0});
        REQUIRE(limit.bytes + limit.bytes / 1000 >= truth); // ten ops back is all there is
        higher += limit.bytes > known.bytes ? 1 : 0;
        tight += limit.bytes == truth ? 1 : 0;
        tight_before += known.bytes == truth ? 1 : 0;
    }
    INFO(higher << " higher, " << tight_before << " tight before, " << tight << " after");
    CHECK(tight > 295);
    CHECK(tight_before < 280);
    CHECK(higher > 20);
}

TEST_CASE("regressed_limit: the input that is made last finds the others there")
{
    auto const p = make(two_chains_spec());
    CHECK(minimum_budget(p).bytes == 20);
    CHECK(raised(p, {.small = 0}) == byte_limit{24, 6});
    CHECK(brute_force(p).minimum_budget() == 24);
}

TEST_CASE("regressed_limit: without states, or time, what is known stays")
{
    auto const p = varied_problem(3, 10);
    auto const known = minimum_budget(p);
    CHECK(raised(p, {.states = 0}) == known);
    stop_watch const none({.deadline = std::chrono::nanoseconds(0)});
    CHECK(regressed_limit(p, known, peak_of(p, keep_all_order(p)), {}, none) == known);
    CHECK(regressed_limit(p, known, known.bytes) == known);
}

} // namespace bound_regressed_limit_test
