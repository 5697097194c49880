// SPDX-License-Identifier: Apache-2.0
// What every way to ask for a plan answers when there is none, no time, or nobody who waits. How late answers come is measured,
// not tested: bench/stopping.cpp.
#include <strata/bound/minimum_budget.hpp>
#include <strata/pipeline/frontier.hpp>
#include <strata/pipeline/pipeline.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/pipeline/plan_free_order.hpp>
#include <strata/pipeline/thorough.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <limits>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "tests/support/any_solver.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/judge_plan.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/sanitized.hpp"

namespace laws_bad_cases_test {

using namespace strata;
using namespace strata::test;
using Catch::Matchers::Contains;

constexpr std::array solvers{any<default_solver>("default"), any<thorough>("thorough"), any<pipeline<>>("pipeline")};

/// Calls `f(name, ask)` for every entry point and solver, where `ask` takes a problem and limits in bytes.
template <class F>
void for_each_way(F const& f)
{
    for (auto const& s : solvers) {
        auto const name = std::string(s.label);
        f("plan by " + name, [&s](problem const& p, limits const& lim) { return plan(p, lim, s); });
        f("plan_free_order by " + name, [&s](problem const& p, limits const& lim) -> result<certified_plan> {
            auto made = plan_free_order(p, lim, s);
            return made ? result<certified_plan>(std::move(made->plan)) : std::move(made).error();
        });
        f("frontier by " + name, [&s](problem const& p, limits const& lim) -> result<certified_plan> {
            auto made = frontier(p, {lim.budget.resolve(0, 0)}, lim, s);
            return made ? result<certified_plan>(std::move(made->front())) : std::move(made).error();
        });
    }
}

/// That `bytes` are refused as infeasible, with a limit and a way out that both hold.
template <class Ask>
void check_refused(problem const& p, bytes_t bytes, byte_limit const& limit, Ask const& ask)
{
    auto const made = ask(p, {.budget = budget::bytes(bytes)});
    REQUIRE_FALSE(made);
    auto const& e = made.error();
    REQUIRE(e.code == errc::infeasible);
    REQUIRE(e.limit);
    CHECK(e.limit->lower_limit == limit.bytes);
    CHECK(e.limit->pinned_by == limit.pinned_by);
    CHECK_THAT(e.message,
               Contains(std::to_string(bytes) + " bytes") && Contains("op " + std::to_string(limit.pinned_by)));
    REQUIRE(e.limit->known_feasible);
    auto const enough = *e.limit->known_feasible;
    auto const again = ask(p, {.budget = budget::bytes(enough)});
    REQUIRE(again);
    judge_plan(p, *again, enough);
}

TEST_CASE("bad cases: resident tensors that alone exceed the budget")
{
    auto s = training_chain_spec(12);
    add_tensor(s, 1000, tensor_kind::parameter);
    auto const p = make(std::move(s));
    auto const limit = minimum_budget(p);
    REQUIRE(p.resident_bytes() > 1000);
    for_each_way([&](std::string const& name, auto const& ask) {
        CAPTURE(name);
        for (bytes_t bytes : {bytes_t{0}, bytes_t{500}, p.resident_bytes() - 1, p.resident_bytes()}) {
            CAPTURE(bytes);
            check_refused(p, bytes, limit, ask);
        }
    });
}

TEST_CASE("bad cases: an op that needs more than the budget, and budgets a byte below its need and at it")
{
    auto s = training_chain_spec(12);
    s.ops[14].workspace = 40;
    auto const p = make(std::move(s));
    auto const limit = minimum_budget(p);
    REQUIRE(limit.pinned_by == 14);
    REQUIRE(limit.bytes > keep_all_peak(make(training_chain_spec(12))));
    for_each_way([&](std::string const& name, auto const& ask) {
        CAPTURE(name);
        check_refused(p, limit.bytes / 2, limit, ask);
        check_refused(p, limit.bytes - 1, limit, ask);
        auto const made = ask(p, {.budget = budget::bytes(limit.bytes)});
        REQUIRE(made);
        judge_plan(p, *made, limit.bytes);
        CHECK(made->certificate.cost > p.base_cost()); // the op leaves no room for anything but its own tensors
    });
}

TEST_CASE("bad cases: no time on ten thousand ops: keep-all where it fits, or that time is up")
{
    auto const p = make(training_chain_spec(sanitized ? 300 : 5000));
    auto const keep = keep_all_peak(p);
    std::stop_source stopped;
    stopped.request_stop();
    for_each_way([&](std::string const& name, auto const& ask) {
        CAPTURE(name);
        for (bool cancelled : {false, true}) {
            limits lim;
            lim.budget = budget::bytes(keep / 2);
            if (cancelled) {
                lim.cancel = stopped.get_token();
            } else {
                lim.deadline = std::chrono::nanoseconds(0);
            }
            auto const late = ask(p, lim);
            REQUIRE_FALSE(late);
            CHECK(late.error().code == (cancelled ? errc::cancelled : errc::deadline));
            lim.budget = budget::bytes(keep);
            auto const kept = ask(p, lim);
            REQUIRE(kept);
            judge_plan(p, *kept, keep);
            CHECK(kept->certificate.cost == p.base_cost());
        }
        limits lim;
        lim.budget = budget::bytes(keep / 2);
        lim.deadline = std::chrono::milliseconds(1);
        auto const hurried = ask(p, lim);
        if (hurried) {
            judge_plan(p, *hurried, keep / 2);
        } else {
            CHECK(hurried.error().code == errc::deadline);
        }
    });
}

/// Proposes keep-all, to be mended; then waits for somebody who stops it.
struct patient {
    std::atomic<int>* waiting;

    [[nodiscard]] static auto name() -> std::string_view { return "patient"; }
    void solve(search& on) const
    {
        on.propose({.make = [&] { return keep_all_order(on.subject()); }, .name = "patient"});
        ++*waiting;
        while (!on.stop().expired()) {
            std::this_thread::yield();
        }
    }
};

/// Another thread, which requests a stop once a solver waits for it.
class stops_who_waits {
public:
    stops_who_waits()
        : other_([this] {
            while (waiting == 0) {
                std::this_thread::yield();
            }
            stop_.request_stop();
        })
    {
    }
    ~stops_who_waits() { ++waiting; } // also when no solver was asked
    stops_who_waits(stops_who_waits const&) = delete;
    auto operator=(stops_who_waits const&) -> stops_who_waits& = delete;

    [[nodiscard]] auto token() const { return stop_.get_token(); }

    std::atomic<int> waiting = 0;

private:
    std::stop_source stop_;
    std::jthread other_;
};

TEST_CASE("bad cases: stopped by another thread, what was found by then is the answer")
{
    auto const p = make(training_chain_spec(40));
    auto const bytes = keep_all_peak(p) * 3 / 4;
    auto const cancelled_once_it_waits = [&](auto const& ask) {
        stops_who_waits other;
        limits lim;
        lim.budget = budget::bytes(bytes);
        lim.cancel = other.token();
        return ask(lim, patient{&other.waiting});
    };
    auto const planned = cancelled_once_it_waits([&](auto const& lim, auto const& s) { return plan(p, lim, s); });
    REQUIRE(planned);
    judge_plan(p, *planned, bytes);
    CHECK(planned->certificate.solver == "patient");
    auto const free =
        cancelled_once_it_waits([&](auto const& lim, auto const& s) { return plan_free_order(p, lim, s); });
    REQUIRE(free);
    judge_plan(p, free->plan, bytes);
    auto const many = cancelled_once_it_waits([&](auto const& lim, auto const& s) {
        return frontier(p, {bytes, bytes + 2}, lim, s);
    });
    REQUIRE(many);
    REQUIRE(many->size() == 2);
    judge_plan(p, many->front(), bytes);
    judge_plan(p, many->back(), bytes + 2);
}

TEST_CASE("bad cases: stopped by another thread wherever the library's solvers are, the answer is a plan or that it "
          "was stopped")
{
    auto const p =
        random_problem(9, {.ops = sanitized ? 60 : 300, .training = true, .effects = 2, .state = 0, .bytes = 100});
    auto const bytes = p.resident_bytes() + (keep_all_peak(p) - p.resident_bytes()) * 8 / 10;
    for_each_way([&](std::string const& name, auto const& ask) {
        for (int us : {0, 300, 3000, 10'000}) {
            CAPTURE(name, us);
            std::stop_source stop;
            limits lim;
            lim.budget = budget::bytes(bytes);
            lim.cancel = stop.get_token();
            std::jthread const other([&] {
                std::this_thread::sleep_for(std::chrono::microseconds(us));
                stop.request_stop();
            });
            auto const made = ask(p, lim);
            if (made) {
                judge_plan(p, *made, bytes);
            } else {
                CHECK((made.error().code == errc::cancelled || made.error().code == errc::infeasible));
            }
        }
    });
}

TEST_CASE("bad cases: progress never falls, whoever is asked")
{
    auto const p = random_problem(9, {.ops = 60, .training = true, .effects = 4, .state = 0, .bytes = 100});
    auto const bytes = p.resident_bytes() + (keep_all_peak(p) - p.resident_bytes()) * 8 / 10;
    for_each_way([&](std::string const& name, auto const& ask) {
        for (unsigned threads : {1U, 3U}) {
            CAPTURE(name, threads);
            limits lim;
            lim.budget = budget::bytes(bytes);
            lim.threads = threads;
            double done = 0;
            int calls = 0;
            auto const caller = std::this_thread::get_id();
            lim.on_progress = [&](progress const& now) {
                ++calls;
                CHECK(now.done >= done);
                CHECK(now.done <= 1);
                CHECK_FALSE(now.stage.empty());
                CHECK(std::this_thread::get_id() == caller);
                done = now.done;
            };
            auto const made = ask(p, lim);
            REQUIRE(made);
            judge_plan(p, *made, bytes);
            CHECK(calls > 0);
        }
    });
}

} // namespace laws_bad_cases_test
