// SPDX-License-Identifier: Apache-2.0
#include <strata/merge/idle_runs.hpp>
#include <strata/merge/promise.hpp>
#include <strata/merge/rules.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_block_graph.hpp"

namespace merge_rules_test {

using namespace strata;
using namespace strata::test;

/// Three parts of one op each, with its backward op; items 0 1 2 forward, then 2 1 0 backward. Two options each.
auto level_of(problem const& p) -> block_graph
{
    std::vector<block> parts;
    std::vector<std::vector<option>> options;
    for (op_id i = 0; i < 3; ++i) {
        parts.push_back({{i}, {5 - i}});
        options.push_back({describe(p, parts.back(), {i}, {5 - i}), describe(p, parts.back(), {i}, {i, 5 - i})});
    }
    return block_graph::make(p, parts, options).value();
}

constexpr auto F = half::forward;
constexpr auto B = half::backward;

TEST_CASE("is_block_plan: tells plans from what breaks a rule")
{
    auto const p = make(training_chain_spec(3));
    auto const g = level_of(p);
    block_plan const good{{0, F, -1}, {1, F, 0}, {2, F, 1}, {2, B, 1}, {1, B, 0}, {0, F, 1}, {0, B, 1}, {0, F, -1}};
    REQUIRE(is_block_plan(g, good));
    auto const with = [&](std::size_t i, block_run r) {
        auto x = good;
        x[i] = r;
        return is_block_plan(g, x);
    };
    auto const without = [&](std::size_t i) {
        auto x = good;
        x.erase(x.begin() + static_cast<std::ptrdiff_t>(i));
        return is_block_plan(g, x);
    };
    CHECK_FALSE(is_block_plan(g, {}));
    CHECK(with(0, {0, F, 0}));        // kept for nothing
    CHECK_FALSE(with(0, {3, F, 0}));  // no such part
    CHECK_FALSE(with(0, {0, F, 2}));  // no such option
    CHECK_FALSE(with(0, {0, F, -2})); // nor this
    CHECK_FALSE(with(0, {1, F, 0}));  // not in the order of the items
    CHECK_FALSE(with(3, {2, B, 0}));  // not the option it was served with
    CHECK_FALSE(with(3, {2, B, -1})); // no option
    CHECK_FALSE(with(5, {0, F, -1})); // nothing serves the backward half
    CHECK_FALSE(with(7, {0, B, 1}));  // runs backward twice
    CHECK_FALSE(without(4));          // a half does not run
    CHECK(without(7));                // a half need not run again
    CHECK_FALSE(without(5));          // but its backward half needs one that serves
    auto s = training_chain_spec(3);
    s.ops[0].effects |= effect::once;
    auto const once = make(s);
    CHECK_FALSE(is_block_plan(level_of(once), good)); // may not run again
}

TEST_CASE("without_idle_runs: takes out what nothing reads, and never costs or needs more")
{
    auto const p = make(training_chain_spec(3));
    auto const g = level_of(p);
    // The first part runs again for the second, in vain before the third, and the last run is in vain.
    block_plan const plan{{0, F, 0},
                          {1, F, 0},
                          {0, F, -1},
                          {2, F, 0},
                          {2, B, 0},
                          {0, F, -1},
                          {1, F, 0},
                          {1, B, 0},
                          {0, F, 0},
                          {0, B, 0},
                          {2, F, -1}};
    CHECK((without_idle_runs(g, plan) ==
           block_plan{
               {0, F, -1}, {1, F, -1}, {2, F, 0}, {2, B, 0}, {0, F, -1}, {1, F, 0}, {1, B, 0}, {0, F, 0}, {0, B, 0}}));
    int shorter = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        auto const x = make_random_level(seed, 16);
        if (!x.level) {
            continue;
        }
        dice d(seed);
        auto const given = random_one_pass_plan(*x.level, d);
        auto const kept = without_idle_runs(*x.level, given);
        CAPTURE(seed);
        REQUIRE(is_block_plan(*x.level, given));
        REQUIRE(is_block_plan(*x.level, kept));
        auto const before = promise_of(*x.level, given);
        auto const after = promise_of(*x.level, kept);
        CHECK(after.cost <= before.cost);
        CHECK(after.peak <= before.peak);
        CHECK(without_idle_runs(*x.level, kept) == kept);
        shorter += kept.size() < given.size() ? 1 : 0;
    }
    CHECK(shorter > 50);
}

} // namespace merge_rules_test
