// SPDX-License-Identifier: Apache-2.0
// Walks within a budget against the truth: never below the optimum, and how often at it and at the fewest bytes.
#include <strata/pipeline/planner.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/budgeted.hpp>
#include <strata/solve/keep_all.hpp>
#include <strata/solve/minimum_memory.hpp>

#include <cstdint>
#include <set>

#include "tests/support/brute_force.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_small_budgets_test {

using namespace strata;

TEST_CASE("budgeted and minimum_memory against brute force")
{
    int asked = 0;
    int optimal = 0;
    int tight = 0;
    int tight_met = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        auto const p = test::varied_problem(seed, 10);
        test::brute_force truth(p);
        auto const least = truth.minimum_budget();
        auto const most = peak_of(p, keep_all_order(p));
        detail::planner const with(p);
        INFO("seed " << seed);
        REQUIRE(least_walk_peak(p, with.least().bytes, most) >= least);
        for (auto bytes : std::set<bytes_t>{least, (least + most) / 2}) {
            auto const studied = with.analyse(bytes, {});
            REQUIRE(studied);
            if (bytes == least) {
                ++tight;
                auto const fits = with.best_order(bytes, *studied, {}, {}, minimum_memory{.runs = 50'000}, nullptr);
                tight_met += fits ? 1 : 0;
                REQUIRE((!fits || peak_of(p, fits->order) == least));
            }
            auto const found = with.best_order(bytes, *studied, {}, {}, budgeted{.worth_it = 0}, nullptr);
            auto const optimum = truth.solve(bytes);
            REQUIRE(optimum);
            if (found) {
                REQUIRE(found->cost >= optimum->cost);
                REQUIRE(validate(p, free_early(p, found->order), bytes).ok());
            }
            ++asked;
            optimal += found && found->cost == optimum->cost ? 1 : 0;
        }
    }
    INFO("optimal " << optimal << " of " << asked << "; fewest bytes " << tight_met << " of " << tight);
    CHECK(optimal * 100 > 90 * asked);
    CHECK(tight_met * 100 > 90 * tight);
}

} // namespace solve_small_budgets_test
