// SPDX-License-Identifier: Apache-2.0
#include <strata/bound/joint_bound.hpp>

#include <stop_token>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"

namespace bound_joint_bound_test {

using namespace strata;
using namespace strata::test;

/// Op 0 makes a tensor of 4 bytes at cost 5; ops 1 and 3 have a workspace of 9; ops 2 and 4 read the tensor. Under 12 bytes
/// it cannot be there at op 1 nor at op 3, so it is made three times.
auto read_twice() -> problem
{
    problem_spec s;
    auto const a = add_tensor(s, 4);
    add_op(s, 5, {}, {a});
    for (int i = 0; i < 2; ++i) {
        add_op(s, 1, {}, {add_tensor(s, 1)}, {}, 9);
        add_op(s, 1, {a}, {add_tensor(s, 1)});
    }
    s.targets = {1, 2, 3, 4};
    return make(s);
}

/// Three tensors of 2 bytes, each made at cost 3 and read after op 3, beside which there is room for 3 bytes.
auto three_of_two() -> problem
{
    problem_spec s;
    for (int i = 0; i < 3; ++i) {
        add_op(s, 3, {}, {add_tensor(s, 2)});
    }
    add_op(s, 1, {}, {add_tensor(s, 0)}, {}, 10);
    for (tensor_id t = 0; t < 3; ++t) {
        add_op(s, 1, {t}, {add_tensor(s, 0)});
    }
    return make(s);
}

TEST_CASE("joint bound: counts what is made again before an instant and after it")
{
    auto const p = read_twice();
    auto const alone = lower_bound(p, 12, index_order(p));
    CHECK(alone.cost == p.base_cost() + 5);
    joint_bound raise(p, 12, p.base_cost() + 20, {.least_gap = 0});
    auto const proof = raise(alone, std::vector<op_id>{1, 3});
    CHECK(proof.bound.cost == p.base_cost() + 10);
    CHECK(proof.instants == std::vector<op_id>{1, 3});
    CHECK(proof.bound.at == 1);
    CHECK_FALSE(proof.bound.infeasible);
}

TEST_CASE("joint bound: what is kept is kept whole")
{
    auto const p = three_of_two();
    auto const alone = lower_bound(p, 13, std::vector<op_id>{3});
    CHECK(alone.cost == p.base_cost() + 5); // a half of one tensor, rounded up
    joint_bound raise(p, 13, p.base_cost() + 9, {.least_gap = 0});
    CHECK(raise(alone, std::vector<op_id>{3}).bound.cost == p.base_cost() + 6);
    CHECK(raise.nodes() > 0);
}

TEST_CASE("joint bound: ends at the cost of the plan that is known, with small gaps left alone")
{
    auto const p = read_twice();
    auto const alone = lower_bound(p, 12, index_order(p));
    std::vector<op_id> const points{1, 3};
    joint_bound met(p, 12, p.base_cost() + 8, {.least_gap = 0});
    CHECK(met(alone, points).bound.cost == p.base_cost() + 8);
    joint_bound not_worth_it(p, 12, p.base_cost() + 8, {.least_gap = 0.5});
    CHECK(not_worth_it(alone, points) == joint_proof{alone, {alone.at}});
}

TEST_CASE("joint bound: without points, work or time what is proven stays as it is")
{
    auto const p = read_twice();
    auto const alone = lower_bound(p, 12, index_order(p));
    joint_proof const same{alone, {alone.at}};
    std::vector<op_id> const points{1, 3};
    CHECK(joint_bound(p, 12, p.base_cost() + 20, {.least_gap = 0})(alone, {}) == same);
    CHECK(joint_bound(p, 12, p.base_cost() + 20, {.work = 0, .least_gap = 0})(alone, points) == same);
    std::stop_source stop;
    stop.request_stop();
    limits const stopped{.cancel = stop.get_token()};
    CHECK(joint_bound(p, 12, p.base_cost() + 20, {.least_gap = 0}, stop_watch(stopped))(alone, points) == same);
    cost_bound const nothing{p.base_cost(), none, false};
    CHECK(joint_bound(p, max_bytes, p.base_cost() + 20, {.least_gap = 0})(nothing, points) == joint_proof{nothing, {}});
}

TEST_CASE("cost in sight: replays count once per stretch, of ops that ran before it")
{
    auto const p = read_twice();
    auto const base = p.base_cost();
    std::vector<op_id> const order{0, 1, 0, 0, 2, 3, 0, 4};
    CHECK(cost_in_sight(p, order, {}) == base);
    CHECK(cost_in_sight(p, order, std::vector<op_id>{3}) == base + 5);
    CHECK(cost_in_sight(p, order, std::vector<op_id>{1}) == base + 5);
    CHECK(cost_in_sight(p, order, std::vector<op_id>{1, 3}) == base + 10);
    CHECK(cost_in_sight(p, order, std::vector<op_id>{0, 4}) == base); // op 0 does not precede the first stretch
}

} // namespace bound_joint_bound_test
