// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The fewest bytes any schedule needs, as far as it can be proven, and the op that pins them.
#pragma once

#include <strata/bound/time_cut.hpp>
#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace strata {

/// A proven lower limit of the budget.
struct byte_limit {
    bytes_t bytes = 0;      ///< resident bytes included
    op_id pinned_by = none; ///< an op at a run of which they are needed
    friend auto operator==(byte_limit const&, byte_limit const&) -> bool = default;
};

/// For each op, the bytes that are live at its first run in every schedule that keeps the first-run order: what
/// `time_cut::fixed` gives, for all ops in one sweep. Complexity: O(ops + tensors + reads and writes).
template <class = void>
[[nodiscard]] auto fixed_bytes(problem const& p) -> std::vector<bytes_t>
{
    auto const at = [](std::int32_t i) { return static_cast<std::size_t>(i); };
    std::vector<bytes_t> change(at(p.op_count()) + 1, 0);
    std::vector<op_id> forced_until(at(p.tensor_count()), none);
    for (tensor_id t = 0; t < p.tensor_count(); ++t) {
        auto const makers = p.producers(t);
        if (makers.empty() || p.remakeable(t)) {
            continue;
        }
        // It cannot be made again, so it stays from its first producer to its last use.
        auto const readers = p.consumers(t);
        auto until = makers.back();
        until = readers.empty() ? until : std::max(until, readers.back());
        until = p.is_target(t) ? p.op_count() - 1 : until;
        forced_until[at(t)] = until;
        change[at(makers.front())] += p.size(t);
        change[at(until) + 1] -= p.size(t);
    }
    std::vector<bytes_t> fixed(at(p.op_count()));
    bytes_t forced = p.resident_bytes();
    for (op_id o = 0; o < p.op_count(); ++o) {
        forced += change[at(o)];
        fixed[at(o)] = forced + p.workspace(o);
        for (auto const tensors : {p.inputs(o), p.outputs(o)}) {
            for (auto t : tensors) {
                if (forced_until[at(t)] < o) {
                    fixed[at(o)] += p.size(t);
                }
            }
        }
    }
    return fixed;
}

/// The largest proven need of any op: its footprint, what cannot be made again, and, where ops that may not be replayed
/// stand in the way, the smallest set of tensors from which the rest can be made.
/// Complexity: O(ops + tensors + reads and writes) plus a few cuts.
template <class Lazy = void>
[[nodiscard]] auto minimum_budget(problem const& p) -> byte_limit
{
    constexpr std::size_t cuts = 16;
    auto const at = [](std::int32_t i) { return static_cast<std::size_t>(i); };
    auto const fixed = fixed_bytes(p);
    std::vector<op_id> by_need(fixed.size());
    std::iota(by_need.begin(), by_need.end(), 0);
    auto const hottest = std::min(cuts, by_need.size());
    std::partial_sort(
        by_need.begin(), by_need.begin() + static_cast<std::ptrdiff_t>(hottest), by_need.end(), [&](op_id a, op_id b) {
            return fixed[at(a)] != fixed[at(b)] ? fixed[at(a)] > fixed[at(b)] : a < b;
        });
    byte_limit limit{fixed[at(by_need.front())], by_need.front()};
    bool all_replayable = true;
    for (op_id o = 0; o < p.op_count() && all_replayable; ++o) {
        all_replayable = p.replayable(o) || p.outputs(o).empty();
    }
    if (all_replayable) {
        return limit; // everything can be made again from resident tensors: no cut can add to the footprints
    }
    for (std::size_t i = 0; i < hottest; ++i) {
        basic_time_cut<Lazy> cut(p, by_need[i]);
        if (auto const c = cut.solve_fewest_bytes(); c && cut.fixed() + c->kept > limit.bytes) {
            limit = {cut.fixed() + c->kept, by_need[i]};
        }
    }
    return limit;
}

} // namespace strata
