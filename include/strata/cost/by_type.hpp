// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Costs by operator type, for graphs whose operator objects are a std::variant or of one type.
///
/// ```cpp
/// auto const c = strata::cost_by_type(strata::priced<conv>([](conv const& x) { return x.flops / 60e3; }),
///                                     strata::priced<relu>(1200));
/// ```
/// A type of the variant that nobody priced is a compile-time error that names it.
#pragma once

#include <strata/cost/concepts.hpp>
#include <strata/cost/price.hpp>
#include <strata/graph/access.hpp>
#include <strata/units.hpp>

#include <boost/hana/at_key.hpp>
#include <boost/hana/contains.hpp>
#include <boost/hana/first.hpp>
#include <boost/hana/map.hpp>
#include <boost/hana/pair.hpp>
#include <boost/hana/type.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace strata {

namespace detail {

/// Never complete: named in the error for an operator type without a price.
template <class Op>
struct no_price_for;

template <class Map, class Op>
inline constexpr bool has_price =
    decltype(boost::hana::contains(std::declval<Map const&>(), boost::hana::type_c<Op>))::value;

template <class... Ops>
inline constexpr bool all_distinct = true;
template <class Op, class... Rest>
inline constexpr bool all_distinct<Op, Rest...> = (!std::is_same_v<Op, Rest> && ...) && all_distinct<Rest...>;

/// An entry's operator type, wrapped.
template <class Entry>
using priced_type_t = std::remove_cvref_t<decltype(boost::hana::first(std::declval<Entry const&>()))>;

} // namespace detail

/// A price per operator type, kept in a Boost.Hana map from type to a number or a callable.
template <class Map>
class by_type_cost {
public:
    explicit constexpr by_type_cost(Map prices)
        : prices_(std::move(prices))
    {
    }

    /// The price of the operator object of `o`. A callable gets that object, or the graph and `o` after it.
    template <class G>
    [[nodiscard]] constexpr auto cost(G const& g, op_id o) const -> long double
    {
        return detail::visit_op(access::op(g, o), [&](auto const& held) -> long double {
            using op_type = std::remove_cvref_t<decltype(held)>;
            if constexpr (detail::has_price<Map, op_type>) {
                auto const& p = boost::hana::at_key(prices_, boost::hana::type_c<op_type>);
                if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(p)>>) {
                    return detail::price(p);
                } else if constexpr (std::is_invocable_v<decltype(p), op_type const&>) {
                    return detail::price(p(held));
                } else {
                    return detail::price(p(held, g, o));
                }
            } else {
                static_assert(detail::has_price<Map, op_type>,
                              "strata::cost_by_type: an operator type of the graph has no price; add "
                              "`priced<the type named below>(...)`");
                return sizeof(detail::no_price_for<op_type>);
            }
        });
    }

private:
    Map prices_;
};

/// One entry for `cost_by_type`: objects of type `Op` cost `price`, a number or a callable.
template <class Op, class Price>
[[nodiscard]] constexpr auto priced(Price price)
{
    return boost::hana::make_pair(boost::hana::type_c<Op>, std::move(price));
}

/// A cost model of entries made by `priced`, one per operator type.
template <class... Entries>
[[nodiscard]] constexpr auto cost_by_type(Entries... entries)
{
    static_assert(detail::all_distinct<detail::priced_type_t<Entries>...>,
                  "strata::cost_by_type: an operator type is priced twice");
    auto map = boost::hana::make_map(std::move(entries)...);
    return by_type_cost<decltype(map)>(std::move(map));
}

} // namespace strata
