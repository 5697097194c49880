// SPDX-License-Identifier: Apache-2.0
#include <strata/partition/block.hpp>
#include <strata/partition/isolate.hpp>
#include <strata/problem/problem.hpp>

#include <algorithm>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"

namespace partition_isolate_test {

using namespace strata;
using namespace strata::test;

auto isolated(problem const& p, block const& b, bytes_t gap = 0) -> isolated_block
{
    auto r = isolate(p, b, gap);
    REQUIRE(r);
    return *std::move(r);
}

TEST_CASE("isolate: two ops stand for the rest of the step")
{
    auto const p = make(training_chain_spec(4));      // tensors 0 to 4 forward, 5 to 8 the gradients back
    auto const b = isolated(p, {{1, 2}, {5, 6}}, 77); // reads tensors 1 and the gradient 5, hands on 3 and 7
    auto const& q = b.subject;
    CHECK(b.ops == std::vector<op_id>{none, 1, 2, none, 5, 6});
    REQUIRE(b.gap == 3);
    CHECK(q.workspace(b.gap) == 77);
    CHECK(q.outputs(0).size() == 1);     // what op 1 reads
    CHECK(q.inputs(b.gap).size() == 1);  // what op 3 reads
    CHECK(q.outputs(b.gap).size() == 1); // the gradient of that
    CHECK(q.targets().size() == 1);      // the gradient for op 0
    CHECK(q.producer(q.targets()[0]) == 5);
    CHECK_FALSE(q.replayable(0));
    CHECK_FALSE(q.replayable(b.gap));
    CHECK(q.op(4).backward_of == 2);
    CHECK(q.op(5).backward_of == 1);
}

TEST_CASE("isolate: orders go there and back")
{
    auto const p = make(training_chain_spec(4));
    auto const b = isolated(p, {{1, 2}, {5, 6}});
    std::vector<op_id> const inside{0, 1, 2, 1, 3, 2, 4, 5};
    std::vector<op_id> const step{1, 2, 1, 2, 5, 6};
    CHECK(b.in_step(inside) == step);
    CHECK(b.in_block(step) == std::vector<op_id>{1, 2, 1, 2, 4, 5});
}

TEST_CASE("isolate: a block of one half has no gap, and what others read of it is a target")
{
    auto const p = make(training_chain_spec(4));
    auto const forward = isolated(p, {{1, 2}, {}});
    CHECK(forward.gap == none);
    CHECK(forward.ops == std::vector<op_id>{none, 1, 2});
    CHECK(forward.subject.targets().size() == 2); // the way back reads tensor 2, and op 3 tensor 3
    auto const backward = isolated(p, {{}, {5, 6}});
    CHECK(backward.ops == std::vector<op_id>{none, 5, 6});
    CHECK(backward.gap == 0);
    CHECK(backward.subject.outputs(0).size() == 3); // tensors 1 and 2, and the gradient that arrives
}

TEST_CASE("isolate: a gradient that others add into as well is begun outside and not replayed")
{
    auto s = shared_gradient_spec();
    for (auto& o : s.ops) {
        o.phase = phase::backward;
    }
    auto const p = make(s);
    auto const b = isolated(p, {{}, {2, 3}});
    auto const& q = b.subject;
    REQUIRE(b.gap == 0);
    CHECK(q.outputs(b.gap).size() == 2); // what they read, and the gradient
    CHECK_FALSE(q.replayable(1));
    CHECK_FALSE(q.replayable(2));
    REQUIRE(q.targets().size() == 1);
    CHECK(q.producers(q.targets()[0]).size() == 3);
}

TEST_CASE("isolate: what may not be replayed in the step may not be in the block")
{
    problem_spec s; // op 1 rewrites the state that op 0 reads
    auto const state = add_tensor(s, 4, tensor_kind::state);
    auto const x = add_tensor(s, 1);
    add_op(s, 1, {state}, {x});
    add_op(s, 1, {x}, {state});
    auto const p = make(s);
    REQUIRE_FALSE(p.replayable(0));
    auto const b = isolated(p, {{0}, {}});
    CHECK_FALSE(b.subject.replayable(0));
}

} // namespace partition_isolate_test
