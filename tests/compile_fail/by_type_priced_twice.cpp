// expect-error: strata::cost_by_type: an operator type is priced twice
// SPDX-License-Identifier: Apache-2.0
#include <strata/cost/by_type.hpp>

struct conv {};
struct relu {};

int main()
{
#ifdef STRATA_EXPECT_OK
    auto const c = strata::cost_by_type(strata::priced<conv>(1), strata::priced<relu>(2));
#else
    auto const c = strata::cost_by_type(strata::priced<conv>(1), strata::priced<relu>(2), strata::priced<conv>(3));
#endif
    static_cast<void>(c);
}
