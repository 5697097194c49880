// SPDX-License-Identifier: Apache-2.0
#include <strata/place/check.hpp>
#include <strata/place/improve.hpp>

#include <chrono>
#include <vector>

#include "tests/support/catch.hpp"

namespace place_improve_test {

using strata::bytes_t;
using strata::improve;
using strata::lifetime;
using strata::detail::capacity_search;
using lifetimes = std::vector<lifetime>;
using answer = capacity_search::answer;

//     bytes                                  bytes
//      5 |    bbb                              4 |   dd
//      4 |   dd                                3 |   ddcccc
//      2 |aaaa ccccc   first fit: 5            2 |aaaa ccccc   the load: 4
//      1 |aaaa ccccc   time 0 … 8              1 |aaaabbb
auto loose() -> lifetimes { return {{0, 4, 2, 0}, {4, 7, 1, 1}, {5, 9, 2, 2}, {3, 5, 2, 3}}; }

/// No placement of these reaches their load of 7; 8 bytes are enough, first fit takes 9.
auto never_tight() -> lifetimes
{
    return {{6, 8, 3}, {2, 5, 2}, {6, 7, 1}, {0, 3, 3}, {1, 2, 4}, {3, 6, 2}, {4, 7, 3}, {2, 4, 2}, {7, 10, 1}};
}

/// `n` copies of `v`, each after the one before, so that no buffer lives across.
auto repeated(lifetimes const& v, std::size_t n, std::size_t period) -> lifetimes
{
    lifetimes r;
    for (std::size_t k = 0; k < n; ++k) {
        for (auto x : v) {
            x.begin += k * period;
            x.end += k * period;
            r.push_back(x);
        }
    }
    return r;
}

auto expired() -> strata::stop_watch
{
    strata::limits lim;
    lim.deadline = std::chrono::nanoseconds(0);
    return strata::stop_watch(lim);
}

TEST_CASE("improve: reaches the load where first fit does not")
{
    auto const before = strata::first_fit(loose());
    REQUIRE(before.arena == 5);
    auto const r = improve(before);
    CHECK(r.arena == 4);
    CHECK(r.lifetimes == loose());
    CHECK_FALSE(strata::check(r).has_value());
}

TEST_CASE("improve: sizes are rounded up to the alignment while it works")
{
    auto v = loose();
    for (auto& x : v) {
        x.size = x.size * 64 - 3;
    }
    auto const r = improve(strata::first_fit(v, 64));
    CHECK_FALSE(strata::check(r).has_value());
    CHECK(r.alignment == 64);
    CHECK(r.arena <= 4 * 64);
    CHECK(r.arena > 4 * 64 - 4);
}

TEST_CASE("improve: stops with the optimum when the load is proven out of reach")
{
    auto const before = strata::first_fit(never_tight());
    REQUIRE(before.arena == 9);
    REQUIRE(strata::max_load(never_tight()) == 7);
    auto const r = improve(before);
    CHECK(r.arena == 8);
    CHECK_FALSE(strata::check(r).has_value());
}

TEST_CASE("improve: leaves a placement alone that is good enough for the goal")
{
    auto const before = strata::first_fit(never_tight());
    CHECK(improve(before, {.goal = 9}) == before);
    CHECK(improve(before, {.goal = 8}).arena == 8);
    auto const tight = strata::first_fit({{0, 3, 40}, {0, 5, 20}, {3, 7, 40}});
    CHECK(improve(tight) == tight);
}

TEST_CASE("improve: an expired clock, or no effort, gives back what it was given")
{
    auto const before = strata::first_fit(loose());
    CHECK(improve(before, {.stop = expired()}) == before);
    CHECK(improve(before, {.effort = 0}) == before);
}

TEST_CASE("improve: works on every stretch of time by itself")
{
    auto const v = repeated(loose(), 40, 9);
    auto const before = strata::first_fit(v);
    REQUIRE(before.arena > 4);
    auto const r = improve(before);
    CHECK(r.arena == 4);
    CHECK_FALSE(strata::check(r).has_value());
    CHECK(strata::detail::groups_in_time(v).size() == 40);
}

TEST_CASE("improve: a buffer that lives throughout ties all stretches together, and the search still takes them apart")
{
    auto v = repeated(never_tight(), 8, 10);
    v.push_back({0, 80, 5});
    auto const r = improve(strata::first_fit(v), {.goal = 13}); // to prove that 12 is too little would take long
    CHECK(r.arena == 13);
    CHECK_FALSE(strata::check(r).has_value());
}

TEST_CASE("improve: the same seed gives the same answer")
{
    auto const v = repeated(never_tight(), 30, 7); // overlapping copies
    auto const before = strata::first_fit(v);
    auto const a = improve(before, {.effort = 50'000, .seed = 5});
    CHECK(a == improve(before, {.effort = 50'000, .seed = 5}));
    CHECK(a.arena <= before.arena);
    CHECK_FALSE(strata::check(a).has_value());
}

TEST_CASE("improve: thousands of linked buffers, too many to search, are still never made worse")
{
    auto v = repeated(loose(), 1000, 9);
    v.push_back({0, 9000, 1});
    auto const before = strata::first_fit(v);
    auto const r = improve(before, {.effort = 100'000});
    CHECK(r.arena <= before.arena);
    CHECK_FALSE(strata::check(r).has_value());
}

TEST_CASE("capacity_search: finds a placement within the capacity or proves that there is none")
{
    auto const v = never_tight();
    capacity_search s(v, 1, 1);
    CHECK(s.run(7, 100'000, {}) == answer::impossible);
    REQUIRE(s.run(8, 100'000, {}) == answer::found);
    CHECK_FALSE(strata::check({v, s.offsets(), 8, 1}).has_value());
    CHECK(s.run(7, 100'000, {}) == answer::impossible);
    CHECK(s.run(6, 100'000, {}) == answer::impossible);
    CHECK(s.run(100, 100'000, {}) == answer::found);
}

TEST_CASE("capacity_search: gives up when it is out of nodes or out of time")
{
    auto const v = never_tight();
    capacity_search s(v, 1, 1);
    CHECK(s.run(7, 3, {}) == answer::gave_up);
    CHECK(s.nodes() <= 4);
    CHECK(s.run(8, 0, {}) == answer::gave_up);
    CHECK(s.run(8, 100'000, expired()) == answer::gave_up);
}

TEST_CASE("capacity_search: equal buffers, empty ones and none at all")
{
    lifetimes const none_at_all;
    CHECK(capacity_search(none_at_all, 1, 1).run(0, 10, {}) == answer::found);
    lifetimes const equal(12, {0, 5, 3});
    capacity_search s(equal, 1, 1);
    CHECK(s.run(36, 1000, {}) == answer::found);
    CHECK(s.run(35, 1000, {}) == answer::impossible);
    lifetimes const hollow{{0, 4, 0}, {3, 3, 50}, {0, 2, 5}};
    capacity_search h(hollow, 4, 1);
    REQUIRE(h.run(8, 10, {}) == answer::found);
    CHECK(h.offsets() == std::vector<bytes_t>{0, 0, 0});
}

} // namespace place_improve_test
