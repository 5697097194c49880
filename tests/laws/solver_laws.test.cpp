// SPDX-License-Identifier: Apache-2.0
// The laws themselves: an honest solver breaks none, and every kind of dishonest one is caught.
#include "tests/laws/solver_laws.hpp"

#include <strata/pipeline/certificate.hpp>
#include <strata/result.hpp>
#include <strata/schedule/validate.hpp>

#include <string>
#include <vector>

#include "tests/support/broken_laws.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"

namespace solver_laws_test {

using namespace strata;
using namespace strata::test;
using Catch::Matchers::Contains;

/// The exact solver as a solver of the library would answer.
auto honest(problem const& p, bytes_t budget) -> result<certified_plan>
{
    brute_force b(p);
    auto const best = b.solve(budget);
    if (!best) {
        auto e = fail(errc::infeasible, "strata::test: too little");
        e.limit = feasibility{b.minimum_budget(), 0, "", b.minimum_budget()};
        return e;
    }
    certified_plan r;
    r.schedule = best->schedule;
    r.certificate.budget = budget;
    r.certificate.peak = best->peak;
    r.certificate.keep_all_peak = keep_all_peak(p);
    r.certificate.resident = p.resident_bytes();
    r.certificate.cost = best->cost;
    r.certificate.base_cost = p.base_cost();
    r.certificate.lower_bound = best->cost;
    r.certificate.seconds = 0;
    return r;
}

auto keep_everything(problem const& p, bytes_t budget) -> result<run_order>
{
    auto order = index_order(p);
    if (budget < keep_all_peak(p)) {
        auto e = fail(errc::infeasible, "strata::test: keeps everything or nothing");
        e.limit = feasibility{p.resident_bytes(), none, "", keep_all_peak(p)};
        return e;
    }
    return order;
}

/// All broken laws in one string.
template <class Solve>
auto broken(problem const& p, bytes_t budget, Solve const& solve, law_options const& options = {}) -> std::string
{
    std::string all;
    for (auto const& b : broken_solver_laws(p, budget, solve, options)) {
        all += b + "\n";
    }
    return all;
}

/// `honest` with its plan changed by `f`.
template <class F>
auto forged(F f)
{
    return [f](problem const& p, bytes_t budget) {
        auto r = honest(p, budget);
        f(*r);
        return r;
    };
}

/// An infeasible answer with this limit.
auto refuses(feasibility limit)
{
    return [limit](problem const&, bytes_t) -> result<certified_plan> {
        auto e = fail(errc::infeasible, "no");
        e.limit = limit;
        return e;
    };
}

TEST_CASE("solver laws: an exact solver breaks none")
{
    law_options exact;
    exact.finds_every_feasible = true;
    exact.finds_optimum = true;
    check_solver_laws_at_random(honest, 150, 9, exact);
}

TEST_CASE("solver laws: a solver that cannot replay breaks none either")
{
    check_solver_laws_at_random(keep_everything, 100);
    auto const p = make(training_chain_spec(30)); // beyond enumeration
    for (bytes_t b : {0, 10, 31, 32, 100}) {
        check_solver_laws(p, b, keep_everything);
    }
}

TEST_CASE("solver laws: cost grows with no budget")
{
    auto const p = make(training_chain_spec(5));
    check_monotone_law(p, telling_budgets(p), honest);
    auto const moody = [](problem const& q, bytes_t b) { return honest(q, b == keep_all_peak(q) ? b - 1 : b); };
    auto const budgets = telling_budgets(p);
    CHECK(broken_monotone_law(p, std::vector<bytes_t>{6, 5, 7}, honest).empty());
    CHECK(broken_monotone_law(p, budgets, moody).empty()); // a costlier plan at one place is still cheaper than below
    auto const worse = [](problem const& q, bytes_t b) { return honest(q, b == 7 ? 5 : b); };
    auto const caught = broken_monotone_law(p, std::vector<bytes_t>{6, 7}, worse);
    REQUIRE(caught.size() == 1);
    CHECK_THAT(caught[0], Contains("for 7 bytes") && Contains("for 6"));
    auto const gives_up = [](problem const& q, bytes_t b) { return honest(q, b == 7 ? 0 : b); };
    REQUIRE(broken_monotone_law(p, std::vector<bytes_t>{6, 7}, gives_up).size() == 1);
}

TEST_CASE("solver laws: an invalid plan is caught")
{
    auto const p = make(training_chain_spec(4));
    CHECK_THAT(broken(p, 5, forged([](certified_plan& x) { x.schedule.steps.pop_back(); })), Contains("judge refuses"));
    auto const over = [](problem const& q, bytes_t) -> result<schedule> { return free_early(q, index_order(q)); };
    CHECK_THAT(broken(p, 5, over), Contains("the budget is 5 bytes"));
    CHECK(broken(p, 6, over).empty());
}

TEST_CASE("solver laws: a certificate that lies is caught, whatever it lies about")
{
    auto const p = make(training_chain_spec(4));
    auto const lie = [&](auto f) { return broken(p, 5, forged([f](certified_plan& x) { f(x.certificate); })); };
    CHECK(lie([](certificate&) {}).empty());
    CHECK(lie([](certificate& c) { c.seconds = 99; }).empty());
    CHECK_THAT(lie([](certificate& c) { --c.peak; }), Contains("says peak"));
    CHECK_THAT(lie([](certificate& c) { ++c.cost; }), Contains("says cost"));
    CHECK_THAT(lie([](certificate& c) { ++c.base_cost; }), Contains("says base cost"));
    CHECK_THAT(lie([](certificate& c) { ++c.resident; }), Contains("says resident"));
    CHECK_THAT(lie([](certificate& c) { ++c.keep_all_peak; }), Contains("says keep-all peak"));
    CHECK_THAT(lie([](certificate& c) { c.lower_bound = 0; }), Contains("lower bound 0"));
    CHECK_THAT(lie([](certificate& c) { ++c.lower_bound; }), Contains("above the optimum"));
    CHECK_THAT(lie([](certificate& c) { c.budget = 6; }), Contains("certificate's budget"));
}

TEST_CASE("solver laws: replaying without need is caught")
{
    auto const p = make(training_chain_spec(4));
    auto const wasteful = [](problem const& q, bytes_t) -> result<run_order> {
        auto order = index_order(q);
        order.insert(order.begin() + 1, 0);
        return order;
    };
    CHECK_THAT(broken(p, max_bytes, wasteful), Contains("replays although"));
    law_options lax;
    lax.keeps_what_fits = false;
    CHECK(broken(p, max_bytes, wasteful, lax).empty());
    law_options exact;
    exact.finds_optimum = true;
    exact.keeps_what_fits = false;
    CHECK_THAT(broken(p, max_bytes, wasteful, exact), Contains("above the optimum"));
}

TEST_CASE("solver laws: a false infeasible is caught")
{
    auto const p = make(training_chain_spec(4)); // smallest budget 4, keep-all 6
    CHECK(broken(p, 3, refuses({4, 0, "", 4})).empty());
    CHECK(broken(p, 4, refuses({4, 0, "", 5})).empty()); // a heuristic may miss it
    law_options exact;
    exact.finds_every_feasible = true;
    CHECK_THAT(broken(p, 4, refuses({4, 0, "", 5}), exact), Contains("exists"));
    CHECK_THAT(broken(p, 6, refuses({4, 0, "", {}})), Contains("keeping everything takes only 6"));
    CHECK_THAT(broken(p, 3, refuses({5, 0, "", {}})), Contains("above the smallest budget 4"));
    CHECK_THAT(broken(p, 3, refuses({7, 0, "", {}})), Contains("above the keep-all peak"));
    CHECK_THAT(broken(p, 5, refuses({4, 0, "", 5})), Contains("is known"));
    CHECK_THAT(broken(p, 2, refuses({3, 0, "", 3})), Contains("too little"));
    CHECK_THAT(broken(p, 3, refuses({4, 99, "", {}})), Contains("does not exist"));
}

TEST_CASE("solver laws: errors are judged too")
{
    auto const p = make(training_chain_spec(4));
    auto const without_limit = [](problem const&, bytes_t) -> result<schedule> { return fail(errc::infeasible, "no"); };
    CHECK_THAT(broken(p, 3, without_limit), Contains("carries a limit"));
    auto const silent = [](problem const&, bytes_t) -> result<schedule> { return fail(errc::deadline, ""); };
    CHECK_THAT(broken(p, 3, silent), Contains("says nothing") && Contains("neither a plan nor infeasible: deadline"));
}

TEST_CASE("solver laws: two answers to one question are caught")
{
    auto const p = make(diamond_spec());
    auto count = 0;
    auto const moody = [&](problem const&, bytes_t) -> result<run_order> {
        return ++count % 2 != 0 ? run_order{0, 1, 2, 3} : run_order{0, 2, 1, 3};
    };
    CHECK_THAT(broken(p, max_bytes, moody), Contains("two different plans"));
    auto const fickle = [&](problem const&, bytes_t) -> result<run_order> {
        if (++count % 2 != 0) {
            return fail(errc::deadline, "late");
        }
        return run_order{0, 1, 2, 3};
    };
    CHECK_THAT(broken(p, max_bytes, fickle), Contains("a plan once and an error once"));
    auto const rambling = [&](problem const&, bytes_t) -> result<run_order> {
        return fail(errc::deadline, std::to_string(++count));
    };
    CHECK_THAT(broken(p, max_bytes, rambling), Contains("two different errors"));
}

TEST_CASE("solver laws: a plan in another order of first runs is held against the optimum of any order")
{
    // Reads of t0 stand far apart in index order; running op 2 early frees it.
    problem_spec s;
    auto const a = add_tensor(s, 8);
    auto const b = add_tensor(s, 1);
    auto const c = add_tensor(s, 8);
    auto const d = add_tensor(s, 1);
    auto const e = add_tensor(s, 1);
    add_op(s, 1, {}, {a});
    add_op(s, 1, {a}, {b});
    add_op(s, 1, {b}, {c});
    add_op(s, 1, {c}, {d});
    add_op(s, 1, {a}, {e});
    s.targets = {d, e};
    auto const p = make(s);
    auto const reorders = [](problem const&, bytes_t) -> result<run_order> { return run_order{0, 1, 4, 2, 3}; };
    CHECK(brute_force(p).solve(10)->cost == 6); // replays op 0
    CHECK(broken(p, 11, reorders).empty());
}

} // namespace solver_laws_test
