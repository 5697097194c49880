// SPDX-License-Identifier: Apache-2.0
#include <strata/bound/minimum_budget.hpp>

#include <cstdint>

#include "tests/support/brute_force.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace bound_minimum_budget_test {

using namespace strata;
using namespace strata::test;

TEST_CASE("minimum_budget: never exceeds what enumeration needs")
{
    int tight = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        auto const p = varied_problem(seed, 10);
        auto const limit = minimum_budget(p);
        auto const truth = brute_force(p).minimum_budget();
        CAPTURE(seed);
        REQUIRE(limit.bytes <= truth);
        REQUIRE(limit.pinned_by >= 0);
        REQUIRE(limit.pinned_by < p.op_count());
        REQUIRE(fixed_bytes(p)[static_cast<std::size_t>(limit.pinned_by)] <= limit.bytes);
        tight += limit.bytes == truth ? 1 : 0;
    }
    CHECK(tight > 100);
}

TEST_CASE("minimum_budget: one op's footprint pins it")
{
    auto s = training_chain_spec(6);
    s.ops[2].workspace = 100;
    auto const p = make(s);
    // resident input, input and output of op 2, workspace
    CHECK(minimum_budget(p) == byte_limit{103, 2});
    CHECK(brute_force(p).minimum_budget() == 103);
}

TEST_CASE("minimum_budget: what cannot be made again is counted while it is needed")
{
    problem_spec s;
    auto const a = add_tensor(s, 10);
    auto const b = add_tensor(s, 20);
    auto const c = add_tensor(s, 5);
    add_op(s, 1, {}, {a}, effect::once);
    add_op(s, 1, {}, {b});
    add_op(s, 1, {a, b}, {c});
    s.targets = {c};
    auto const p = make(s);
    CHECK(minimum_budget(p) == byte_limit{35, 2});
    CHECK(fixed_bytes(p) == std::vector<bytes_t>{10, 30, 35});
}

TEST_CASE("minimum_budget: a tensor behind an op that runs once is kept, or what it is made from is")
{
    // u (once, 10) → v (12) ; w (100) alone; then v is read: while w is made, u or v must stay.
    problem_spec s;
    auto const u = add_tensor(s, 10);
    auto const v = add_tensor(s, 12);
    auto const w = add_tensor(s, 100);
    auto const x = add_tensor(s, 1);
    auto const y = add_tensor(s, 1);
    add_op(s, 1, {}, {u}, effect::once);
    add_op(s, 1, {u}, {v});
    add_op(s, 1, {}, {w});
    add_op(s, 1, {w}, {x});
    add_op(s, 1, {v, x}, {y});
    s.targets = {y};
    auto const p = make(s);
    CHECK(fixed_bytes(p)[3] == 101);
    CHECK(minimum_budget(p) == byte_limit{111, 3});
    CHECK(brute_force(p).minimum_budget() == 111);
}

TEST_CASE("minimum_budget: a step of no bytes needs none")
{
    problem_spec s;
    add_op(s, 1, {}, {});
    CHECK(minimum_budget(make(s)) == byte_limit{0, 0});
}

} // namespace bound_minimum_budget_test
