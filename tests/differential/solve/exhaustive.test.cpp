// SPDX-License-Identifier: Apache-2.0
#include <strata/pipeline/plan.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/exhaustive.hpp>

#include <cstdint>
#include <limits>
#include <set>
#include <string>

#include "tests/support/brute_force.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_exhaustive_test {

using namespace strata;

constexpr auto no_limit = std::numeric_limits<std::int64_t>::max();

TEST_CASE("exhaustive: the optimum, and whether there is one, agree with brute force")
{
    int optimal = 0;
    int infeasible = 0;
    int with_replays = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        auto const p = test::varied_problem(seed, 9);
        test::brute_force truth(p);
        auto const least = truth.minimum_budget();
        auto const most = peak_of(p, keep_all_order(p));
        for (auto bytes : std::set<bytes_t>{least - 1, least, (least + most) / 2, most - 1, most}) {
            INFO("seed " << seed << ", budget " << bytes);
            auto const optimum = truth.solve(bytes);
            exhaustive_search exact(p, bytes - p.resident_bytes(), no_limit);
            auto const answer = exact.run();
            REQUIRE(answer == (optimum ? exhaustive_answer::optimal : exhaustive_answer::infeasible));
            if (!optimum) {
                ++infeasible;
                continue;
            }
            ++optimal;
            with_replays += exact.extra_cost() > 0 ? 1 : 0;
            REQUIRE(p.base_cost() + exact.extra_cost() == optimum->cost);
            REQUIRE(cost_of(p, exact.order()) == optimum->cost);
            auto const judged = validate(p, free_early(p, exact.order()), bytes);
            INFO((judged.ok() ? std::string() : judged.violations.front().message));
            REQUIRE(judged.ok());
        }
    }
    CHECK(optimal > 400);
    CHECK(infeasible > 200);
    CHECK(with_replays > 50);
}

TEST_CASE("exhaustive: with too little work or too many tensors it gives up instead of claiming anything")
{
    auto const small = test::varied_problem(3, 9);
    CHECK(exhaustive_search(small, max_bytes, 1).run() == exhaustive_answer::gave_up);
    auto const large = test::varied_problem(3, 400);
    CHECK(exhaustive_search(large, max_bytes, no_limit).run() == exhaustive_answer::gave_up);
}

TEST_CASE("plan: of a small problem the certificate has no gap, and a budget too small is proven to be so")
{
    int proven = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        auto const p = test::varied_problem(seed, 8);
        test::brute_force truth(p);
        auto const least = truth.minimum_budget();
        INFO("seed " << seed);
        if (auto const made = plan(p, {.budget = budget::bytes(least)})) {
            auto const optimum = truth.solve(least);
            // What is within a hundredth of a point of the bound counts as reached: nothing more is then tried.
            auto const spared = optimum->cost - made->certificate.lower_bound;
            REQUIRE(spared >= 0);
            REQUIRE(static_cast<double>(spared) <= 1e-4 * static_cast<double>(p.base_cost()));
            REQUIRE(made->certificate.cost >= optimum->cost);
            ++proven;
        }
        if (least > 0) {
            auto const refused = plan(p, {.budget = budget::bytes(least - 1)});
            REQUIRE_FALSE(refused);
            REQUIRE(refused.error().limit.has_value());
            REQUIRE(refused.error().limit->lower_limit == least);
        }
    }
    CHECK(proven > 40);
}

} // namespace solve_exhaustive_test
