// SPDX-License-Identifier: Apache-2.0
#include <strata/partition/at_cut_points.hpp>
#include <strata/partition/hierarchy.hpp>
#include <strata/problem/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/layered.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/relisted.hpp"

namespace partition_at_cut_points_test {

using namespace strata;
using namespace strata::test;

auto split(problem const& p, at_cut_points<> const& by) -> std::vector<std::vector<op_id>>
{
    std::vector<op_id> ops(static_cast<std::size_t>(turn_of(p)));
    std::iota(ops.begin(), ops.end(), op_id{0});
    std::vector<std::vector<op_id>> r;
    for (auto const& x : by.split(p, ops)) {
        CHECK(x.parts.empty());
        r.push_back(x.ops);
    }
    return r;
}
using parts = std::vector<std::vector<op_id>>;

TEST_CASE("at_cut_points: a chain is cut behind every op")
{
    auto const p = make(training_chain_spec(4));
    CHECK(split(p, {.min_ops = 1}) == parts{{0}, {1}, {2}, {3}});
    CHECK(split(p, {.min_ops = 2}) == parts{{0, 1}, {2, 3}});
    CHECK(split(p, {.min_ops = 3}).empty()); // two parts of three ops would take six
}

TEST_CASE("at_cut_points: what several paths go round stays together")
{
    auto const p = make(with_backward([] {
        auto s = diamond_spec();
        add_op(s, 1, {3}, {add_tensor(s, 1)});
        return s;
    }()));
    CHECK(split(p, {.min_ops = 1}) == parts{{0}, {1, 2, 3}, {4}});
}

TEST_CASE("at_cut_points: a graph without cut points is left to the next partitioner")
{
    problem_spec s; // two chains that never meet
    for (int i = 0; i < 2; ++i) {
        add_op(s, 1, {}, {add_tensor(s, 1)});
    }
    for (int i = 2; i < 8; ++i) {
        add_op(s, 1, {i - 2}, {add_tensor(s, 1)});
    }
    auto const p = make(with_backward(s));
    CHECK(split(p, {.min_ops = 2}).empty());

    struct halves {
        [[nodiscard]] static auto name() -> std::string_view { return "halves"; }
        [[nodiscard]] auto split(problem const& /*p*/, std::span<op_id const> ops) const -> std::vector<part>
        {
            auto const middle = ops.begin() + static_cast<std::ptrdiff_t>(ops.size() / 2);
            return {{{ops.begin(), middle}, {}}, {{middle, ops.end()}, {}}};
        }
    };
    std::vector<op_id> ops(8);
    std::iota(ops.begin(), ops.end(), op_id{0});
    CHECK(at_cut_points<halves>{.min_ops = 2}.split(p, ops).size() == 2);
}

TEST_CASE("at_cut_points: tensors that are read far behind may be taken to be at hand")
{
    auto const p = make(with_backward(u_net_spec(4))); // 0 1 2 3 down, 4 the bottom, 5 6 7 8 up
    // The tensors 3 and 2 are read 2 and 4 ops later, 1 and 0 later yet.
    CHECK(split(p, {.longest_span = 30, .min_ops = 1}) == parts{{0}, {1, 2, 3, 4, 5, 6, 7, 8}});
    CHECK(split(p, {.longest_span = 4, .min_ops = 1}) == parts{{0}, {1}, {2}, {3, 4, 5, 6}, {7}, {8}});
    CHECK(split(p, {.longest_span = 1, .min_ops = 1}).size() == 9);
}

TEST_CASE("at_cut_points: what a block reads from outside counts as a way round its ops")
{
    auto const p = make(layered_spec(3));
    std::vector<op_id> layer(layer_ops);
    std::iota(layer.begin(), layer.end(), op_id{1});
    CHECK(at_cut_points<>{.min_ops = 1}.split(p, layer).empty());
}

TEST_CASE("at_cut_points: each part is cut further by the next partitioner")
{
    auto const p = make(training_chain_spec(16));
    at_cut_points<at_cut_points<>> const by{.sub = {.min_ops = 2}, .min_ops = 8};
    auto const h = hierarchy::make(p, by);
    REQUIRE(h);
    CHECK(h->size() == 1 + 2 + 8);
    CHECK((*h)[0].parts.size() == 2);
    CHECK((*h)[(*h)[0].parts[0]].parts.size() == 4);
}

TEST_CASE("at_cut_points: layers are found and alike however their ops are listed")
{
    auto const s = layered_spec(12);
    auto const named = [](parts all, std::vector<op_id> const& order) {
        for (auto& x : all) {
            for (auto& o : x) {
                o = order[static_cast<std::size_t>(o)];
            }
            std::sort(x.begin(), x.end());
        }
        std::sort(all.begin(), all.end());
        return all;
    };
    auto const expected = split(make(s), {.min_ops = 7});
    REQUIRE(expected.size() == 12);
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        dice d(seed);
        std::vector<op_id> order;
        auto const p = make(relisted(s, d, &order));
        REQUIRE(named(split(p, {.min_ops = 7}), order) == expected);
        auto const h = hierarchy::make(p, at_cut_points<>{.min_ops = 7});
        REQUIRE(h);
        CHECK(h->kinds() == 4); // the step, the first layer with the op before it, a layer, the last with what follows
    }
}

TEST_CASE("at_cut_points: parts that wait for each other on the way back are one")
{
    // A chain 0 1 2 3, but the backward of op 0 is read by that of op 2, and that of op 3 by that of op 0.
    problem_spec s;
    for (int i = 0; i < 4; ++i) {
        add_op(s, 1, i == 0 ? std::vector<tensor_id>{} : std::vector<tensor_id>{i - 1}, {add_tensor(s, 1)});
        s.ops.back().phase = phase::forward;
    }
    auto last = tensor_id{3};
    for (auto o : {3, 0, 2, 1}) {
        add_op(s, 1, {last}, {add_tensor(s, 1)});
        s.ops.back().phase = phase::backward;
        s.ops.back().backward_of = o;
        last = static_cast<tensor_id>(s.tensors.size() - 1);
    }
    CHECK(split(make(s), {.min_ops = 1}) == parts{{0}, {1}, {2}, {3}}); // one by one they can run
    CHECK(split(make(s), {.min_ops = 2}).empty());                      // but not two by two
    s.ops[4].backward_of = 1; // 1 0 2 1: the last waits for 2, 2 for 0, 0 for the first
    CHECK(split(make(s), {.min_ops = 1}) == parts{{0, 1, 2}, {3}});
}

} // namespace partition_at_cut_points_test
