// SPDX-License-Identifier: Apache-2.0
#include <strata/merge/promise.hpp>
#include <strata/solve/block_dp.hpp>
#include <strata/solve/stage_line.hpp>
#include <strata/solve/stage_options.hpp>

#include <cstddef>
#include <utility>
#include <vector>

#include "tests/support/block_plan_rules.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/persistent_plans.hpp"
#include "tests/support/problems.hpp"

namespace solve_block_dp_test {

using namespace strata;
using namespace strata::test;

/// A chain of `n` ops, `length` to a part, that keep all or nothing.
auto chain_of_parts(problem const& p, int length) -> block_graph
{
    auto parts = parts_of_row(p, length);
    std::vector<std::vector<option>> options;
    for (auto const& b : parts) {
        options.push_back({describe(p, b, b.forward, b.backward)});
        auto again = b.forward;
        again.insert(again.end(), b.backward.begin(), b.backward.end());
        options.back().push_back(describe(p, b, b.forward, again));
    }
    return block_graph::make(p, std::move(parts), std::move(options)).value();
}

TEST_CASE("one table answers every smaller budget, and more bytes never cost more")
{
    auto const p = make(training_chain_spec(48));
    auto const g = chain_of_parts(p, 3);
    auto const table = block_dp_table::make(g, 60).value();
    auto last = max_cost;
    int plans = 0;
    for (bytes_t b = 0; b <= 60; ++b) {
        auto const plan = table.plan(b);
        if (!plan) {
            CHECK(last == max_cost); // none below one
            continue;
        }
        ++plans;
        auto const x = promise_of(g, *plan);
        CHECK(broken_rule(g, *plan) == "");
        CHECK(x.peak <= b);
        CHECK(x.cost <= last);
        last = x.cost;
        auto const own = block_dp{}.merge(g, b, {});
        REQUIRE(own);
        CHECK(promise_of(g, *own).cost == x.cost);
    }
    CHECK(plans > 45);
    CHECK(last == p.base_cost());
    CHECK(!block_dp{}.merge(g, 5, {}));
}

TEST_CASE("blocks that may be run again cost a long chain less than running everything twice")
{
    auto const p = make(training_chain_spec(96));
    auto const g = chain_of_parts(p, 1);
    auto const plan = block_dp{}.merge(g, 16, {}); // 96 tensors; the input is resident
    REQUIRE(plan);
    CHECK(promise_of(g, *plan).peak <= 16);
    CHECK(promise_of(g, *plan).cost < p.base_cost() + 2 * 96);
}

TEST_CASE("parts whose backward halves are out of order are one stage")
{
    // Two branches from one tensor; the backward halves of the branches come back in forward order.
    problem_spec s;
    auto const x = add_tensor(s, 1);
    auto const l = add_tensor(s, 1);
    auto const r = add_tensor(s, 1);
    auto const y = add_tensor(s, 1);
    auto const dy = add_tensor(s, 1, tensor_kind::gradient);
    auto const dl = add_tensor(s, 1, tensor_kind::gradient);
    auto const dr = add_tensor(s, 1, tensor_kind::gradient);
    auto const dx = add_tensor(s, 1, tensor_kind::gradient);
    add_op(s, 1, {}, {x});
    add_op(s, 1, {x}, {l});
    add_op(s, 1, {x}, {r});
    add_op(s, 1, {l, r}, {y});
    add_op(s, 1, {y, l, r}, {dy});
    add_op(s, 1, {x, dy}, {dl});
    add_op(s, 1, {x, dy}, {dr});
    add_op(s, 1, {dl, dr}, {dx});
    s.targets = {dx};
    for (std::size_t o = 0; o < 8; ++o) {
        s.ops[o].phase = o < 4 ? phase::forward : phase::backward;
    }
    auto const p = make(s);
    std::vector<block> const parts{{{0}, {7}}, {{1}, {5}}, {{2}, {6}}, {{3}, {}}, {{}, {4}}};
    std::vector<std::vector<option>> options;
    for (auto const& b : parts) {
        options.push_back({describe(p, b, b.forward, b.backward)});
    }
    auto const g = block_graph::make(p, parts, options).value();
    stage_line const line(g);
    REQUIRE(line.stages().size() == 3);
    CHECK(line.stages()[1].runs == 2);
    block_plan plan;
    line.append_forward(1, -1, plan);
    line.append_backward(1, 0, plan);
    CHECK(plan == block_plan{{1, half::forward, fast_forward},
                             {2, half::forward, fast_forward},
                             {4, half::backward, 0},
                             {1, half::backward, 0},
                             {2, half::backward, 0}});
    auto const all = promise_of(g, once_each(g, std::vector<int>(5, 0))).peak;
    auto const made = block_dp{}.merge(g, all, {});
    REQUIRE(made);
    CHECK(broken_rule(g, *made) == "");
}

TEST_CASE("stages taken together are as many as asked for, with options at the prices of their parts")
{
    auto const p = make(training_chain_spec(24));
    auto const g = chain_of_parts(p, 2);
    CHECK(stage_line(g).stages().size() == 12);
    stage_line const line(g, 5);
    CHECK(line.stages().size() == 4);
    CHECK(line.stages().front().options.size() == 2); // the parts switch together
    CHECK(line.stages().front().runs == 6);
    CHECK(combined_options(g, {0, 1, 2}) == std::vector<std::vector<int>>{{0, 0, 0}, {1, 1, 1}});
    CHECK(combined_options(g, {3}) == std::vector<std::vector<int>>{{0}, {1}});
    CHECK(combined_options(g, {}) == std::vector<std::vector<int>>{{}});
}

} // namespace solve_block_dp_test
