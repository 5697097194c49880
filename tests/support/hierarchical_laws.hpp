// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The integer program of a level on a backend against enumeration, checked inside a test case.
#pragma once

#include <strata/merge/block_graph.hpp>
#include <strata/merge/expand.hpp>
#include <strata/merge/promise.hpp>
#include <strata/merge/rules.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/hierarchical_ilp.hpp>
#include <strata/solve/hierarchical_model.hpp>
#include <strata/solve/mip_backend.hpp>
#include <strata/solve/search.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "tests/support/brute_block_plans.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_block_graph.hpp"
#include "tests/support/random_problem.hpp"

namespace strata::test {

/// Some budgets from next to none up to all that `g` can use.
inline auto some_budgets(block_graph const& g, int n) -> std::vector<bytes_t>
{
    auto const& p = g.subject();
    auto const most = promise_of(g, once_each(g, std::vector<int>(g.size(), 0))).peak - p.resident_bytes();
    std::vector<bytes_t> r;
    for (int k = 1; k <= n; ++k) {
        auto const b = p.resident_bytes() + most * k / n;
        if (r.empty() || r.back() != b) {
            r.push_back(b);
        }
    }
    return r;
}

/// Requires that `plan` obeys every rule, fits and is worth what was said.
inline void judge_block_plan(block_graph const& g, block_plan const& plan, bytes_t budget, cost_t cost)
{
    auto const& p = g.subject();
    REQUIRE(is_block_plan(g, plan));
    auto const promise = promise_of(g, plan);
    REQUIRE(promise.peak <= budget);
    REQUIRE(promise.cost == cost);
    auto const order = expand(g, plan);
    REQUIRE(cost_of(p, order) == cost);
    REQUIRE(peak_of(p, order) == promise.peak);
    auto const given = in_first_run_order(p, order);
    REQUIRE(is_run_order(p, given));
    REQUIRE(validate(p, free_early(p, given), max_bytes).ok());
}

/// Least cost that the model alone knows of, with no plan to start from; nothing when it says that none fits.
template <mip_backend B>
auto cost_by_model(block_graph const& g, bytes_t budget, B const& backend, int closure_every = 0)
    -> std::optional<cost_t>
{
    hierarchical_model const m(g, budget, {.closure_every = closure_every});
    auto const answer = backend.solve(m.model(), {});
    REQUIRE(answer);
    if (answer->status == mip_status::infeasible) {
        return {};
    }
    REQUIRE(answer->status == mip_status::optimal);
    auto const plan = m.plan_of(answer->solution);
    auto const promise = promise_of(g, plan);
    judge_block_plan(g, plan, budget, promise.cost);
    CHECK(static_cast<double>(m.base_cost()) + answer->objective * m.cost_unit() ==
          Approx(static_cast<double>(promise.cost)).epsilon(1e-9));
    return promise.cost;
}

/// Equals the enumeration of plans on random levels under budgets of every kind, with any number of closure cuts.
template <mip_backend B>
void check_class_of_plans(B const& backend, std::uint64_t seeds)
{
    int infeasible = 0;
    int dearer = 0;
    int again = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        auto const x = make_random_level(seed, 16);
        if (!x.level) {
            continue;
        }
        brute_block_plans const brute(*x.level);
        if (!brute.enumerable()) {
            continue;
        }
        auto const budgets = some_budgets(*x.level, 9);
        auto const least = brute.solve(max_bytes);
        REQUIRE(least);
        for (auto budget : budgets) {
            CAPTURE(seed, budget);
            auto const truth = brute.solve(budget);
            auto const closure_every = static_cast<int>(seed % 3);
            REQUIRE(cost_by_model(*x.level, budget, backend, closure_every) == truth);
            auto const found = solve_hierarchical(*x.level, budget, backend, {.closure_every = closure_every});
            if (!truth) {
                REQUIRE_FALSE(found);
                CHECK(found.error().code == errc::infeasible);
                REQUIRE(found.error().limit);
                CHECK(found.error().limit->lower_limit == budget + 1);
                REQUIRE(found.error().limit->known_feasible);
                CHECK(brute.solve(*found.error().limit->known_feasible));
                ++infeasible;
                continue;
            }
            REQUIRE(found);
            judge_block_plan(*x.level, found->plan, budget, found->cost);
            REQUIRE(found->cost == *truth);
            CHECK(found->optimal);
            CHECK(found->bound <= found->cost);
            dearer += found->cost > *least ? 1 : 0;
            again += found->plan.size() > x.level->items().size() ? 1 : 0;
        }
    }
    CHECK(infeasible > static_cast<int>(seeds / 2));
    CHECK(dearer > static_cast<int>(seeds / 4));
    CHECK(again > static_cast<int>(seeds / 8));
}

/// A step of `layers` equal layers and a loss, each a part. A layer saves 4 bytes for its backward op, which reads its input
/// and the gradient that arrives as well; outputs and gradients have 1 byte, the input of the step is resident. Forward
/// ops cost 1, backward ops 2.
inline auto stacked_layers_spec(int layers) -> problem_spec
{
    problem_spec s;
    std::vector<tensor_id> x{add_tensor(s, 1, tensor_kind::input)};
    std::vector<tensor_id> saved;
    for (int i = 0; i < layers; ++i) {
        x.push_back(add_tensor(s, 1));
        saved.push_back(add_tensor(s, 4, tensor_kind::saved));
        auto const o = static_cast<std::size_t>(add_op(s, 1, {x[x.size() - 2]}, {x.back(), saved.back()}));
        s.ops[o].phase = phase::forward;
    }
    auto g = add_tensor(s, 1, tensor_kind::gradient);
    s.ops[static_cast<std::size_t>(add_op(s, 0, {x.back()}, {g}))].phase = phase::backward;
    for (auto i = static_cast<std::size_t>(layers); i-- > 0;) {
        auto const arriving = std::exchange(g, add_tensor(s, 1, tensor_kind::gradient));
        auto const o = static_cast<std::size_t>(add_op(s, 2, {x[i], saved[i], arriving}, {g}));
        s.ops[o].phase = phase::backward;
        s.ops[o].backward_of = static_cast<op_id>(i);
    }
    s.targets = {g};
    return s;
}

/// The level of a step of `stacked_layers_spec`, one option for each part.
inline auto layered_level(problem const& p) -> block_graph
{
    auto const layers = (p.op_count() - 1) / 2;
    std::vector<block> parts{{{}, {layers}}};
    for (op_id i = 0; i < layers; ++i) {
        parts.push_back({{i}, {p.op_count() - 1 - i}});
    }
    std::vector<std::vector<option>> options;
    for (auto const& b : parts) {
        options.push_back({describe(p, b, b.forward, b.backward)});
    }
    return block_graph::make(p, std::move(parts), std::move(options)).value();
}

/// Chains on which HiRemate's program, with saved sets regenerated in the layer's own phases only, ends at 14, 27, 28, 30, 31,
/// and without that restriction at these costs.
template <mip_backend B>
void check_chains_of_the_reference(B const& backend)
{
    struct cell {
        int layers;
        bytes_t dynamic;
        cost_t cost;
    };
    for (auto const& [layers, dynamic, cost] :
         {cell{4, 16, 13}, cell{8, 32, 26}, cell{8, 26, 27}, cell{8, 20, 29}, cell{8, 16, 30}}) {
        CAPTURE(layers, dynamic);
        auto const p = make(stacked_layers_spec(layers));
        auto const g = layered_level(p);
        auto const budget = p.resident_bytes() + dynamic;
        CHECK(cost_by_model(g, budget, backend) == cost);
        auto const found = solve_hierarchical(g, budget, backend);
        REQUIRE(found);
        judge_block_plan(g, found->plan, budget, found->cost);
        CHECK(found->cost == cost);
        CHECK(found->bound == cost);
        CHECK(found->optimal);
    }
}

/// The relaxation's bound never exceeds the optimum, and closure cuts raise it on some levels and lower it on none.
template <mip_backend B>
void check_relaxation_of_levels(B const& backend, std::uint64_t seeds)
{
    int raised = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        auto const x = make_random_level(seed, 40);
        if (!x.level) {
            continue;
        }
        for (auto budget : some_budgets(*x.level, 5)) {
            CAPTURE(seed, budget);
            auto const best = solve_hierarchical(*x.level, budget, backend, {.max_nodes = 20});
            std::vector<double> bounds;
            for (int closure_every : {0, 3, 1}) {
                auto const bound = hierarchical_relaxation(*x.level, budget, backend, {.closure_every = closure_every});
                if (!bound) { // may be proven without whole numbers, and must be true
                    CHECK(bound.error().code == errc::infeasible);
                    CHECK(bound.error().limit);
                    CHECK_FALSE(best);
                    break;
                }
                auto const noise = 1e-6 * (1 + *bound);
                CHECK((bounds.empty() || *bound >= bounds.front() - noise));
                if (best) {
                    CHECK(*bound <= static_cast<double>(best->cost) + noise);
                }
                bounds.push_back(*bound);
            }
            raised += !bounds.empty() && bounds.back() > bounds.front() * (1 + 1e-4) ? 1 : 0;
        }
    }
    CHECK(raised > 2);
}

/// Told to stop in the middle, at whatever point it reports, the backend says nothing about a model that is not so.
template <mip_backend B>
void check_stops_in_the_middle(B const& backend)
{
    auto const p = make(stacked_layers_spec(10));
    auto const g = layered_level(p);
    hierarchical_model const m(g, p.resident_bytes() + 10, {.closure_every = 1});
    int stopped = 0;
    for (int reports = 1; reports <= 8; ++reports) {
        CAPTURE(reports);
        std::stop_source source;
        limits lim;
        lim.cancel = source.get_token();
        int count = 0;
        mip_request how{.stop = stop_watch(lim), .on_progress = [&](mip_progress const&) {
                            if (++count == reports) {
                                source.request_stop();
                            }
                        }};
        auto const answer = backend.solve(m.model(), how);
        REQUIRE(answer);
        CHECK(answer->status != mip_status::infeasible);
        CHECK(answer->bound <= 14 + 1e-6);
        if (answer->solution.size() > 0) {
            CHECK(violation_of(m.model(), answer->solution) <= 1e-6);
            CHECK(answer->objective >= 14 - 1e-6);
        }
        stopped += answer->status != mip_status::optimal ? 1 : 0;
    }
    CHECK(stopped > 0);
}

/// Levels that are too large to enumerate: whatever stops the search, the plan obeys every rule and fits, and a known plan is
/// never made worse.
template <mip_backend B>
void check_large_levels(B const& backend, std::uint64_t seeds)
{
    int found_any = 0;
    int better = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        auto const x = make_random_level(seed, 40);
        if (!x.level) {
            continue;
        }
        for (auto budget : some_budgets(*x.level, 4)) {
            CAPTURE(seed, budget);
            auto const simple = solve_hierarchical(*x.level, budget, backend, {.max_entries = 1});
            if (simple) {
                judge_block_plan(*x.level, simple->plan, budget, simple->cost);
                CHECK(simple->nodes == 0);
                CHECK(simple->optimal == (simple->cost == simple->bound));
            }
            auto const found = solve_hierarchical(*x.level, budget, backend, {.max_nodes = 3});
            CHECK((!simple || found));
            if (!found) {
                continue;
            }
            judge_block_plan(*x.level, found->plan, budget, found->cost);
            CHECK(found->bound <= found->cost);
            CHECK((!simple || found->cost <= simple->cost));
            ++found_any;
            better += !simple || found->cost < simple->cost ? 1 : 0;
            auto const again = solve_hierarchical(*x.level, budget, backend, {.max_entries = 1, .known = found->plan});
            REQUIRE(again);
            judge_block_plan(*x.level, again->plan, budget, again->cost);
            CHECK(again->cost <= found->cost);
        }
    }
    CHECK(found_any > static_cast<int>(seeds));
    CHECK(better > 0);
}

} // namespace strata::test
