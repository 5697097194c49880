// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A priced graph as a graph file, op by op, with its views and in-place ops; models of the zoo as files.
#pragma once

#include <strata/cost/concepts.hpp>
#include <strata/graph/concepts.hpp>
#include <strata/graph/to_spec.hpp>
#include <strata/io/graph_file.hpp>
#include <strata/result.hpp>
#include <strata/units.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "examples/zoo/models.hpp"

namespace strata::zoo {

/// What `write_graph` needs to save `g` with the costs of `c`. Nothing is folded: `lower` of the file is `lower(g, c)`.
/// Errors: `overflow` if a number does not fit 64 bits; `malformed_graph` if a cost is negative or no number.
/// Complexity: linear in the graph.
template <class G, class C>
    requires task_graph<G> && cost_model<C, G>
[[nodiscard]] auto to_graph_file(G const& g, C const& c) -> result<graph_file>
{
    auto spec = to_spec(g, "strata::zoo");
    if (!spec) {
        return std::move(spec).error();
    }
    auto file = strata::to_graph_file(spec->plain);
    for (std::size_t t = 0; t < file.tensors.size(); ++t) {
        file.tensors[t].view_of = spec->view_of[t];
    }
    for (std::size_t o = 0; o < file.ops.size(); ++o) {
        constexpr double limit = 9e18;
        auto const cost = static_cast<double>(c.cost(g, static_cast<op_id>(o)));
        if (!(cost >= 0 && cost < limit)) {
            return fail(cost >= limit ? errc::overflow : errc::malformed_graph,
                        "strata::zoo: the cost of op " + std::to_string(o) + " (" + file.ops[o].name +
                            ") is negative, no number, or does not fit 64 bits");
        }
        file.ops[o].cost = static_cast<cost_t>(std::llround(cost));
        file.ops[o].mutates = std::move(spec->mutates[o]);
    }
    return file;
}

/// The graph file of model `name`.
/// Errors: those of `make` and of `to_graph_file`.
[[nodiscard]] inline auto make_graph_file(std::string_view name, options const& asked = {}) -> result<graph_file>
{
    auto const graph = make(name, asked);
    if (!graph) {
        return graph.error();
    }
    return to_graph_file(*graph, *make_cost(name, asked));
}

} // namespace strata::zoo
