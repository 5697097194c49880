// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A cost model from one callable on the operator object: the shortest way to price a graph.
#pragma once

#include <strata/cost/concepts.hpp>
#include <strata/cost/price.hpp>
#include <strata/graph/access.hpp>
#include <strata/units.hpp>

#include <utility>

namespace strata {

/// Prices op `o` of a graph as `price(op)` of its operator object: any arithmetic value, in the graph's unit.
/// Models `cost_model` for every graph whose operator object `price` accepts.
template <class Price>
class priced_by {
public:
    constexpr explicit priced_by(Price price)
        : price_(std::move(price))
    {
    }

    template <class G>
    [[nodiscard]] constexpr auto cost(G const& g, op_id o) const -> long double
        requires requires(Price const& price) { detail::price(price(access::op(g, o))); }
    {
        return detail::price(price_(access::op(g, o)));
    }

private:
    Price price_;
};

} // namespace strata
