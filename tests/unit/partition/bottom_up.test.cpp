// SPDX-License-Identifier: Apache-2.0
#include <strata/partition/bottom_up.hpp>
#include <strata/partition/hierarchy.hpp>
#include <strata/problem/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/layered.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace partition_bottom_up_test {

using namespace strata;
using namespace strata::test;

auto split(problem const& p, bottom_up const& by) -> std::vector<part>
{
    std::vector<op_id> ops(static_cast<std::size_t>(turn_of(p)));
    std::iota(ops.begin(), ops.end(), op_id{0});
    return by.split(p, ops);
}
auto ops_of(std::vector<part> const& all) -> std::vector<std::vector<op_id>>
{
    std::vector<std::vector<op_id>> r;
    for (auto const& x : all) {
        r.push_back(x.ops);
    }
    return r;
}
/// An op counts 1, a part that is cut or has several ops 2.
auto weight(std::vector<part> const& parts) -> std::size_t
{
    std::size_t sum = 0;
    for (auto const& x : parts) {
        sum += x.ops.size() > 1 ? 2U : 1U;
    }
    return sum;
}
void check_limits(part const& x, std::size_t most)
{
    CHECK((x.parts.empty() ? x.ops.size() : weight(x.parts)) <= most);
    for (auto const& y : x.parts) {
        check_limits(y, most);
    }
}
auto depth(std::vector<part> const& parts) -> std::size_t
{
    std::size_t r = 0;
    for (auto const& x : parts) {
        r = std::max(r, 1 + depth(x.parts));
    }
    return r;
}

/// A chain of `sizes.size()` forward ops whose outputs have these bytes, and its backward.
auto chain_of(std::vector<bytes_t> const& sizes) -> problem
{
    problem_spec s;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        auto const out = add_tensor(s, sizes[i]);
        add_op(s, 1, i == 0 ? std::vector<tensor_id>{} : std::vector<tensor_id>{out - 1}, {out});
    }
    return make(with_backward(std::move(s)));
}

TEST_CASE("bottom_up: what is small enough is not cut")
{
    CHECK(split(make(layered_spec(3)), {}).empty());       // 24 ops, 30 may stand at the top
    CHECK_FALSE(split(make(layered_spec(4)), {}).empty()); // 31
}

TEST_CASE("bottom_up: a part ends where few bytes cross")
{
    auto const p = chain_of({9, 9, 1, 9, 9, 1, 9, 9, 9});
    auto const r = split(p, {.most_at_top = 6, .most_below = 3, .power_of_size = 0});
    CHECK(ops_of(r) == std::vector<std::vector<op_id>>{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}});
}

TEST_CASE("bottom_up: the border of a part that holds parts is that of its ops")
{
    std::vector<bytes_t> sizes; // fours of ops belong together, of them the second and third, fourth and fifth ...
    for (int i = 1; i <= 40; ++i) {
        sizes.push_back(i % 8 == 4 ? 1 : i % 8 == 0 ? 5 : 100);
    }
    auto const r = split(chain_of(sizes), {.most_at_top = 12, .most_below = 4, .power_of_size = 0});
    std::vector<std::size_t> ends;
    for (auto const& x : r) {
        check_limits(x, 4);
        ends.push_back(static_cast<std::size_t>(x.ops.back()) + 1);
    }
    CHECK(ends == std::vector<std::size_t>{4, 12, 20, 28, 36, 40});
}

TEST_CASE("bottom_up: the limits hold at every level, to any depth")
{
    auto const p = make(layered_spec(60));
    std::size_t deepest = 0;
    for (std::size_t top : {4U, 10U, 30U}) {
        for (std::size_t below : {4U, 8U, 20U}) {
            auto const r = split(p, {.most_at_top = top, .most_below = below});
            CHECK(weight(r) <= std::max(top, below)); // a top of one part is no cut: its parts stand there
            CHECK(r.size() > 1);
            for (auto const& x : r) {
                check_limits(x, below);
            }
            deepest = std::max(deepest, depth(r));
        }
    }
    CHECK(deepest > 4);
}

TEST_CASE("bottom_up: a chain at the top may be of any length if asked for")
{
    auto const p = make(training_chain_spec(100));
    CHECK(split(p, {.chain_at_top = true}).empty());
    auto const q = make(layered_spec(40));
    auto const r = split(q, {.chain_at_top = true});
    CHECK(weight(r) > 30);
    std::vector<block> blocks;
    for (auto const& x : r) {
        blocks.push_back({x.ops, {}});
    }
    auto const order = item_order(q, std::span<block const>(blocks));
    REQUIRE(order);
    for (std::size_t i = 0; i < order->size(); ++i) {
        auto const& x = blocks[(*order)[i].part].forward;
        for (auto o : x) { // what a part reads comes from itself or from the one before it
            for (auto t : q.inputs(o)) {
                auto const maker = q.producer(t);
                auto const in = [&](std::vector<op_id> const& ops) {
                    return std::binary_search(ops.begin(), ops.end(), maker);
                };
                CHECK((in(x) || (i > 0 && in(blocks[(*order)[i - 1].part].forward))));
            }
        }
    }
}

TEST_CASE("bottom_up: layers become alike")
{
    auto const p = make(layered_spec(100));
    auto const h = hierarchy::make(p, bottom_up{.most_at_top = 12, .most_below = 10});
    REQUIRE(h);
    CHECK(h->size() > 100);
    CHECK(h->kinds() < 25);
}

TEST_CASE("bottom_up: a graph without chains or flows is grouped by neighbourhood")
{
    problem_spec s; // 64 ops that have nothing to do with each other
    for (int i = 0; i < 64; ++i) {
        add_op(s, 1, {}, {add_tensor(s, 1)});
    }
    auto const r = split(make(with_backward(std::move(s))), {.most_at_top = 8, .most_below = 8});
    CHECK(weight(r) <= 8);
    for (auto const& x : r) {
        check_limits(x, 8);
    }
}

TEST_CASE("bottom_up: ops that wait for each other on the way back are never apart")
{
    // The backward of op 1 comes before and after that of op 2.
    auto s = chain_of({1, 1, 1, 1, 1, 1}).spec();
    auto const extra = add_tensor(s, 1);
    s.ops.push_back(s.ops[10]);
    s.ops.back().outputs = {extra};
    auto const p1 = make(s);
    s = p1.spec();
    s.ops.back().backward_of = 2;
    s.ops.back().inputs.push_back(s.ops[10].outputs[0]);
    auto const p = make(s);
    for (std::size_t below : {2U, 3U}) {
        auto const r = split(p, {.most_at_top = 2, .most_below = below});
        auto const h = hierarchy::make(p, bottom_up{.most_at_top = 2, .most_below = below});
        REQUIRE(h);
        for (auto const& x : r) {
            CHECK(std::count(x.ops.begin(), x.ops.end(), 1) == std::count(x.ops.begin(), x.ops.end(), 2));
        }
    }
}

TEST_CASE("bottom_up: parts do not wait for each other on a way back that is not the way there reversed")
{
    std::size_t cut = 0;
    for (std::size_t i = 12; i < 24; ++i) {
        for (auto j = i + 1; j < 24; ++j) {
            auto s = training_chain_spec(12);
            std::swap(s.ops[i].backward_of, s.ops[j].backward_of);
            auto const p = make(s);
            auto const h = hierarchy::make(p, bottom_up{.most_at_top = 6, .most_below = 4});
            REQUIRE(h);
            cut += h->size() > 1 ? 1U : 0U;
        }
    }
    CHECK(cut > 60);
}

TEST_CASE("bottom_up: ops of the way back that belong to no op stay outside of every part")
{
    auto s = training_chain_spec(12);
    s.ops[17].backward_of = none; // that of op 6
    auto const p = make(s);
    auto const r = split(p, {.most_at_top = 6, .most_below = 4});
    REQUIRE(r.size() > 1);
    REQUIRE(hierarchy::make(p, bottom_up{.most_at_top = 6, .most_below = 4}));
    for (auto const& x :
         r) { // no part reaches over op 6: its way back would wait for the loose op and the other way round
        CHECK_FALSE((x.ops.front() < 6 && x.ops.back() > 6));
    }
}

} // namespace partition_bottom_up_test
