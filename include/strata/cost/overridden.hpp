// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A cost model with some ops priced by hand.
#pragma once

#include <strata/cost/concepts.hpp>
#include <strata/cost/price.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace strata {

/// `C` except for listed ops. Holds `C` by value.
template <class C>
class overridden_cost {
public:
    /// Of two entries for one op the last one counts.
    overridden_cost(C upstream, std::vector<std::pair<op_id, cost_t>> by_hand)
        : upstream_(std::move(upstream))
        , by_hand_(std::move(by_hand))
    {
        std::stable_sort(
            by_hand_.begin(), by_hand_.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
    }

    /// Complexity: O(log entries), plus the upstream's for an op that is not listed.
    template <class G>
        requires cost_model<C, G>
    [[nodiscard]] auto cost(G const& g, op_id o) const -> long double
    {
        auto const after = std::upper_bound(
            by_hand_.begin(), by_hand_.end(), o, [](op_id id, auto const& entry) { return id < entry.first; });
        if (after != by_hand_.begin() && std::prev(after)->first == o) {
            return detail::price(std::prev(after)->second);
        }
        return detail::price(upstream_.cost(g, o));
    }

private:
    C upstream_;
    std::vector<std::pair<op_id, cost_t>> by_hand_;
};

/// `c` with the costs of some ops replaced: `overridden(roofline, {{17, 1200}})`.
template <class C>
[[nodiscard]] auto overridden(C c, std::vector<std::pair<op_id, cost_t>> by_hand) -> overridden_cost<C>
{
    return {std::move(c), std::move(by_hand)};
}

} // namespace strata
