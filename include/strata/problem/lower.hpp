// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The border between a user's types and the library's numbers: graph and cost model become a `problem`.
///
/// Everything that depends on a user's type happens here, once; partitioners, solvers, replay and placement see
/// numbers only.
#pragma once

#include <strata/cost/concepts.hpp>
#include <strata/graph/concepts.hpp>
#include <strata/graph/to_spec.hpp>
#include <strata/problem/aliased_spec.hpp>
#include <strata/problem/lowering.hpp>
#include <strata/result.hpp>
#include <strata/units.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace strata {

/// What `lower` may be told.
struct lower_options {
    bytes_t alignment = 1; ///< sizes are rounded up to a multiple of it: 64 for a CPU engine, 512 for CUDA
    friend auto operator==(lower_options const&, lower_options const&) -> bool = default;
};

namespace detail {

template <class G, class C>
[[nodiscard]] auto read_costs(G const& g, C const& c, aliased_spec& spec) -> std::optional<error>
{
    cost_t total = 0;
    for (std::size_t k = 0; k < spec.plain.ops.size(); ++k) {
        auto& x = spec.plain.ops[k];
        auto const label = [&] { return "op " + std::to_string(k) + (x.name.empty() ? "" : " (" + x.name + ")"); };
        auto const cost = to_int64(c.cost(g, static_cast<op_id>(k)));
        if (!cost) {
            return fail(errc::overflow, "strata::lower: the cost of " + label() + " is not a number that fits 64 bits");
        }
        if (*cost < 0) {
            return fail(errc::malformed_graph,
                        "strata::lower: the cost of " + label() + " is " + std::to_string(*cost) +
                            ", must not be negative; a cost model answers below zero for an op it does not know");
        }
        if (!checked_add(total, *cost)) {
            return fail(errc::overflow,
                        "strata::lower: the sum of all costs does not fit 64 bits at " + label() +
                            "; measure in a coarser unit");
        }
        x.cost = *cost;
    }
    return {};
}

} // namespace detail

/// The numbers of one step of `g`, priced by `c`.
///
/// Views fold into the op that owns the buffer; an op that changes a tensor in place is fused with the ops that touched
/// the buffer before it (see `fuse` and `lowering`). Views of resident tensors, and of gradients that several ops add
/// into, need no folding, since those buffers are never made again: the op stays, and reading the view reads the buffer.
/// Without views and in-place ops the problem has the ids of the graph.
/// Errors: `malformed_graph` naming the op or tensor and the rule of `check_aliases` that it breaks, or the op whose
/// cost is negative; `overflow` if a number or a sum does not fit 64 bits; `invalid_argument` for an alignment below 1.
/// Complexity: O(n log n) in ops, tensors, reads and writes.
/// Example: examples/02_own_graph.cpp
template <class G, class C>
[[nodiscard]] auto lower(G const& g, C const& c, lower_options options = {}) -> result<lowering>
{
    require_task_graph<G>();
    require_cost_model<C, G>();
    if constexpr (task_graph<G> && cost_model<C, G>) { // keeps one message one message
        if (options.alignment < 1) {
            return fail(errc::invalid_argument,
                        "strata::lower: alignment is " + std::to_string(options.alignment) +
                            " bytes, must be at least 1");
        }
        auto spec = to_spec(g, "strata::lower");
        if (!spec) {
            return std::move(spec).error();
        }
        spec->plain.alignment = options.alignment;
        if (auto e = detail::read_costs(g, c, *spec)) {
            return *std::move(e);
        }
        auto table = check_aliases(*spec, "strata::lower");
        if (!table) {
            return std::move(table).error();
        }
        return lowering::make(*std::move(spec), *table);
    } else {
        return fail(errc::invalid_argument, {});
    }
}

} // namespace strata
