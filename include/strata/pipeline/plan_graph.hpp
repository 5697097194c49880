// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Plans a user's own graph: lower, plan, and hand the plan back in the graph's ids.
#pragma once

#include <strata/pipeline/plan.hpp>
#include <strata/problem/lower.hpp>
#include <strata/problem/lowering.hpp>

#include <concepts>
#include <cstddef>
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
