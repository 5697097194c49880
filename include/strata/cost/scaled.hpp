// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A cost model times a factor: another device, another unit, what-if studies.
#pragma once

#include <strata/cost/concepts.hpp>
#include <strata/cost/price.hpp>
#include <strata/units.hpp>

#include <utility>

namespace strata {

/// `C` with every cost multiplied by one factor. Holds `C` by value.
template <class C>
class scaled_cost {
public:
    scaled_cost(C upstream, double factor)
        : upstream_(std::move(upstream))
        , factor_(factor)
    {
    }

    /// Unrounded; -1, which `lower` refuses, where the upstream does not know the op or the factor is negative or no
    /// number.
    template <class G>
        requires cost_model<C, G>
    [[nodiscard]] auto cost(G const& g, op_id o) const -> long double
    {
        auto const price = detail::price(upstream_.cost(g, o));
        return factor_ >= 0 && !(price < 0) ? price * static_cast<long double>(factor_) : -1;
    }

private:
    C upstream_;
    double factor_;
};

/// `c` times `factor`: `scaled(table, 0.5)` for a device twice as fast.
template <class C>
[[nodiscard]] auto scaled(C c, double factor) -> scaled_cost<C>
{
    return {std::move(c), factor};
}

} // namespace strata
