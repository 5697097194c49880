// SPDX-License-Identifier: Apache-2.0
#include <strata/merge/block_graph.hpp>
#include <strata/merge/concepts.hpp>
#include <strata/merge/promise.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/solve/block_dp.hpp>

#include <algorithm>
#include <cstdint>
#include <stop_token>
#include <utility>
#include <vector>

#include "tests/support/block_plan_rules.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random_block_graph.hpp"
#include "tests/support/random_problem.hpp"

namespace merge_mergers_test {

using namespace strata;
using namespace strata::test;

TEMPLATE_TEST_CASE("plans of a merger obey the rules and fit the budget", "", block_dp)
{
    TestType const by{};
    require_merger<TestType>();
    int plans = 0;
    int replaying = 0;
    for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
        dice d(seed * 7919);
        auto const p =
            problem::make(random_spec(seed, {.ops = static_cast<int>(d.between(2, 24)), .training = true})).value();
        auto parts = random_parts(p, d);
        std::vector<std::vector<option>> options;
        for (auto const& b : parts) {
            options.push_back(random_options_of(p, b, d));
        }
        auto const g = block_graph::make(p, std::move(parts), std::move(options));
        if (!g) { // parts of a random step may wait for each other
            continue;
        }
        INFO("seed " << seed);
        auto const all = promise_of(*g, once_each(*g, std::vector<int>(g->size(), 0))).peak;
        auto const base = p.resident_bytes();
        for (auto share : {100, 80, 60, 45}) {
            auto const budget = base + (all - base) * share / 100;
            auto const plan = by.merge(*g, budget, {});
            CHECK(plan == by.merge(*g, budget, {}));
            if (!plan) {
                CHECK(share < 100); // running everything once is a plan
                continue;
            }
            CHECK(broken_rule(*g, *plan) == "");
            CHECK(promise_of(*g, *plan).peak <= budget);
            ++plans;
            replaying += plan->size() > g->items().size() ? 1 : 0;
        }
    }
    CHECK(plans > 1000);
    CHECK(replaying > 50);
}

TEMPLATE_TEST_CASE("a merger that is told to stop gives up", "", block_dp)
{
    dice d(7);
    auto const p = make(training_chain_spec(60));
    std::vector<block> parts;
    std::vector<std::vector<option>> options;
    for (op_id o = 0; o < 60; ++o) {
        parts.push_back({{o}, {119 - o}});
        options.push_back({describe(p, parts.back(), {o}, {119 - o})});
    }
    auto const g = block_graph::make(p, parts, options).value();
    std::stop_source stopped;
    stopped.request_stop();
    limits lim;
    lim.cancel = stopped.get_token();
    CHECK(!TestType{}.merge(g, 100, stop_watch(lim)));
}

} // namespace merge_mergers_test
