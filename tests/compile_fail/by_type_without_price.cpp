// expect-error: no_price_for<(struct )?(net::)?unpriced_op>
// SPDX-License-Identifier: Apache-2.0
#include <strata/cost/by_type.hpp>
#include <strata/graph/builder.hpp>
#include <strata/problem/lower.hpp>

#include <variant>

namespace net {
struct conv {};
struct unpriced_op {};
} // namespace net

int main()
{
    strata::graph_builder<std::variant<net::conv, net::unpriced_op>> b;
    b.add(net::conv{}, {}, {});
#ifdef STRATA_EXPECT_OK
    auto const c = strata::cost_by_type(strata::priced<net::conv>(1), strata::priced<net::unpriced_op>(2));
#else
    auto const c = strata::cost_by_type(strata::priced<net::conv>(1));
#endif
    return strata::lower(b.build().value(), c) ? 0 : 1;
}
