// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Checkpoints on a row of ops by dynamic programming (Rotor): every op is a stage that keeps all or nothing.
#pragma once

#include <strata/merge/block_graph.hpp>
#include <strata/merge/expand.hpp>
#include <strata/merge/option.hpp>
#include <strata/partition/block.hpp>
#include <strata/problem/problem.hpp>
#include <strata/solve/block_dp.hpp>
#include <strata/solve/concepts.hpp>
#include <strata/solve/step_kind.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

/// The step as a row: each forward op with its backward ops is a part, which keeps what its backward ops read.
/// Returns: nothing when that is no row: no forward op has a backward op of its own, or parts wait for each other.
/// Complexity: O(ops and reads · log).
template <class = void>
[[nodiscard]] auto row_of_ops(problem const& p) -> std::optional<block_graph>
{
    auto const at = [](op_id o) { return static_cast<std::size_t>(o); };
    auto const turn = turn_of(p);
    std::vector<block> parts(at(turn));
    for (op_id o = 0; o < turn; ++o) {
        parts[at(o)].forward.push_back(o);
    }
    bool any = false;
    for (op_id o = turn; o < p.op_count(); ++o) {
        auto const owner = p.op(o).backward_of;
        bool const owned = owner != none && owner < turn;
        any = any || owned;
        if (owned) {
            parts[at(owner)].backward.push_back(o);
        } else {
            parts.push_back({{}, {o}});
        }
    }
    if (!any) {
        return {};
    }
    std::vector<std::vector<option>> options;
    for (auto const& b : parts) {
        options.push_back({describe(p, b, b.forward, b.backward)});
    }
    auto made = block_graph::make(p, std::move(parts), std::move(options));
    return made ? std::optional<block_graph>(*std::move(made)) : std::nullopt;
}

/// Proposes the best persistent checkpoints of a row for the budget, and for less, so that `fill` has room to take back
/// what whole stages cannot. Exact on chains under the model of `persistent_table`; on other steps, tensors that skip
/// stages are counted while they live, and a few hundred stages are told apart.
/// Source: Beaumont, Eyraud-Dubois, Herrmann, Joly, Shilova, "Optimal checkpointing for heterogeneous chains", 2019.
struct chain_dp {
    static constexpr step_kinds takes{.inference = false};
    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "chain_dp"; }
    template <class = void>
    void solve(search& on) const
    {
        auto const& p = on.subject();
        auto const row = row_of_ops(p);
        auto const table = row ? block_dp_table::make(*row, on.budget(), on.stop()) : std::nullopt;
        if (!table) {
            return;
        }
        std::vector<proposal> seeds;
        for (double share : {1.0, 0.95, 0.9, 0.8, 0.7}) {
            auto const room = static_cast<double>(on.budget() - p.resident_bytes());
            auto const bytes = share == 1.0 ? on.budget() : p.resident_bytes() + static_cast<bytes_t>(share * room);
            seeds.push_back({.make = [&, bytes]() -> std::optional<run_order> {
                                 auto const plan = table->plan(bytes, on.stop());
                                 return plan ? std::optional(in_first_run_order(p, expand(*row, *plan))) : std::nullopt;
                             },
                             .name = "chain_dp"});
        }
        on.propose(seeds);
    }
};

} // namespace strata
