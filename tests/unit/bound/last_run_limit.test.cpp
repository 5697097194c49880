// SPDX-License-Identifier: Apache-2.0
#include <strata/bound/last_run_limit.hpp>
#include <strata/bound/minimum_budget.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "tests/support/brute_force.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace bound_last_run_limit_test {

using namespace strata;
using namespace strata::test;

/// Two ops of which each reads 10 bytes that are made for it and makes a target: of `a` and of `b` bytes.
auto two_needy(bytes_t a, bytes_t b) -> problem
{
    problem_spec s;
    for (bytes_t bytes : {bytes_t(10), a, bytes_t(10), b}) {
        s.tensors.push_back({.bytes = bytes});
    }
    s.ops = {{.outputs = {0}}, {.inputs = {0}, .outputs = {1}}, {.outputs = {2}}, {.inputs = {2}, .outputs = {3}}};
    for (auto& o : s.ops) {
        o.cost = 1;
    }
    s.targets = {1, 3};
    return make(s);
}

TEST_CASE("last_run_limit: whichever of two needy ops is the last, what the other made is there")
{
    auto const p = two_needy(3, 3);
    CHECK(minimum_budget(p).bytes == 13);
    CHECK(last_run_limit(p, minimum_budget(p)).bytes == 16);
    CHECK(brute_force(p).minimum_budget() == 16);
}

TEST_CASE("last_run_limit: what is held need not be the target")
{
    // What the two ops make is large; of each a target of 1 byte is made, or 2 bytes from which one can be.
    problem_spec s;
    for (bytes_t bytes : {10, 8, 1, 10, 8, 2, 5}) {
        s.tensors.push_back({.bytes = bytes});
    }
    s.ops = {{.outputs = {0}},
             {.inputs = {0}, .outputs = {1}},
             {.inputs = {1}, .outputs = {2}},
             {.outputs = {3}},
             {.inputs = {3}, .outputs = {4}},
             {.inputs = {4}, .outputs = {5}},
             {.inputs = {5}, .outputs = {6}}};
    for (auto& o : s.ops) {
        o.cost = 1;
    }
    s.targets = {2, 6};
    auto const p = make(s);
    basic_last_run<> last_run(p);
    std::array<op_id, 2> const set = {1, 4};
    CHECK(last_run.need(1) == 18);
    CHECK(last_run.needed(set, 1) == 20); // the 2 bytes of tensor 5
    CHECK(last_run.held() == std::vector<tensor_id>{5});
    CHECK(last_run.needed(set, 4) == 19); // the byte of tensor 2
    CHECK(last_run_limit(p, minimum_budget(p)) == byte_limit{19, 4});
    CHECK(brute_force(p).minimum_budget() == 19);
}

TEST_CASE("last_run_limit: a need that is less binds if more is held with it")
{
    auto const p = two_needy(1, 9); // 19 bytes at op 3 alone, or 11 at op 1 and 9 of tensor 3
    CHECK(minimum_budget(p).bytes == 19);
    CHECK(last_run_limit(p, minimum_budget(p)).bytes == 20);
    CHECK(brute_force(p).minimum_budget() == 20);
}

TEST_CASE("last_run_limit: never more than enumeration needs, never less than what is known")
{
    int higher = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        auto const p = varied_problem(seed, 10);
        auto const known = minimum_budget(p);
        auto const limit = last_run_limit(p, known);
        CAPTURE(seed);
        REQUIRE(limit.bytes >= known.bytes);
        REQUIRE(limit.bytes <= brute_force(p).minimum_budget());
        higher += limit.bytes > known.bytes ? 1 : 0;
    }
    INFO(higher);
    CHECK(higher > 3);
}

TEST_CASE("last_run_limit: without time, what is known stays")
{
    auto const p = two_needy(3, 3);
    stop_watch const none({.deadline = std::chrono::nanoseconds(0)});
    CHECK(last_run_limit(p, minimum_budget(p), none) == minimum_budget(p));
}

} // namespace bound_last_run_limit_test
