// SPDX-License-Identifier: Apache-2.0
#include <strata/partition/waiting.hpp>
#include <strata/problem/problem.hpp>

#include <cstddef>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/layered.hpp"
#include "tests/support/problems.hpp"

namespace partition_waiting_test {

using namespace strata;
using namespace strata::test;
using strata::detail::components_of;
using strata::detail::untangled;
using strata::detail::waiting;
using strata::detail::waiting_of;

using sets = std::vector<std::vector<op_id>>;

TEST_CASE("waiting: the way back runs against the way there")
{
    auto const p = make(training_chain_spec(3));
    std::vector<op_id> const ops{0, 1, 2};
    auto const w = waiting_of(p, ops);
    CHECK(w.nodes == 3);
    CHECK(w.of(half::forward) == waiting::lists{{}, {0}, {1}});
    CHECK(w.of(half::backward) == waiting::lists{{1}, {2}, {}});
}

TEST_CASE("waiting: what belongs to no forward op is a node when all ops are asked for")
{
    auto s = training_chain_spec(3);
    s.ops[4].backward_of = none; // that of op 1
    auto const p = make(s);
    std::vector<op_id> const all{0, 1, 2};
    auto const w = waiting_of(p, all);
    CHECK(w.nodes == 4);
    CHECK(w.of(half::backward) == waiting::lists{{3}, {}, {}, {2}});
    std::vector<op_id> const some{0, 2};
    CHECK(waiting_of(p, some).nodes == 2);
}

TEST_CASE("waiting: components are what can be reached there and back")
{
    auto const c = components_of({{1}, {2}, {0}, {2, 4}, {3}, {4}, {}});
    CHECK(c[0] == c[1]);
    CHECK(c[1] == c[2]);
    CHECK(c[3] == c[4]);
    CHECK(c[0] != c[3]);
    CHECK(c[5] != c[4]);
    CHECK(c[6] != c[5]);
    waiting::lists deep(100'000); // no recursion
    for (std::size_t i = 1; i < deep.size(); ++i) {
        deep[i] = {i - 1};
    }
    CHECK(components_of(deep).back() != components_of(deep).front());
    deep[0] = {deep.size() - 1};
    CHECK(components_of(deep).back() == components_of(deep).front());
}

TEST_CASE("waiting: sets that wait for each other become one, until none do")
{
    auto const p = make(training_chain_spec(6));
    std::vector<op_id> const ops{0, 1, 2, 3, 4, 5};
    CHECK(untangled(p, ops, {0, 0, 1, 1, 2, 2}) == sets{{0, 1}, {2, 3}, {4, 5}});
    CHECK(untangled(p, ops, {0, 1, 0, 2, 3, 2}) == sets{{0, 1, 2}, {3, 4, 5}});
    CHECK(untangled(p, ops, {9, 5, 9, 5, 1, 1}) == sets{{0, 1, 2, 3}, {4, 5}});
    std::vector<op_id> const some{0, 2, 3};
    CHECK(untangled(p, some, {0, 1, 0}) == sets{{0, 3}, {2}}); // not through op 1, which is nobody's
}

TEST_CASE("waiting: sets become one when only the way back makes them wait")
{
    auto s = training_chain_spec(4);
    std::swap(s.ops[5].backward_of, s.ops[6].backward_of); // back: 3, 1, 2, 0
    std::vector<op_id> const ops{0, 1, 2, 3};
    CHECK(untangled(make(s), ops, {0, 0, 1, 1}) == sets{{0, 1, 2, 3}});
    CHECK(untangled(make(s), ops, {0, 1, 1, 2}) == sets{{0}, {1, 2}, {3}});
}

TEST_CASE("waiting: nothing is cut when a loose op stands between the backward ops of one set")
{
    auto s = training_chain_spec(4);
    s.ops[5].backward_of = none; // that of op 2
    std::vector<op_id> const ops{0, 1, 2, 3};
    CHECK(untangled(make(s), ops, {0, 1, 1, 1}) == sets{{0, 1, 2, 3}});
    CHECK(untangled(make(s), ops, {0, 0, 0, 1}) == sets{{0, 1, 2}, {3}});
}

} // namespace partition_waiting_test
