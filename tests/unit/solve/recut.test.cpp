// SPDX-License-Identifier: Apache-2.0
#include <strata/pipeline/planner.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/cut.hpp>
#include <strata/solve/polish.hpp>
#include <strata/solve/recut.hpp>
#include <strata/solve/search.hpp>

#include <cstdint>
#include <span>
#include <vector>

#include "examples/zoo/models.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_recut_test {

using namespace strata;
using namespace strata::test;

TEST_CASE("recut: what it makes is an order, another one most times, and the draws decide it")
{
    int orders = 0;
    int others = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        auto const p = varied_problem(seed, 60);
        order_editor e(p, index_order(p));
        repair mend(p);
        (void)mend(e, e.peak() * 8 / 10, {}, {});
        auto const points = time_points(p, index_order(p), 3, 2);
        recut once(p, points);
        recut again(p, points);
        random_draws draw(seed);
        random_draws same(seed);
        CAPTURE(seed);
        for (int i = 0; i < 8; ++i) {
            auto const order = once(e, draw);
            REQUIRE(again(e, same) == order);
            if (!order) {
                continue;
            }
            ++orders;
            REQUIRE(is_run_order(p, *order));
            others += *order != e.order() ? 1 : 0;
        }
    }
    CHECK(orders > 300);
    CHECK(others * 4 > orders * 3);
}

TEST_CASE("recut: prices are those that the order pays: what is kept stays near what was kept")
{
    // Unit bytes and costs: every tensor kept saves one op, so the cheaper the order, the more its neighbours keep.
    auto const p = make(training_chain_spec(40));
    std::vector<op_id> const point = {40};
    auto const kept_beside = [&](bytes_t room) {
        order_editor e(p, index_order(p));
        repair mend(p);
        REQUIRE(mend(e, room, {}, {}));
        recut near(p, point);
        random_draws draw(1);
        cost_t cost = 0;
        for (int i = 0; i < 50; ++i) {
            cost += cost_of(p, near(e, draw).value());
        }
        return cost;
    };
    CHECK(kept_beside(38) < kept_beside(20));
}

TEST_CASE("recut: without a time point there is nothing to cut, and polish makes its other moves")
{
    auto const p = make(training_chain_spec(12));
    CHECK(recut(p, {}).empty());
    CHECK_FALSE(recut(p, std::vector<op_id>{12}).empty());
}

TEST_CASE("polish: moves of whole cuts reach what moves of single tensors do not")
{
    auto const p = zoo::make_problem("llama-7b", {.layers = 24}).value();
    strata::detail::planner const with(p);
    limits lim;
    lim.budget = budget::fraction(0.2);
    auto const bytes = with.resolve(lim.budget).value();
    auto const studied = with.analyse(bytes, {}).value();
    auto const start = with.best_order(bytes, studied, lim, {}, cut{.one_shot = true}, nullptr).value();
    auto const polished = [&](std::span<op_id const> points) {
        polisher job(p, start.order, bytes - p.resident_bytes(), 1, {}, points);
        job.run(500, 0);
        auto const judged = validate(p, free_early(p, job.best()), bytes);
        CHECK(judged.ok());
        CHECK(judged.cost == job.best_cost());
        return job.best_cost();
    };
    CHECK(polished({}) <= start.cost);
    CHECK(polished(studied.points) < polished({}));
}

} // namespace solve_recut_test
