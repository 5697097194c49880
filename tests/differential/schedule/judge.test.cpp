// SPDX-License-Identifier: Apache-2.0
// The judge and replay against the slow simulator, on valid schedules and on thousands of broken ones.
#include <strata/schedule/replay.hpp>
#include <strata/schedule/validate.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/brute_force.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/slow_simulator.hpp"

namespace schedule_judge_test {

using namespace strata;
using namespace strata::test;

auto first_fault(slow_report const& r) -> std::string
{
    return r.ok() ? "none" : r.step_faults.empty() ? r.end_faults.front() : r.step_faults.front();
}

auto first_fault(verdict const& v) -> std::string { return v.ok() ? "none" : v.violations.front().message; }

/// Checks that all three agree on `s`; says whether it is valid.
auto agree(problem const& p, schedule const& s, bytes_t budget) -> bool
{
    auto const slow = slow_simulate(p, s, budget);
    auto const v = validate(p, s, budget);
    INFO("judge: " << first_fault(v) << "; slow simulator: " << first_fault(slow));
    CHECK(v.ok() == slow.ok());
    auto const r = replay(p, s);
    if (r) {
        CHECK(v.cost == slow.cost);
        CHECK(r->cost == slow.cost);
        CHECK(v.peak == slow.peak);
        CHECK(r->peak == slow.peak);
        CHECK(r->live == slow.live);
    } else {
        CHECK(r.error().code == errc::malformed_plan);
        CHECK_FALSE(v.ok());
    }
    return v.ok();
}

/// A valid order of runs with replays thrown in wherever an op's inputs could be brought back by replays.
auto with_random_replays(problem const& p, dice& d) -> run_order
{
    run_order order;
    for (op_id o = 0; o < p.op_count(); ++o) {
        order.push_back(o);
        if (o > 0 && d.chance(30)) {
            auto const again = static_cast<op_id>(d.below(o));
            if (p.replayable(again) && !p.outputs(again).empty()) {
                order.push_back(again);
            }
        }
    }
    return order;
}

/// One small change somewhere.
auto mutated(schedule s, problem const& p, dice& d) -> schedule
{
    auto& x = s.steps;
    auto const any = [&] { return d.below(static_cast<std::int64_t>(x.size())); };
    if (x.empty()) {
        return s;
    }
    auto const i = any();
    auto const j = any();
    switch (d.below(9)) {
    case 0: x.erase(x.begin() + i); break;
    case 1: std::swap(x[static_cast<std::size_t>(i)], x[static_cast<std::size_t>(j)]); break;
    case 2: x.insert(x.begin() + j, x[static_cast<std::size_t>(i)]); break;
    case 3: // neighbours: more often still valid
        if (static_cast<std::size_t>(i) + 1 < x.size()) {
            std::swap(x[static_cast<std::size_t>(i)], x[static_cast<std::size_t>(i) + 1]);
        }
        break;
    case 4: x.insert(x.begin() + i, run(static_cast<op_id>(d.between(-1, p.op_count())))); break;
    case 5: x.insert(x.begin() + i, free(static_cast<tensor_id>(d.between(-1, p.tensor_count())))); break;
    case 6: { // move a step
        auto const step = x[static_cast<std::size_t>(i)];
        x.erase(x.begin() + i);
        x.insert(x.begin() + d.between(0, static_cast<std::int64_t>(x.size())), step);
        break;
    }
    case 7: x.resize(static_cast<std::size_t>(i)); break;
    default: { // free something and run its producer again right away
        auto const o = static_cast<op_id>(d.below(p.op_count()));
        auto at = x.begin() + i;
        at = x.insert(at, run(o)) + 0;
        for (auto t : p.outputs(o)) {
            at = x.insert(at, free(t));
        }
    }
    }
    return s;
}

TEST_CASE("judge: keep-all schedules of random problems are valid, and all three accounts of them agree")
{
    for (std::uint64_t seed = 0; seed < 600; ++seed) {
        auto const p = varied_problem(seed, 60);
        auto const s = free_early(p, index_order(p));
        INFO("seed " << seed);
        auto const peak = slow_simulate(p, s).peak;
        CHECK(agree(p, s, peak));
        CHECK_FALSE(agree(p, s, peak - 1));
    }
}

TEST_CASE("judge: keep-all schedules of large random problems agree too")
{
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        random_options o;
        o.ops = 400;
        o.training = seed % 2 == 0;
        auto const p = random_problem(seed, o);
        INFO("seed " << seed);
        CHECK(agree(p, free_early(p, index_order(p)), max_bytes));
    }
}

TEST_CASE("judge: orders with random replays agree with the slow simulator")
{
    int valid = 0;
    int replayed = 0;
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
        auto const p = varied_problem(seed, 20);
        dice d(seed + 77);
        auto const order = with_random_replays(p, d);
        INFO("seed " << seed);
        if (agree(p, free_early(p, order), max_bytes)) {
            ++valid;
            replayed += order.size() > static_cast<std::size_t>(p.op_count()) ? 1 : 0;
        }
    }
    CHECK(valid > 300);
    CHECK(replayed > 100);
}

TEST_CASE("judge: orders in which first runs are shuffled agree with the slow simulator")
{
    int valid = 0;
    for (std::uint64_t seed = 0; seed < 1500; ++seed) {
        auto const p = varied_problem(seed, 12);
        dice d(seed + 5);
        auto order = index_order(p);
        for (int n = static_cast<int>(d.between(1, 3)); n > 0 && order.size() > 1; --n) {
            auto const i = static_cast<std::size_t>(d.below(static_cast<std::int64_t>(order.size()) - 1));
            std::swap(order[i], order[i + 1]);
        }
        INFO("seed " << seed);
        valid += agree(p, free_early(p, order), max_bytes) ? 1 : 0;
    }
    CHECK(valid > 150);
    CHECK(valid < 1400);
}

TEST_CASE("judge: thousands of mutated schedules are judged alike by the slow simulator")
{
    int valid = 0;
    int count = 0;
    for (std::uint64_t seed = 0; seed < 1200; ++seed) {
        auto const p = varied_problem(seed, 14);
        dice d(seed + 123);
        schedule start = free_early(p, index_order(p));
        if (p.op_count() <= 9 && d.chance(60)) { // one that replays
            brute_force exact(p);
            start = exact.solve(exact.minimum_budget())->schedule;
        }
        auto const budget = d.chance(70) ? max_bytes : slow_simulate(p, start).peak;
        for (int k = 0; k < 8; ++k, ++count) {
            auto s = mutated(start, p, d);
            if (d.chance(25)) {
                s = mutated(s, p, d);
            }
            INFO("seed " << seed << ", mutation " << k);
            valid += agree(p, s, budget) ? 1 : 0;
        }
    }
    CHECK(count == 9600);
    CHECK(valid > 500);
    CHECK(valid < 6000);
}

TEST_CASE("judge: agrees with the tables that the problem derives")
{
    // What `problem` calls replayable is exactly what the judge lets run twice.
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        auto const p = varied_problem(seed, 25);
        INFO("seed " << seed);
        for (op_id o = 0; o < p.op_count(); ++o) {
            schedule s;
            for (auto x : index_order(p)) {
                s.steps.push_back(run(x));
            }
            for (auto t : p.outputs(o)) {
                s.steps.push_back(free(t));
            }
            s.steps.push_back(run(o));
            auto const v = validate(p, s);
            bool const forbidden = std::any_of(v.violations.begin(), v.violations.end(), [](violation const& x) {
                return x.kind == violation_kind::forbidden_replay;
            });
            CHECK(forbidden == !p.replayable(o));
        }
    }
}

} // namespace schedule_judge_test
