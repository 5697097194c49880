// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Keep nothing at the tightest instant: the other reference point.
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/concepts.hpp>
#include <strata/solve/just_in_time.hpp>

#include <string_view>

namespace strata {

/// Drops, at the first run of `at`, all that can be made again; each op then runs a second time when first needed.
template <class = void>
[[nodiscard]] auto recompute_all_order(problem const& p, op_id at) -> run_order
{
    return just_in_time(p, at, [](tensor_id) { return false; });
}

/// Proposes `recompute_all_order` at the search's first time point, as it is.
struct recompute_all {
    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "recompute_all"; }
    template <class Lazy>
    void solve(basic_search<Lazy>& on) const
    {
        if (on.points().empty()) {
            return;
        }
        on.propose({.make = [&p = on.subject(), at = on.points().front()] { return recompute_all_order(p, at); },
                    .as_is = true,
                    .name = "recompute_all"});
    }
};

} // namespace strata
