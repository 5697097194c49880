// SPDX-License-Identifier: Apache-2.0
#include <strata/schedule/profile.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/checkmate_model.hpp>
#include <strata/solve/mip_backend.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "tests/support/brute_force.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_order.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_checkmate_model_test {

using namespace strata;
using namespace strata::test;

auto all_ops(problem const& p) -> std::vector<op_id> { return index_order(p); }

TEST_CASE("checkmate_model: an order that fits is a solution of the same cost, and comes back")
{
    int expressed = 0;
    int replays = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        CAPTURE(seed);
        auto const p = varied_problem(seed, 10);
        int const passes = 1 + static_cast<int>(seed % 3);
        brute_force brute(p, first_runs::in_index_order, passes);
        auto const budget = brute.minimum_budget();
        auto const best = brute.solve(budget);
        REQUIRE(best);
        auto const order = without_idle_replays(p, runs_of(best->schedule));
        checkmate_model const m(p, budget, {.passes = passes, .closure = all_ops(p)});
        REQUIRE_FALSE(m.too_large());
        REQUIRE_FALSE(check_model(m.model()));
        auto const x = m.solution_of(order);
        if (!x) {
            continue; // replays while nothing need be dropped yet: there is no column for that
        }
        ++expressed;
        replays += order.size() > static_cast<std::size_t>(p.op_count()) ? 1 : 0;
        CHECK(violation_of(m.model(), *x) < 1e-9);
        CHECK(m.model().objective.dot(*x) * m.cost_unit() ==
              Approx(static_cast<double>(cost_of(p, order) - p.base_cost())).epsilon(1e-9));
        CHECK(m.order_of(*x) == order);
        // One byte less is too few for it.
        if (peak_of(p, order) == budget) {
            checkmate_model const tighter(p, budget - p.alignment(), {.passes = passes, .closure = all_ops(p)});
            auto const y = tighter.solution_of(order);
            CHECK((!y || violation_of(tighter.model(), *y) > 1e-6));
        }
    }
    CHECK(expressed > 300);
    CHECK(replays > 100);
}

TEST_CASE("checkmate_model: an order with more passes than there are is none of its solutions")
{
    auto const p = make(training_chain_spec(3));
    run_order const descending = {0, 1, 2, 3, 1, 0, 4, 5};
    checkmate_model const one(p, 4, {.passes = 1});
    checkmate_model const two(p, 4, {.passes = 2});
    CHECK_FALSE(one.solution_of(descending));
    CHECK(two.solution_of(descending));
    CHECK_FALSE(two.solution_of(run_order{0, 1, 2, 3, 1, 0, 1, 0, 4, 5}));
}

TEST_CASE("checkmate_model: lazy has fewer columns, and says so of an order that replays ahead")
{
    problem_spec s;
    auto const x = add_tensor(s, 4);
    auto const y = add_tensor(s, 4);
    auto const z = add_tensor(s, 1);
    auto const end = add_tensor(s, 1);
    add_op(s, 1, {}, {x});
    add_op(s, 1, {}, {y});
    add_op(s, 1, {y}, {z});
    add_op(s, 1, {x, z}, {end});
    s.targets = {end};
    auto const p = make(s);
    checkmate_model const some(p, 6, {.passes = 1});
    checkmate_model const lazy(p, 6, {.passes = 1, .lazy = true});
    CHECK(lazy.model().columns() < some.model().columns());
    run_order const ahead = {0, 1, 0, 2, 3};
    CHECK(some.solution_of(ahead));
    CHECK_FALSE(lazy.solution_of(ahead));
    run_order const in_time = {0, 1, 2, 0, 3};
    for (auto const* m : {&some, &lazy}) {
        auto const solution = m->solution_of(in_time);
        REQUIRE(solution);
        CHECK(violation_of(m->model(), *solution) < 1e-9);
    }
}

TEST_CASE("checkmate_model: is not built beyond the size allowed")
{
    auto const p = make(training_chain_spec(12));
    checkmate_model const m(p, 8, {.passes = 1, .max_entries = 1000});
    CHECK(m.too_large());
    CHECK(m.model().columns() == 0);
    checkmate_model const whole(p, 8, {.passes = 1});
    CHECK_FALSE(whole.too_large());
    CHECK(whole.model().rows.nonZeros() > 1000);
}

TEST_CASE("without_idle_replays: drops what nobody reads, also what only served that, and nothing else")
{
    auto const p = make(training_chain_spec(3));
    run_order const plain = {0, 1, 2, 3, 4, 5};
    CHECK(without_idle_replays(p, plain) == plain);
    CHECK(without_idle_replays(p, run_order{0, 1, 2, 3, 0, 1, 4, 0, 5}) == run_order{0, 1, 2, 3, 0, 4, 5});
    CHECK(without_idle_replays(p, run_order{0, 1, 2, 0, 1, 1, 3, 4, 5, 0, 1}) == run_order{0, 1, 2, 0, 1, 3, 4, 5});
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        CAPTURE(seed);
        auto const r = varied_problem(seed, 12);
        dice d(seed);
        auto const order = random_order(r, d, 12);
        auto const less = without_idle_replays(r, order);
        CHECK(less.size() <= order.size());
        CHECK(validate(r, free_early(r, less)).ok());
        CHECK(peak_of(r, less) <= peak_of(r, order));
        CHECK(without_idle_replays(r, less) == less);
    }
}

} // namespace solve_checkmate_model_test
