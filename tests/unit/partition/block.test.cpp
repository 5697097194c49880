// SPDX-License-Identifier: Apache-2.0
#include <strata/partition/block.hpp>
#include <strata/problem/problem.hpp>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"

namespace partition_block_test {

using namespace strata;
using namespace strata::test;

TEST_CASE("block: a step turns at its first backward op, an inference pass never")
{
    CHECK(turn_of(make(training_chain_spec(5))) == 5);
    CHECK(turn_of(make(chain_spec(5))) == 5);
    auto s = chain_spec(3);
    s.ops[0].phase = phase::backward;
    CHECK(turn_of(make(s)) == 0);
}

TEST_CASE("block: knows its ops")
{
    block const b{{1, 4}, {7}};
    for (op_id o = 0; o < 10; ++o) {
        CHECK(strata::detail::contains(b, o) == (o == 1 || o == 4 || o == 7));
    }
    CHECK(b.ops(half::forward).size() == 2);
    CHECK(b.ops(half::backward).size() == 1);
}

} // namespace partition_block_test
