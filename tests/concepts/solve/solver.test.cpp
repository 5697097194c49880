// SPDX-License-Identifier: Apache-2.0
#include <strata/pipeline/frontier.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/pipeline/plan_free_order.hpp>
#include <strata/solve/concepts.hpp>
#include <strata/solve/keep_all.hpp>
#include <strata/solve/polish.hpp>
#include <strata/solve/portfolio.hpp>
#include <strata/solve/recompute_all.hpp>
#include <strata/solve/sqrt_checkpoint.hpp>

#include <string>
#include <utility>

#include "tests/support/archetype.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"

namespace solve_solver_test {

using namespace strata;
using namespace strata::test;
using strata::detail::named_solver;
using strata::detail::proposing_solver;

/// The least that is a solver.
struct archetype : bare {
    using bare::bare;
    [[nodiscard]] auto name() const -> archetype_name { return {}; }
    void solve(search& on) const
    {
        on.propose({.make = [&p = on.subject()] { return keep_all_order(p); }, .name = "archetype"});
    }
};

struct unnamed {
    void solve(search& /*on*/) const {}
};
struct named_by_number {
    [[nodiscard]] auto name() const -> int { return 7; }
    void solve(search& /*on*/) const {}
};
struct name_not_const {
    auto name() -> std::string_view { return "x"; }
    void solve(search& /*on*/) const {}
};
struct idle {
    [[nodiscard]] auto name() const -> std::string_view { return "x"; }
};
struct solve_not_const {
    [[nodiscard]] auto name() const -> std::string_view { return "x"; }
    void solve(search& /*on*/) {}
};
struct returns_the_order {
    [[nodiscard]] auto name() const -> std::string_view { return "x"; }
    [[nodiscard]] auto solve(search& on) const -> run_order { return keep_all_order(on.subject()); }
};
struct takes_the_problem {
    [[nodiscard]] auto name() const -> std::string_view { return "x"; }
    void solve(problem const& /*p*/) const {}
};

TEST_CASE("solver: the archetype and every solver of the library model it")
{
    STATIC_REQUIRE(solver<archetype>);
    STATIC_REQUIRE(solver<keep_all>);
    STATIC_REQUIRE(solver<recompute_all>);
    STATIC_REQUIRE(solver<sqrt_checkpoint>);
    STATIC_REQUIRE(solver<cut>);
    STATIC_REQUIRE(solver<greedy>);
    STATIC_REQUIRE(solver<exhaustive>);
    STATIC_REQUIRE(solver<polish>);
    STATIC_REQUIRE(solver<default_solver>);
    STATIC_REQUIRE(solver<portfolio<archetype, cut>>);
    STATIC_REQUIRE(solver<portfolio<>>);
}

TEST_CASE("solver: each near miss lacks one requirement")
{
    STATIC_REQUIRE(proposing_solver<unnamed>);
    STATIC_REQUIRE_FALSE(named_solver<unnamed>);
    STATIC_REQUIRE_FALSE(named_solver<named_by_number>);
    STATIC_REQUIRE_FALSE(named_solver<name_not_const>);
    STATIC_REQUIRE(named_solver<idle>);
    STATIC_REQUIRE_FALSE(proposing_solver<idle>);
    STATIC_REQUIRE_FALSE(proposing_solver<solve_not_const>);
    STATIC_REQUIRE_FALSE(proposing_solver<returns_the_order>);
    STATIC_REQUIRE_FALSE(proposing_solver<takes_the_problem>);
    STATIC_REQUIRE_FALSE(solver<unnamed>);
    STATIC_REQUIRE_FALSE(solver<returns_the_order>);
}

TEST_CASE("solver: the archetype goes through every algorithm that takes a solver")
{
    auto const p = make(training_chain_spec(6));
    limits lim;
    lim.budget = budget::bytes(6);
    auto const alone = plan(p, lim, archetype(1));
    REQUIRE(alone);
    CHECK(alone->certificate.solver == "archetype");
    auto const several = frontier(p, {5, 6, 7}, {}, archetype(1));
    REQUIRE(several);
    CHECK(several->size() == 3);
    auto const joined = plan(p, lim, portfolio(archetype(1)));
    REQUIRE(joined);
    CHECK(joined->certificate.cost == alone->certificate.cost);
    auto const reordered = plan_free_order(p, lim, archetype(1));
    REQUIRE(reordered);
    CHECK(reordered->plan.certificate.cost == alone->certificate.cost);
}

} // namespace solve_solver_test
