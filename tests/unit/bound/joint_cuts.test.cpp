// SPDX-License-Identifier: Apache-2.0
#include <strata/bound/joint_cuts.hpp>
#include <strata/bound/time_cut.hpp>

#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"

namespace bound_joint_cuts_test {

using namespace strata;
using namespace strata::test;
using Catch::Detail::Approx;

auto climbed(joint_cuts& cuts, double target = 1e3, int steps = 400) -> double
{
    auto x = cuts.first_prices();
    return static_cast<double>(cuts.climb(x, target, steps, 1, {}));
}

TEST_CASE("joint cuts: of one instant they are the time cut")
{
    auto const p = make(training_chain_spec(9));
    for (bytes_t b = 4; b < 11; ++b) {
        joint_cuts cuts(p, b, {9});
        CAPTURE(b);
        CHECK(climbed(cuts) == Approx(static_cast<double>(time_cut(p, 9).lower_bound(b).value())).margin(1e-3));
    }
}

TEST_CASE("joint cuts: a window counts what is read from its begin to its end")
{
    auto const p = make(training_chain_spec(9));
    time_cut const all(p, 9);
    time_cut const window(p, 9, 12);
    CHECK(window.fixed() == all.fixed());
    CHECK(window.needed().size() < all.needed().size());
    for (auto t : window.needed()) {
        auto const readers = p.consumers(t);
        CHECK((readers.back() >= 9 && readers.front() <= 12));
    }
}

TEST_CASE("joint cuts: decisions divide plans in two, and what cannot be is impossible")
{
    auto const p = make(training_chain_spec(9));
    joint_cuts cuts(p, 8, {9});
    auto const free_to_choose = climbed(cuts);
    auto x = cuts.first_prices();
    (void)cuts.climb(x, 1e3, 100, 1, {});
    auto const next = cuts.least_agreed(x);
    REQUIRE(next);
    CHECK(next->instant == 9);
    for (auto keep : {true, false}) {
        cuts.decide(std::vector<keep_decision>{{9, next->tensor, keep}});
        CHECK(climbed(cuts) >= free_to_choose - 1e-3);
    }
    std::vector<keep_decision> everything;
    time_cut const cut(p, 9);
    for (auto t : cut.needed()) {
        everything.push_back({9, t, true});
    }
    cuts.decide(everything);
    CHECK(cuts.climb(x, 1e3, 10, 1, {}) == joint_cuts::impossible);
    CHECK_FALSE(cuts.least_agreed(x));
    cuts.decide({});
    CHECK(climbed(cuts) == Approx(free_to_choose).margin(1e-3));
}

TEST_CASE("joint cuts: prices carry over to more instants")
{
    auto const p = make(training_chain_spec(20));
    joint_cuts few(p, 9, {20, 26});
    auto x = few.first_prices();
    auto const before = few.climb(x, 1e3, 300, 1, {});
    joint_cuts more(p, 9, {20, 26, 30});
    auto y = more.first_prices(few, x);
    CHECK(more.climb(y, 1e3, 300, 1, {}) >= before - 0.5L);
    CHECK(more.instants().size() == 3);
    CHECK(more.work() > few.work());
}

} // namespace bound_joint_cuts_test
