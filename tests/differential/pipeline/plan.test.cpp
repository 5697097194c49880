// SPDX-License-Identifier: Apache-2.0
// Plans against the exact optimum of small problems, and against the slow simulator on larger ones.
#include <strata/pipeline/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/broken_laws.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/judge_plan.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/slow_simulator.hpp"

namespace pipeline_plan_test {

using namespace strata;
using namespace strata::test;

struct tally {
    int plans = 0;
    int optimal = 0;
    int refused = 0;   // rightly: nothing fits
    int not_found = 0; // something fits, or would if it lay in one piece
};

void check_against_optimum(problem const& p, tally& count)
{
    brute_force brute(p);
    auto const least = brute.minimum_budget();
    for (auto b : telling_budgets(p, least)) {
        limits lim;
        lim.budget = budget::bytes(b);
        auto const made = plan(p, lim);
        auto const best = brute.solve(b);
        CAPTURE(b, least);
        if (made) {
            judge_plan(p, *made, b);
            REQUIRE(best);
            REQUIRE(made->certificate.lower_bound <= best->cost);
            REQUIRE(made->certificate.cost >= best->cost);
            ++count.plans;
            count.optimal += made->certificate.cost == best->cost ? 1 : 0;
            continue;
        }
        auto const& e = made.error();
        REQUIRE(e.code == errc::infeasible);
        REQUIRE(e.limit);
        REQUIRE(e.limit->lower_limit <= least);
        REQUIRE(e.limit->known_feasible);
        REQUIRE(*e.limit->known_feasible >= least);
        REQUIRE(*e.limit->known_feasible > b);
        if (e.limit->lower_limit > b) {
            REQUIRE_FALSE(best);
        }
        (best ? count.not_found : count.refused) += 1;
    }
}

TEST_CASE("plan: between bound and optimum under every telling budget of small random problems")
{
    tally count;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        CAPTURE(seed);
        check_against_optimum(varied_problem(seed, seed < 100 ? 12 : 8), count);
    }
    // The bar is low: a planner that only ever keeps all, or refuses, falls below it.
    INFO(count.plans << " plans, " << count.optimal << " optimal, " << count.refused << " rightly refused, "
                     << count.not_found << " not found");
    CHECK(count.optimal * 10 > count.plans * 9);
    CHECK(count.not_found * 5 < count.plans);
}

TEST_CASE("plan: a smaller budget's plan is cheaper by no more than the gap")
{
    int plans = 0;
    int beaten = 0;
    for (std::uint64_t seed = 0; seed < 25; ++seed) {
        auto const p = random_problem(seed, {.ops = 40, .training = true, .effects = 5, .state = 0, .bytes = 60});
        auto cheapest = max_cost; // of plans for smaller budgets, each by a call of its own
        for (int share = 30; share <= 100; share += 5) {
            limits lim;
            lim.budget = budget::fraction(share / 100.0);
            auto const made = plan(p, lim);
            if (!made) {
                continue;
            }
            CAPTURE(seed, share);
            auto const& c = made->certificate;
            REQUIRE(c.lower_bound <= cheapest);
            beaten += c.cost > cheapest ? 1 : 0;
            ++plans;
            cheapest = std::min(cheapest, c.cost);
        }
    }
    INFO(plans << " plans, " << beaten << " beaten by a smaller budget's");
    CHECK(plans > 200);
    CHECK(beaten * 20 < plans);
}

TEST_CASE("plan: judge and slow simulator agree on plans of larger random problems")
{
    int replayed = 0;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        dice d(seed);
        random_options o;
        bool const large = seed % 10 == 1;
        o.training = large || seed % 3 != 0;
        o.ops = static_cast<int>(large ? d.between(200, 400) : d.between(50, 100));
        o.effects = seed % 2 == 0 ? 0 : 10;
        o.state = seed % 2 == 0 ? 0 : 5;
        o.shared_gradients = 5;
        o.reach = 20;
        o.bytes = 60;
        auto const p = random_problem(d.next(), o);
        for (double share : {0.85, 0.65}) {
            limits lim;
            lim.budget = budget::fraction(share);
            auto const made = plan(p, lim);
            CAPTURE(seed, share);
            if (!made) {
                REQUIRE(made.error().code == errc::infeasible);
                continue;
            }
            judge_plan(p, *made, made->certificate.budget);
            auto const slow = slow_simulate(p, made->schedule, made->certificate.budget);
            REQUIRE(slow.ok());
            REQUIRE(slow.peak == made->certificate.peak);
            REQUIRE(slow.cost == made->certificate.cost);
            replayed += slow.cost > p.base_cost() ? 1 : 0;
        }
    }
    CHECK(replayed > 10);
}

} // namespace pipeline_plan_test
