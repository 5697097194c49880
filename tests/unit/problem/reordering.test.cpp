// SPDX-License-Identifier: Apache-2.0
#include <strata/problem/precedence.hpp>
#include <strata/problem/reordering.hpp>
#include <strata/schedule/validate.hpp>

#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"

namespace problem_reordering_test {

using namespace strata;
using namespace strata::test;
using ids = std::vector<op_id>;

auto before(problem const& p, op_id o) -> ids
{
    auto const lists = first_run_predecessors(p);
    auto const list = lists[static_cast<std::size_t>(o)];
    return {list.begin(), list.end()};
}

/// op0 → a; op1 → b; op2 reads both and makes c.
auto join() -> problem_spec
{
    problem_spec s;
    auto const a = add_tensor(s, 10);
    auto const b = add_tensor(s, 20);
    auto const c = add_tensor(s, 5);
    add_op(s, 1, {}, {a});
    add_op(s, 2, {}, {b});
    add_op(s, 3, {a, b}, {c});
    s.targets = {c};
    return s;
}

TEST_CASE("first_run_predecessors: what is read comes first")
{
    auto const p = make(join());
    CHECK(before(p, 0).empty());
    CHECK(before(p, 1).empty());
    CHECK(before(p, 2) == ids{0, 1});
    CHECK(is_first_run_order(p, ids{1, 0, 2}));
    CHECK_FALSE(is_first_run_order(p, ids{1, 2, 0}));
    CHECK_FALSE(is_first_run_order(p, ids{1, 0}));
    CHECK_FALSE(is_first_run_order(p, ids{1, 1, 2}));
    CHECK_FALSE(is_first_run_order(p, ids{1, 0, 3}));
}

TEST_CASE("first_run_predecessors: ops add into a gradient one after the other, and its reader waits for the last")
{
    auto const p = make(shared_gradient_spec());
    CHECK(before(p, 1) == ids{0});
    CHECK(before(p, 2) == ids{0, 1});
    CHECK(before(p, 3) == ids{0, 2});
    CHECK(before(p, 4) == ids{3});
}

TEST_CASE("first_run_predecessors: readers of state stay between its writers, and each kind of effect keeps its order")
{
    problem_spec s;
    auto const state = add_tensor(s, 4, tensor_kind::state);
    add_op(s, 1, {state}, {});
    add_op(s, 1, {state}, {});
    add_op(s, 1, {state}, {state});
    add_op(s, 1, {state}, {});
    add_op(s, 1, {}, {state});
    add_op(s, 1, {}, {}, effect::random);
    add_op(s, 1, {}, {}, effect::collective);
    add_op(s, 1, {}, {}, effect::random);
    auto const p = make(s);
    CHECK(before(p, 1).empty());
    CHECK(before(p, 2) == ids{0, 1});
    CHECK(before(p, 3) == ids{2});
    CHECK(before(p, 4) == ids{2, 3});
    CHECK(before(p, 6).empty());
    CHECK(before(p, 7) == ids{5});
}

TEST_CASE("reordering: ops are numbered anew, tensors keep their ids, and schedules find back")
{
    auto spec = join();
    spec.ops[2].backward_of = 0;
    auto const p = make(spec);
    auto const by = reordering::make(p, ids{1, 0, 2}).value();
    CHECK(by.problem().op(0) == p.op(1));
    CHECK(by.problem().op(1) == p.op(0));
    CHECK(by.problem().op(2).backward_of == 1);
    CHECK(by.problem().producer(1) == 0);
    CHECK(by.original(0) == 1);
    auto const s = by.restored({{run(0), run(1), run(2), free(0), free(1)}});
    CHECK(s == schedule{{run(1), run(0), run(2), free(0), free(1)}});
    CHECK(validate(p, s).ok());
}

TEST_CASE("reordering: an order that the judge would refuse is refused")
{
    auto const p = make(shared_gradient_spec());
    auto const r = reordering::make(p, ids{0, 2, 1, 3, 4});
    REQUIRE_FALSE(r);
    CHECK(r.error().code == errc::invalid_argument);
    CHECK(r.error().message.find("strata::reordering: ") == 0);
    CHECK_FALSE(reordering::make(p, ids{0, 1, 2, 3}));
}

} // namespace problem_reordering_test
