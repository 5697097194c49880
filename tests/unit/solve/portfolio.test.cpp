// SPDX-License-Identifier: Apache-2.0
#include <strata/bound/lower_bound.hpp>
#include <strata/solve/keep_all.hpp>
#include <strata/solve/polish.hpp>
#include <strata/solve/portfolio.hpp>
#include <strata/solve/search.hpp>
#include <strata/solve/sqrt_checkpoint.hpp>
#include <strata/solve/step_kind.hpp>

#include <atomic>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

using namespace strata;
using namespace strata::test;

namespace solve_portfolio_test {

struct counting {
    std::atomic<int>* calls;
    [[nodiscard]] static auto name() -> char const* { return "counting"; }
    void solve(search& /*on*/) const { ++*calls; }
};
struct only_chains : counting {
    static constexpr step_kinds takes{.inference = false, .training = false};
};
struct only_training : counting {
    static constexpr step_kinds takes{.inference = false};
};
struct only_small : counting {
    op_id most_ops = 10;
};
/// Says which cost the best plan had when it was asked.
struct witness {
    cost_t* seen;
    static constexpr bool refines = true;
    [[nodiscard]] static auto name() -> char const* { return "witness"; }
    void solve(search& on) const { *seen = on.best() ? on.best()->cost : 0; }
};
struct witness_aside {
    cost_t* seen;
    [[nodiscard]] static auto name() -> char const* { return "aside"; }
    void solve(search& on) const { *seen = on.best() ? on.best()->cost : 0; }
};

auto calls_of(problem const& p) -> std::vector<int>
{
    std::atomic<int> chains{0};
    std::atomic<int> training{0};
    std::atomic<int> small{0};
    std::atomic<int> any{0};
    limits const lim;
    search on(p, max_bytes, {}, {0, none, false}, lim, stop_watch(lim));
    portfolio(counting{&any}, only_chains{{&chains}}, only_training{{&training}}, only_small{{&small}}).solve(on);
    return {any, chains, training, small};
}

TEST_CASE("portfolio: members are asked for steps of a kind and size that they take")
{
    CHECK(calls_of(make(chain_spec(4))) == std::vector<int>{1, 0, 0, 1});
    CHECK(calls_of(make(training_chain_spec(4))) == std::vector<int>{1, 1, 1, 1});
    CHECK(calls_of(make(training_chain_spec(6))) == std::vector<int>{1, 1, 1, 0});
    auto branched = training_chain_spec(4);
    branched.ops[2].inputs.push_back(branched.ops[0].outputs[0]); // reads past the op before it
    CHECK(calls_of(make(std::move(branched))) == std::vector<int>{1, 0, 1, 1});
}

TEST_CASE("portfolio_for: members that take no step of the kind are left out at compile time")
{
    constexpr step_kinds inference{.training = false, .chain = false};
    std::atomic<int> calls{0};
    using all = decltype(portfolio_for<step_kinds{}>(counting{&calls}, only_chains{{&calls}}));
    using some = decltype(portfolio_for<inference>(counting{&calls}, only_chains{{&calls}}, only_training{{&calls}}));
    STATIC_REQUIRE(std::is_same_v<all, portfolio<counting, only_chains>>);
    STATIC_REQUIRE(std::is_same_v<some, portfolio<counting>>);
}

TEST_CASE("portfolio: one that refines sees the best of all before it, others what the first found")
{
    auto const p = make(training_chain_spec(24));
    auto const keep = peak_of(p, keep_all_order(p));
    auto const points = time_points(p, keep_all_order(p), 3, 2);
    cost_t first = 0;
    cost_t aside = 0;
    cost_t last = 0;
    for (unsigned threads : {1U, 4U}) {
        limits lim;
        lim.threads = threads;
        search on(p, keep / 2, points, {p.base_cost(), none, false}, lim, stop_watch(lim));
        portfolio(sqrt_checkpoint{}, witness{&first}, cut{}, witness_aside{&aside}, witness{&last}).solve(on);
        REQUIRE(on.best());
        CHECK(last == on.best()->cost);
        CHECK(aside == first);
        CHECK(last < first);
    }
}

TEST_CASE("portfolio: the outcome does not depend on threads")
{
    for (std::uint64_t seed : {5U, 6U, 7U}) {
        auto const p = random_problem(seed, {.ops = 80, .training = true, .effects = 5, .state = 0, .bytes = 100});
        auto const keep = peak_of(p, keep_all_order(p));
        auto const points = time_points(p, keep_all_order(p), 3, 2);
        auto const budget = p.resident_bytes() + (keep - p.resident_bytes()) * 7 / 10;
        std::vector<run_order> orders;
        std::vector<std::string> names;
        for (unsigned threads : {1U, 2U, 5U}) {
            limits lim;
            lim.threads = threads;
            search on(p, budget, points, lower_bound(p, budget, points), lim, stop_watch(lim));
            portfolio(sqrt_checkpoint{}, cut{}, greedy{}, cut{.one_shot = true}, polish{.moves = 200}).solve(on);
            REQUIRE(on.best());
            orders.push_back(on.best()->order);
            names.push_back(on.best()->name);
        }
        CHECK(std::vector<run_order>(3, orders[0]) == orders);
        CHECK(std::vector<std::string>(3, names[0]) == names);
    }
}

TEST_CASE("portfolio: what a member throws on another thread arrives")
{
    struct throws {
        [[nodiscard]] static auto name() -> char const* { return "throws"; }
        void solve(search& /*on*/) const { throw std::string("ouch"); }
    };
    auto const p = make(training_chain_spec(12));
    limits lim;
    lim.threads = 3;
    search on(p, 9, {}, {p.base_cost(), none, false}, lim, stop_watch(lim));
    CHECK_THROWS_AS(portfolio(keep_all{}, greedy{}, throws{}, greedy{}).solve(on), std::string);
}

} // namespace solve_portfolio_test
