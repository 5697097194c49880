// SPDX-License-Identifier: Apache-2.0
#include <strata/pipeline/frontier.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tests/support/brute_force.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/judge_plan.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace pipeline_frontier_test {

using namespace strata;
using namespace strata::test;

/// Every plan keeps its promises, budgets rise, costs never do. Returns: the number of plans.
auto check_frontier(problem const& p, std::vector<bytes_t> budgets, limits const& lim = {}) -> std::size_t
{
    auto const plans = frontier(p, budgets, lim);
    std::sort(budgets.begin(), budgets.end());
    budgets.erase(std::unique(budgets.begin(), budgets.end()), budgets.end());
    if (!plans) {
        CHECK(plans.error().code == errc::infeasible);
        return 0;
    }
    // Once a budget has a plan, every larger one has.
    REQUIRE(plans->size() <= budgets.size());
    auto const skipped = budgets.size() - plans->size();
    auto cost = max_cost;
    for (std::size_t i = 0; i < plans->size(); ++i) {
        auto const& plan = (*plans)[i];
        judge_plan(p, plan, budgets[skipped + i]);
        REQUIRE(plan.certificate.cost <= cost);
        cost = plan.certificate.cost;
    }
    return plans->size();
}

using clock_type = std::chrono::steady_clock;
using moment = clock_type::time_point;

/// What one budget's solver saw of its time.
struct share_of_time {
    bytes_t budget = 0;
    moment before, after;               // around the question how much is left
    std::chrono::nanoseconds left = {}; // the answer
    moment done;
};

/// Proposes keep-all, to be repaired; then takes all the time it is given, under every second budget.
struct slow_solver {
    std::vector<share_of_time>* seen;

    [[nodiscard]] static auto name() -> std::string_view { return "slow"; }
    void solve(search& on) const
    {
        share_of_time x;
        x.budget = on.budget();
        x.before = clock_type::now();
        x.left = on.stop().remaining().value();
        x.after = clock_type::now();
        on.propose({.make = [&] { return keep_all_order(on.subject()); }, .name = "slow"});
        while (seen->size() % 2 == 1 && !on.stop().expired()) {
        }
        x.done = clock_type::now();
        seen->push_back(x);
    }
};

TEST_CASE("frontier: each budget may use its share of the time that is left, and leaves the rest to the others")
{
    // No assumption on how long anything takes: when a share began is known to lie between two readings of the clock, and
    // the later it begins the later it ends.
    auto const p = make(training_chain_spec(10));
    std::vector<bytes_t> const budgets = {8, 9, 10, 11};
    std::vector<share_of_time> seen;
    limits lim;
    lim.place = false; // no time is put aside for placing
    lim.deadline = std::chrono::milliseconds(60);
    auto const start = clock_type::now();
    (void)frontier(p, budgets, lim, slow_solver{&seen});
    REQUIRE(seen.size() == budgets.size()); // every plan has its place at once: tensors of one byte
    constexpr std::chrono::nanoseconds rounding(10);
    auto const end_of_share = [&](moment began, moment deadline, std::size_t i) {
        return began + (deadline - began) / static_cast<std::int64_t>(budgets.size() - i);
    };
    for (std::size_t i = 0; i < seen.size(); ++i) {
        auto const& x = seen[i];
        CAPTURE(i, x.left.count());
        CHECK(x.budget == budgets[i]);
        auto const earliest = end_of_share(i == 0 ? start : seen[i - 1].done, start + *lim.deadline, i);
        CHECK(x.after + x.left + rounding >= earliest);
        auto const latest = end_of_share(x.before, seen[0].before + *lim.deadline, i);
        CHECK((x.left.count() == 0 || x.before + x.left - rounding <= latest));
    }
}

TEST_CASE("frontier: a budget that has used up its time takes no plan from the others")
{
    auto const p = make(training_chain_spec(10));
    limits lim;
    lim.deadline = std::chrono::milliseconds(60);
    std::vector<share_of_time> seen;
    auto const plans = frontier(p, {8, 9, 10, 11}, lim, slow_solver{&seen});
    if (!plans) { // so slow a machine that not even the first budget had its few microseconds
        CHECK(plans.error().code == errc::deadline);
        return;
    }
    auto cost = max_cost;
    for (auto const& plan : *plans) {
        judge_plan(p, plan, plan.certificate.budget);
        CHECK(plan.certificate.cost <= cost);
        cost = plan.certificate.cost;
    }
    CHECK(plans->back().certificate.budget == 11);
}

TEST_CASE("frontier: without a deadline no budget has one")
{
    struct asking {
        int* timed;
        [[nodiscard]] static auto name() -> std::string_view { return "asking"; }
        void solve(search& on) const
        {
            *timed += on.stop().timed() ? 1 : 0;
            greedy{}.solve(on);
        }
    };
    int timed = 0;
    CHECK(frontier(make(training_chain_spec(10)), {8, 10}, {}, asking{&timed}));
    CHECK(timed == 0);
}

TEST_CASE("frontier: a larger budget never costs more, on training chains")
{
    for (int n : {3, 10, 25}) {
        auto const p = make(training_chain_spec(n));
        CAPTURE(n);
        CHECK(check_frontier(p, even_budgets(p, 24)) >= 2);
    }
}

TEST_CASE("frontier: a larger budget never costs more, on random problems and under every budget")
{
    std::size_t planned = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        auto const p = varied_problem(seed, 12);
        CAPTURE(seed);
        planned += check_frontier(p, even_budgets(p, 21));
    }
    auto const p = random_problem(1, {.ops = 40, .training = true, .effects = 5, .state = 0, .bytes = 30});
    planned += check_frontier(p, even_budgets(p, 20));
    CHECK(planned > 100);
}

TEST_CASE("frontier: budgets come in any order, each counts once, and those too small are left out")
{
    auto const p = make(training_chain_spec(10));
    auto const plans = frontier(p, {12, 3, 9, 12, 0, 8, 9});
    REQUIRE(plans);
    REQUIRE(plans->size() == 3);
    CHECK((*plans)[0].certificate.budget == 8);
    CHECK((*plans)[1].certificate.budget == 9);
    CHECK((*plans)[2].certificate.budget == 12);
    CHECK((*plans)[2].certificate.cost == 20);
}

TEST_CASE("frontier: no budget that fits is infeasible, no budget at all makes no sense")
{
    auto const p = make(training_chain_spec(10));
    auto const none_fits = frontier(p, {0, 1, 2});
    REQUIRE_FALSE(none_fits);
    CHECK(none_fits.error().code == errc::infeasible);
    CHECK(none_fits.error().limit);
    auto const nothing = frontier(p, {});
    REQUIRE_FALSE(nothing);
    CHECK(nothing.error().code == errc::invalid_argument);
}

TEST_CASE("frontier: the alignment of the limits holds for every budget")
{
    auto s = training_chain_spec(6);
    auto const p = make(s);
    s.alignment = 16;
    auto const realigned = make(s);
    limits lim;
    lim.alignment = 16;
    auto const plans = frontier(p, {16 * 6, 16 * 8}, lim);
    REQUIRE(plans);
    REQUIRE(plans->size() == 2);
    judge_plan(realigned, (*plans)[0], 16 * 6, &p);
    judge_plan(realigned, (*plans)[1], 16 * 8, &p);
    lim.alignment = -1;
    auto const refused = frontier(p, {100}, lim);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == errc::invalid_argument);
}

TEST_CASE("frontier: cancelled on the way, what was found serves the larger budgets too")
{
    auto const p = make(training_chain_spec(10));
    std::stop_source stop;
    limits lim;
    lim.cancel = stop.get_token();
    double done = 0;
    lim.on_progress = [&](progress const& now) {
        CHECK(now.done > done);
        done = now.done;
        stop.request_stop();
    };
    auto const plans = frontier(p, {8, 9, 10, 11, 12}, lim);
    REQUIRE(plans);
    REQUIRE(plans->size() == 5);
    CHECK(done == 1);
    for (std::size_t i = 0; i < 5; ++i) {
        judge_plan(p, (*plans)[i], 8 + static_cast<bytes_t>(i));
        CHECK(((*plans)[i].schedule == (*plans)[0].schedule || (*plans)[i].certificate.solver == "keep_all"));
    }
    CHECK(plans->back().certificate.cost == p.base_cost()); // keep-all takes no time to find
    done = 0;
    auto const never = frontier(p, {8, 9}, lim);
    REQUIRE_FALSE(never);
    CHECK(never.error().code == errc::cancelled);
}

TEST_CASE("frontier: the same plans for any number of threads")
{
    auto const p = random_problem(3, {.ops = 26, .training = true, .effects = 5, .state = 0, .bytes = 30});
    auto const of = [&](unsigned threads) {
        limits lim;
        lim.threads = threads;
        auto plans = frontier(p, even_budgets(p, 6), lim).value();
        for (auto& x : plans) {
            x.certificate.seconds = 0;
        }
        return plans;
    };
    CHECK(of(1) == of(4));
}

TEST_CASE("even_budgets: from the proven minimum to the keep-all peak")
{
    auto const p = make(training_chain_spec(10));
    auto const b = even_budgets(p, 9);
    REQUIRE(b.size() == 9);
    CHECK(b.front() == minimum_budget(p).bytes);
    CHECK(b.back() == keep_all_peak(p));
    CHECK(std::is_sorted(b.begin(), b.end()));
    CHECK(even_budgets(p, 1) == std::vector<bytes_t>{keep_all_peak(p)});
    CHECK(even_budgets(p, 2) == std::vector<bytes_t>{minimum_budget(p).bytes, keep_all_peak(p)});
}

} // namespace pipeline_frontier_test
