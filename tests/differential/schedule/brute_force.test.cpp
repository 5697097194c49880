// SPDX-License-Identifier: Apache-2.0
// The exact solver of the tests against plain enumeration, step by step, of everything the slow simulator accepts.
#include "tests/support/brute_force.hpp"

#include <strata/schedule/validate.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/slow_simulator.hpp"

namespace schedule_brute_force_test {

using namespace strata;
using namespace strata::test;

/// Cheapest cost under `budget` over all sequences of steps, without any cleverness: a state is (first runs in their
/// order, live tensors), every step that the slow simulator accepts leads on, the cheapest state goes first.
auto enumerate(problem const& p, bytes_t budget, bool in_index_order) -> std::optional<cost_t>
{
    using state = std::pair<std::vector<op_id>, std::set<tensor_id>>;
    std::multimap<cost_t, std::pair<state, std::vector<step>>> open;
    std::set<state> seen;
    open.insert({0, {{}, {}}});
    while (!open.empty()) {
        auto const [cost, here] = *open.begin();
        open.erase(open.begin());
        auto const& [ran, live] = here.first;
        if (!seen.insert(here.first).second) {
            continue;
        }
        if (slow_simulate(p, {here.second}, budget).ok()) {
            return cost;
        }
        std::vector<step> next;
        for (op_id o = 0; o < p.op_count(); ++o) {
            next.push_back(run(o));
        }
        for (auto t : live) {
            next.push_back(free(t));
        }
        for (auto x : next) {
            auto steps = here.second;
            steps.push_back(x);
            auto const is_run = x.action == action::run;
            bool const first = is_run && std::find(ran.begin(), ran.end(), x.id) == ran.end();
            if (first && in_index_order && x.id != static_cast<op_id>(ran.size())) {
                continue;
            }
            if (!slow_simulate(p, {steps}, budget).step_faults.empty()) {
                continue;
            }
            state then = here.first;
            if (first) {
                then.first.push_back(x.id);
            }
            if (is_run) {
                for (auto t : p.outputs(x.id)) {
                    then.second.insert(t);
                }
            } else {
                then.second.erase(x.id);
            }
            open.insert({cost + (is_run ? p.cost(x.id) : 0), {then, steps}});
        }
    }
    return std::nullopt;
}

TEST_CASE("brute force: hand-made optima")
{
    // 1 input byte stays; keep-all of 4 + 4 needs 1 + 5 bytes, and nothing fits into less than 1 + 3.
    auto const p = make(training_chain_spec(4));
    brute_force b(p);
    CHECK(b.minimum_budget() == 4);
    CHECK(b.solve(6)->cost == 8);
    CHECK(b.solve(5)->cost == 9);
    CHECK(b.solve(4)->cost == 11);
    CHECK_FALSE(b.solve(3));
    CHECK_FALSE(b.feasible(0));
    CHECK_FALSE(b.feasible(-1));
    CHECK(b.feasible(max_bytes));

    brute_force u(make(u_net_spec(2)));
    CHECK(u.solve(10)->cost == 5);
    CHECK(u.minimum_budget() == 10); // op 4 reads and writes 10 bytes
    CHECK(brute_force(make(chain_spec(12))).minimum_budget() == 2);
}

TEST_CASE("brute force: a zero-cost replay and a zero-byte tensor are free")
{
    auto s = training_chain_spec(4);
    for (std::size_t i = 0; i < 4; ++i) {
        s.ops[i].cost = 0;
    }
    brute_force b(make(s));
    CHECK(b.solve(b.minimum_budget())->cost == 4);
    for (auto& t : s.tensors) {
        t.bytes = 0;
    }
    brute_force z(make(s));
    CHECK(z.minimum_budget() == 0);
    CHECK(z.solve(0)->cost == 4);
}

TEST_CASE("brute force: equals plain enumeration on tiny problems, costs and feasibility")
{
    int infeasible = 0;
    int replays = 0;
    for (std::uint64_t seed = 0; seed < 250; ++seed) {
        random_options o;
        dice d(seed);
        o.ops = static_cast<int>(d.between(1, 5));
        o.training = d.chance(50);
        o.bytes = 5;
        o.second_output = 10;
        auto const p = random_problem(seed, o);
        bool const in_order = d.chance(60);
        brute_force b(p, in_order ? first_runs::in_index_order : first_runs::in_any_order);
        auto const least = b.minimum_budget();
        for (auto budget : {least - p.alignment(), least, least + p.alignment()}) {
            INFO("seed " << seed << ", budget " << budget << ", in order " << in_order);
            auto const mine = b.solve(budget);
            auto const theirs = enumerate(p, budget, in_order);
            REQUIRE(mine.has_value() == theirs.has_value());
            CHECK(mine.has_value() == (budget >= least));
            CHECK(b.feasible(budget) == mine.has_value());
            if (mine) {
                CHECK(mine->cost == *theirs);
                replays += mine->cost > p.base_cost() ? 1 : 0;
            } else {
                ++infeasible;
            }
        }
    }
    CHECK(infeasible == 250);
    CHECK(replays > 10);
}

TEST_CASE("brute force: its schedules pass the judge with the cost and peak it claims")
{
    for (std::uint64_t seed = 0; seed < 800; ++seed) {
        auto const p = varied_problem(seed, 12);
        for (auto order : {first_runs::in_index_order, first_runs::in_any_order}) {
            brute_force b(p, order);
            auto const least = b.minimum_budget();
            auto const most = slow_simulate(p, free_early(p, index_order(p))).peak;
            INFO("seed " << seed);
            REQUIRE(least <= most);
            CHECK_FALSE(b.feasible(least - 1));
            auto last = max_cost;
            for (int i = 0; i <= 3; ++i) {
                auto const budget = least + (most - least) * i / 3;
                auto const best = b.solve(budget);
                REQUIRE(best);
                auto const v = validate(p, best->schedule, budget);
                CHECK(v.ok());
                CHECK(v.cost == best->cost);
                CHECK(v.peak == best->peak);
                CHECK(best->cost <= last);
                last = best->cost;
                CHECK(validate(p, free_early(p, runs_of(best->schedule)), budget).peak <= best->peak);
            }
            CHECK(last == p.base_cost());
        }
    }
}

TEST_CASE("brute force: freedom of order never costs more and never needs more")
{
    int cheaper = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        auto const p = varied_problem(seed, 9);
        brute_force ordered(p);
        brute_force free_order(p, first_runs::in_any_order);
        INFO("seed " << seed);
        auto const least = ordered.minimum_budget();
        CHECK(free_order.minimum_budget() <= least);
        auto const a = ordered.solve(least)->cost;
        auto const b = free_order.solve(least)->cost;
        CHECK(b <= a);
        cheaper += b < a ? 1 : 0;
    }
    CHECK(cheaper > 0);
}

} // namespace schedule_brute_force_test
