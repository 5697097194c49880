// expect-error: flops_unknown_for<(struct )?(net::)?silent_op>
// SPDX-License-Identifier: Apache-2.0
#include <strata/cost/roofline_cost.hpp>
#include <strata/graph/builder.hpp>
#include <strata/problem/lower.hpp>

#include <variant>

namespace net {
struct conv {
    double flops;
};
struct silent_op {
#ifdef STRATA_EXPECT_OK
    double flops;
#endif
};
} // namespace net

int main()
{
    strata::graph_builder<std::variant<net::conv, net::silent_op>> b;
    b.add(net::conv{1}, {}, {});
    return strata::lower(b.build().value(), strata::roofline_cost({})) ? 0 : 1;
}
