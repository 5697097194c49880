// SPDX-License-Identifier: Apache-2.0
#include <strata/schedule/profile.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/search.hpp>
#include <strata/solve/separator_tree.hpp>
#include <strata/solve/tree_width.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_tree_width_test {

using namespace strata;
using namespace strata::test;

TEST_CASE("a separator tree cuts near the middle, where the fewest bytes cross")
{
    auto s = training_chain_spec(32);
    separator_tree const even(make(s));
    REQUIRE(even.length() == 32);
    auto const& root = even.intervals()[0];
    CHECK(root.begin == 0);
    CHECK(root.end == 32);
    CHECK(root.cut == 16);
    CHECK(even.depth() == 5);
    for (std::size_t i = 0; i < even.intervals().size(); ++i) {
        auto const& x = even.intervals()[i];
        CHECK((x.left == 0) == (x.end - x.begin == 1));
        if (x.left != 0) {
            CHECK(even.intervals()[x.left].begin == x.begin);
            CHECK(even.intervals()[x.left].end == x.cut);
            CHECK(even.intervals()[x.right].begin == x.cut);
            CHECK(even.intervals()[x.right].end == x.end);
        }
    }
    for (auto& t : s.tensors) {
        t.bytes = 8;
    }
    s.tensors[13].bytes = 1; // made by op 12
    CHECK(separator_tree(make(s)).intervals()[0].cut == 13);
}

TEST_CASE("a backward op stands where its forward op does, or about where what it reads was made")
{
    auto s = training_chain_spec(100);
    auto const p = make(s);
    separator_tree const named(p);
    for (auto& o : s.ops) {
        o.backward_of = none;
    }
    auto const q = make(s);
    separator_tree const guessed(q);
    for (op_id o = 100; o < 200; ++o) {
        CHECK(named.position(o) == static_cast<std::size_t>(199 - o));
        auto const x = static_cast<int>(guessed.position(o));
        CHECK(x >= 199 - o - 18);
        CHECK(x <= 199 - o + 18);
    }
}

TEST_CASE("deeper separators need fewer bytes and cost more")
{
    auto const p = make(training_chain_spec(256));
    separator_tree const tree(p);
    auto bytes = max_bytes;
    cost_t cost = 0;
    for (int d = 0; d <= tree.depth(); ++d) {
        auto const order = tree_width_order(tree, {.depth = d});
        REQUIRE(order);
        CHECK(is_run_order(p, *order));
        CHECK(validate(p, free_early(p, *order), max_bytes).ok());
        CHECK(peak_of(p, *order) <= bytes);
        CHECK(cost_of(p, *order) >= cost);
        bytes = peak_of(p, *order);
        cost = cost_of(p, *order);
    }
    CHECK(bytes <= 14); // instead of 257: eight separators, what an op reads and writes, and the input
    CHECK(cost <= p.base_cost() + 256 * 8);
}

TEST_CASE("with a capacity an order drops what does not fit")
{
    auto const p = make(training_chain_spec(128));
    separator_tree const tree(p);
    for (bytes_t capacity : {20, 40, 80}) {
        auto const order = tree_width_order(tree, {.depth = 0, .capacity = capacity});
        REQUIRE(order);
        CHECK(peak_of(p, *order) <= capacity + p.resident_bytes());
        CHECK(validate(p, free_early(p, *order), capacity + 1).ok());
    }
    auto const all = tree_width_order(tree, {.depth = 0, .capacity = 1'000});
    REQUIRE(all);
    CHECK(all->size() == 256);
}

TEST_CASE("what is dear to make again for its bytes is kept when there is something to spare")
{
    auto s = training_chain_spec(64);
    s.ops[20].cost = 3;
    auto const p = make(s);
    separator_tree const tree(p);
    auto const runs_of_20 = [&](bytes_t spare) {
        auto const order = tree_width_order(tree, {.depth = 6, .spare = spare});
        return order ? std::count(order->begin(), order->end(), 20) : -1;
    };
    CHECK(runs_of_20(0) > 1);
    CHECK(runs_of_20(1) == 1);
}

TEST_CASE("orders of a separator tree are sound on any problem")
{
    int made = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        dice d(seed);
        auto const p = make(random_spec(seed, {.ops = static_cast<int>(d.between(1, 40)), .training = d.chance(50)}));
        separator_tree const tree(p);
        auto const most = peak_of(p, index_order(p)) - p.resident_bytes();
        for (bytes_t capacity : {max_bytes, most, most * 2 / 3, most / 2, bytes_t{0}}) {
            for (int depth : {0, 1, 2, tree.depth()}) {
                auto const order =
                    tree_width_order(tree, {depth, d.between(0, 5), capacity, static_cast<double>(d.below(3)) / 2});
                if (order) {
                    ++made;
                    INFO("seed " << seed);
                    CHECK(is_run_order(p, *order));
                    CHECK(validate(p, free_early(p, *order), max_bytes).ok());
                }
            }
        }
    }
    CHECK(made > 6'000);
}

TEST_CASE("tree_width plans a long chain in a few bytes, and stops when told to")
{
    auto const p = make(training_chain_spec(400));
    std::vector<op_id> const points{400};
    limits lim;
    search on(p, 14, points, {p.base_cost(), none, false}, lim, {});
    tree_width{}.solve(on);
    REQUIRE(on.best());
    CHECK(validate(p, free_early(p, on.best()->order), 14).ok());

    std::stop_source stopped;
    stopped.request_stop();
    lim.cancel = stopped.get_token();
    CHECK(!tree_width_order(separator_tree(p), {.depth = 3}, stop_watch(lim)));
}

} // namespace solve_tree_width_test
