// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A graph file as a `task_graph` with its own costs, and its problem.
#pragma once

#include <strata/cost/concepts.hpp>
#include <strata/graph/concepts.hpp>
#include <strata/io/graph_file.hpp>
#include <strata/problem/lower.hpp>
#include <strata/problem/lowering.hpp>
#include <strata/result.hpp>
#include <strata/units.hpp>

#include <cstddef>

namespace strata {

/// The costs that a graph file states for its ops.
struct graph_file_cost {
    [[nodiscard]] static auto cost(graph_file const& g, op_id o) noexcept -> cost_t
    {
        return g.ops[static_cast<std::size_t>(o)].cost;
    }
};

static_assert(task_graph<graph_file> && cost_model<graph_file_cost, graph_file>);

/// The problem of a graph file, with its views and in-place ops folded away. `alignment` replaces that of the file
/// unless it is 0.
/// Errors: those of `lower(graph, cost, options)`: `malformed_graph`, `overflow`, `invalid_argument`.
/// Complexity: that of `lower`.
[[nodiscard]] inline auto lower_graph(graph_file const& g, bytes_t alignment = 0) -> result<lowering>
{
    return lower(g, graph_file_cost{}, {.alignment = alignment == 0 ? g.alignment : alignment});
}

} // namespace strata
