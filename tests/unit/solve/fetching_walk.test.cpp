// SPDX-License-Identifier: Apache-2.0
#include <strata/schedule/profile.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/budgeted_walk.hpp>
#include <strata/solve/fetching_walk.hpp>
#include <strata/solve/search.hpp>

#include <cstdint>
#include <utility>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_fetching_walk_test {

using namespace strata;
using namespace strata::test;

TEST_CASE("what does not fit right before its use is fetched earlier")
{
    auto const p = make(late_use_spec());
    CHECK_FALSE(budgeted_walk(p)({.capacity = 8}));
    fetching_walk walk(p, {.capacity = 8}, {});
    auto const order = walk();
    REQUIRE(order);
    CHECK(*order == run_order{0, 1, 2, 0, 1, 3, 4});
    CHECK(walk.fetches() == 1);
    CHECK(validate(p, free_early(p, *order), 8).ok());
}

TEST_CASE("no fetch is tried where all fits, beyond the window, or with no runs to spend")
{
    auto const p = make(late_use_spec());
    fetching_walk roomy(p, {.capacity = 9}, {});
    CHECK(roomy().value() == index_order(p));
    CHECK(roomy.fetches() == 0);
    CHECK_FALSE(fetching_walk(p, {.capacity = 8}, {.window = 0})());
    CHECK_FALSE(fetching_walk(p, {.capacity = 8}, {.runs = 0})());
    CHECK_FALSE(fetching_walk(p, {.capacity = 7}, {})());
}

TEST_CASE("fetching walks of random problems are valid, and get further down than plain ones")
{
    int plain = 0;
    int fetched = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        auto const p = varied_problem(seed, 40);
        auto const most = peak_of(p, index_order(p)) - p.resident_bytes();
        for (double share : {0.7, 0.6, 0.5, 0.4}) {
            walk_options const how{.capacity = static_cast<bytes_t>(share * static_cast<double>(most)), .patience = 1};
            bool const without = budgeted_walk(p)(how).has_value();
            auto const order = fetching_walk(p, how, {.runs = 20'000})();
            INFO("seed " << seed << ", share " << share);
            REQUIRE((order || !without));
            plain += without ? 1 : 0;
            fetched += order ? 1 : 0;
            if (order) {
                REQUIRE(is_run_order(p, *order));
                REQUIRE(validate(p, free_early(p, *order), how.capacity + p.resident_bytes()).ok());
            }
        }
    }
    CHECK(fetched > plain);
}

} // namespace solve_fetching_walk_test
