// SPDX-License-Identifier: Apache-2.0
#include <strata/bound/lower_bound.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/solve/keep_all.hpp>
#include <strata/solve/priced_cuts.hpp>
#include <strata/solve/search.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

using namespace strata;
using namespace strata::test;

namespace solve_priced_cuts_test {

auto share_of(problem const& p, int percent) -> bytes_t
{
    return p.resident_bytes() + (peak_of(p, keep_all_order(p)) - p.resident_bytes()) * percent / 100;
}

TEST_CASE("priced cuts: every order is one of the step and the first fits at the instant of the cut")
{
    int made = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        auto const p = random_problem(seed, {.ops = 40, .training = true, .effects = 10, .bytes = 50});
        auto const budget = share_of(p, 70);
        for (auto at : time_points(p, keep_all_order(p), 2, 1)) {
            priced_cuts_at cuts(p, at, budget, 1.0);
            for (int i = 0; i < 5; ++i) {
                auto const order = cuts.next();
                if (!order) {
                    CHECK(i == 0); // no cut at this time fits
                    break;
                }
                ++made;
                INFO("seed " << seed << ", cut at " << at);
                REQUIRE(is_run_order(p, *order));
                if (i == 0) {
                    auto const where = std::find(order->begin(), order->end(), at) - order->begin();
                    auto const first = time_cut(p, at).fixed();
                    CHECK(first <= budget);
                    CHECK(where >= at);
                }
            }
        }
    }
    CHECK(made > 300);
}

TEST_CASE("priced cuts: nothing is proposed where the instant alone takes more than the budget")
{
    auto const p = make(training_chain_spec(10));
    time_cut const cut(p, 12);
    priced_cuts_at cuts(p, 12, cut.fixed() - 1, 1.0);
    CHECK_FALSE(cuts.next());
}

TEST_CASE("priced cuts: prices rise where an order exceeds the budget, so that later orders come closer to it")
{
    int over = 0;
    int closer = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        auto const p = random_problem(seed, {.ops = 80, .training = true, .effects = 0, .state = 0, .bytes = 100});
        auto const budget = share_of(p, 60);
        priced_cuts_at cuts(p, time_points(p, keep_all_order(p), 1, 0).front(), budget, 1.0);
        auto const first = cuts.next();
        if (!first || peak_of(p, *first) <= budget) {
            continue;
        }
        ++over;
        auto least = max_bytes;
        for (int i = 0; i < 12; ++i) {
            least = std::min(least, peak_of(p, cuts.next().value()));
        }
        closer += least < peak_of(p, *first) ? 1 : 0;
    }
    CHECK(over > 10);
    CHECK(closer > over / 2);
}

TEST_CASE("priced cuts: the same orders for the same seeds, whatever the threads")
{
    auto const p = random_problem(9, {.ops = 60, .training = true, .effects = 3, .state = 0, .bytes = 100});
    auto const points = time_points(p, keep_all_order(p), 3, 2);
    std::vector<run_order> found;
    for (unsigned threads : {1U, 4U}) {
        limits lim;
        lim.threads = threads;
        search on(p, share_of(p, 60), points, {p.base_cost(), none, false}, lim, stop_watch(lim));
        priced_cuts{}.solve(on);
        REQUIRE(on.best());
        found.push_back(on.best()->order);
    }
    CHECK(found[0] == found[1]);
}

} // namespace solve_priced_cuts_test
