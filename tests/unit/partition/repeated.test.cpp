// SPDX-License-Identifier: Apache-2.0
#include <strata/partition/at_cut_points.hpp>
#include <strata/partition/hierarchy.hpp>
#include <strata/partition/repeated.hpp>
#include <strata/problem/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/layered.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/relisted.hpp"

namespace partition_repeated_test {

using namespace strata;
using namespace strata::test;

using sets = std::set<std::set<op_id>>;

auto split(problem const& p, repeated<> const& by) -> std::vector<part>
{
    std::vector<op_id> ops(static_cast<std::size_t>(turn_of(p)));
    std::iota(ops.begin(), ops.end(), op_id{0});
    return by.split(p, ops);
}
/// The ops of each part, under the names that `order` gives them.
auto sets_of(std::vector<part> const& parts, std::vector<op_id> const& order) -> sets
{
    sets r;
    for (auto const& x : parts) {
        std::set<op_id> s;
        for (auto o : x.ops) {
            s.insert(order[static_cast<std::size_t>(o)]);
        }
        r.insert(s);
    }
    return r;
}
auto range(op_id from, op_id to) -> std::set<op_id>
{
    std::set<op_id> r;
    for (; from < to; ++from) {
        r.insert(from);
    }
    return r;
}

TEST_CASE("repeated: the layers of a network are its parts")
{
    auto const p = make(layered_spec(9));
    sets expected{{0}, range(64, 66)};
    for (op_id i = 0; i < 9; ++i) {
        expected.insert(range(1 + i * layer_ops, 1 + (i + 1) * layer_ops));
    }
    CHECK(sets_of(split(p, {.min_ops = 7}), index_order(p)) == expected);
    auto const h = hierarchy::make(p, repeated<>{.min_ops = 7}).value();
    CHECK(h.size() == 12);
    CHECK(h.kinds() == 4); // the step, what comes first, a layer, the end
}

TEST_CASE("repeated: nothing depends on how ops are listed")
{
    auto const s = layered_spec(9);
    auto const p = make(s);
    auto const expected = sets_of(split(p, {.min_ops = 7}), index_order(p));
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        dice d(seed);
        std::vector<op_id> order;
        auto const q = make(relisted(s, d, &order));
        REQUIRE(sets_of(split(q, {.min_ops = 7}), order) == expected);
        CHECK(hierarchy::make(q, repeated<>{.min_ops = 7}).value().kinds() == 4);
    }
}

TEST_CASE("repeated: stretches that are too short are taken together")
{
    auto const p = make(layered_spec(10));
    auto const h = hierarchy::make(p, repeated<>{.min_ops = 8}).value();
    std::size_t layers = 0;
    for (std::size_t i = 1; i < h.size(); ++i) {
        layers += h[i].ops.forward.size() == 2 * layer_ops ? 1U : 0U;
    }
    CHECK(layers == 5);
    CHECK(h.kinds() <= 5);
}

TEST_CASE("repeated: long runs are cut in levels of equal parts")
{
    auto const p = make(layered_spec(60));
    auto const h = hierarchy::make(p, repeated<>{.most_parts = 4, .min_ops = 7}).value();
    CHECK(h[0].parts.size() == 6); // four of 15 layers, what comes first, and the end
    CHECK(h.kinds() <= 8);
    std::size_t layers = 0;
    for (std::size_t i = 1; i < h.size(); ++i) {
        layers += h[i].parts.empty() && h[i].ops.forward.size() == layer_ops ? 1U : 0U;
        CHECK((h[i].parts.size() <= 4));
    }
    CHECK(layers == 60);
}

TEST_CASE("repeated: several runs are found, each for itself")
{
    auto s = layered_spec(6);
    auto const is_backward = [](op_spec const& o) { return o.phase == phase::backward; };
    std::erase_if(s.ops, is_backward);
    s.tensors.resize(s.ops.size());
    s.targets.clear();
    for (int i = 0; i < 6; ++i) { // other layers behind the first ones
        auto const x = static_cast<tensor_id>(s.tensors.size()) - 1;
        for (int k = 0; k < 4; ++k) {
            add_op(s, 11 + k, {x + k, x}, {add_tensor(s, 3)});
        }
    }
    auto const p = make(with_backward(s));
    auto const h = hierarchy::make(p, repeated<>{.min_ops = 4}).value();
    std::size_t first = 0;
    std::size_t second = 0;
    for (auto i : h[0].parts) {
        first += h[i].ops.forward.size() == layer_ops ? 1U : 0U;
        second += h[i].ops.forward.size() == 4 ? 1U : 0U;
    }
    CHECK(first >= 5);
    CHECK(second >= 5);
}

TEST_CASE("repeated: where nothing repeats the next partitioner decides alone")
{
    problem_spec s;
    for (int i = 0; i < 20; ++i) {
        add_op(s, 1 + i, i == 0 ? std::vector<tensor_id>{} : std::vector<tensor_id>{i - 1}, {add_tensor(s, 1 + i)});
    }
    auto const p = make(with_backward(std::move(s)));
    CHECK(split(p, {}).empty());
    auto const h = hierarchy::make(p, repeated<at_cut_points<>>{.sub = {.min_ops = 10}}).value();
    CHECK(h[0].parts.size() == 2);
}

TEST_CASE("repeated: what prepares something for a layer belongs to it, wherever it is listed")
{
    auto s = layered_spec(8);
    problem_spec t = s;
    t.ops.clear();
    std::vector<tensor_id> masks;
    for (int i = 0; i < 8; ++i) { // all listed first
        masks.push_back(add_tensor(t, 2));
        add_op(t, 1, {}, {masks.back()});
        t.ops.back().phase = phase::forward;
    }
    for (auto o : s.ops) {
        auto const index = static_cast<op_id>(t.ops.size()) - 8;
        o.backward_of += o.backward_of == none ? 0 : 8;
        if (index >= 1 && index <= 8 * layer_ops && index % layer_ops == 6) { // the op before the sum
            o.inputs.push_back(masks[static_cast<std::size_t>(index / layer_ops)]);
        }
        t.ops.push_back(std::move(o));
    }
    auto const p = make(t);
    auto const h = hierarchy::make(p, repeated<>{.min_ops = 8}).value();
    std::size_t with_mask = 0;
    for (auto i : h[0].parts) {
        with_mask += h[i].ops.forward.size() == layer_ops + 1 ? 1U : 0U;
    }
    CHECK(with_mask >= 7);
    CHECK(h.kinds() <= 6);
}

} // namespace partition_repeated_test
