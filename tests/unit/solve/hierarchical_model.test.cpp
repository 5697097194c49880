// SPDX-License-Identifier: Apache-2.0
#include <strata/merge/idle_runs.hpp>
#include <strata/merge/promise.hpp>
#include <strata/merge/rules.hpp>
#include <strata/solve/hierarchical_model.hpp>
#include <strata/solve/mip_backend.hpp>

#include <cstddef>
#include <cstdint>

#include "tests/support/catch.hpp"
#include "tests/support/random_block_graph.hpp"
#include "tests/support/sanitized.hpp"

namespace solve_hierarchical_model_test {

using namespace strata;
using namespace strata::test;

TEST_CASE("hierarchical_model: a plan is a solution exactly when it fits, of the same cost, and comes back")
{
    int expressed = 0;
    int refused = 0;
    int again = 0;
    int served_later = 0;
    for (std::uint64_t seed = 1; seed <= (sanitized ? 120U : 600U); ++seed) {
        auto const level = make_random_level(seed, 24);
        if (!level.level) {
            continue;
        }
        auto const& g = *level.level;
        auto const& p = g.subject();
        dice d(seed);
        for (int i = 0; i < 6; ++i) {
            CAPTURE(seed, i);
            auto const plan = without_idle_runs(g, random_one_pass_plan(g, d));
            auto const promise = promise_of(g, plan);
            hierarchical_model const m(g, promise.peak, {.closure_every = i % 3});
            REQUIRE_FALSE(m.too_large());
            REQUIRE_FALSE(check_model(m.model()));
            auto const x = m.solution_of(plan);
            if (!x) {
                continue; // runs again while nothing need be dropped yet: there is no column for that
            }
            ++expressed;
            REQUIRE(violation_of(m.model(), *x) < 1e-9);
            CHECK(m.model().objective.dot(*x) * m.cost_unit() ==
                  Approx(static_cast<double>(promise.cost - m.base_cost())).epsilon(1e-9));
            auto const back = m.plan_of(*x);
            CHECK(is_block_plan(g, back));
            CHECK(promise_of(g, back).cost == promise.cost);
            CHECK(promise_of(g, back).peak == promise.peak);
            again += plan.size() > g.items().size() ? 1 : 0;
            for (std::size_t k = 0; k < plan.size(); ++k) {
                bool const late = plan[k].which == half::forward && plan[k].option != fast_forward && k > 0 &&
                                  !g.part(plan[k].part).backward.empty();
                served_later += late && plan[k - 1].which == half::backward ? 1 : 0;
            }
            if (promise.peak == p.resident_bytes()) {
                continue;
            }
            // One unit less is too few for it.
            hierarchical_model const tighter(g, promise.peak - p.alignment(), {.closure_every = i % 3});
            auto const y = tighter.solution_of(plan);
            CHECK((!y || violation_of(tighter.model(), *y) > 1e-6));
            refused += y ? 1 : 0;
        }
    }
    int const share = sanitized ? 5 : 1;
    CHECK(expressed > 1000 / share);
    CHECK(refused > 500 / share);
    CHECK(again > 500 / share);
    CHECK(served_later > 200 / share);
}

TEST_CASE("hierarchical_model: stops building beyond the entries allowed")
{
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        auto const level = make_random_level(seed, 24);
        if (!level.level) {
            continue;
        }
        hierarchical_model const all(*level.level, max_bytes, {});
        REQUIRE_FALSE(all.too_large());
        auto const entries = static_cast<std::size_t>(all.model().rows.nonZeros());
        hierarchical_model const none(*level.level, max_bytes, {.max_entries = entries / 2});
        CHECK(none.too_large());
        CHECK(none.model().columns() == 0);
    }
}

} // namespace solve_hierarchical_model_test
