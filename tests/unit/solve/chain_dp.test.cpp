// SPDX-License-Identifier: Apache-2.0
#include <strata/schedule/profile.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/chain_dp.hpp>
#include <strata/solve/keep_all.hpp>
#include <strata/solve/search.hpp>

#include <optional>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"

namespace solve_chain_dp_test {

using namespace strata;
using namespace strata::test;

auto best_of(problem const& p, bytes_t budget) -> std::optional<candidate>
{
    std::vector<op_id> const points{p.op_count() / 2};
    limits const lim;
    search on(p, budget, points, {p.base_cost(), none, false}, lim, {});
    chain_dp{}.solve(on);
    return on.best();
}

TEST_CASE("chain_dp plans a chain at every budget down to a few bytes")
{
    auto const p = make(training_chain_spec(60));
    auto last = max_cost;
    for (bytes_t b : {9, 12, 16, 24, 40, 61, 62}) {
        auto const found = best_of(p, b);
        REQUIRE(found);
        CHECK(found->name == "chain_dp");
        CHECK(validate(p, free_early(p, found->order), b).ok());
        CHECK(found->cost <= last);
        last = found->cost;
    }
    CHECK(last == p.base_cost());
    CHECK(best_of(p, 24)->cost < p.base_cost() + 60); // less than every op once more
}

TEST_CASE("chain_dp leaves steps alone that are no rows")
{
    CHECK(!row_of_ops(make(chain_spec(8))));
    CHECK(!best_of(make(u_net_spec(5)), 1'000));
    auto s = training_chain_spec(6);
    for (auto& o : s.ops) {
        o.backward_of = none;
    }
    CHECK(!row_of_ops(make(s)));
}

TEST_CASE("chain_dp replays no op of no cost without need")
{
    auto s = training_chain_spec(20);
    for (auto& o : s.ops) {
        o.cost = 0;
    }
    auto const p = make(s);
    auto const most = peak_of(p, keep_all_order(p));
    auto const row = row_of_ops(p).value();
    auto const plan = block_dp{}.merge(row, most, {});
    REQUIRE(plan);
    CHECK(plan->size() == 40);
    auto const less = block_dp{}.merge(row, most - 1, {});
    REQUIRE(less);
    CHECK(less->size() > 40);
    CHECK(less->size() <= 43);
}

} // namespace solve_chain_dp_test
