// SPDX-License-Identifier: Apache-2.0
// What the reference gets wrong, one case each, and how a search that must stop ends.
#include <strata/glpk/glpk.hpp>
#include <strata/merge/concepts.hpp>
#include <strata/solve/hierarchical_ilp.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <stop_token>
#include <utility>
#include <vector>

#include "tests/support/brute_block_plans.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/hierarchical_laws.hpp"
#include "tests/support/problems.hpp"

namespace glpk_hierarchical_ilp_test {

using namespace strata;
using namespace strata::test;

constexpr auto F = half::forward;
constexpr auto B = half::backward;

auto set_phase(problem_spec& s, op_id o, phase ph, op_id of = none) -> op_id
{
    s.ops[static_cast<std::size_t>(o)].phase = ph;
    s.ops[static_cast<std::size_t>(o)].backward_of = of;
    return o;
}

/// Requires that the answer equals enumeration, and that of the model alone if its numbers are `exact`. Returns: the cost, -1
/// when nothing fits.
auto cost_under(block_graph const& g, bytes_t budget, bool exact = true) -> cost_t
{
    auto const truth = brute_block_plans(g).solve(budget);
    REQUIRE((!exact || cost_by_model(g, budget, glpk{}) == truth));
    auto const found = solve_hierarchical(g, budget, glpk{});
    REQUIRE(truth.has_value() == found.has_value());
    if (!found) {
        CHECK(found.error().code == errc::infeasible);
        return -1;
    }
    judge_block_plan(g, found->plan, budget, found->cost);
    CHECK(found->cost == *truth);
    CHECK(found->optimal);
    return found->cost;
}

TEST_CASE("hierarchical_ilp: a saved set may be made again in any stage, not only right before its use")
{
    auto const p = make(stacked_layers_spec(4));
    auto const g = layered_level(p);
    CHECK(cost_under(g, p.resident_bytes() + 16) == 13); // 14 when only the stages of the layer's own halves may
}

TEST_CASE("hierarchical_ilp: the peak of a fast-forward counts")
{
    // Each layer makes two large tensors and shrinks both. The option shrinks the first before it makes the second, the
    // fast-forward runs the ops in their order: 9 + 9 + 4 bytes beside its input, against 9 + 4 + 4.
    problem_spec s;
    auto x = add_tensor(s, 1, tensor_kind::input);
    std::vector<std::vector<tensor_id>> kept;
    for (int i = 0; i < 3; ++i) {
        auto const u = add_tensor(s, 9);
        auto const w = add_tensor(s, 9);
        kept.push_back({add_tensor(s, 4), add_tensor(s, 4)});
        auto const y = add_tensor(s, 1);
        set_phase(s, add_op(s, 1, {x}, {u}), phase::forward);
        set_phase(s, add_op(s, 1, {x}, {w}), phase::forward);
        set_phase(s, add_op(s, 1, {u}, {kept.back()[0]}), phase::forward);
        set_phase(s, add_op(s, 1, {w}, {kept.back()[1]}), phase::forward);
        set_phase(s, add_op(s, 1, kept.back(), {y}), phase::forward);
        x = y;
    }
    auto g = x;
    std::vector<block> parts;
    for (op_id i = 3; i-- > 0;) {
        auto const next = add_tensor(s, 1, tensor_kind::gradient);
        auto const& k = kept[static_cast<std::size_t>(i)];
        auto const b = set_phase(s, add_op(s, 1, {k[0], k[1], g}, {next}), phase::backward, i * 5);
        parts.push_back({{5 * i, 5 * i + 1, 5 * i + 2, 5 * i + 3, 5 * i + 4}, {b}});
        g = next;
    }
    s.targets = {g};
    auto const p = make(s);
    std::vector<std::vector<option>> options;
    for (auto const& b : parts) {
        auto const o = b.forward.front();
        options.push_back({describe(p, b, {o, o + 2, o + 1, o + 3, o + 4}, b.backward)});
    }
    auto const level = block_graph::make(p, parts, options).value();
    auto const under = [&](bytes_t dynamic) { return cost_under(level, p.resident_bytes() + dynamic); };
    CHECK(under(33) == 18);
    CHECK(under(25) == 23); // the first layer is fast-forwarded,
    CHECK(under(23) == 28); // the first two are
    CHECK(under(22) == -1); // would fit if fast-forwards took no room
}

TEST_CASE("hierarchical_ilp: what a backward half makes again counts, also when others read it")
{
    // The output of the first part has 5 bytes. Its second option drops it and makes it again in backward.
    problem_spec s;
    auto const x = add_tensor(s, 1, tensor_kind::input);
    auto const y = add_tensor(s, 5);
    auto const z = add_tensor(s, 1);
    auto const dz = add_tensor(s, 1, tensor_kind::gradient);
    auto const dx = add_tensor(s, 1, tensor_kind::gradient);
    set_phase(s, add_op(s, 3, {x}, {y}), phase::forward);
    set_phase(s, add_op(s, 1, {y}, {z}, {}, 8), phase::forward);
    set_phase(s, add_op(s, 1, {z}, {dz}, {}, 14), phase::backward, 1);
    set_phase(s, add_op(s, 1, {y, dz}, {dx}, {}, 10), phase::backward, 0);
    s.targets = {dx};
    auto const p = make(s);
    std::vector<block> const parts{{{0}, {3}}, {{1}, {2}}};
    auto const level = block_graph::make(p,
                                         parts,
                                         {{describe(p, parts[0], {0}, {3}), describe(p, parts[0], {0}, {0, 3})},
                                          {describe(p, parts[1], {1}, {2})}})
                           .value();
    auto const under = [&](bytes_t dynamic) { return cost_under(level, p.resident_bytes() + dynamic); };
    CHECK(under(21) == 6);
    CHECK(under(20) == 9); // y is not there while z turns into its gradient
    CHECK(under(17) == 9);
    CHECK(under(16) == -1); // y, dz, dx and the workspace of the last op: would fit if the second y were free
}

TEST_CASE("hierarchical_ilp: what an option requires binds that option alone")
{
    // Either the second part keeps 4 bytes, or it needs its input, of 6 bytes, to be there in backward.
    problem_spec s;
    auto const x = add_tensor(s, 6);
    auto const saved = add_tensor(s, 4, tensor_kind::saved);
    auto const y = add_tensor(s, 1);
    auto const dy = add_tensor(s, 1, tensor_kind::gradient);
    auto const dx = add_tensor(s, 1, tensor_kind::gradient);
    set_phase(s, add_op(s, 1, {}, {x}, effect::once), phase::forward);
    set_phase(s, add_op(s, 1, {x}, {saved, y}), phase::forward);
    set_phase(s, add_op(s, 1, {y}, {dy}, effect::once, 7), phase::backward);
    set_phase(s, add_op(s, 1, {saved, dy}, {dx}), phase::backward, 1);
    s.targets = {dx};
    auto const p = make(s);
    std::vector<block> const parts{{{0}, {}}, {{1}, {3}}, {{}, {2}}};
    auto const level = block_graph::make(p,
                                         parts,
                                         {{describe(p, parts[0], {0}, {})},
                                          {describe(p, parts[1], {1}, {1, 3}), describe(p, parts[1], {1}, {3})},
                                          {describe(p, parts[2], {}, {2})}})
                           .value();
    CHECK(cost_under(level, 15) == 4); // y, dy and the workspace beside x or what is kept
    CHECK(cost_under(level, 14) == 4);
    CHECK(cost_under(level, 13) == 4); // not beside x, which the other option requires
    CHECK(cost_under(level, 12) == -1);
}

TEST_CASE("hierarchical_ilp: a saved set may come from another option than the keeping that was given up")
{
    // Nothing is kept in forward; each layer serves with the option that fits when it is due.
    auto const p = make(stacked_layers_spec(4));
    auto const parts = [&] {
        std::vector<block> r{{{}, {4}}};
        for (op_id i = 0; i < 4; ++i) {
            r.push_back({{i}, {8 - i}});
        }
        return r;
    }();
    std::vector<std::vector<option>> options;
    for (auto const& b : parts) {
        options.push_back({describe(p, b, b.forward, b.backward)});
        if (!b.forward.empty()) {
            options.back().push_back(describe(p, b, b.forward, {b.forward[0], b.backward[0]}));
        }
    }
    auto const level = block_graph::make(p, parts, options).value();
    std::vector<cost_t> costs;
    for (bytes_t dynamic = 6; dynamic <= 22; ++dynamic) {
        costs.push_back(cost_under(level, p.resident_bytes() + dynamic));
    }
    CHECK(costs.front() == -1);
    CHECK(costs.back() == 12);
    CHECK(std::is_sorted(costs.rbegin(), costs.rend() - 1));
}

TEST_CASE("hierarchical_ilp: bytes and costs of any size")
{
    auto s = stacked_layers_spec(3);
    for (std::size_t i = 0; i < s.tensors.size(); ++i) {
        s.tensors[i].bytes = s.tensors[i].bytes * 1'099'511'627'689 + static_cast<bytes_t>(i * 7919);
    }
    for (std::size_t i = 0; i < s.ops.size(); ++i) {
        s.ops[i].cost = s.ops[i].cost * 1'099'511'627'689 + static_cast<cost_t>(i * 104729);
    }
    auto const p = make(s);
    auto const level = layered_level(p);
    int plans = 0;
    for (auto budget : some_budgets(level, 40)) {
        plans += cost_under(level, budget, false) >= 0 ? 1 : 0;
    }
    CHECK(plans > 15);
}

TEST_CASE("hierarchical_ilp: is a merger")
{
    STATIC_REQUIRE(merger<hierarchical_ilp<glpk>>);
    auto const p = make(stacked_layers_spec(4));
    auto const g = layered_level(p);
    auto const budget = p.resident_bytes() + 16;
    auto const plan = hierarchical_ilp<glpk>{}.merge(g, budget, {});
    REQUIRE(plan);
    judge_block_plan(g, *plan, budget, 13);
    CHECK_FALSE(hierarchical_ilp<glpk>{}.merge(g, p.resident_bytes() + 3, {}));
}

TEST_CASE("hierarchical_ilp: stops with what it knows, or says why it has nothing")
{
    auto const p = make(stacked_layers_spec(8));
    auto const g = layered_level(p);
    auto const budget = p.resident_bytes() + 16;
    limits lim;
    lim.deadline = std::chrono::nanoseconds(0);
    auto const known = solve_hierarchical(g, budget, glpk{});
    REQUIRE(known);
    CHECK(known->cost == 30);
    auto const late = solve_hierarchical(g, budget, glpk{}, {.known = known->plan}, stop_watch(lim));
    REQUIRE(late);
    CHECK(late->plan == known->plan);
    CHECK_FALSE(late->optimal);
    CHECK(late->bound <= 30);
    auto const nothing = solve_hierarchical(g, budget, glpk{}, {}, stop_watch(lim));
    REQUIRE_FALSE(nothing);
    CHECK(nothing.error().code == errc::deadline);
    lim = {};
    std::stop_source source;
    source.request_stop();
    lim.cancel = source.get_token();
    auto const cancelled = solve_hierarchical(g, budget, glpk{}, {}, stop_watch(lim));
    REQUIRE_FALSE(cancelled);
    CHECK(cancelled.error().code == errc::cancelled);
    CHECK(hierarchical_relaxation(g, budget, glpk{}, {}, stop_watch(lim)).error().code == errc::cancelled);
    CHECK_FALSE(hierarchical_ilp<glpk>{}.merge(g, budget, stop_watch(lim)));
}

TEST_CASE("hierarchical_ilp: where the model is too large a simple plan comes back, if one fits")
{
    auto const p = make(stacked_layers_spec(8));
    auto const g = layered_level(p);
    for (std::size_t entries : {std::size_t{1}, std::size_t{1000}}) { // too many items; too large as it is built
        CAPTURE(entries);
        auto const simple = solve_hierarchical(g, p.resident_bytes() + 20, glpk{}, {.max_entries = entries});
        REQUIRE(simple);
        CHECK(simple->nodes == 0);
        CHECK_FALSE(simple->optimal);
        judge_block_plan(g, simple->plan, p.resident_bytes() + 20, simple->cost);
    }
    auto const none = solve_hierarchical(g, p.resident_bytes() + 3, glpk{}, {.max_entries = 1});
    REQUIRE_FALSE(none);
    CHECK(none.error().code == errc::invalid_argument);
    CHECK(hierarchical_relaxation(g, p.resident_bytes() + 20, glpk{}, {.max_entries = 1000}).error().code ==
          errc::invalid_argument);
}

TEST_CASE("hierarchical_ilp: refuses a known plan that is none, or does not fit")
{
    auto const p = make(stacked_layers_spec(2));
    auto const g = layered_level(p);
    block_plan const all{{1, F, 0}, {2, F, 0}, {0, B, 0}, {2, B, 0}, {1, B, 0}};
    auto const peak = promise_of(g, all).peak;
    CHECK(solve_hierarchical(g, peak, glpk{}, {.known = all})->plan == all);
    auto const refused = [&](block_plan plan, bytes_t budget) {
        auto const r = solve_hierarchical(g, budget, glpk{}, {.known = std::move(plan)});
        return !r && r.error().code == errc::invalid_argument;
    };
    CHECK(refused(all, peak - 1));
    CHECK(refused({{1, F, 0}}, peak));
}

} // namespace glpk_hierarchical_ilp_test
