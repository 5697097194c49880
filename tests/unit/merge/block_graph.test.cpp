// SPDX-License-Identifier: Apache-2.0
#include <strata/merge/block_graph.hpp>
#include <strata/merge/expand.hpp>
#include <strata/merge/one_option_each.hpp>
#include <strata/merge/promise.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/profile.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_block_graph.hpp"
#include "tests/support/random_problem.hpp"

using namespace strata;
using namespace strata::test;

namespace merge_block_graph_test {

/// A training chain in blocks of two ops, each with "keep" and "recompute".
auto two_by_two(problem const& p, int n) -> block_graph
{
    std::vector<block> parts;
    std::vector<std::vector<option>> options;
    for (op_id o = 0; o < n; o += 2) {
        block const b{{o, o + 1}, {2 * n - 2 - o, 2 * n - 1 - o}};
        parts.push_back(b);
        options.push_back(
            {describe(p, b, b.forward, b.backward), describe(p, b, b.forward, {o, b.backward[0], b.backward[1]})});
    }
    return block_graph::make(p, std::move(parts), std::move(options)).value();
}

TEST_CASE("block_graph: says what is wrong with parts that are no step")
{
    auto const p = make(training_chain_spec(2));
    auto const whole = block{{0, 1}, {2, 3}};
    auto const one = [&](block const& b) { return std::vector<option>{describe(p, b, b.forward, b.backward)}; };
    CHECK(block_graph::make(p, {whole}, {one(whole)}).has_value());
    auto const partial = block_graph::make(p, {{{0}, {3}}}, {one({{0}, {3}})});
    REQUIRE_FALSE(partial);
    CHECK(partial.error().message == "strata::block_graph: the parts must be the whole step");
    auto const without = block_graph::make(p, {whole}, {{}});
    REQUIRE_FALSE(without);
    CHECK(without.error().message == "strata::block_graph: every part needs an option");
    auto const d = make(diamond_spec()); // 0 → 1, 2 → 3
    auto const around = block{{0, 3}, {}};
    auto const between = block{{1, 2}, {}};
    auto const knot = block_graph::make(
        d, {around, between}, {{describe(d, around, {0, 3}, {})}, {describe(d, between, {1, 2}, {})}});
    REQUIRE_FALSE(knot);
    CHECK(knot.error().message == "strata::block_graph: parts wait for each other");
}

TEST_CASE("a forward run that serves no backward half keeps nothing, and the last before one serves it")
{
    auto const p = make(training_chain_spec(4));
    auto const g = two_by_two(p, 4);
    block_plan const plan = {{0, half::forward, 0},
                             {1, half::forward, 1},
                             {1, half::backward, 1},
                             {0, half::forward, fast_forward},
                             {0, half::backward, 1}};
    auto const cleaned = without_vain_keeping(g, plan);
    CHECK(cleaned[0].option == fast_forward);
    CHECK(cleaned[3].option == 1);
    CHECK(expand(g, plan) == run_order{0, 1, 2, 3, 2, 4, 5, 0, 1, 0, 6, 7});
}

TEST_CASE("in_first_run_order: stages move with their replays, a replay of what has not run is left out")
{
    auto const p = make(diamond_spec()); // 0 → 1, 2 → 3
    CHECK(in_first_run_order(p, run_order{0, 1, 2, 3}) == run_order{0, 1, 2, 3});
    CHECK(in_first_run_order(p, run_order{0, 2, 0, 1, 0, 3}) == run_order{0, 0, 1, 2, 0, 3});
    CHECK(in_first_run_order(p, run_order{0, 2, 2, 1, 3, 2}) == run_order{0, 1, 2, 3, 2});
}

TEST_CASE("one_option_each: keeps all when that fits, and recomputes no more than the budget asks for")
{
    auto const p = make(training_chain_spec(8));
    auto const g = two_by_two(p, 8);
    std::vector<int> const all(g.size(), 0);
    auto const keep = promise_of(g, once_each(g, all));
    cost_t before = 0;
    for (auto budget = keep.peak; budget >= keep.peak - 4; --budget) {
        auto const plan = one_option_each{}.merge(g, budget, {});
        REQUIRE(plan);
        auto const promise = promise_of(g, *plan);
        if (budget >= keep.peak - 3) { // four blocks, each saves a byte; the last one needs it at once
            CHECK(promise.peak <= budget);
            CHECK(promise.cost == keep.cost + (keep.peak - budget));
        }
        CHECK(promise.cost >= before);
        before = promise.cost;
    }
}

TEST_CASE("one_option_each: obeys the rules of plans on random steps")
{
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        dice d(seed);
        auto const p = random_problem(seed, {.ops = 16, .training = true});
        auto parts = random_parts(p, d);
        std::vector<std::vector<option>> options;
        for (auto const& b : parts) {
            options.push_back(random_options_of(p, b, d));
        }
        auto const g = block_graph::make(p, std::move(parts), std::move(options));
        if (!g) {
            continue;
        }
        auto const plan = one_option_each{}.merge(*g, peak_of(p, index_order(p)) - 1, {});
        REQUIRE(plan);
        REQUIRE(plan->size() == g->items().size());
        CHECK(peak_of(p, expand(*g, *plan)) == promise_of(*g, *plan).peak);
    }
}

} // namespace merge_block_graph_test
