// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Run every op once and recompute nothing: the yardstick of bytes and of cost.
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/concepts.hpp>

#include <numeric>
#include <string_view>

namespace strata {

/// The first-run order itself.
template <class = void>
[[nodiscard]] auto keep_all_order(problem const& p) -> run_order
{
    run_order order(static_cast<std::size_t>(p.op_count()));
    std::iota(order.begin(), order.end(), 0);
    return order;
}

/// Proposes the plain step, as it is: it fits or it does not.
struct keep_all {
    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "keep_all"; }
    template <class Lazy>
    void solve(basic_search<Lazy>& on) const
    {
        on.propose({.make = [&p = on.subject()] { return keep_all_order(p); }, .as_is = true, .name = "keep_all"});
    }
};

} // namespace strata
