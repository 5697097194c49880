// SPDX-License-Identifier: Apache-2.0
#include <strata/solve/persistent_table.hpp>
#include <strata/solve/stage.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/catch.hpp"

namespace solve_persistent_table_test {

using namespace strata;

/// A stage of a chain: input and output of one byte, forward cost 10, backward cost 20 that reads the input; gradients of
/// one byte.
auto chain_stage(std::size_t i, std::size_t n) -> stage
{
    stage s;
    s.input = i == 0 ? 0 : 1;
    s.arriving = i + 1 == n ? 0 : 1;
    s.cost = 10;
    s.runs = 1;
    s.first_need = 1;
    s.moving_need = s.input + 1;
    stage_option o;
    o.cost = 30;
    o.runs = 2;
    o.input = s.input;
    o.needs[0] = {s.input + 1, s.input + 1, s.input + s.arriving + 1};
    o.needs[1] = {1, 1, s.arriving + 1};
    s.options = {o};
    return s;
}

auto chain(std::size_t n) -> std::vector<stage>
{
    std::vector<stage> r;
    for (std::size_t i = 0; i < n; ++i) {
        r.push_back(chain_stage(i, n));
    }
    return r;
}

auto cost_of_runs(std::vector<stage> const& s, std::vector<stage_run> const& runs) -> cost_t
{
    cost_t sum = 0;
    for (auto const& x : runs) {
        auto const& o = s[x.stage].options;
        sum += x.option < 0 ? s[x.stage].cost : x.backward ? o[static_cast<std::size_t>(x.option)].cost - 10 : 10;
    }
    return sum;
}

TEST_CASE("a table of a chain keeps all when it fits, and runs again what does not")
{
    auto const stages = chain(5);
    auto const table = persistent_table::make(stages, 20).value();
    CHECK(table.slot() == 1);
    CHECK(table.slots() == 20);
    CHECK(table.runs(table.slots_in(2)).empty()); // three bytes are read and written by each backward half
    auto const all = table.runs(20);
    CHECK(all.size() == 10);
    CHECK(cost_of_runs(stages, all) == 150);
    auto fewer = static_cast<cost_t>(1'000'000);
    for (std::int64_t m = 4; m <= 20; ++m) {
        auto const runs = table.runs(m);
        if (!runs.empty()) {
            CHECK(cost_of_runs(stages, runs) <= fewer);
            fewer = cost_of_runs(stages, runs);
            CHECK(static_cast<cost_t>(table.cost(m)) == fewer); // and a little for each run
        }
    }
    CHECK(fewer == 150);
}

TEST_CASE("equal stretches of stages share one state")
{
    std::vector<stage> equal(40, chain_stage(1, 3));
    auto const one = persistent_table::size_of(equal);
    CHECK(one.states == 40 + 39); // stretches up to the end of the row, and others by length
    for (std::size_t i = 0; i < equal.size(); ++i) {
        equal[i].cost += static_cast<cost_t>(i);
    }
    CHECK(persistent_table::size_of(equal).states == 40 * 41 / 2);
    // Two kinds in turn: stretches begin with one or the other.
    for (std::size_t i = 0; i < equal.size(); ++i) {
        equal[i].cost = 10 + static_cast<cost_t>(i % 2);
    }
    CHECK(persistent_table::size_of(equal).states == 40 + 2 * 38 + 1);
}

TEST_CASE("stages that differ only in an option, or in what passes, do not share a state")
{
    std::vector<stage> s(3, chain_stage(1, 3));
    auto const shared = persistent_table::size_of(s).states;
    s[0].options[0].kept = 1;
    CHECK(persistent_table::size_of(s).states > shared);
    s = std::vector<stage>(3, chain_stage(1, 3));
    s[0].passes.push_back({1, {2}});
    CHECK(persistent_table::size_of(s).states > shared);
}

TEST_CASE("a table cuts its budget into whole bytes when it can, else into the slots that round least")
{
    auto stages = chain(4);
    CHECK(persistent_table::make(stages, 1'000, {}, {.slots = 100})->slot() > 1);
    for (auto& s : stages) {
        for (auto* x : {&s.input, &s.arriving, &s.first_need, &s.moving_need, &s.options[0].input}) {
            *x *= 1'000;
        }
        for (auto& need : s.options[0].needs) {
            need = {need.forward * 1'000, need.last * 1'000, need.backward * 1'000};
        }
    }
    auto const coarse = persistent_table::make(stages, 20'999, {}, {.slots = 100}).value();
    CHECK(coarse.slot() == 1'000);
    CHECK(coarse.slots() == 20);
    CHECK(coarse.slots_in(6'500) == 6);
    CHECK(coarse.slots_in(-1) == -1);
    auto const fine = persistent_table::make(chain(4), 20).value();
    for (std::int64_t m = 0; m <= 20; ++m) {
        CHECK(coarse.runs(m) == fine.runs(m));
    }
}

TEST_CASE("costs of zero do not make a table run more than it must")
{
    auto stages = chain(6);
    for (auto& s : stages) {
        s.cost = 0;
        s.options[0].cost = 0;
    }
    auto const table = persistent_table::make(stages, 20).value();
    CHECK(table.runs(20).size() == 12);
    std::size_t more = 1'000;
    for (std::int64_t m = 0; m <= 20; ++m) {
        auto const n = table.runs(m).size();
        CHECK((n == 0 || n <= more)); // more bytes never take more runs
        more = n == 0 ? more : n;
    }
    CHECK(more == 12);
}

TEST_CASE("a stage that may not run again is not run again, and no stages have no table")
{
    auto stages = chain(6);
    stages[2].replayable = false;
    auto const table = persistent_table::make(stages, 20).value();
    for (std::int64_t m = 0; m <= 20; ++m) {
        auto const runs = table.runs(m);
        int forward = 0;
        for (auto const& x : runs) {
            forward += x.stage == 2 && !x.backward ? 1 : 0;
        }
        CHECK(forward == (runs.empty() ? 0 : 1));
    }
    CHECK(!persistent_table::make({}, 20));
    CHECK(!persistent_table::make(stages, -1));
}

} // namespace solve_persistent_table_test
