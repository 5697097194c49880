// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A step as it is planned when its buffers need room to be packed: some bytes are held back from some ops.
#pragma once

#include <strata/bound/minimum_budget.hpp>
#include <strata/place/placement.hpp>
#include <strata/problem/problem.hpp>
#include <strata/result.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace strata::detail {

/// By how much buffers that live while an op runs end above `room` bytes, at worst: 0 where everything fits.
/// Requires: `x` places `s`. Complexity: O(steps × number of buffers that end above).
template <class = void>
[[nodiscard]] auto missing_at(problem const& p, schedule const& s, placement const& x, bytes_t room)
    -> std::vector<bytes_t>
{
    std::vector<bytes_t> missing(static_cast<std::size_t>(p.op_count()), 0);
    for (std::size_t i = 0; i < x.lifetimes.size(); ++i) {
        auto const& l = x.lifetimes[i];
        auto const above = x.offsets[i] + l.size - room;
        for (auto k = l.begin; k < l.end && above > 0; ++k) {
            if (s.steps[k].action == action::run) {
                auto& most = missing[static_cast<std::size_t>(s.steps[k].id)];
                most = std::max(most, above);
            }
        }
    }
    return missing;
}

/// `p` with scratch memory that nobody uses, `held[o]` bytes of it for op `o`: a plan for it leaves so many bytes free
/// while `o` runs. No op is given more than leaves room in `bytes` for what every plan has there.
template <class = void>
[[nodiscard]] auto hold_back(problem const& p, bytes_t bytes, std::span<bytes_t const> held) -> result<problem>
{
    auto const needed = fixed_bytes(p);
    auto spec = p.spec();
    for (std::size_t o = 0; o < spec.ops.size(); ++o) {
        spec.ops[o].workspace += std::clamp<bytes_t>(bytes - needed[o], 0, held[o]);
    }
    return problem::make(std::move(spec));
}

} // namespace strata::detail
