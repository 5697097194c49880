// SPDX-License-Identifier: Apache-2.0
#include <strata/bound/minimum_budget.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/pipeline/planner.hpp>
#include <strata/solve/keep_all.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/out_of_reach.hpp>
#include <strata/solve/search.hpp>

#include <array>
#include <cstdint>

#include "tests/support/brute_force.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_out_of_reach_test {

using namespace strata;
using namespace strata::test;

/// Whether it proves that nothing fits `bytes`.
auto proves(problem const& p, bytes_t bytes, out_of_reach const& s = {})
{
    limits const lim;
    std::array<op_id, 1> const points = {0};
    search on(p, bytes, points, {p.base_cost(), none, false}, lim, {});
    s.solve(on);
    CHECK(on.done() == (on.bound().cost == max_cost)); // nobody is asked any more
    return on.bound().cost == max_cost;
}

TEST_CASE("out_of_reach: proves only what enumeration confirms, and most of it")
{
    int none_fits = 0;
    int proven = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        auto const p = varied_problem(seed, 10);
        auto const least = brute_force(p).minimum_budget();
        CAPTURE(seed, least);
        REQUIRE_FALSE(proves(p, least));
        if (auto const one_op = minimum_budget(p).bytes; one_op < least) {
            ++none_fits;
            proven += proves(p, least - 1) ? 1 : 0;
        }
    }
    INFO(proven << " of " << none_fits);
    CHECK(none_fits >= 15);
    CHECK(proven > none_fits * 9 / 10);
}

TEST_CASE("out_of_reach: a budget that one op fits and its inputs do not")
{
    auto const p = make(two_chains_spec());
    CHECK(minimum_budget(p).bytes == 20);
    CHECK(proves(p, 23));
    CHECK_FALSE(proves(p, 24));
    CHECK_FALSE(proves(p, 23, {.effort = {.states = 0}}));
    CHECK(proves(p, 23, {.effort = {.ops = 0}})); // the end of the step is looked at still
    CHECK_FALSE(proves(p, 23, {.effort = {.ops = 0, .window = 0}}));
}

TEST_CASE("out_of_reach: nothing where there is a plan")
{
    auto const p = make(two_chains_spec());
    limits const lim;
    std::array<op_id, 1> const points = {0};
    search on(p, 23, points, {0, none, false}, lim, {});
    on.take({keep_all_order(p), p.base_cost(), "known"});
    out_of_reach{}.solve(on);
    CHECK(on.bound().cost == 0);
}

TEST_CASE("out_of_reach: the answer says that no plan fits, why, and which budget does")
{
    auto const p = make(two_chains_spec());
    auto const made = plan(p, {.budget = budget::bytes(23)});
    REQUIRE_FALSE(made);
    auto const& e = made.error();
    CHECK(e.code == errc::infeasible);
    CHECK(e.message.find("no plan fits 23 bytes: op 6") != std::string::npos);
    REQUIRE(e.limit);
    CHECK(e.limit->lower_limit == 24);
    REQUIRE(e.limit->known_feasible);
    CHECK(plan(p, {.budget = budget::bytes(*e.limit->known_feasible)}));
}

} // namespace solve_out_of_reach_test
