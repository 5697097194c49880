// SPDX-License-Identifier: Apache-2.0
#include <strata/solve/cut.hpp>
#include <strata/solve/keep_all.hpp>
#include <strata/solve/search.hpp>

#include <cstdint>
#include <span>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_cut_test {

using namespace strata;
using namespace strata::test;

struct outcome {
    cost_t cost = max_cost; // of the best order; `max_cost` if none fits
    int rounds = 0;
};

auto outcome_of(cut const& s, problem const& p, bytes_t budget, std::span<op_id const> points) -> outcome
{
    outcome x;
    limits lim;
    lim.on_progress = [&](progress const& /*now*/) { ++x.rounds; };
    search on(p, budget, points, {p.base_cost(), none, false}, lim, stop_watch(lim));
    s.solve(on);
    if (on.best()) {
        CHECK(is_run_order(p, on.best()->order));
        CHECK(peak_of(p, on.best()->order) <= budget);
        x.cost = on.best()->cost;
    }
    return x;
}

TEST_CASE("cut: one shot is one seed, more seeds and more time points are never worse")
{
    int better = 0;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        auto const p = random_problem(seed, {.ops = 60, .training = true, .effects = 5, .state = 0, .bytes = 100});
        auto const keep = keep_all_order(p);
        auto const points = time_points(p, keep, 3, 2);
        auto const budget = p.resident_bytes() + (peak_of(p, keep) - p.resident_bytes()) * 7 / 10;
        CAPTURE(seed);
        auto const one = outcome_of({.one_shot = true}, p, budget, points);
        auto const some = outcome_of({.points = 1}, p, budget, points);
        auto const all = outcome_of({}, p, budget, points);
        CHECK(one.rounds == 1);
        CHECK(some.cost <= one.cost);
        CHECK(all.cost <= some.cost);
        better += all.cost < one.cost ? 1 : 0;
    }
    CHECK(better > 0);
}

TEST_CASE("cut: fine seeds are taken at time points that lie apart, and find plans that the others do not")
{
    int better = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        auto const p = random_problem(seed, {.ops = 60, .training = true, .effects = 5, .state = 0, .bytes = 100});
        auto const keep = keep_all_order(p);
        auto const points = time_points(p, keep, 3, 2);
        auto const budget = p.resident_bytes() + (peak_of(p, keep) - p.resident_bytes()) * 7 / 10;
        CAPTURE(seed);
        auto const all = outcome_of({}, p, budget, points);
        auto const fine = outcome_of({.points = 5, .fine = true}, p, budget, points);
        better += fine.cost < all.cost ? 1 : 0;
        auto const first = std::vector<op_id>{points.front()};
        auto const twice = std::vector<op_id>{points.front(), points.front()};
        auto const once = outcome_of({.points = 5, .fine = true}, p, budget, first);
        CHECK(outcome_of({.points = 5, .fine = true}, p, budget, twice).rounds == once.rounds);
    }
    CHECK(better > 0);
}

TEST_CASE("cut: nothing to cut at is nothing proposed")
{
    auto const p = make(training_chain_spec(4));
    CHECK(outcome_of({}, p, 5, {}).rounds == 0);
}

} // namespace solve_cut_test
