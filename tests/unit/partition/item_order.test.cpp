// SPDX-License-Identifier: Apache-2.0
#include <strata/partition/block.hpp>
#include <strata/partition/item_order.hpp>
#include <strata/problem/problem.hpp>

#include <span>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"

namespace partition_item_order_test {

using namespace strata;
using namespace strata::test;

auto order(problem const& p, std::vector<block> const& parts) { return item_order(p, std::span<block const>(parts)); }

TEST_CASE("item_order: halves run there and back, whatever the order of the parts")
{
    auto const p = make(training_chain_spec(4)); // backward of op i is op 7 - i
    auto const r = order(p, {{{2, 3}, {4, 5}}, {{0, 1}, {6, 7}}});
    REQUIRE(r);
    CHECK(*r == std::vector<item>{{1, half::forward}, {0, half::forward}, {0, half::backward}, {1, half::backward}});
}

TEST_CASE("item_order: halves without ops are left out, and ops outside are nobody's business")
{
    auto const p = make(training_chain_spec(4));
    auto const r = order(p, {{{}, {7}}, {{1}, {}}, {{2}, {}}});
    REQUIRE(r);
    CHECK(*r == std::vector<item>{{1, half::forward}, {2, half::forward}, {0, half::backward}});
}

TEST_CASE("item_order: of several that could be next the one with the first op is")
{
    auto const p = make(diamond_spec());
    auto const r = order(p, {{{3}, {}}, {{2}, {}}, {{1}, {}}, {{0}, {}}});
    REQUIRE(r);
    CHECK(*r == std::vector<item>{{3, half::forward}, {2, half::forward}, {1, half::forward}, {0, half::forward}});
}

TEST_CASE("item_order: parts that wait for each other have none")
{
    auto const chain = make(training_chain_spec(4));
    CHECK_FALSE(order(chain, {{{0, 2}, {}}, {{1, 3}, {}}}));
    CHECK_FALSE(order(chain, {{{}, {4, 6}}, {{}, {5}}}));
    CHECK(order(chain, {{{0, 2}, {}}, {{3}, {}}})); // op 1 is in none of them
    auto const shared = make(shared_gradient_spec());
    CHECK_FALSE(order(shared, {{{0, 1, 4}, {}}, {{2, 3}, {}}})); // op 4 reads what all of 1, 2, 3 add into
    CHECK(order(shared, {{{0, 1}, {}}, {{2, 3}, {}}, {{4}, {}}}));
}

} // namespace partition_item_order_test
