// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The partitioner that groups ops into blocks and blocks into larger ones, as HiRemate does.
#pragma once

#include <strata/partition/concepts.hpp>
#include <strata/partition/grouping.hpp>
#include <strata/partition/waiting.hpp>
#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <cstddef>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

namespace strata {

/// HiRemate's H-Partition. In rounds, chains and flows (what lies between an op and the place where all ways from it meet
/// again) become groups, the one that costs least first, until the top is small enough; what one round has grouped is a
/// node of the next. The cost of a group is the bytes that cross its border, each tensor once, times its number of ops to
/// the power `power_of_size`. No parts wait for each other, on the way there or back.
///
/// An op counts 1 and a block inside of another 2, so below 4 there are no blocks of blocks. `most_below` holds always,
/// `most_at_top` unless it is less or dependencies leave nothing to group. With `chain_at_top` a top that is a chain may be of any length.
/// Source: Gusak et al., HiRemate, ICML 2025, algorithm 1; there, tensors of blocks inside of blocks count wrongly.
/// Complexity: O(ops · `most_below` · log) for networks whose dependencies are mostly local.
struct bottom_up {
    std::size_t most_at_top = 30;
    std::size_t most_below = 20;
    bool chain_at_top = false;
    double weight_in = 1;       ///< of bytes that others make and the group uses
    double weight_out = 1;      ///< of bytes that the group makes and others use
    double power_of_size = 0.5; ///< larger: smaller groups come first

    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "bottom_up"; }
    template <class = void>
    [[nodiscard]] auto split(problem const& p, std::span<op_id const> ops) const -> std::vector<part>
    {
        std::vector<std::size_t> each(ops.size());
        std::iota(each.begin(), each.end(), std::size_t{0});
        auto const atoms = detail::untangled(p, ops, std::move(each));
        if (atoms.size() < 2) {
            return {};
        }
        detail::grouping g(
            p, {most_at_top, most_below, chain_at_top, weight_in, weight_out, power_of_size}, atoms, ops.size());
        g.run();
        return g.parts(atoms);
    }
};

} // namespace strata
