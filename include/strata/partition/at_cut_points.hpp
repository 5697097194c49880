// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The partitioner that cuts where every path passes through one op, as Rockmate does.
#pragma once

#include <strata/partition/block.hpp>
#include <strata/partition/concepts.hpp>
#include <strata/partition/waiting.hpp>
#include <strata/partition/whole.hpp>
#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

namespace detail {

/// By place in `ops`: whether all that the ops up to there, and those outside, hand on to ops behind it comes out of one
/// op at most. Tensors that are read more than `longest_span` ops after they are made are left out of it.
/// Complexity: O(ops of the step up to the turn + reads of `ops`).
template <class = void>
[[nodiscard]] auto narrow_gaps(problem const& p, std::span<op_id const> ops, op_id longest_span) -> std::vector<char>
{
    auto const at = [](auto i) { return static_cast<std::size_t>(i); };
    auto const turn = turn_of(p);
    std::vector<std::size_t> last(at(turn), 0); // by producer: one past the place of its last reader
    for (std::size_t i = 0; i < ops.size(); ++i) {
        for (auto t : p.inputs(ops[i])) {
            auto const readers = p.consumers(t);
            auto const end = *(std::lower_bound(readers.begin(), readers.end(), turn) - 1);
            if (end - p.producers(t).front() <= longest_span) {
                for (auto maker : p.producers(t)) {
                    last[at(maker)] = i + 1;
                }
            }
        }
    }
    // How many producers reach over a gap: each is counted from where it stands; those outside from the beginning.
    std::vector<std::size_t> ends(ops.size() + 1, 0);
    std::size_t open = 0;
    for (op_id o = 0; o < turn; ++o) {
        if (last[at(o)] > 0 && !std::binary_search(ops.begin(), ops.end(), o)) {
            ++open;
            ++ends[last[at(o)] - 1];
        }
    }
    std::vector<char> r;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        open -= ends[i];
        if (auto const end = last[at(ops[i])]; end > i + 1) {
            ++open;
            ++ends[end - 1];
        }
        r.push_back(open <= 1 ? 1 : 0);
    }
    return r;
}

/// `ops` as a part, cut further by `sub`.
template <class Sub>
[[nodiscard]] auto part_cut_by(problem const& p, std::vector<op_id> ops, Sub const& sub) -> part
{
    auto parts = sub.split(p, std::span<op_id const>(ops));
    return {std::move(ops), parts.size() < 2 ? std::vector<part>() : std::move(parts)};
}

} // namespace detail

/// Parts are the stretches between ops through which every path passes: all that earlier ops hand on to later ones comes
/// out of one op. Each part is cut further by `sub`, and where there is one part only `sub` alone decides.
///
/// A tensor that is read far behind, as the skips of a U-Net or the output of an encoder, would leave no such op; beyond
/// `longest_span` it is taken to be at hand. Parts that would wait for each other on the way back are put together.
/// Complexity: O(ops and reads) plus that of `sub`.
template <class Sub = whole>
struct at_cut_points {
    Sub sub = {};
    op_id longest_span =
        30; ///< ops of the step between the making and the last forward reading of a tensor that counts
    std::size_t min_ops = 8; ///< a part has so many, if there are

    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "at_cut_points"; }
    [[nodiscard]] auto split(problem const& p, std::span<op_id const> ops) const -> std::vector<part>
    {
        require_partitioner<Sub>();
        auto const narrow = detail::narrow_gaps(p, ops, longest_span);
        auto const enough = std::max<std::size_t>(min_ops, 1);
        std::vector<std::size_t> group(ops.size(), 0);
        std::size_t begin = 0;
        for (std::size_t i = 0; i < ops.size(); ++i) {
            group[i] = begin;
            if (narrow[i] != 0 && i + 1 - begin >= enough && ops.size() - i - 1 >= enough) {
                begin = i + 1;
            }
        }
        auto sets = detail::untangled(p, ops, std::move(group));
        if (sets.size() < 2) {
            return sub.split(p, ops);
        }
        std::vector<part> r;
        for (auto& x : sets) {
            r.push_back(detail::part_cut_by(p, std::move(x), sub));
        }
        return r;
    }
};

} // namespace strata
