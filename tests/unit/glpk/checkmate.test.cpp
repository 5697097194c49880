// SPDX-License-Identifier: Apache-2.0
#include <strata/glpk/glpk.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/solve/checkmate.hpp>
#include <strata/solve/keep_all.hpp>
#include <strata/solve/portfolio.hpp>

#include <chrono>
#include <cstddef>
#include <stop_token>
#include <utility>

#include "tests/support/brute_force.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/judge_plan.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace glpk_checkmate_test {

using namespace strata;
using namespace strata::test;

auto under(bytes_t bytes) -> limits
{
    limits lim;
    lim.budget = budget::bytes(bytes);
    return lim;
}

TEST_CASE("checkmate: plans alone, and after others in a portfolio")
{
    STATIC_REQUIRE(solver<checkmate<glpk>>);
    auto const p = make(training_chain_spec(8));
    for (bytes_t bytes = 5; bytes <= 10; ++bytes) {
        CAPTURE(bytes);
        auto const truth = brute_force(p).solve(bytes);
        REQUIRE(truth);
        auto const alone = plan(p, under(bytes), checkmate<glpk>{});
        REQUIRE(alone);
        judge_plan(p, *alone, bytes);
        CHECK(alone->certificate.cost == truth->cost);
        CHECK(alone->certificate.solver == (truth->cost == p.base_cost() ? "keep_all" : "checkmate"));
        auto const joined = plan(p, under(bytes), portfolio(default_solver{}, checkmate<glpk>{}));
        REQUIRE(joined);
        CHECK(joined->certificate.cost == truth->cost);
    }
    auto const none = plan(p, under(3), checkmate<glpk>{});
    REQUIRE_FALSE(none);
    CHECK(none.error().code == errc::infeasible);
}

TEST_CASE("checkmate: says what it has proven")
{
    auto const p = make(training_chain_spec(8));
    auto const found = solve_checkmate(p, 5, glpk{}, {.passes = 2});
    REQUIRE(found);
    CHECK(found->optimal);
    CHECK(found->bound == found->cost);
    CHECK(found->passes == 2);
    CHECK_FALSE(found->lazy);
    auto const easy = solve_checkmate(p, 1000, glpk{});
    REQUIRE(easy);
    CHECK(easy->optimal);
    CHECK(easy->optimal_anywhere);
    CHECK(easy->order == keep_all_order(p));
    CHECK(easy->nodes == 0);
    CHECK(easy->passes == 2); // 16 ops
    CHECK(solve_checkmate(make(training_chain_spec(6)), 1000, glpk{})->passes == 3);
    auto const large = solve_checkmate(make(training_chain_spec(13)), 1000, glpk{});
    CHECK(large->passes == 1);
    CHECK(large->lazy);
}

TEST_CASE("checkmate: what is optimal in a class may be beaten outside of it")
{
    // One pass: under this budget the best order replays an op twice between two first runs.
    auto const twice = varied_problem(963, 9);
    auto const one = solve_checkmate(twice, 39, glpk{}, {.passes = 1, .lazy = false});
    auto const two = solve_checkmate(twice, 39, glpk{}, {.passes = 2, .lazy = false});
    REQUIRE(one);
    REQUIRE(two);
    CHECK(one->optimal);
    CHECK_FALSE(one->optimal_anywhere);
    CHECK(one->cost == 86);
    CHECK(two->cost == 83);
    CHECK(brute_force(twice).solve(39)->cost == 83);
    // Lazy: the best order replays an op while its input is there, before a first run that does not read it.
    auto const early = varied_problem(129, 9);
    auto const lazy = solve_checkmate(early, 52, glpk{}, {.passes = 1, .lazy = true});
    REQUIRE(lazy);
    CHECK(lazy->optimal);
    CHECK(lazy->cost == 83);
    CHECK(solve_checkmate(early, 52, glpk{}, {.passes = 1, .lazy = false})->cost == 75);
}

TEST_CASE("checkmate: stops with what it knows, or says that it was stopped")
{
    auto const p = make(training_chain_spec(12));
    bytes_t const bytes = 7;
    limits lim;
    std::stop_source source;
    source.request_stop();
    lim.cancel = source.get_token();
    auto const cancelled = solve_checkmate(p, bytes, glpk{}, {}, stop_watch(lim));
    REQUIRE_FALSE(cancelled);
    CHECK(cancelled.error().code == errc::cancelled);
    lim = {};
    lim.deadline = std::chrono::nanoseconds(0);
    auto const late = solve_checkmate(p, bytes, glpk{}, {}, stop_watch(lim));
    REQUIRE_FALSE(late);
    CHECK(late.error().code == errc::deadline);
    CHECK(checkmate_relaxation(p, bytes, glpk{}, {}, stop_watch(lim)).error().code == errc::deadline);

    auto const heuristic = plan(p, under(bytes));
    REQUIRE(heuristic);
    checkmate_options how{.known = runs_of(heuristic->schedule)};
    auto const kept = solve_checkmate(p, bytes, glpk{}, how, stop_watch(lim));
    REQUIRE(kept);
    CHECK(kept->cost == heuristic->certificate.cost);
    how.max_nodes = 1;
    auto const bounded = solve_checkmate(p, bytes, glpk{}, how);
    REQUIRE(bounded);
    CHECK(bounded->cost <= heuristic->certificate.cost);
    CHECK(bounded->bound <= bounded->cost);
}

TEST_CASE("checkmate: refuses a known order that is none or does not fit, and a model that is too large")
{
    auto const p = make(training_chain_spec(6));
    auto const refused = [&](run_order order) {
        auto const r = solve_checkmate(p, 6, glpk{}, {.known = std::move(order)});
        return !r && r.error().code == errc::invalid_argument;
    };
    CHECK(refused({0, 1, 2}));
    CHECK(refused(keep_all_order(p))); // needs 8
    auto const large = make(training_chain_spec(100));
    auto const r = solve_checkmate(large, 30, glpk{}, {.passes = 1, .lazy = false});
    REQUIRE_FALSE(r);
    CHECK(r.error().code == errc::invalid_argument);
    CHECK(checkmate_relaxation(large, 30, glpk{}, {.passes = 1, .lazy = false}).error().code == errc::invalid_argument);
    // In a plan it is passed over.
    auto const planned = plan(large, under(30), portfolio(default_solver{}, checkmate<glpk>{}));
    REQUIRE(planned);
    CHECK(planned->certificate.solver != "checkmate");
}

TEST_CASE("checkmate: bytes and costs of any size")
{
    // Sizes near 2^40 and prime, costs near 2^40: the backend sees neither exactly.
    auto s = training_chain_spec(6);
    for (std::size_t i = 0; i < s.tensors.size(); ++i) {
        s.tensors[i].bytes = 1'099'511'627'689 + static_cast<bytes_t>(i * 7919);
    }
    for (std::size_t i = 0; i < s.ops.size(); ++i) {
        s.ops[i].cost = 1'099'511'627'689 + static_cast<cost_t>(i * 104729);
    }
    auto const p = make(s);
    brute_force brute(p);
    auto const least = brute.minimum_budget();
    for (auto bytes : {least, least + 2'000'000'000'000}) {
        auto const truth = brute.solve(bytes);
        auto const found = solve_checkmate(p, bytes, glpk{});
        REQUIRE(found);
        CHECK(validate(p, free_early(p, found->order), bytes).ok());
        CHECK(found->cost == truth->cost);
        CHECK(found->optimal);
        CHECK(found->bound <= found->cost);
    }
    CHECK_FALSE(solve_checkmate(p, least - 1, glpk{}));
}

} // namespace glpk_checkmate_test
