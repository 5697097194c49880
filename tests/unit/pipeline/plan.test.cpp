// SPDX-License-Identifier: Apache-2.0
#include <strata/pipeline/plan.hpp>
#include <strata/solve/keep_all.hpp>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/brute_force.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/judge_plan.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/sanitized.hpp"

namespace pipeline_plan_test {

using namespace strata;
using namespace strata::test;
using Catch::Matchers::Contains;

auto within(bytes_t bytes) -> limits
{
    limits lim;
    lim.budget = budget::bytes(bytes);
    return lim;
}

auto within_share(double share) -> limits
{
    limits lim;
    lim.budget = budget::fraction(share);
    return lim;
}

TEST_CASE("plan: without limits keeps everything")
{
    auto const p = make(training_chain_spec(8));
    auto const made = plan(p);
    REQUIRE(made);
    judge_plan(p, *made, max_bytes);
    CHECK(runs_of(made->schedule) == index_order(p));
    CHECK(made->certificate.solver == "keep_all");
    CHECK(made->certificate.lower_bound == made->certificate.cost);
    CHECK(made->certificate.seconds >= 0);
}

TEST_CASE("plan: under the keep-all peak pays, at it and above does not")
{
    auto const p = make(training_chain_spec(8)); // keep-all takes 10 bytes
    for (bytes_t b : {10, 11, 1000}) {
        auto const made = plan(p, within(b));
        REQUIRE(made);
        judge_plan(p, *made, b);
        CHECK(made->certificate.cost == 16);
    }
    auto const made = plan(p, within(9));
    REQUIRE(made);
    judge_plan(p, *made, 9);
    CHECK(made->certificate.cost == 17);
    CHECK(made->certificate.lower_bound == 17);
}

TEST_CASE("plan: a budget of nothing, or one byte below the smallest, is infeasible and says what would do")
{
    for (std::uint64_t seed = 0; seed < 25; ++seed) {
        auto const p = varied_problem(seed, 9);
        auto const least = brute_force(p).minimum_budget();
        for (bytes_t b : {bytes_t{0}, least - 1}) {
            if (b < 0 || (b == 0 && least == 0)) {
                continue;
            }
            auto const made = plan(p, within(b));
            CAPTURE(seed, b, least);
            REQUIRE_FALSE(made);
            auto const& e = made.error();
            REQUIRE(e.code == errc::infeasible);
            REQUIRE(e.limit);
            CHECK(e.limit->lower_limit <= least);
            CHECK(e.limit->pinned_by >= 0);
            CHECK(e.limit->pinned_by < p.op_count());
            CHECK(e.limit->pinned_by_name == p.op(e.limit->pinned_by).name);
            REQUIRE(e.limit->known_feasible);
            CHECK(*e.limit->known_feasible >= least);
            CHECK(*e.limit->known_feasible > b);
            CHECK_THAT(e.message, Contains("bytes") && Contains("op " + std::to_string(e.limit->pinned_by)));
        }
    }
}

TEST_CASE("plan: the op that needs more than the budget is named")
{
    auto s = training_chain_spec(5);
    s.ops[2].workspace = 100;
    s.ops[2].name = "wide";
    auto const p = make(s);
    auto const made = plan(p, within(102));
    REQUIRE_FALSE(made);
    CHECK(made.error().limit == feasibility{103, 2, "wide", 103});
    CHECK_THAT(made.error().message, Contains("op 2 (wide)") && Contains("103 bytes") && Contains("102 bytes"));
    CHECK(plan(p, within(103)));
}

TEST_CASE("plan: an absurdly large budget is no problem, a negative one is refused")
{
    auto const p = make(training_chain_spec(5));
    CHECK(plan(p, within(max_bytes)));
    CHECK(plan(p, within(max_bytes - 1)));
    CHECK(plan(p, within_share(1e300)));
    auto const made = plan(p, within(-1));
    REQUIRE_FALSE(made);
    CHECK(made.error().code == errc::invalid_argument);
    CHECK_FALSE(made.error().limit);
}

TEST_CASE("plan: a share of the dynamic keep-all peak is a budget, what is no share is refused")
{
    auto const p = make(training_chain_spec(9)); // 10 dynamic bytes, 1 resident
    auto const half = plan(p, within_share(0.5));
    REQUIRE(half);
    judge_plan(p, *half, 6);
    auto const all = plan(p, within_share(1));
    REQUIRE(all);
    CHECK(all->certificate.cost == 18);
    auto const more = plan(p, within_share(1.7));
    REQUIRE(more);
    judge_plan(p, *more, 18);
    auto const nothing = plan(p, within_share(0));
    REQUIRE_FALSE(nothing);
    CHECK(nothing.error().code == errc::infeasible);
    for (double bad : {-0.1,
                       -1e-300,
                       std::numeric_limits<double>::quiet_NaN(),
                       std::numeric_limits<double>::infinity(),
                       -std::numeric_limits<double>::infinity()}) {
        CAPTURE(bad);
        auto const made = plan(p, within_share(bad));
        REQUIRE_FALSE(made);
        CHECK(made.error().code == errc::invalid_argument);
    }
}

TEST_CASE("plan: the alignment of the limits overrides the problem's")
{
    auto s = training_chain_spec(6);
    s.alignment = 2;
    auto const p = make(s);
    for (bytes_t alignment : {1, 3, 64}) {
        auto t = s;
        t.alignment = alignment;
        auto const realigned = make(t);
        auto const b = alignment * 6;
        auto lim = within(b);
        lim.alignment = alignment;
        auto const made = plan(p, lim);
        CAPTURE(alignment);
        REQUIRE(made);
        judge_plan(realigned, *made, b, &p);
        CHECK(made->certificate.resident == alignment);
    }
    auto lim = within(100);
    lim.alignment = -8;
    auto const refused = plan(p, lim);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == errc::invalid_argument);
    lim.alignment = max_bytes;
    auto const over = plan(p, lim);
    REQUIRE_FALSE(over);
    CHECK(over.error().code == errc::overflow);
}

TEST_CASE("plan: sums that would not fit 64 bits with replays are refused")
{
    auto s = training_chain_spec(3);
    for (auto& o : s.ops) {
        o.cost = max_cost / 7;
    }
    auto const made = plan(make(s), within(3));
    REQUIRE_FALSE(made);
    CHECK(made.error().code == errc::overflow);
    auto t = training_chain_spec(3);
    for (auto& x : t.tensors) {
        x.bytes = max_bytes / 8;
    }
    auto const large = plan(make(t));
    REQUIRE_FALSE(large);
    CHECK(large.error().code == errc::overflow);
}

TEST_CASE("plan: costs near 10^13 are ordinary")
{
    random_options o;
    o.ops = 12;
    o.training = true;
    o.effects = 0;
    o.state = 0;
    o.cost = 10'000'000'000'000;
    for (std::uint64_t seed = 0; seed < 25; ++seed) {
        auto const p = random_problem(seed, o);
        brute_force brute(p);
        auto const b = (brute.minimum_budget() + keep_all_peak(p)) / 2;
        auto const made = plan(p, within(b));
        CAPTURE(seed);
        if (made) {
            judge_plan(p, *made, b);
            auto const best = brute.solve(b);
            REQUIRE(best);
            CHECK(made->certificate.lower_bound <= best->cost);
            CHECK(made->certificate.cost >= best->cost);
        }
    }
}

TEST_CASE("plan: free ops are not run again when everything fits, and a step of no cost has no overhead")
{
    auto s = training_chain_spec(8);
    for (auto& o : s.ops) {
        o.cost = 0;
    }
    auto const p = make(s);
    auto const roomy = plan(p, within(10));
    REQUIRE(roomy);
    CHECK(runs_of(roomy->schedule) == index_order(p));
    auto const tight = plan(p, within(6));
    REQUIRE(tight);
    judge_plan(p, *tight, 6);
    CHECK(tight->certificate.cost == 0);
    CHECK(tight->certificate.overhead() == 0);
}

TEST_CASE("plan: tensors of no bytes need no room")
{
    auto s = training_chain_spec(8);
    for (auto& t : s.tensors) {
        t.bytes = 0;
    }
    auto const p = make(s);
    auto const made = plan(p, within(0));
    REQUIRE(made);
    judge_plan(p, *made, 0);
    CHECK(runs_of(made->schedule) == index_order(p));
}

TEST_CASE("plan: one op is a step")
{
    auto const p = make(chain_spec(1));
    auto const made = plan(p, within(1));
    REQUIRE(made);
    judge_plan(p, *made, 1);
    auto const refused = plan(p, within(0));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().limit == feasibility{1, 0, "op0", 1});
    problem_spec s;
    add_op(s, 5, {}, {});
    auto const nothing = make(s);
    auto const bare = plan(nothing, within(0));
    REQUIRE(bare);
    judge_plan(nothing, *bare, 0);
}

TEST_CASE("plan: fits exactly, from the smallest budget of a chain to all of it")
{
    auto const p = make(training_chain_spec(9));
    auto last = max_cost;
    for (bytes_t b = 4; b <= 11; ++b) {
        auto const made = plan(p, within(b));
        CAPTURE(b);
        if (!made) {
            CHECK(made.error().code == errc::infeasible);
            continue;
        }
        judge_plan(p, *made, b);
        CHECK(made->certificate.cost <= last);
        last = made->certificate.cost;
    }
    CHECK(last == 18);
}

TEST_CASE("plan: the same plan for any number of threads")
{
    random_options o;
    o.training = true;
    o.effects = 4;
    o.state = 0;
    o.bytes = 100;
    for (std::uint64_t seed : {0U, 1U, 3U, 4U}) { // the first is planned again, since it does not pack at once
        o.ops = static_cast<int>(40 + 20 * (seed % 3));
        auto const p = random_problem(seed, o);
        auto lim = within_share(0.75);
        auto expected = plan(p, lim);
        if (expected) {
            expected->certificate.seconds = 0;
        }
        for (unsigned threads : sanitized ? std::vector{4U} : std::vector{2U, 4U, 7U}) {
            lim.threads = threads;
            auto made = plan(p, lim);
            CAPTURE(seed, threads);
            REQUIRE(made.has_value() == expected.has_value());
            if (made) {
                made->certificate.seconds = 0;
                CHECK(*made == *expected);
            } else {
                CHECK(made.error() == expected.error());
            }
        }
    }
}

TEST_CASE("plan: the same seed gives the same plan")
{
    auto const p = random_problem(9, {.ops = 60, .training = true, .effects = 4, .state = 0, .bytes = 100});
    auto lim = within_share(0.8);
    for (std::uint64_t seed : {1U, 2U, 77U}) {
        lim.seed = seed;
        auto a = plan(p, lim);
        auto b = plan(p, lim);
        REQUIRE(a);
        REQUIRE(b);
        a->certificate.seconds = b->certificate.seconds = 0;
        CHECK(*a == *b);
    }
}

TEST_CASE("plan: no time is an answer, and little time gives a plan or that answer")
{
    auto const p = random_problem(9, {.ops = 120, .training = true, .effects = 4, .state = 0, .bytes = 100});
    for (int us : {0, 1, 100, 1000, 5000, 20000}) {
        auto lim = within_share(0.8);
        lim.deadline = std::chrono::microseconds(us);
        auto const made = plan(p, lim);
        CAPTURE(us);
        if (made) {
            judge_plan(p, *made, made->certificate.budget);
        } else {
            CHECK(made.error().code == errc::deadline);
            CHECK_FALSE(made.error().limit);
        }
    }
    auto lim = within_share(0.8);
    lim.deadline = std::chrono::nanoseconds::max(); // no deadline
    CHECK(plan(p, lim));
}

TEST_CASE("plan: cancelled before it begins, it says so, cancelled on the way, the best plan so far counts")
{
    auto const p = random_problem(9, {.ops = 60, .training = true, .effects = 4, .state = 0, .bytes = 100});
    std::stop_source before;
    before.request_stop();
    auto lim = within_share(0.8);
    lim.cancel = before.get_token();
    auto const never = plan(p, lim);
    REQUIRE_FALSE(never);
    CHECK(never.error().code == errc::cancelled);

    std::stop_source on_the_way;
    lim.cancel = on_the_way.get_token();
    lim.on_progress = [&](progress const& now) {
        if (now.best_overhead >= 0) {
            on_the_way.request_stop();
        }
    };
    auto const made = plan(p, lim);
    REQUIRE(made);
    judge_plan(p, *made, made->certificate.budget);
}

TEST_CASE("plan: progress never falls, comes on the caller's thread and names its stage")
{
    auto const p = random_problem(9, {.ops = 60, .training = true, .effects = 4, .state = 0, .bytes = 100});
    for (double share : {0.8, 1.0}) {
        auto lim = within_share(share);
        lim.threads = 3;
        double done = 0;
        double overhead = std::numeric_limits<double>::infinity();
        int calls = 0;
        auto const caller = std::this_thread::get_id();
        lim.on_progress = [&](progress const& now) {
            ++calls;
            CHECK(now.done >= done);
            CHECK(now.done <= 1);
            done = now.done;
            CHECK_FALSE(now.stage.empty());
            CHECK(std::this_thread::get_id() == caller);
            if (now.best_overhead >= 0) {
                CHECK(now.best_overhead <= overhead);
                overhead = now.best_overhead;
            }
        };
        auto const made = plan(p, lim);
        REQUIRE(made);
        CHECK(calls > 0);
        CHECK(overhead == Approx(made->certificate.overhead()));
    }
}

/// A user's solver: one order, whatever the budget.
struct my_solver {
    run_order order;
    bool as_is = true;
    [[nodiscard]] auto name() const -> std::string { return "mine"; }
    void solve(search& on) const
    {
        on.propose({.make = [o = order] { return o; }, .as_is = as_is, .name = name()});
    }
};

TEST_CASE("plan: a user's solver is as good as the library's")
{
    auto const p = make(training_chain_spec(4)); // keep-all takes 6 bytes
    auto const made = plan(p, within(5), my_solver{{0, 1, 2, 3, 4, 5, 0, 6, 7}});
    REQUIRE(made);
    judge_plan(p, *made, 5);
    CHECK(made->certificate.solver == "mine");
    CHECK(made->certificate.cost == 9);
    auto const mended = plan(p, within(5), my_solver{index_order(p), false});
    REQUIRE(mended);
    CHECK(mended->certificate.cost == 9);
    auto const stubborn = plan(p, within(5), my_solver{index_order(p)});
    REQUIRE_FALSE(stubborn);
    CHECK(stubborn.error().code == errc::infeasible);
    CHECK(stubborn.error().limit->known_feasible == 6);
    CHECK_THAT(stubborn.error().message, Contains("no plan was found"));
}

TEST_CASE("plan: a user's solver that proposes nonsense is passed over")
{
    auto const p = make(training_chain_spec(4));
    for (bool as_is : {true, false}) {
        for (auto const& bad : std::vector<run_order>{{},
                                                      {7},
                                                      {7, 6, 5, 4, 3, 2, 1, 0},
                                                      {0, 1, 2, 3, 4, 5, 6},
                                                      {0, 1, 2, 3, 4, 5, 6, 7, 8},
                                                      {-1, 0, 1, 2, 3, 4, 5, 6, 7}}) {
            auto const tight = plan(p, within(5), my_solver{bad, as_is});
            REQUIRE_FALSE(tight);
            CHECK(tight.error().code == errc::infeasible);
            auto const roomy = plan(p, within(6), my_solver{bad, as_is});
            REQUIRE(roomy);
            CHECK(roomy->certificate.solver == "keep_all");
        }
    }
}

TEST_CASE("plan: what a user's solver throws arrives, whatever the threads")
{
    struct thrower {
        [[nodiscard]] auto name() const -> char const* { return "thrower"; }
        void solve(search& on) const
        {
            proposal bad{.make = []() -> std::optional<run_order> { throw std::runtime_error("mine"); }, .name = "bad"};
            on.propose(std::vector<proposal>(6, bad));
        }
    };
    auto const p = make(training_chain_spec(4));
    for (unsigned threads : {1U, 4U}) {
        auto lim = within(5);
        lim.threads = threads;
        CHECK_THROWS_WITH(plan(p, lim, thrower{}), "mine");
    }
}

TEST_CASE("plan: bytes that fit in sum but not in one piece are planned again, or it is said what would do")
{
    int in_pieces = 0;
    for (std::uint64_t seed = 0; seed < 4000 && in_pieces < 2; ++seed) {
        auto s = random_spec(seed, {.ops = 12, .effects = 0, .state = 0, .aligned = false});
        for (auto& o : s.ops) {
            o.effects |= effect::once; // there is one order only
        }
        auto const p = make(s);
        auto const only = free_early(p, index_order(p));
        auto const peak = keep_all_peak(p);
        auto const placed = place(p, only, {.target = peak - p.resident_bytes()});
        REQUIRE(placed);
        if (placed->arena + p.resident_bytes() == peak) {
            continue;
        }
        ++in_pieces;
        CAPTURE(seed, peak, placed->arena);
        auto const made = plan(p, within(peak));
        REQUIRE_FALSE(made);
        CHECK(made.error().code == errc::infeasible);
        REQUIRE(made.error().limit);
        CHECK_THAT(made.error().message, Contains("one arena") && Contains(std::to_string(peak) + " bytes"));
        REQUIRE(made.error().limit->known_feasible);
        auto const enough = *made.error().limit->known_feasible;
        CHECK(enough > peak);
        auto without = within(peak);
        without.place = false;
        auto const unplaced = plan(p, without);
        REQUIRE(unplaced);
        judge_unplaced(p, *unplaced, peak);
        CHECK_FALSE(unplaced->placed());
        auto const again = plan(p, within(enough));
        REQUIRE(again);
        judge_plan(p, *again, enough);
    }
    CHECK(in_pieces > 0);
}

TEST_CASE("plan: without a placement the peak alone is bounded, and everything else holds")
{
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        auto const p = varied_problem(seed, 40);
        for (auto const share : {1.0, 0.7, 0.5}) {
            CAPTURE(seed, share);
            auto lim = within_share(share);
            auto const placed = plan(p, lim);
            lim.place = false;
            auto const made = plan(p, lim);
            REQUIRE((made || !placed)); // never fewer plans
            if (made) {
                judge_unplaced(p, *made, made->certificate.budget);
                CHECK_FALSE(made->placed());
                CHECK(made->placement == placement{.alignment = p.alignment()});
            }
        }
    }
}

} // namespace pipeline_plan_test
