// SPDX-License-Identifier: Apache-2.0
#include <strata/pipeline/planner.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/budgeted.hpp>
#include <strata/solve/keep_all.hpp>
#include <strata/solve/limits.hpp>

#include <chrono>
#include <cstdint>
#include <optional>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_budgeted_test {

using namespace strata;
using namespace strata::test;

auto found(problem const& p, bytes_t bytes, budgeted const& s, limits const& lim = {}) -> std::optional<candidate>
{
    strata::detail::planner const with(p);
    auto const studied = with.analyse(bytes, {});
    if (!studied) {
        return {};
    }
    auto r = with.best_order(bytes, *studied, lim, stop_watch(lim), s, nullptr);
    return r ? std::optional(*r) : std::nullopt;
}

TEST_CASE("budgeted: more walks never end dearer, and on the whole they end cheaper")
{
    int cheaper = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        auto const p = varied_problem(seed, 100);
        auto const most = peak_of(p, keep_all_order(p));
        auto const bytes = budget::fraction(0.6).resolve(p.resident_bytes(), most - p.resident_bytes());
        auto const few = found(p, bytes, {.runs = 0});
        auto const many = found(p, bytes, {.runs = 20'000});
        INFO("seed " << seed);
        REQUIRE((!few || (many && many->cost <= few->cost)));
        cheaper += many && (!few || many->cost < few->cost) ? 1 : 0;
    }
    CHECK(cheaper > 10);
}

TEST_CASE("budgeted: the order depends on the seed of chance, not on threads")
{
    int compared = 0;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        auto const p = varied_problem(seed, 100);
        auto const most = peak_of(p, keep_all_order(p));
        auto const bytes = budget::fraction(0.6).resolve(p.resident_bytes(), most - p.resident_bytes());
        auto const one = found(p, bytes, {});
        for (unsigned threads : {1U, 4U}) {
            auto const same = found(p, bytes, {}, {.threads = threads});
            REQUIRE(same.has_value() == one.has_value());
            compared += one ? 1 : 0;
            CHECK((!one || (same->order == one->order && same->name == one->name)));
        }
    }
    CHECK(compared > 6);
}

TEST_CASE("budgeted: nothing is tried where less than it is worth is left to gain, or no time is")
{
    auto const p = make(training_chain_spec(40));
    auto const bytes = peak_of(p, keep_all_order(p)) - 4;
    CHECK(found(p, bytes, {}).has_value());
    CHECK(found(p, bytes, {.worth_it = 1}).has_value()); // with no plan there is no gap
    CHECK_FALSE(found(p, bytes, {}, {.deadline = std::chrono::nanoseconds(0)}));
    struct twice {
        [[nodiscard]] static auto name() -> char const* { return "twice"; }
        void solve(search& on) const
        {
            budgeted{.runs = 0}.solve(on);
            REQUIRE(on.best());
            auto const before = on.best()->cost;
            budgeted{.runs = 1'000'000, .worth_it = 10}.solve(on);
            CHECK(on.best()->cost == before);
        }
    };
    strata::detail::planner const with(p);
    CHECK(with.best_order(bytes, with.analyse(bytes, {}).value(), {}, {}, twice{}, nullptr));
}

} // namespace solve_budgeted_test
