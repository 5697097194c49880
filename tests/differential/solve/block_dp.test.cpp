// SPDX-License-Identifier: Apache-2.0
// Dynamic programming over stages against all plans of its class, one by one.
#include <strata/merge/promise.hpp>
#include <strata/solve/block_dp.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/persistent_plans.hpp"
#include "tests/support/random_block_graph.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_block_dp_test {

using namespace strata;
using namespace strata::test;

/// The cheapest cost for each peak that some plan has.
auto frontier_of(block_graph const& g) -> std::map<bytes_t, cost_t>
{
    std::map<bytes_t, cost_t> least;
    for (auto const& plan : persistent_plans(g, 0, g.size() - 1, false)) {
        auto const x = promise_of(g, plan);
        auto const known = least.find(x.peak);
        if (known == least.end() || x.cost < known->second) {
            least[x.peak] = x.cost;
        }
    }
    auto best = max_cost;
    for (auto& [peak, cost] : least) {
        cost = best = std::min(best, cost);
    }
    return least;
}

TEST_CASE("block_dp is exact on rows whose neighbours share one tensor")
{
    int feasible = 0;
    int replaying = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        dice d(seed * 31);
        auto const length = static_cast<int>(d.between(1, 2));
        auto const p = make(random_row_spec(d, static_cast<int>(d.between(2, 4)) * length));
        auto parts = parts_of_row(p, length);
        std::vector<std::vector<option>> options;
        for (auto const& b : parts) {
            options.push_back(random_options_of(p, b, d));
        }
        auto const g = block_graph::make(p, std::move(parts), std::move(options)).value();
        auto const known = frontier_of(g);
        INFO("seed " << seed);
        auto const table = block_dp_table::make(g, known.rbegin()->first + 3);
        REQUIRE(table);
        for (auto b = known.begin()->first - 1; b <= known.rbegin()->first + 2; ++b) {
            auto const next = known.upper_bound(b);
            auto const plan = table->plan(b);
            CAPTURE(b);
            REQUIRE(plan.has_value() == (next != known.begin()));
            if (plan) {
                auto const x = promise_of(g, *plan);
                CHECK(x.peak <= b);
                CHECK(x.cost == std::prev(next)->second);
                ++feasible;
                replaying += plan->size() > g.items().size() ? 1 : 0;
            }
        }
    }
    CHECK(feasible > 1000);
    CHECK(replaying > 200);
}

} // namespace solve_block_dp_test
