// SPDX-License-Identifier: Apache-2.0
#include <strata/bound/last_run_limit.hpp>
#include <strata/bound/minimum_budget.hpp>
#include <strata/pipeline/planner.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/budgeted_walk.hpp>
#include <strata/solve/keep_all.hpp>
#include <strata/solve/minimum_memory.hpp>

#include <chrono>
#include <cstdint>

#include "tests/support/brute_force.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_minimum_memory_test {

using namespace strata;
using namespace strata::test;

TEST_CASE("a chain is walked within few bytes more than its largest op needs")
{
    auto const p = make(training_chain_spec(64));
    auto const least = minimum_budget(p).bytes;
    auto const known = peak_of(p, keep_all_order(p));
    auto const peak = least_walk_peak(p, least, known);
    CHECK(peak >= least);
    CHECK(peak <= least + 6); // of 66; at most four runs an op rule out fewer checkpoints
    CHECK(least_walk_peak(p, least, least) == least);
    CHECK(least_walk_peak(p, least, known, stop_watch({.deadline = std::chrono::nanoseconds(0)})) == known);
}

TEST_CASE("minimum_memory: finds what needs a fetch, and does nothing when there is a plan")
{
    auto const p = make(late_use_spec());
    strata::detail::planner const with(p);
    auto const ask = [&](bytes_t bytes) {
        return with.best_order(bytes, with.analyse(bytes, {}).value(), {}, {}, minimum_memory{}, nullptr);
    };
    auto const tight = ask(8);
    REQUIRE(tight);
    CHECK(tight->name == "minimum_memory");
    CHECK(peak_of(p, tight->order) == 8);
    auto const roomy = ask(9);
    REQUIRE(roomy);
    CHECK(roomy->name == "keep_all");
}

TEST_CASE("minimum_memory: holds what targets are made from, where an op does not fit beside the targets")
{
    // Three times over: 10 bytes, 9 made from them, 1 from these, and of that one, dearly, a target of 6.
    problem_spec s;
    for (std::int32_t i = 0; i < 3; ++i) {
        auto const first = 4 * i;
        for (bytes_t bytes : {10, 9, 1, 6}) {
            s.tensors.push_back({.bytes = bytes});
        }
        s.ops.push_back({.cost = 1, .outputs = {first}});
        s.ops.push_back({.cost = 1, .inputs = {first}, .outputs = {first + 1}});
        s.ops.push_back({.cost = 1, .inputs = {first + 1}, .outputs = {first + 2}});
        s.ops.push_back({.cost = 100, .inputs = {first + 2}, .outputs = {first + 3}});
        s.targets.push_back(first + 3);
    }
    auto const p = make(s);
    constexpr bytes_t least = 19 + 2; // the second op, and the single bytes of the other two
    REQUIRE(last_run_limit(p, minimum_budget(p)).bytes == least);
    for (double patience : {0.0, 0.25, 0.5, 0.75, 1.0}) {
        REQUIRE_FALSE(budgeted_walk(p)({.capacity = least, .patience = patience}));
    }
    strata::detail::planner const with(p);
    auto const found = with.best_order(
        least, with.analyse(least, {}).value(), {}, {}, minimum_memory{.runs = 0, .states = 0}, nullptr);
    REQUIRE(found);
    CHECK(validate(p, free_early(p, found->order), least).ok());
}

TEST_CASE("minimum_memory: finds a plan of the fewest bytes that short steps can do with")
{
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        auto const p = varied_problem(seed, 10);
        auto const bytes = brute_force(p).minimum_budget();
        strata::detail::planner const with(p);
        auto const found =
            with.best_order(bytes, with.analyse(bytes, {}).value(), {}, {}, minimum_memory{.runs = 1000}, nullptr);
        CAPTURE(seed);
        REQUIRE(found);
        REQUIRE(validate(p, free_early(p, found->order), bytes).ok());
    }
}

} // namespace solve_minimum_memory_test
