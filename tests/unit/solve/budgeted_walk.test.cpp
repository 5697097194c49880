// SPDX-License-Identifier: Apache-2.0
#include <strata/schedule/profile.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/budgeted_walk.hpp>
#include <strata/solve/search.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_budgeted_walk_test {

using namespace strata;
using namespace strata::test;

/// `big` and `small` are made by ops of the given costs and read at the end, in that order; in between an op needs `need` bytes.
auto two_held_spec(bytes_t big, cost_t cost_of_big, bytes_t small, cost_t cost_of_small, bytes_t need) -> problem_spec
{
    problem_spec s;
    auto const a = add_tensor(s, big);
    auto const b = add_tensor(s, small);
    auto const y = add_tensor(s, 1);
    auto const z = add_tensor(s, 1);
    add_op(s, cost_of_big, {}, {a});
    add_op(s, cost_of_small, {}, {b});
    add_op(s, 1, {}, {}, {}, need);
    add_op(s, 1, {a}, {y});
    add_op(s, 1, {b}, {z});
    s.targets = {y, z};
    return s;
}

auto times(run_order const& order, op_id o) -> std::ptrdiff_t { return std::count(order.begin(), order.end(), o); }

TEST_CASE("a walk with room for all runs every op once")
{
    auto const p = make(training_chain_spec(20));
    budgeted_walk walk(p);
    CHECK(walk({}).value() == index_order(p));
    CHECK(walk.cost() == p.base_cost());
    CHECK(walk.drops() == 0);
}

TEST_CASE("a walk drops what is cheapest to make again for its bytes")
{
    auto const dear_big = make(two_held_spec(4, 100, 4, 10, 5));
    auto const order = budgeted_walk(dear_big)({.capacity = 9, .patience = 0}).value();
    CHECK(times(order, 0) == 1);
    CHECK(times(order, 1) == 2);
    auto const dear_small = make(two_held_spec(8, 100, 4, 90, 4)); // 12.5 a byte against 22.5
    auto const other = budgeted_walk(dear_small)({.capacity = 13, .patience = 0}).value();
    CHECK(times(other, 0) == 2);
    CHECK(times(other, 1) == 1);
}

TEST_CASE("a patient walk drops what is read last")
{
    // The first is read one op after the hot one, the second two: with patience the second goes though it costs a little more.
    auto const p = make(two_held_spec(4, 10, 4, 11, 5));
    auto const hasty = budgeted_walk(p)({.capacity = 9, .patience = 0}).value();
    CHECK(times(hasty, 0) == 2);
    auto const patient = budgeted_walk(p)({.capacity = 9, .patience = 1}).value();
    CHECK(times(patient, 0) == 1);
    CHECK(times(patient, 1) == 2);
}

TEST_CASE("factors of the score decide what goes")
{
    auto const p = make(two_held_spec(4, 10, 4, 10, 5));
    std::vector<double> worth{1, 100, 1, 1};
    CHECK(times(budgeted_walk(p)({.capacity = 9, .worth = worth}).value(), 0) == 2);
    worth = {100, 1, 1, 1};
    CHECK(times(budgeted_walk(p)({.capacity = 9, .worth = worth}).value(), 1) == 2);
}

TEST_CASE("what a cut keeps goes last, and what it does not keep is gone at its op")
{
    auto const p = make(two_held_spec(4, 10, 4, 10, 1));
    std::vector<char> const kept{0, 1, 0, 0};
    auto const order = budgeted_walk(p)({.kept = kept, .at = 2}).value(); // there is room, yet the cut drops
    CHECK(times(order, 0) == 2);
    CHECK(times(order, 1) == 1);
}

TEST_CASE("the cost of making a tensor again counts what is gone of what it needs")
{
    // x0 → x1 → x2, and y alone, as dear as the three of the chain together but one: under pressure y goes once the chain has
    // been let go, not x2.
    problem_spec s;
    auto const x0 = add_tensor(s, 4);
    auto const x1 = add_tensor(s, 4);
    auto const x2 = add_tensor(s, 4);
    auto const y = add_tensor(s, 4);
    auto const out = add_tensor(s, 1);
    add_op(s, 10, {}, {x0});
    add_op(s, 10, {x0}, {x1});
    add_op(s, 10, {x1}, {x2}); // x0 and x1 are of no direct use any more
    add_op(s, 20, {}, {y});
    add_op(s, 1, {}, {}, {}, 5);
    add_op(s, 1, {x2, y}, {out});
    s.targets = {out};
    auto const p = make(std::move(s));
    auto const order = budgeted_walk(p)({.capacity = 9, .patience = 0}).value();
    CHECK(order == run_order{0, 1, 2, 3, 4, 3, 5});
}

TEST_CASE("a tensor that cannot be made again stays as long as it is used, or something gone needs it")
{
    problem_spec s;
    auto const a = add_tensor(s, 4);
    auto const b = add_tensor(s, 4);
    auto const y = add_tensor(s, 1);
    add_op(s, 1, {}, {a}, effect::once);
    add_op(s, 1, {a}, {b});
    add_op(s, 1, {}, {}, {}, 4);
    add_op(s, 1, {b}, {y});
    s.targets = {y};
    auto const p = make(std::move(s));
    // With room for one of them `a` goes, of no use while `b` is there; `b` cannot be made again then.
    CHECK(budgeted_walk(p)({.capacity = 8}).value() == index_order(p));
    CHECK_FALSE(budgeted_walk(p)({.capacity = 7}));
}

TEST_CASE("gradients of several producers and targets are there when they are read")
{
    auto const p = make(shared_gradient_spec());
    for (auto bytes = peak_of(p, index_order(p)); bytes > 4; --bytes) {
        auto const order = budgeted_walk(p)({.capacity = bytes});
        CHECK((!order || validate(p, free_early(p, *order), bytes).ok()));
    }
    auto early = two_held_spec(4, 10, 4, 10, 5);
    early.targets.push_back(0); // wanted at the end besides being read
    auto const q = make(std::move(early));
    auto const order = budgeted_walk(q)({.capacity = 9});
    REQUIRE(order);
    CHECK(validate(q, free_early(q, *order), 9).ok());
}

TEST_CASE("a walk ends when it must cost too much, when nothing may go, and when it is stopped")
{
    auto const p = make(two_held_spec(4, 100, 4, 10, 5));
    budgeted_walk walk(p);
    CHECK(walk({.capacity = 9, .patience = 0, .give_up_at = p.base_cost() + 11}));
    CHECK_FALSE(walk({.capacity = 9, .patience = 0, .give_up_at = p.base_cost() + 10}));
    CHECK_FALSE(walk({.capacity = 4}));
    std::stop_source source;
    source.request_stop();
    CHECK_FALSE(walk({}, stop_watch({.cancel = source.get_token()})));
    CHECK(walk({}).value() == index_order(p)); // what a walk left does not matter to the next
}

TEST_CASE("walks of random problems are valid and within the capacity")
{
    int found = 0;
    int with_replays = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        auto const p = varied_problem(seed, 60);
        auto const most = peak_of(p, index_order(p));
        budgeted_walk walk(p);
        for (double share : {0.9, 0.7, 0.5}) {
            auto const bytes = budget::fraction(share).resolve(p.resident_bytes(), most - p.resident_bytes());
            for (double patience : {0.0, 1.0}) {
                auto const order = walk({.capacity = bytes - p.resident_bytes(), .patience = patience});
                if (!order) {
                    continue;
                }
                INFO("seed " << seed << ", share " << share << ", patience " << patience);
                ++found;
                with_replays += order->size() > static_cast<std::size_t>(p.op_count()) ? 1 : 0;
                REQUIRE(is_run_order(p, *order));
                REQUIRE(cost_of(p, *order) == walk.cost());
                REQUIRE(validate(p, free_early(p, *order), bytes).ok());
            }
        }
    }
    CHECK(found > 600);
    CHECK(with_replays > 200);
}

TEST_CASE("what is to be held is made once up to the last first run, also where a walk would make it again")
{
    int made_again = 0;
    int held_through = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        auto const p = varied_problem(seed, 40);
        auto const most = peak_of(p, index_order(p)) - p.resident_bytes();
        budgeted_walk walk(p);
        auto const free = walk({.capacity = most * 7 / 10});
        if (!free) {
            continue;
        }
        auto const last = std::find(free->begin(), free->end(), p.op_count() - 1);
        for (op_id o = 0; o < p.op_count(); ++o) {
            if (p.outputs(o).empty() || std::count(free->begin(), last, o) < 2) {
                continue;
            }
            ++made_again;
            std::vector<char> held(static_cast<std::size_t>(p.tensor_count()), 0);
            for (auto t : p.outputs(o)) {
                held[static_cast<std::size_t>(t)] = 1;
            }
            if (auto const order = walk({.capacity = most * 7 / 10, .held = held})) {
                CAPTURE(seed, o);
                ++held_through;
                REQUIRE(validate(p, free_early(p, *order), most * 7 / 10 + p.resident_bytes()).ok());
                REQUIRE(std::count(order->begin(), std::find(order->begin(), order->end(), p.op_count() - 1), o) == 1);
            }
        }
    }
    CHECK(made_again > 50);
    CHECK(held_through > 50);
}

TEST_CASE("what is fetched is made at once and held until its op has run")
{
    auto const p = make(two_held_spec(4, 10, 4, 11, 5));
    budgeted_walk walk(p);
    walk.begin({.capacity = 9, .patience = 0});
    REQUIRE(walk.step({}));
    REQUIRE(walk.step({}));
    REQUIRE(walk.fetch(0, 3, {})); // else it would go, see above
    REQUIRE(walk.step({}));
    CHECK(walk.missing(3).empty());
    CHECK(walk.missing(4) == std::vector<tensor_id>{1});
    REQUIRE(walk.step({}));
    REQUIRE(walk.step({}));
    CHECK(walk.finish({}).value() == run_order{0, 1, 2, 3, 1, 4});
}

} // namespace solve_budgeted_walk_test
