// SPDX-License-Identifier: Apache-2.0
#include <strata/partition/hierarchy.hpp>
#include <strata/partition/whole.hpp>
#include <strata/problem/problem.hpp>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"

namespace partition_whole_test {

using namespace strata;
using namespace strata::test;

TEST_CASE("whole: the step is the only block")
{
    auto const p = make(training_chain_spec(5));
    auto const h = hierarchy::make(p, whole{});
    REQUIRE(h);
    CHECK(h->size() == 1);
    CHECK(h->kinds() == 1);
    CHECK((*h)[0].parts.empty());
    CHECK((*h)[0].ops == block{{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}});
    CHECK(&h->subject() == &p);
}

} // namespace partition_whole_test
