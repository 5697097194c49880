// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Costs that were measured: one number per op.
#pragma once

#include <strata/cost/concepts.hpp>
#include <strata/graph/access.hpp>
#include <strata/graph/to_spec.hpp>
#include <strata/result.hpp>
#include <strata/units.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace strata {

/// A cost model that looks each op up. Models `cost_model` for every graph with as many ops.
class table_cost {
public:
    /// Costs of ops 0, 1, … of the graphs this model will be asked about.
    explicit table_cost(std::vector<cost_t> costs)
        : costs_(std::move(costs))
    {
    }

    /// The same, checked against `g`.
    /// Errors: `invalid_argument` if there is not one cost per op of `g`, or one is negative.
    template <class G>
        requires task_graph<G>
    [[nodiscard]] static auto make(G const& g, std::vector<cost_t> costs) -> result<table_cost>
    {
        auto const n = detail::to_int64(access::op_count(g)).value_or(-1);
        if (n != static_cast<std::int64_t>(costs.size())) {
            return fail(errc::invalid_argument,
                        "strata::table_cost: " + std::to_string(costs.size()) + " costs for " + std::to_string(n) +
                            " ops; measure one per op, in first-run order");
        }
        for (std::size_t o = 0; o < costs.size(); ++o) {
            if (costs[o] < 0) {
                return fail(errc::invalid_argument,
                            "strata::table_cost: op " + std::to_string(o) + " costs " + std::to_string(costs[o]) +
                                ", must not be negative");
            }
        }
        return table_cost(std::move(costs));
    }

    /// Returns: the cost of `o`; -1, which `lower` refuses, when the table has none.
    template <class G>
    [[nodiscard]] auto cost(G const& /*g*/, op_id o) const noexcept -> cost_t
    {
        return o >= 0 && static_cast<std::size_t>(o) < costs_.size() ? costs_[static_cast<std::size_t>(o)] : -1;
    }

    friend auto operator==(table_cost const&, table_cost const&) -> bool = default;

private:
    std::vector<cost_t> costs_;
};

} // namespace strata
