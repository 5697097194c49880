// SPDX-License-Identifier: Apache-2.0
#include <strata/pipeline/frontier.hpp>
#include <strata/pipeline/pipeline.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/pipeline/refine.hpp>
#include <strata/place/place.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/keep_all.hpp>
#include <strata/solve/sqrt_checkpoint.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/judge_plan.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/sanitized.hpp"

using namespace strata;
using namespace strata::test;

namespace pipeline_refine_test {

auto under(problem const& p, int percent) -> limits
{
    auto const keep = peak_of(p, keep_all_order(p)) - p.resident_bytes();
    limits lim;
    lim.budget = budget::bytes(p.resident_bytes() + keep * percent / 100);
    return lim;
}

/// Seeds that leave much to gain.
template <class Polish>
auto rough(Polish with)
{
    return pipeline<>{}.with(sqrt_checkpoint{}).with(std::move(with));
}

TEST_CASE("refine: a pipeline's polish makes plans cheaper, which are judged and have their place")
{
    int better = 0;
    for (std::uint64_t seed = 1; seed <= (sanitized ? 6U : 20U); ++seed) {
        auto const p = random_problem(seed, {.ops = 60, .training = true, .effects = 3, .state = 0, .bytes = 100});
        auto const lim = under(p, 60);
        auto const plain = plan(p, lim, rough(polish{.moves = 0}));
        auto const polished = plan(p, lim, rough(polish{.moves = 300}));
        REQUIRE(plain.has_value() == polished.has_value());
        if (!plain) {
            continue;
        }
        judge_plan(p, *polished, lim.budget.resolve(0, 0));
        CHECK(polished->certificate.cost <= plain->certificate.cost);
        CHECK(polished->certificate.cost >= polished->certificate.lower_bound);
        better += polished->certificate.cost < plain->certificate.cost ? 1 : 0;

        auto const again = plan(p, lim, rough(polish{.moves = 300}));
        REQUIRE(again);
        CHECK(again->schedule == polished->schedule);
    }
    CHECK(better > (sanitized ? 1 : 5));
}

TEST_CASE("refine: the default solver makes no moves without a deadline")
{
    auto const p = random_problem(3, {.ops = 80, .training = true, .effects = 3, .state = 0, .bytes = 100});
    auto const made = plan(p, under(p, 50));
    REQUIRE(made);
    CHECK(made->certificate.solver.find("polish") == std::string::npos);
}

/// Finds nothing until it is asked with another seed.
struct lucky_at {
    std::uint64_t seed = 2;
    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "lucky"; }
    template <class Lazy>
    void solve(basic_search<Lazy>& on) const
    {
        if (on.seed() == seed) {
            polish{.moves = 300}.solve(on);
        }
    }
};
struct hopeful {
    sqrt_checkpoint first = {};
    lucky_at polish = {};
    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "hopeful"; }
    template <class Lazy>
    void solve(basic_search<Lazy>& on) const
    {
        first.solve(on);
    }
};

TEST_CASE("refine: with time left, an attempt that brings nothing is followed by one with another seed")
{
    auto const p = random_problem(2, {.ops = 60, .training = true, .effects = 3, .state = 0, .bytes = 100});
    auto lim = under(p, 60);
    auto const bytes = lim.budget.resolve(0, 0);
    auto const once = plan(p, lim, hopeful{});
    lim.deadline = std::chrono::minutes(1);
    auto const tried = plan(p, lim, hopeful{});
    REQUIRE(once);
    REQUIRE(tried);
    judge_plan(p, *once, bytes);
    judge_plan(p, *tried, bytes);
    CHECK(once->certificate.solver.find("polish") == std::string::npos);
    CHECK(tried->certificate.cost < once->certificate.cost);
}

TEST_CASE("refine: what finds no place is asked for with fewer bytes, and the plan that has one is kept")
{
    auto const p = random_problem(2, {.ops = 60, .training = true, .effects = 3, .state = 0, .bytes = 100});
    auto const lim = under(p, 60);
    auto const bytes = lim.budget.resolve(0, 0);
    auto const made = plan(p, lim, rough(polish{.moves = 0}));
    REQUIRE(made);
    strata::detail::planner const with(p);
    std::vector<bytes_t> loads;
    // A place that always wants 3 bytes more than there are.
    auto const crowded = [&](schedule const& s, bytes_t load, stop_watch const&) -> result<placement> {
        CHECK(validate(p, s, bytes).ok());
        loads.push_back(load);
        placement r;
        r.arena = bytes - p.resident_bytes() + 3;
        return r;
    };
    auto const kept = strata::detail::refine(with, bytes, *made, lim, {}, polish{.moves = 200}, crowded);
    CHECK(kept.schedule == made->schedule);
    REQUIRE(loads.size() > 1);
    for (std::size_t i = 1; i < loads.size(); ++i) {
        CHECK(loads[i] <= loads[i - 1] - 3);
    }
}

TEST_CASE("pipeline: a stage takes the place of the policy of its kind")
{
    struct halves {
        [[nodiscard]] static auto name() -> char const* { return "halves"; }
        [[nodiscard]] auto split(problem const& /*p*/, std::span<op_id const> ops) const -> std::vector<part>
        {
            auto const middle = ops.begin() + static_cast<std::ptrdiff_t>(ops.size() / 2);
            return {{{ops.begin(), middle}, {}}, {{middle, ops.end()}, {}}};
        }
    };
    auto const made = pipeline<>{}.with(halves{}).with(quick_solver{}).with(one_option_each{}).with(polish{.moves = 7});
    STATIC_REQUIRE(std::is_same_v<decltype(made), pipeline<halves, quick_solver, one_option_each, polish> const>);
    CHECK(made.polish.moves == 7);
    auto const p = make(training_chain_spec(24));
    auto const planned = plan(p, under(p, 60), made);
    REQUIRE(planned);
    judge_plan(p, *planned, under(p, 60).budget.resolve(0, 0));
}

} // namespace pipeline_refine_test
