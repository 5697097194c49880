// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Plans a user's own graph: lower, plan, and hand the plan back in the graph's ids.
#pragma once

#include <strata/pipeline/plan.hpp>
#include <strata/problem/lower.hpp>
#include <strata/problem/lowering.hpp>

#include <concepts>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace strata {

/// `planned`, a plan of `from.problem()`, in the ids of the graph that was lowered: ops that share a buffer run one
/// after the other in place of their group, tensors are the owners of their buffers. Temporaries of a group lie in the
/// group's workspace.
/// Complexity: linear in the plan.
template <class = void>
[[nodiscard]] auto in_graph_ids(certified_plan planned, lowering const& from) -> certified_plan
{
    if (from.identity()) {
        return planned;
    }
    // Where each step of the problem's schedule begins in the graph's.
    std::vector<std::size_t> begins = {0};
    schedule expanded;
    for (auto const& x : planned.schedule.steps) {
        auto const part = from.expand({{x}});
        expanded.steps.insert(expanded.steps.end(), part.steps.begin(), part.steps.end());
        begins.push_back(expanded.steps.size());
    }
    for (auto& l : planned.placement.lifetimes) {
        l.begin = begins[l.begin];
        l.end = begins[l.end];
        l.tensor = l.tensor == none ? none : from.owner(l.tensor);
    }
    planned.schedule = std::move(expanded);
    return planned;
}

/// The way back: `planned`, a plan in the ids of the graph that was lowered, in those of `from.problem()`.
/// `in_problem_ids(in_graph_ids(x, from), from)` is `x`.
/// Requires: lifetimes lie within the steps of the schedule.
/// Errors: those of `lowering::collapse`; `invalid_plan` for the lifetime of a tensor that does not exist or has no place
/// of its own, and for one that would end before it begins, since frees among ops that run as one come after them.
/// Complexity: linear in the plan.
template <class = void>
[[nodiscard]] auto in_problem_ids(certified_plan planned, lowering const& from) -> result<certified_plan>
{
    if (from.identity()) {
        return planned;
    }
    std::vector<std::size_t> step_of;
    auto collapsed = from.collapse(planned.schedule, &step_of);
    if (!collapsed) {
        return std::move(collapsed).error();
    }
    auto& lifetimes = planned.placement.lifetimes;
    for (std::size_t i = 0; i < lifetimes.size(); ++i) {
        auto& l = lifetimes[i];
        auto const [begin, end] = std::pair(step_of[l.begin], step_of[l.end]);
        if (begin > end) { // a free is put off until the ops around it have run, what follows it there is not
            return fail(errc::invalid_plan,
                        "strata::in_problem_ids: lifetime " + std::to_string(i) + " begins at step " +
                            std::to_string(l.begin) + ", which frees a tensor, and ends before the ops around that " +
                            "step, which run as one, have run");
        }
        l.begin = begin;
        l.end = end;
        if (l.tensor != none) {
            auto const t = l.tensor < 0 || l.tensor >= from.graph_tensor_count() ? none : from.tensor_of(l.tensor);
            if (t == none || from.owner(t) != l.tensor) {
                return fail(errc::invalid_plan,
                            "strata::in_problem_ids: lifetime " + std::to_string(i) + " is of tensor " +
                                std::to_string(l.tensor) + ", which has no buffer of its own in the plan");
            }
            l.tensor = t;
        }
    }
    planned.schedule = *std::move(collapsed);
    return planned;
}

/// Plans one step of `g`, priced by `c`; see `plan` for a problem. The schedule and the placement name ops and tensors
/// of `g`.
/// Errors: those of `lower` and of `plan`.
/// Example: examples/01_quickstart.cpp
template <class G, class C, class S = default_solver>
    requires(!std::same_as<G, problem>)
[[nodiscard]] auto plan(G const& g, C const& c, limits const& lim = {}, S const& s = {}) -> result<certified_plan>
{
    auto lowered = lower(g, c);
    if (!lowered) {
        return std::move(lowered).error();
    }
    auto planned = plan(lowered->problem(), lim, s);
    if (!planned) {
        return planned;
    }
    return in_graph_ids(*std::move(planned), *lowered);
}

} // namespace strata
