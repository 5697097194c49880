// SPDX-License-Identifier: Apache-2.0
#include <strata/schedule/validate.hpp>
#include <strata/solve/just_in_time.hpp>
#include <strata/solve/search.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_just_in_time_test {

using namespace strata;
using namespace strata::test;

TEST_CASE("just_in_time: keeping everything is the first-run order")
{
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto const p = varied_problem(seed, 30);
        for (op_id o = 0; o < p.op_count(); ++o) {
            REQUIRE(just_in_time(p, o, [](tensor_id) { return true; }) == index_order(p));
        }
    }
}

TEST_CASE("just_in_time: a missing input is made again right before its first reader, and stays")
{
    auto const p = make(training_chain_spec(4));
    // Tensors 1…4 are x1…x4; op 4 reads x3 and x4, op 5 reads x2, op 6 reads x1.
    CHECK(just_in_time(p, 4, [](tensor_id) { return false; }) == run_order{0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(just_in_time(p, 4, [](tensor_id t) { return t >= 3; }) == run_order{0, 1, 2, 3, 4, 0, 1, 5, 6, 7});
    CHECK(just_in_time(p, 4, [](tensor_id t) { return t != 1; }) == run_order{0, 1, 2, 3, 4, 5, 0, 6, 7});
}

TEST_CASE("just_in_time: gives a valid order for any set kept at any op")
{
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
        auto const p = varied_problem(seed, 30);
        dice d(seed);
        for (int i = 0; i < 6; ++i) {
            auto const at = static_cast<op_id>(d.below(p.op_count()));
            std::vector<char> kept(static_cast<std::size_t>(p.tensor_count()));
            std::generate(kept.begin(), kept.end(), [&] { return d.chance(50) ? char{1} : char{0}; });
            auto const order = just_in_time(p, at, [&](tensor_id t) { return kept[static_cast<std::size_t>(t)] != 0; });
            CAPTURE(seed, at);
            REQUIRE(is_run_order(p, order));
            REQUIRE(validate(p, free_early(p, order), max_bytes).ok());
            for (op_id o = 0; o < p.op_count(); ++o) {
                REQUIRE(std::count(order.begin(), order.end(), o) <= (o < at ? 2 : 1));
            }
        }
    }
}

TEST_CASE("just_in_time: an op with two outputs runs again once for both")
{
    problem_spec s;
    auto const a = add_tensor(s, 1);
    auto const b = add_tensor(s, 1);
    auto const c = add_tensor(s, 1);
    auto const d = add_tensor(s, 1);
    auto const e = add_tensor(s, 1);
    add_op(s, 1, {}, {a, b});
    add_op(s, 1, {}, {c});
    add_op(s, 1, {a, c}, {d});
    add_op(s, 1, {b, d}, {e});
    s.targets = {e};
    auto const p = make(s);
    CHECK(just_in_time(p, 2, [](tensor_id) { return false; }) == run_order{0, 1, 0, 1, 2, 3});
    CHECK(just_in_time(p, 2, [&](tensor_id t) { return t == a || t == c; }) == run_order{0, 1, 2, 0, 3});
}

TEST_CASE("just_in_time: a target that is gone is made again at the end")
{
    problem_spec s;
    auto const a = add_tensor(s, 1);
    auto const b = add_tensor(s, 1);
    add_op(s, 1, {}, {a});
    add_op(s, 1, {}, {b});
    s.targets = {a, b};
    auto const p = make(s);
    CHECK(just_in_time(p, 1, [](tensor_id) { return false; }) == run_order{0, 1, 0});
}

TEST_CASE("just_in_time: what may not be made again stays, whatever is said")
{
    auto s = training_chain_spec(4);
    s.ops[1].effects = effect::nondeterministic;
    auto const p = make(s);
    // x2 stays, so x3 is made from it; x1 is made from the input when the last backward op wants it.
    CHECK(just_in_time(p, 4, [](tensor_id) { return false; }) == run_order{0, 1, 2, 3, 2, 3, 4, 5, 0, 6, 7});
}

TEST_CASE("just_in_time: a chain of a hundred thousand ops takes no deep recursion")
{
    constexpr int n = 50'000;
    auto const p = make(training_chain_spec(n));
    auto const order = just_in_time(p, n, [](tensor_id) { return false; });
    CHECK(order.size() == 3 * n);
    CHECK(is_run_order(p, order));
}

} // namespace solve_just_in_time_test
