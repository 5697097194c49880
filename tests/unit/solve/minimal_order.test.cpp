// SPDX-License-Identifier: Apache-2.0
#include <strata/bound/least_peak.hpp>
#include <strata/solve/minimal_order.hpp>

#include <chrono>
#include <cstddef>
#include <stop_token>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_minimal_order_test {

using namespace strata;
using namespace strata::test;

/// `branches` of three ops each from one tensor: 100 bytes, then 10, then 1; a last op reads all ends. Listed level by
/// level, so that all hundreds are there at once.
auto fan(int branches) -> problem
{
    problem_spec s;
    auto const x = add_tensor(s, 10);
    add_op(s, 1, {}, {x});
    std::vector<tensor_id> now(static_cast<std::size_t>(branches), x);
    for (bytes_t const bytes : {100, 10, 1}) {
        for (auto& t : now) {
            auto const y = add_tensor(s, bytes);
            add_op(s, 1, {t}, {y});
            t = y;
        }
    }
    auto const out = add_tensor(s, 1);
    add_op(s, 1, now, {out});
    s.targets = {out};
    return make(std::move(s));
}

TEST_CASE("minimal_order: a fan runs branch by branch, whatever its width")
{
    for (int const n : {1, 2, 5, 50, 100}) {
        CAPTURE(n);
        auto const p = fan(n);
        CHECK(peak_of(p, index_order(p)) == (n == 1 ? 110 : 100 * n + 10));
        auto const found = minimal_order(p, 400'000);
        // The last branch but one makes its 10 while x, for the last, and the ends of the others are there.
        CHECK(found.peak == (n == 1 ? 110 : 118 + n));
        CHECK(found.minimal() == (n <= 5));
    }
}

TEST_CASE("minimal_order: the order given stays when nothing is lower")
{
    auto const p = fan(1);
    auto const found = minimal_order(p);
    CHECK(found.order == index_order(p));
    CHECK(found.minimal());
    CHECK(found.lower_limit == least_peak(p));
}

TEST_CASE("minimal_order: a graph too wide for a proof still gets a lower limit and no worse an order")
{
    random_options o;
    o.ops = 150;
    o.bytes = 1000;
    o.effects = 0;
    o.state = 0;
    auto const p = random_problem(7, o);
    auto const found = minimal_order(p, 100'000);
    CHECK_FALSE(found.minimal());
    CHECK(found.lower_limit >= least_peak(p));
    CHECK(found.lower_limit < found.peak);
    CHECK(found.peak < peak_of(p, index_order(p)));
    CHECK(found == minimal_order(p, 100'000));
}

TEST_CASE("minimal_order: when time is up, the order given is the answer")
{
    auto const p = fan(50);
    limits lim;
    lim.deadline = std::chrono::nanoseconds(0);
    auto const found = minimal_order(p, 1'000'000, stop_watch(lim));
    CHECK(found.order == index_order(p));
    CHECK(found.lower_limit <= found.peak);
    std::stop_source source;
    source.request_stop();
    limits cancelled;
    cancelled.cancel = source.get_token();
    CHECK(minimal_order(p, 1'000'000, stop_watch(cancelled)).order == index_order(p));
}

TEST_CASE("least_peak: counts what must be there while an op runs, in every order")
{
    // x is read by the last op; a chain of large tensors stands between.
    problem_spec s;
    auto const x = add_tensor(s, 7);
    auto const a = add_tensor(s, 50);
    auto const b = add_tensor(s, 60);
    auto const c = add_tensor(s, 1);
    add_op(s, 1, {}, {x});
    add_op(s, 1, {x}, {a});
    add_op(s, 1, {a}, {b});
    add_op(s, 1, {b, x}, {c});
    s.targets = {c};
    CHECK(least_peak(make(s)) == 7 + 50 + 60);
    s.ops[2].workspace = 3;
    CHECK(least_peak(make(s)) == 7 + 50 + 60 + 3);
}

} // namespace solve_minimal_order_test
