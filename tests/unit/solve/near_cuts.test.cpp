// SPDX-License-Identifier: Apache-2.0
#include <strata/pipeline/planner.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/greedy.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/near_cuts.hpp>
#include <strata/solve/search.hpp>

#include <cstdint>
#include <optional>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_near_cuts_test {

using namespace strata;
using namespace strata::test;

/// A poor start, and then the cuts near it.
struct greedy_then {
    near_cuts cuts = {};
    [[nodiscard]] static auto name() -> char const* { return "greedy_then"; }
    void solve(search& on) const
    {
        greedy{}.solve(on);
        cuts.solve(on);
    }
};

auto found(problem const& p, double share, near_cuts const& s, limits const& lim = {}) -> std::optional<candidate>
{
    strata::detail::planner const with(p);
    auto const most = peak_of(p, keep_all_order(p));
    auto const bytes = budget::fraction(share).resolve(p.resident_bytes(), most - p.resident_bytes());
    auto const studied = with.analyse(bytes, {});
    if (!studied) {
        return {};
    }
    auto r = with.best_order(bytes, *studied, lim, stop_watch(lim), greedy_then{s}, nullptr);
    if (!r) {
        return {};
    }
    REQUIRE(validate(p, free_early(p, r->order), bytes).ok());
    return *r;
}

TEST_CASE("near_cuts: never dearer than the start, mostly cheaper, and the more orders the better")
{
    int starts = 0;
    int cheaper = 0;
    int cheaper_still = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        auto const p = varied_problem(seed, 100);
        auto const start = found(p, 0.6, {.runs = 0});
        if (!start) {
            continue;
        }
        ++starts;
        auto const few = found(p, 0.6, {.runs = 2'000});
        auto const many = found(p, 0.6, {.runs = 20'000, .patience = 20});
        INFO("seed " << seed);
        REQUIRE(few);
        REQUIRE(many);
        REQUIRE(few->cost <= start->cost);
        REQUIRE(many->cost <= few->cost);
        cheaper += many->cost < start->cost ? 1 : 0;
        cheaper_still += many->cost < few->cost ? 1 : 0;
        CHECK((many->name == "near_cuts") == (many->cost < start->cost));
    }
    CHECK(starts > 15);
    CHECK(cheaper * 2 > starts);
    CHECK(cheaper_still > 2);
}

TEST_CASE("near_cuts: the order depends on the seed of chance and the salt, not on threads")
{
    int differ = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        auto const p = varied_problem(seed, 100);
        auto const one = found(p, 0.6, {});
        for (unsigned threads : {1U, 4U}) {
            auto const same = found(p, 0.6, {}, {.threads = threads});
            REQUIRE(same.has_value() == one.has_value());
            CHECK((!one || (same->order == one->order && same->name == one->name)));
        }
        auto const salted = found(p, 0.6, {.salt = 7});
        differ += one && salted->order != one->order ? 1 : 0;
        auto const next_seed = found(p, 0.6, {.salt = 6}, {.seed = 2});
        CHECK((!one || next_seed->order == salted->order));
    }
    CHECK(differ > 0);
}

TEST_CASE("near_cuts: nothing is tried without a plan, near the bound, or for fewer runs than a round takes")
{
    auto const p = varied_problem(3, 100);
    auto const start = found(p, 0.6, {.runs = 0});
    REQUIRE(start);
    auto const same = [&](near_cuts const& s) { return found(p, 0.6, s)->order == start->order; };
    CHECK(same({.worth_it = 10}));
    CHECK(same({.runs = 8 * p.op_count() - 1}));
    CHECK(same({.patience = 0}));
    struct alone {
        [[nodiscard]] static auto name() -> char const* { return "alone"; }
        void solve(search& on) const
        {
            near_cuts{}.solve(on);
            CHECK_FALSE(on.best());
        }
    };
    strata::detail::planner const with(p);
    auto const studied = with.analyse(peak_of(p, keep_all_order(p)) - 1, {});
    REQUIRE(studied);
    limits const lim;
    CHECK_FALSE(with.best_order(peak_of(p, keep_all_order(p)) - 1, *studied, lim, {}, alone{}, nullptr));
}

} // namespace solve_near_cuts_test
