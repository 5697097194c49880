// SPDX-License-Identifier: Apache-2.0
#include <strata/solve/alike_ops.hpp>

#include <algorithm>
#include <cstdint>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_alike_ops_test {

using namespace strata;
using namespace strata::test;

TEST_CASE("alike_ops: every op is like itself, and ops that are alike agree in cost and bytes")
{
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        auto const p = varied_problem(seed, 40);
        alike_ops const alike(p);
        CAPTURE(seed);
        for (op_id o = 0; o < p.op_count(); ++o) {
            auto const all = alike.like(o);
            REQUIRE(std::find(all.begin(), all.end(), o) != all.end());
            REQUIRE(std::is_sorted(all.begin(), all.end()));
            for (auto other : all) {
                REQUIRE(alike.like(other).data() == all.data());
                REQUIRE(p.cost(other) == p.cost(o));
                REQUIRE(p.workspace(other) == p.workspace(o));
                REQUIRE(p.replayable(other) == p.replayable(o));
                REQUIRE(p.outputs(other).size() == p.outputs(o).size());
                for (std::size_t i = 0; i < p.outputs(o).size(); ++i) {
                    REQUIRE(p.size(p.outputs(other)[i]) == p.size(p.outputs(o)[i]));
                }
            }
        }
    }
}

TEST_CASE("alike_ops: the inner ops of a chain are alike, its ends and an op of another cost are not")
{
    auto spec = chain_spec(20);
    alike_ops const plain(make(spec));
    CHECK(plain.like(10).size() == 15); // 3 to 17: from the others an end is seen
    CHECK(plain.like(0).size() == 1);
    spec.ops[10].cost = 7;
    alike_ops const marked(make(spec));
    CHECK(marked.like(10).size() == 1);
    CHECK(marked.like(9).size() == 1);
    CHECK(marked.like(5).size() == 10); // 3 to 7 and 13 to 17
}

} // namespace solve_alike_ops_test
