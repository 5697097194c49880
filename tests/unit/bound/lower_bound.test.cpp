// SPDX-License-Identifier: Apache-2.0
#include <strata/bound/lower_bound.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace bound_lower_bound_test {

using namespace strata;
using namespace strata::test;

TEST_CASE("time_points: every op of a small problem, and otherwise as many as asked for, each once")
{
    auto const p = random_problem(1, {.ops = 60, .training = true});
    auto const order = index_order(p);
    CHECK(time_points(p, order, 3, 2, 60) == order);
    auto points = time_points(p, order, 5, 4);
    CHECK(points.size() == 9);
    std::sort(points.begin(), points.end());
    CHECK(std::adjacent_find(points.begin(), points.end()) == points.end());
    CHECK(points.front() >= 0);
    CHECK(points.back() < 60);
}

TEST_CASE("time_points: the hottest run comes first, and the largest footprint is among them")
{
    auto s = training_chain_spec(20);
    s.ops[3].workspace = 5; // a large footprint where little else is live
    auto const p = make(s);
    auto const points = time_points(p, index_order(p), 1, 1);
    CHECK(points == std::vector<op_id>{20, 3}); // the first backward op is where everything is live
}

TEST_CASE("lower_bound: the strongest point is named")
{
    auto const p = make(training_chain_spec(9));
    auto const bound = lower_bound(p, 8, index_order(p));
    CHECK(bound.cost == 18 + 3);
    CHECK_FALSE(bound.infeasible);
    CHECK((bound.at == 9));
}

TEST_CASE("lower_bound: nothing to prove leaves the base cost, too little is infeasible at an op")
{
    auto const p = make(training_chain_spec(9));
    CHECK(lower_bound(p, 100, index_order(p)) == cost_bound{18, none, false});
    CHECK(lower_bound(p, max_bytes, index_order(p)) == cost_bound{18, none, false});
    auto const refused = lower_bound(p, 2, index_order(p));
    CHECK(refused.infeasible);
    CHECK(refused.at != none);
    CHECK(lower_bound(p, 2, {}) == cost_bound{18, none, false});
}

TEST_CASE("lower_bound: a larger budget never has a larger bound")
{
    auto const p = random_problem(11, {.ops = 40, .training = true, .effects = 0, .state = 0});
    auto last = max_cost;
    for (bytes_t b = minimum_budget(p).bytes; b < minimum_budget(p).bytes + 150; b += 3) {
        auto const bound = lower_bound(p, b, index_order(p));
        if (!bound.infeasible) {
            CHECK(bound.cost <= last);
            last = bound.cost;
        }
    }
    CHECK(last == p.base_cost());
}

TEST_CASE("telling_points: peaks of what is proven, the highest first, and one of a crowd")
{
    CHECK(telling_points({}).empty());
    CHECK(telling_points({{5, 3, false}}) == std::vector<op_id>{3});
    CHECK(telling_points({{5, 3, false}, {7, 4, false}, {7, 5, false}, {6, 6, false}, {9, 9, false}}) ==
          std::vector<op_id>{9, 5});
    CHECK(telling_points({{5, 0, false},
                          {4, 1, false},
                          {9, 200, false},
                          {8, 201, false},
                          {8, 202, false},
                          {8, 203, false},
                          {1, 204, false}}) == std::vector<op_id>{200, 0});
}

} // namespace bound_lower_bound_test
