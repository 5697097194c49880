// SPDX-License-Identifier: Apache-2.0
#include <strata/pipeline/plan.hpp>
#include <strata/solve/checkmate.hpp>
#include <strata/solve/cut.hpp>
#include <strata/solve/mip_backend.hpp>
#include <strata/solve/portfolio.hpp>

#include <string_view>
#include <utility>

#include "tests/support/archetype.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"

namespace solve_mip_backend_test {

using namespace strata;
using namespace strata::test;
using strata::detail::named_backend;
using strata::detail::solving_backend;

/// The least that is a backend. It knows only the start.
struct archetype : bare {
    using bare::bare;
    [[nodiscard]] auto name() const -> archetype_name { return {}; }
    [[nodiscard]] auto solve(mip_model const& m, mip_request const& r) const -> result<mip_outcome>
    {
        if (auto e = check_model(m)) {
            return *std::move(e);
        }
        mip_outcome out;
        out.status = mip_status::stopped;
        if (r.start) {
            out = {.status = mip_status::feasible, .solution = *r.start, .objective = m.objective.dot(*r.start)};
        }
        return out;
    }
};

struct unnamed {
    [[nodiscard]] auto solve(mip_model const& /*m*/, mip_request const& /*r*/) const -> result<mip_outcome>
    {
        return mip_outcome{};
    }
};
struct named_by_number : unnamed {
    [[nodiscard]] auto name() const -> int { return 7; }
};
struct name_not_const : unnamed {
    auto name() -> std::string_view { return "x"; }
};
struct named {
    [[nodiscard]] auto name() const -> std::string_view { return "x"; }
};
struct solve_not_const : named {
    auto solve(mip_model const& /*m*/, mip_request const& /*r*/) -> result<mip_outcome> { return mip_outcome{}; }
};
struct without_result : named {
    [[nodiscard]] auto solve(mip_model const& /*m*/, mip_request const& /*r*/) const -> mip_outcome { return {}; }
};
struct takes_no_request : named {
    [[nodiscard]] auto solve(mip_model const& /*m*/) const -> result<mip_outcome> { return mip_outcome{}; }
};
struct changes_the_model : named {
    [[nodiscard]] auto solve(mip_model& /*m*/, mip_request const& /*r*/) const -> result<mip_outcome>
    {
        return mip_outcome{};
    }
};

TEST_CASE("mip_backend: the archetype models it")
{
    STATIC_REQUIRE(mip_backend<archetype>);
    require_mip_backend<archetype>();
    STATIC_REQUIRE(solver<checkmate<archetype>>);
}

TEST_CASE("mip_backend: each near miss lacks one requirement")
{
    STATIC_REQUIRE(solving_backend<unnamed>);
    STATIC_REQUIRE_FALSE(named_backend<unnamed>);
    STATIC_REQUIRE_FALSE(named_backend<named_by_number>);
    STATIC_REQUIRE_FALSE(named_backend<name_not_const>);
    STATIC_REQUIRE(named_backend<named>);
    STATIC_REQUIRE_FALSE(solving_backend<named>);
    STATIC_REQUIRE_FALSE(solving_backend<solve_not_const>);
    STATIC_REQUIRE_FALSE(solving_backend<without_result>);
    STATIC_REQUIRE_FALSE(solving_backend<takes_no_request>);
    STATIC_REQUIRE_FALSE(solving_backend<changes_the_model>);
    STATIC_REQUIRE_FALSE(mip_backend<unnamed>);
    STATIC_REQUIRE_FALSE(mip_backend<without_result>);
}

TEST_CASE("mip_backend: the archetype goes through every algorithm that takes a backend")
{
    auto const p = make(training_chain_spec(6));
    auto const nothing = solve_checkmate(p, 6, archetype(1));
    REQUIRE_FALSE(nothing);
    CHECK(nothing.error().code == errc::deadline);
    // Its answer is the start it was given, about which it proves nothing.
    limits lim;
    lim.budget = budget::bytes(6);
    auto const heuristic = plan(p, lim, cut{});
    REQUIRE(heuristic);
    auto const kept = solve_checkmate(p, 6, archetype(1), {.known = runs_of(heuristic->schedule)});
    REQUIRE(kept);
    CHECK(kept->cost == heuristic->certificate.cost);
    CHECK_FALSE(checkmate_relaxation(p, 6, archetype(1)));
    auto const planned = plan(p, lim, portfolio(cut{}, checkmate<archetype>{archetype(1), {}}));
    CHECK(planned);
}

} // namespace solve_mip_backend_test
