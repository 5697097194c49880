// SPDX-License-Identifier: Apache-2.0
#include <strata/pipeline/plan.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/polish.hpp>
#include <strata/solve/portfolio.hpp>

#include <chrono>
#include <cstdint>
#include <optional>

#include "tests/support/brute_force.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_polish_test {

using namespace strata;
using namespace strata::test;

/// What greedy dropping makes of the plain order under `capacity` bytes; nothing if it fails.
auto seed_order(problem const& p, bytes_t capacity) -> std::optional<run_order>
{
    order_editor e(p, index_order(p));
    repair mend(p);
    return mend(e, capacity, {}, {}) ? std::optional(e.order()) : std::nullopt;
}

auto dynamic_peak(problem const& p) -> bytes_t { return peak_of(p, index_order(p)) - p.resident_bytes(); }

TEST_CASE("polish: what it finds fits, costs what it says, and never more than it began with")
{
    int better = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        auto const p = varied_problem(seed, 60);
        auto const capacity = dynamic_peak(p) * 7 / 10;
        auto const start = seed_order(p, capacity);
        if (!start) {
            continue;
        }
        polisher job(p, *start, capacity, seed, {});
        job.run(150, 0);
        CAPTURE(seed);
        auto const judged = validate(p, free_early(p, job.best()), capacity + p.resident_bytes());
        REQUIRE(judged.ok());
        REQUIRE(judged.cost == job.best_cost());
        REQUIRE(job.best_cost() <= cost_of(p, *start));
        better += job.best_cost() < cost_of(p, *start) ? 1 : 0;
    }
    CHECK(better > 10);
}

TEST_CASE("polish: more moves go on from where fewer ended, and the seed decides all")
{
    int better = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto const p = varied_problem(seed, 60);
        auto const capacity = dynamic_peak(p) * 3 / 4;
        auto const start = seed_order(p, capacity);
        if (!start) {
            continue;
        }
        polisher once(p, *start, capacity, 7, {});
        once.run(300, 0);
        polisher twice(p, *start, capacity, 7, {});
        twice.run(140, 0);
        auto const between = twice.best_cost();
        twice.run(160, 0);
        CAPTURE(seed);
        REQUIRE(twice.best() == once.best());
        REQUIRE(twice.best_cost() <= between);
        better += once.best_cost() < cost_of(p, *start) ? 1 : 0;
    }
    CHECK(better > 3);
}

TEST_CASE("polish: finds the optimum of most small problems that greedy dropping missed")
{
    int missed = 0;
    int found = 0;
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
        auto const p = varied_problem(seed, 11);
        brute_force truth(p);
        auto const least = truth.minimum_budget();
        auto const bytes = least + (dynamic_peak(p) + p.resident_bytes() - least) / 3;
        auto const start = seed_order(p, bytes - p.resident_bytes());
        if (!start) {
            continue;
        }
        auto const optimum = truth.solve(bytes)->cost;
        if (cost_of(p, *start) == optimum) {
            continue;
        }
        ++missed;
        polisher job(p, *start, bytes - p.resident_bytes(), 1, {});
        job.run(400, optimum);
        CAPTURE(seed);
        REQUIRE(job.best_cost() >= optimum);
        found += job.best_cost() == optimum ? 1 : 0;
    }
    CHECK(missed >= 10);
    CHECK(found * 10 >= missed * 8);
}

TEST_CASE("polish: stops when it is good enough, out of time, or has nothing to drop")
{
    auto const p = make(training_chain_spec(12));
    auto const capacity = dynamic_peak(p) * 2 / 3;
    auto const start = seed_order(p, capacity);
    REQUIRE(start);
    polisher content(p, *start, capacity, 1, {});
    CHECK_FALSE(content.run(100, cost_of(p, *start)));
    CHECK(content.best() == *start);

    limits now;
    now.deadline = std::chrono::nanoseconds(0);
    polisher late(p, *start, capacity, 1, stop_watch(now));
    CHECK_FALSE(late.run(100, 0));

    auto spec = training_chain_spec(3);
    for (auto& o : spec.ops) {
        o.effects = effect::once;
    }
    auto const rigid = make(spec);
    polisher stuck(rigid, index_order(rigid), max_bytes, 1, {});
    CHECK_FALSE(stuck.run(100, 0));
}

TEST_CASE("polish: behind the default solver a plan gets no costlier, with and without a deadline")
{
    auto const p = make(training_chain_spec(30));
    auto const half = budget::fraction(0.5);
    auto const quick = plan(p, {.budget = half});
    REQUIRE(quick);
    limits timed;
    timed.deadline = std::chrono::minutes(1);
    for (auto lim : {limits{}, timed}) {
        lim.budget = half;
        auto const polished = plan(p, lim, portfolio(default_solver{}, polish{.moves = 300}));
        REQUIRE(polished);
        CHECK(polished->certificate.cost <= quick->certificate.cost);
        CHECK(validate(p, polished->schedule, polished->certificate.budget).ok());
    }
}

TEST_CASE("polish: on several threads a number of moves makes the same plan, and a deadline one that fits")
{
    for (std::uint64_t seed : {1U, 2U, 5U}) {
        auto const p = varied_problem(seed, 80);
        auto const bytes = dynamic_peak(p) * 6 / 10 + p.resident_bytes();
        limits lim{.budget = budget::bytes(bytes)};
        auto const moves = portfolio(default_solver{}, polish{.moves = 300});
        auto const one = plan(p, lim, moves);
        lim.threads = 3;
        auto const three = plan(p, lim, moves);
        CAPTURE(seed);
        REQUIRE(one.has_value() == three.has_value());
        if (!one) {
            continue;
        }
        CHECK(one->schedule == three->schedule);
        lim.deadline = std::chrono::milliseconds(60);
        auto const timed = plan(p, lim);
        if (timed) {
            CHECK(validate(p, timed->schedule, bytes).ok());
        } else {
            CHECK(timed.error().code == errc::deadline); // on a machine that is busy enough
        }
    }
}

TEST_CASE("stop_watch: a part of the time left ends before the whole, and no time limit has no parts")
{
    CHECK_FALSE(stop_watch().timed());
    CHECK_FALSE(stop_watch().part(0.5).timed());
    limits lim;
    lim.deadline = std::chrono::hours(1);
    stop_watch const hour(lim);
    CHECK(hour.timed());
    CHECK_FALSE(hour.expired());
    CHECK(hour.part(0).expired());
    CHECK_FALSE(hour.part(0.5).expired());
}

TEST_CASE("fill: looks only where it is told to")
{
    auto const p = make(training_chain_spec(20));
    order_editor e(p, index_order(p));
    auto const l = e.life_before(1, e.slots());
    e.replay_before(e.at_life(l).uses.back(), std::vector<op_id>{p.producer(1)});
    auto const replays = e.replays();
    REQUIRE(replays.size() == 1);
    auto const slot = e.slot_of(replays.front());
    fill(e, max_bytes, {}, {.from = slot + 1});
    CHECK(e.replays() == replays);
    fill(e, max_bytes, {}, {.to = slot - 1});
    CHECK(e.replays() == replays);
    fill(e, max_bytes, {}, {.from = slot, .to = slot});
    CHECK(e.replays().empty());
}

TEST_CASE("repair: a tensor is dropped where it is told to be, and nothing happens where it cannot be")
{
    auto const p = make(training_chain_spec(8));
    order_editor e(p, index_order(p));
    repair mend(p);
    auto const l = e.life_before(1, e.slots());
    auto const& uses = e.at_life(l).uses;
    REQUIRE(uses.size() >= 2);
    auto const order = e.order();
    CHECK_FALSE(mend.drop(e, 1, e.slot_of(uses.front()), max_bytes)); // used there
    CHECK(e.order() == order);
    REQUIRE(mend.drop(e, 1, e.slot_of(uses.back()) - 1, max_bytes));
    REQUIRE(e.replays().size() == 1);
    CHECK(e.op_of(e.replays().front()) == p.producer(1));
}

} // namespace solve_polish_test
