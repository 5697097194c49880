// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Which ops of a step look alike, as those of equal layers do.
#pragma once

#include <strata/detail/mix.hpp>
#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace strata {

/// Ops by what can be seen from them: their cost and bytes, and those of the ops up to two steps away.
///
/// A hint for searches, not a proof that ops are interchangeable. Ops that are alike have equally many outputs.
template <class = void>
class basic_alike_ops {
public:
    /// Complexity: O(ops log ops + links).
    explicit basic_alike_ops(problem const& p)
        : kind_(index(p.op_count()))
    {
        std::vector<std::uint64_t> seen(kind_.size());
        for (op_id o = 0; o < p.op_count(); ++o) {
            auto x = joined(number(p.cost(o)), number(p.workspace(o)), p.replayable(o) ? 1U : 0U);
            for (auto const tensors : {p.inputs(o), p.outputs(o)}) {
                x = joined(x, tensors.size());
                for (auto t : tensors) {
                    x = joined(x, number(p.size(t)));
                }
            }
            seen[index(o)] = x;
        }
        for (int steps = 0; steps < 2; ++steps) {
            seen = with_neighbours(p, seen);
        }
        auto kinds = seen;
        std::sort(kinds.begin(), kinds.end());
        kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
        alike_.resize(kinds.size());
        for (op_id o = 0; o < p.op_count(); ++o) {
            auto const k = std::lower_bound(kinds.begin(), kinds.end(), seen[index(o)]) - kinds.begin();
            kind_[index(o)] = static_cast<std::size_t>(k);
            alike_[kind_[index(o)]].push_back(o);
        }
    }

    /// The ops like `o`, itself among them, ascending.
    [[nodiscard]] auto like(op_id o) const -> std::span<op_id const> { return alike_[kind_[index(o)]]; }

private:
    static auto index(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }
    static auto number(std::int64_t x) noexcept -> std::uint64_t { return static_cast<std::uint64_t>(x); }
    template <class... More>
    static auto joined(std::uint64_t first, More... more) noexcept -> std::uint64_t
    {
        ((first = detail::mix(first ^ detail::mix(more))), ...);
        return first;
    }

    static auto with_neighbours(problem const& p, std::vector<std::uint64_t> const& seen) -> std::vector<std::uint64_t>
    {
        auto wider = seen;
        for (op_id o = 0; o < p.op_count(); ++o) {
            auto& x = wider[index(o)];
            for (auto t : p.inputs(o)) {
                for (auto maker : p.producers(t)) {
                    x = joined(x, seen[index(maker)]);
                }
            }
            for (auto t : p.outputs(o)) {
                for (auto reader : p.consumers(t)) {
                    x = joined(x, ~seen[index(reader)]);
                }
            }
        }
        return wider;
    }

    std::vector<std::size_t> kind_; // by op
    std::vector<std::vector<op_id>> alike_;
};

using alike_ops = basic_alike_ops<>;

} // namespace strata
