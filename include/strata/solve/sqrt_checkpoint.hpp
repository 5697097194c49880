// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Equal segments, as many as the square root of the ops: the classic checkpointing of deep nets.
#pragma once

#include <strata/detail/math.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/concepts.hpp>
#include <strata/solve/just_in_time.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace strata {

/// Cuts the ops before `at` into segments of about sqrt(at) ops and keeps, at `at`, what one segment hands to a later
/// one; the rest is made again when needed.
/// Source: Chen, Xu, Zhang, Guestrin, "Training Deep Nets with Sublinear Memory Cost", 2016, for any graph.
template <class = void>
[[nodiscard]] auto sqrt_checkpoint_order(problem const& p, op_id at) -> run_order
{
    auto const length = std::max<op_id>(1, static_cast<op_id>(detail::math::sqrt(static_cast<double>(at)) + 0.5));
    return just_in_time(p, at, [&](tensor_id t) {
        auto const readers = p.consumers(t);
        // The last reader before `at` decides: later readers are what the segment is run again for.
        auto const last = std::lower_bound(readers.begin(), readers.end(), at);
        return last != readers.begin() && *(last - 1) / length > p.producers(t).front() / length;
    });
}

/// Proposes `sqrt_checkpoint_order` at the search's first time point, as it is.
struct sqrt_checkpoint {
    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "sqrt_checkpoint"; }
    template <class Lazy>
    void solve(basic_search<Lazy>& on) const
    {
        if (on.points().empty()) {
            return;
        }
        on.propose({.make = [&p = on.subject(), at = on.points().front()] { return sqrt_checkpoint_order(p, at); },
                    .as_is = true,
                    .name = "sqrt_checkpoint"});
    }
};

} // namespace strata
