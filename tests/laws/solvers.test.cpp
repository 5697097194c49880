// SPDX-License-Identifier: Apache-2.0
// Every solver of the library against the laws of a solver.
#include <strata/pipeline/frontier.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/pipeline/thorough.hpp>
#include <strata/solve/budgeted.hpp>
#include <strata/solve/chain_dp.hpp>
#include <strata/solve/cut.hpp>
#include <strata/solve/greedy.hpp>
#include <strata/solve/keep_all.hpp>
#include <strata/solve/minimum_memory.hpp>
#include <strata/solve/polish.hpp>
#include <strata/solve/portfolio.hpp>
#include <strata/solve/priced_cuts.hpp>
#include <strata/solve/recompute_all.hpp>
#include <strata/solve/sqrt_checkpoint.hpp>
#include <strata/solve/tree_width.hpp>

#include <vector>

#include "tests/laws/solver_laws.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace solvers_test {

using namespace strata;
using namespace strata::test;

/// The order that `S` finds, judged without a place in memory: whether bytes lie in one piece is not a solver's matter.
template <class S>
auto order_of(problem const& p, bytes_t budget) -> result<run_order>
{
    strata::detail::planner const with(p);
    auto const studied = with.analyse(budget, {});
    if (!studied) {
        return studied.error();
    }
    auto found = with.best_order(budget, *studied, {}, {}, S{}, nullptr);
    if (!found) {
        return std::move(found).error();
    }
    return found->order;
}

struct several { // a portfolio has no default value
    [[nodiscard]] static auto name() -> char const* { return "several"; }
    void solve(search& on) const
    {
        portfolio(sqrt_checkpoint{}, greedy{}, recompute_all{}, cut{}, polish{50}).solve(on);
    }
};

TEMPLATE_TEST_CASE("every solver obeys the laws of solvers",
                   "",
                   keep_all,
                   recompute_all,
                   sqrt_checkpoint,
                   budgeted,
                   chain_dp,
                   cut,
                   greedy,
                   exhaustive,
                   minimum_memory,
                   priced_cuts,
                   tree_width,
                   several,
                   thorough,
                   default_solver)
{
    check_solver_laws_at_random(order_of<TestType>, 40, 9);
    for (auto const& p : {make(training_chain_spec(30)), make(u_net_spec(8)), make(shared_gradient_spec())}) {
        auto const most = keep_all_peak(p);
        for (auto b : {bytes_t{0}, most / 2, most * 3 / 4, most - 1, most, max_bytes}) {
            check_solver_laws(p, b, order_of<TestType>);
        }
    }
}

TEST_CASE("laws of solvers: a frontier never gets costlier, asked as a solver")
{
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        auto const p = varied_problem(seed, 10);
        auto const budgets = telling_budgets(p);
        auto const plans = frontier(p, budgets);
        if (!plans) {
            continue;
        }
        auto const answer = [&](problem const&, bytes_t b) -> result<certified_plan> {
            for (auto const& x : *plans) {
                if (x.certificate.budget == b) {
                    return x;
                }
            }
            return fail(errc::infeasible, "strata::test: left out");
        };
        CAPTURE(seed);
        check_monotone_law(p, budgets, answer);
    }
}

} // namespace solvers_test
