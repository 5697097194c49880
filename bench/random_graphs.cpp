// SPDX-License-Identifier: Apache-2.0
// Bounds and plans against the truth: every optimum of many small random graphs by enumeration, and larger random graphs
// replayed by a second simulator. Any disagreement is printed with its seed and makes the program fail.
#include <strata/pipeline/plan.hpp>
#include <strata/place/check.hpp>
#include <strata/schedule/replay.hpp>
#include <strata/schedule/validate.hpp>

#include <array>
#include <cstdint>
#include <set>

#include "bench/support.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/slow_simulator.hpp"

namespace {

using namespace strata;

struct count {
    std::int64_t graphs = 0, asked = 0, plans = 0, optimal = 0, bound_tight = 0, not_found = 0, not_placed = 0,
                 wrong = 0;
};

void wrong(count& n, std::uint64_t seed, bytes_t bytes, std::string_view what)
{
    ++n.wrong;
    std::cout << "seed " << seed << ", budget " << bytes << ": " << what << '\n';
}

void against_enumeration(std::uint64_t seed, count& n)
{
    auto const p = test::varied_problem(seed, 12);
    test::brute_force truth(p);
    auto const least = truth.minimum_budget();
    auto const most = peak_of(p, keep_all_order(p));
    ++n.graphs;
    if (minimum_budget(p).bytes > least) {
        wrong(n, seed, least, "the proven limit is above the true minimum");
    }
    for (auto bytes :
         std::set<bytes_t>{least - 1, least, least + (most - least) / 2, least + (most - least) * 3 / 4, most}) {
        auto const optimum = truth.solve(bytes);
        auto const made = plan(p, {.budget = budget::bytes(bytes)});
        ++n.asked;
        if (!made) {
            auto const& e = made.error();
            if (e.code != errc::infeasible && !(bytes < 0 && e.code == errc::invalid_argument)) {
                wrong(n, seed, bytes, e.message);
            } else if (e.limit && (e.limit->lower_limit > least || e.limit->known_feasible.value_or(least) < least)) {
                wrong(n, seed, bytes, "a false claim about feasible budgets");
            }
            bool const no_place = e.message.find("no placement") != std::string::npos;
            n.not_found += optimum && !no_place ? 1 : 0;
            n.not_placed += optimum && no_place ? 1 : 0;
            continue;
        }
        ++n.plans;
        auto const& c = made->certificate;
        if (!optimum) {
            wrong(n, seed, bytes, "a plan where none exists");
        } else if (c.cost < optimum->cost) {
            wrong(n, seed, bytes, "a plan cheaper than the optimum");
        } else if (c.lower_bound > optimum->cost) {
            wrong(n, seed, bytes, "a bound above the optimum");
        } else {
            n.optimal += c.cost == optimum->cost ? 1 : 0;
            n.bound_tight += c.lower_bound == optimum->cost ? 1 : 0;
        }
        if (!validate(p, made->schedule, bytes).ok()) {
            wrong(n, seed, bytes, "refused by the judge");
        }
    }
}

void against_simulator(std::uint64_t seed, count& n)
{
    auto const p = test::varied_problem(seed, 400);
    ++n.graphs;
    for (double share : {0.9, 0.7, 0.5}) {
        auto const made = plan(p, {.budget = budget::fraction(share)});
        ++n.asked;
        if (!made) {
            n.not_found += made.error().code == errc::infeasible ? 1 : 0;
            if (made.error().code != errc::infeasible) {
                wrong(n, seed, 0, made.error().message);
            }
            continue;
        }
        ++n.plans;
        auto const& c = made->certificate;
        auto const slow = test::slow_simulate(p, made->schedule, c.budget);
        auto const judged = validate(p, made->schedule, c.budget);
        auto const fast = replay(p, made->schedule);
        if (!slow.ok() || !judged.ok() || slow.peak != c.peak || slow.cost != c.cost || !fast || fast->peak != c.peak) {
            wrong(n, seed, c.budget, "simulators disagree");
        }
        if (check(made->placement)) {
            wrong(n, seed, c.budget, "placement refused");
        }
    }
}

} // namespace

int main(int argc, char** argv)
{
    auto const smoke = strata::bench::smoke(argc, argv);
    strata::bench::print_setting(
        "random_graphs: bounds, plans and feasibility against enumeration and a second simulator");
    std::uint64_t const small = smoke ? 60 : 10'000;
    std::uint64_t const large = smoke ? 5 : 1'000;
    count a, b;
    for (std::uint64_t seed = 1; seed <= small; ++seed) {
        against_enumeration(seed, a);
    }
    std::cout << a.graphs << " graphs of at most 12 ops: " << a.asked << " budgets, " << a.plans << " plans, "
              << a.optimal << " optimal, " << a.bound_tight << " with a bound equal to the optimum, " << a.not_found
              << " feasible budgets without a plan, " << a.not_placed
              << " more that fit in sum and were not placed in one piece, " << a.wrong << " violations\n"
              << std::flush;
    for (std::uint64_t seed = 1; seed <= large; ++seed) {
        against_simulator(seed, b);
    }
    std::cout << b.graphs << " graphs of at most 400 ops: " << b.asked << " budgets, " << b.plans << " plans, "
              << b.not_found << " without, " << b.wrong << " violations\n";
    return a.wrong + b.wrong == 0 ? 0 : 1;
}
