// SPDX-License-Identifier: Apache-2.0
#include <strata/solve/keep_all.hpp>
#include <strata/solve/portfolio.hpp>
#include <strata/solve/search.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_search_test {

using namespace strata;
using namespace strata::test;

/// A search over a training chain of `n` under `budget`, with its limits.
struct table {
    problem p;
    limits lim;
    std::vector<op_id> points;
    search on;

    table(int n, bytes_t budget, limits l = {})
        : p(make(training_chain_spec(n)))
        , lim(std::move(l))
        , points(index_order(p))
        , on(p, budget, points, lower_bound(p, budget, points), lim, stop_watch(lim))
    {
    }
};

auto fixed_order(run_order order, std::string name = "fixed", bool as_is = true) -> proposal
{
    return {.make = [order] { return order; }, .as_is = as_is, .name = std::move(name)};
}

TEST_CASE("is_run_order: every op runs, first in index order, and only what may be replayed repeats")
{
    auto s = chain_spec(4);
    s.ops[2].effects = effect::once;
    auto const p = make(s);
    CHECK(is_run_order(p, run_order{0, 1, 2, 3}));
    CHECK(is_run_order(p, run_order{0, 0, 1, 0, 2, 1, 3}));
    CHECK_FALSE(is_run_order(p, run_order{}));
    CHECK_FALSE(is_run_order(p, run_order{0, 1, 2}));
    CHECK_FALSE(is_run_order(p, run_order{1, 0, 2, 3}));
    CHECK_FALSE(is_run_order(p, run_order{0, 2, 1, 3}));
    CHECK_FALSE(is_run_order(p, run_order{0, 1, 2, 2, 3}));
    CHECK_FALSE(is_run_order(p, run_order{0, 1, 2, 3, 4}));
    CHECK_FALSE(is_run_order(p, run_order{0, 1, 2, 3, -1}));
    CHECK_FALSE(is_run_order(p, run_order{-5, 0, 1, 2, 3}));
    CHECK_FALSE(is_run_order(p, run_order{0, 1, 2, 3, 1'000'000'000}));
    run_order endless{0, 1, 2, 3};
    endless.resize(static_cast<std::size_t>(order_editor::most_runs(p)) + 1, 0);
    CHECK_FALSE(is_run_order(p, endless));
    endless.pop_back();
    CHECK(is_run_order(p, endless));
}

TEST_CASE("search: keeps the cheapest proposal that fits, the first among equals")
{
    table t(4, 5); // keep-all takes 6 bytes
    t.on.propose(fixed_order(keep_all_order(t.p), "too large"));
    CHECK_FALSE(t.on.best());
    CHECK(t.on.lowest_peak() == 6);
    auto const good = run_order{0, 1, 2, 3, 4, 5, 0, 6, 7};
    auto costly = good;
    costly.push_back(0);
    t.on.propose(
        std::vector<proposal>{fixed_order(costly, "costly"), fixed_order(good, "good"), fixed_order(good, "twin")});
    REQUIRE(t.on.best());
    CHECK(t.on.best()->name == "good");
    CHECK(t.on.best()->cost == 9);
    CHECK(t.on.best()->order == good);
    CHECK(t.on.lowest_peak() == 5);
}

TEST_CASE("search: repairs and fills what is not proposed as it is")
{
    table t(8, 8);
    t.on.propose(fixed_order(keep_all_order(t.p), "seed", false));
    REQUIRE(t.on.best());
    CHECK(t.on.best()->cost == lower_bound(t.p, 8, t.points).cost);
    CHECK(t.on.done()); // the bound is reached
}

TEST_CASE("search: passes over what is no order")
{
    for (bool as_is : {true, false}) {
        for (auto const& bad : std::vector<run_order>{
                 {}, {0}, {1, 0, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7, 99}, {-7, 0, 1, 2, 3, 4, 5, 6, 7}}) {
            table t(4, 100);
            t.on.propose(fixed_order(bad, "bad", as_is));
            t.on.propose({.make = [] { return std::nullopt; }, .name = "no seed"});
            CHECK_FALSE(t.on.best());
            CHECK(t.on.lowest_peak() == max_bytes);
        }
    }
}

TEST_CASE("search: what a maker throws arrives at the caller, also from other threads")
{
    for (unsigned threads : {1U, 4U}) {
        limits lim;
        lim.threads = threads;
        table t(4, 4, lim);
        std::vector<proposal> seeds(9, fixed_order(keep_all_order(t.p)));
        for (std::size_t i = 3; i < seeds.size(); ++i) {
            seeds[i].make = [i]() -> std::optional<run_order> {
                throw std::runtime_error("seed " + std::to_string(i));
            };
        }
        CHECK_THROWS_WITH(t.on.propose(seeds), "seed 3"); // the first in order, whatever ran first
    }
}

TEST_CASE("search: the same order is worked on again where it is treated differently")
{
    table t(8, 8);
    t.on.propose(fixed_order(keep_all_order(t.p), "too large as it is"));
    CHECK_FALSE(t.on.best());
    t.on.propose(fixed_order(keep_all_order(t.p), "repaired", false));
    REQUIRE(t.on.best());
    auto costly = t.on.best()->order;
    for (op_id o = 0; o < 4; ++o) {
        costly.push_back(o);
    }
    table u(8, 8);
    u.on.propose(fixed_order(costly, "as it is"));
    REQUIRE(u.on.best());
    CHECK(u.on.best()->cost == cost_of(u.p, costly));
    u.on.propose(fixed_order(costly, "filled", false));
    CHECK(u.on.best()->name == "filled");
    CHECK(u.on.best()->cost == t.on.best()->cost);
}

TEST_CASE("search: another spread is another repair")
{
    // Alone, each spread repairs keep-all in its own way; one after the other, the cheaper of the two is found.
    bool differ = false;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        auto const p = random_problem(seed, {.ops = 60, .training = true, .effects = 5, .state = 0, .bytes = 100});
        auto const keep = keep_all_order(p);
        auto const budget = p.resident_bytes() + (peak_of(p, keep) - p.resident_bytes()) * 8 / 10;
        auto const best_of = [&](std::vector<double> const& spreads) {
            limits const lim;
            search on(p, budget, {}, {p.base_cost(), none, false}, lim, stop_watch(lim));
            for (auto spread : spreads) {
                on.propose({.make = [&] { return keep; }, .spread = spread, .name = "keep_all"});
            }
            return on.best() ? on.best()->cost : max_cost;
        };
        auto const a = best_of({0});
        auto const b = best_of({1});
        CAPTURE(seed, a, b);
        CHECK(best_of({0, 1}) == std::min(a, b));
        CHECK(best_of({1, 0}) == std::min(a, b));
        differ = differ || a != b;
    }
    CHECK(differ);
}

TEST_CASE("search: side by side, every index is visited once")
{
    for (unsigned threads : {0U, 1U, 3U, 20U}) {
        limits lim;
        lim.threads = threads;
        table const t(4, 100, lim);
        std::vector<int> visits(9, 0);
        t.on.side_by_side(visits.size(), [&](std::size_t i) { ++visits[i]; });
        CHECK(visits == std::vector<int>(9, 1));
        t.on.side_by_side(0, [&](std::size_t i) { ++visits[i]; });
        CHECK_THROWS_WITH(t.on.side_by_side(visits.size(),
                                            [&](std::size_t i) {
                                                if (i >= 2) {
                                                    throw std::runtime_error(std::to_string(i));
                                                }
                                            }),
                          "2");
    }
}

TEST_CASE("search: an expired watch leaves proposals unmade")
{
    limits lim;
    lim.deadline = std::chrono::nanoseconds(0);
    table t(4, 100, lim);
    bool made = false;
    t.on.propose({.make =
                      [&] {
                          made = true;
                          return std::optional<run_order>{};
                      },
                  .name = "late"});
    CHECK_FALSE(made);
    CHECK(t.on.done());
}

TEST_CASE("search: the outcome does not depend on threads")
{
    auto const p = random_problem(5, {.ops = 80, .training = true, .effects = 5, .state = 0, .bytes = 100});
    auto const keep = peak_of(p, keep_all_order(p));
    auto const points = time_points(p, keep_all_order(p), 3, 2);
    auto const budget = p.resident_bytes() + (keep - p.resident_bytes()) * 7 / 10;
    std::vector<run_order> orders;
    for (unsigned threads : {0U, 1U, 3U, 8U}) {
        limits lim;
        lim.threads = threads;
        search on(p, budget, points, lower_bound(p, budget, points), lim, stop_watch(lim));
        default_solver{}.solve(on);
        REQUIRE(on.best());
        orders.push_back(on.best()->order);
    }
    CHECK(std::vector<run_order>(4, orders[0]) == orders);
}

TEST_CASE("portfolio: later members are spared once the bound is reached")
{
    struct counting {
        int* calls;
        [[nodiscard]] auto name() const -> char const* { return "counting"; }
        void solve(search& /*on*/) const { ++*calls; }
    };
    int calls = 0;
    table roomy(4, 100);
    portfolio(keep_all{}, counting{&calls}).solve(roomy.on);
    CHECK(calls == 0);
    table tight(4, 4);
    portfolio(keep_all{}, counting{&calls}).solve(tight.on);
    CHECK(calls == 1);
}

} // namespace solve_search_test
