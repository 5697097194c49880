// SPDX-License-Identifier: Apache-2.0
#include <strata/partition/block.hpp>
#include <strata/partition/canonical.hpp>
#include <strata/problem/problem.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/layered.hpp"
#include "tests/support/problems.hpp"

namespace partition_canonical_test {

using namespace strata;
using namespace strata::test;

auto kinds(problem const& p, std::vector<block> const& blocks)
{
    return sort_into_kinds(p, std::span<block const>(blocks));
}

/// Two blocks of two ops each, written alike, and an op that reads the results of both; `change` makes a difference.
auto alike(std::function<void(problem_spec&)> const& change) -> bool
{
    problem_spec s;
    auto const x = add_tensor(s, 8);
    add_op(s, 1, {}, {x});
    std::vector<tensor_id> ends;
    for (int i = 0; i < 2; ++i) {
        auto const a = add_tensor(s, 4);
        auto const b = add_tensor(s, 4);
        add_op(s, 3, {x}, {a});    // ops 1 and 3
        add_op(s, 3, {x, a}, {b}); // ops 2 and 4
        ends.push_back(b);
    }
    add_op(s, 1, ends, {add_tensor(s, 1)});
    for (auto& o : s.ops) {
        o.phase = phase::forward;
    }
    change(s);
    auto const p = make(s);
    auto const k = kinds(p, {{{1, 2}, {}}, {{3, 4}, {}}});
    return k.kind[0] == k.kind[1];
}

TEST_CASE("canonical: blocks are of one kind unless something that planning looks at differs")
{
    CHECK(alike([](problem_spec&) {}));
    CHECK(alike([](problem_spec& s) { s.ops[3].name = s.tensors[3].name = s.ops[4].type = "other"; }));
    CHECK(alike([](problem_spec& s) { s.tensors[3].kind = tensor_kind::saved; }));
    CHECK(alike([](problem_spec& s) { // resident tensors do not matter
        s.ops[3].inputs.push_back(add_tensor(s, 100, tensor_kind::parameter));
    }));
    CHECK_FALSE(alike([](problem_spec& s) { ++s.ops[3].cost; }));
    CHECK_FALSE(alike([](problem_spec& s) { s.ops[4].workspace = 1; }));
    CHECK_FALSE(alike([](problem_spec& s) { s.ops[3].effects = effect::random; }));
    CHECK_FALSE(alike([](problem_spec& s) { ++s.tensors[3].bytes; }));
    CHECK_FALSE(alike([](problem_spec& s) { s.targets = {4}; }));
    CHECK_FALSE(alike([](problem_spec& s) { s.ops[4].inputs = {3}; }));        // does not read from outside
    CHECK_FALSE(alike([](problem_spec& s) { s.ops[5].inputs.push_back(3); })); // an inner tensor is read outside
    CHECK_FALSE(alike([](problem_spec& s) { s.ops[3].outputs.push_back(add_tensor(s, 4)); }));
    CHECK_FALSE(alike([](problem_spec& s) { // it is read on the way back too
        add_op(s, 1, {4}, {add_tensor(s, 1)});
        s.ops.back().phase = phase::backward;
    }));
    CHECK_FALSE(alike([](problem_spec& s) { // its results may not be made again
        s.ops[3].outputs.push_back(add_tensor(s, 1, tensor_kind::state));
    }));
}

TEST_CASE("canonical: adding into a gradient differs from making it, adding after others from that too")
{
    auto const form = [](int before, int inside) {
        problem_spec s;
        auto const x = add_tensor(s, 8);
        add_op(s, 1, {}, {x});
        auto const g = add_tensor(s, 4, tensor_kind::gradient);
        for (int i = 0; i < before; ++i) {
            add_op(s, 1, {x}, {g});
        }
        block b;
        for (int i = 0; i < inside; ++i) {
            b.forward.push_back(add_op(s, 1, {x}, {g}));
        }
        s.targets = {g};
        auto f = form_of(make(s), b);
        f.ops.clear();
        return f.code;
    };
    CHECK(form(0, 2) == form(0, 2));
    CHECK(form(0, 1) != form(1, 1));
    CHECK(form(1, 1) == form(2, 1)); // how many others does not matter
    CHECK(form(0, 2) != form(1, 2));
}

TEST_CASE("canonical: corresponding ops correspond also where several look alike")
{
    // Two chains side by side in each block, listed in another order in the second.
    problem_spec s;
    auto const x = add_tensor(s, 8);
    add_op(s, 1, {}, {x});
    std::vector<std::vector<op_id>> block_ops(2);
    for (std::size_t i = 0; i < 2; ++i) {
        std::vector<tensor_id> a;
        for (int k = 0; k < 2; ++k) {
            a.push_back(add_tensor(s, 4));
            block_ops[i].push_back(add_op(s, 3, {x}, {a.back()}));
        }
        for (std::size_t k = 0; k < 2; ++k) {
            auto const from = i == 0 ? k : 1 - k;
            block_ops[i].push_back(add_op(s, 5, {a[from]}, {add_tensor(s, 4)}));
        }
    }
    auto const p = make(s);
    auto const k = kinds(p, {{block_ops[0], {}}, {block_ops[1], {}}});
    REQUIRE(k.kind[0] == k.kind[1]);
    for (std::size_t i = 0; i < 4; ++i) {
        for (std::size_t j = 0; j < 4; ++j) {
            auto const reads = [&](std::size_t b) { // op j what op i makes
                auto const in = p.inputs(k.canonical[b][j]);
                return std::find(in.begin(), in.end(), p.outputs(k.canonical[b][i])[0]) != in.end();
            };
            CHECK(reads(0) == reads(1));
        }
    }
}

TEST_CASE("canonical: a block that no other resembles keeps its order")
{
    auto const p = make(training_chain_spec(3));
    auto const k = kinds(p, {{{0, 1, 2}, {3, 4, 5}}, {{0, 1}, {4, 5}}});
    CHECK(k.canonical[0] == std::vector<op_id>{0, 1, 2, 3, 4, 5});
    CHECK(k.canonical[1] == std::vector<op_id>{0, 1, 4, 5});
    CHECK(k.first == std::vector<std::size_t>{0, 1});
}

TEST_CASE("canonical: many ops that look alike are no trouble")
{
    problem_spec s;
    auto const x = add_tensor(s, 8);
    add_op(s, 1, {}, {x});
    std::vector<block> blocks(2);
    for (auto& b : blocks) {
        for (int i = 0; i < 400; ++i) {
            b.forward.push_back(add_op(s, 1, {x}, {add_tensor(s, 1)}));
        }
    }
    auto const k = kinds(make(s), blocks);
    CHECK(k.kind[0] == k.kind[1]);
}

} // namespace partition_canonical_test
