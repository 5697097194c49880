// SPDX-License-Identifier: Apache-2.0
#include <strata/place/check.hpp>
#include <strata/place/ejection_search.hpp>
#include <strata/place/first_fit.hpp>
#include <strata/place/lifetimes.hpp>

#include <chrono>
#include <cstddef>
#include <random>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/sanitized.hpp"

namespace place_ejection_search_test {

using strata::bytes_t;
using strata::lifetime;
using strata::detail::ejection_search;
using lifetimes = std::vector<lifetime>;

auto loose() -> lifetimes { return {{0, 4, 2, 0}, {4, 7, 1, 1}, {5, 9, 2, 2}, {3, 5, 2, 3}}; } // see improve.test.cpp

auto expired() -> strata::stop_watch
{
    strata::limits lim;
    lim.deadline = std::chrono::nanoseconds(0);
    return strata::stop_watch(lim);
}

/// A step whose layers keep a few results each, with `n` buffers that live for a short time in between.
auto step(std::mt19937& random, std::size_t n) -> lifetimes
{
    lifetimes v;
    for (std::size_t i = 0; i < n; ++i) {
        auto const size = 1 + static_cast<bytes_t>(random() % 30);
        if (i % 3 == 0) {
            v.push_back({i, 2 * n - i, size});
        } else {
            auto const begin = random() % (2 * n);
            v.push_back({begin, begin + 1 + random() % 9, 3 * size});
        }
    }
    return v;
}

TEST_CASE("ejection_search: makes room for the buffer that sticks out")
{
    auto const before = strata::first_fit(loose());
    REQUIRE(before.arena == 5);
    ejection_search s(before.lifetimes, 1, 1);
    REQUIRE(s.run(before.offsets, 4, 1000, {}));
    CHECK_FALSE(strata::check(strata::detail::make_placement(loose(), s.offsets(), 1)).has_value());
    CHECK(strata::detail::make_placement(loose(), s.offsets(), 1).arena == 4);
    CHECK(s.work() > 0);
}

TEST_CASE("ejection_search: a placement that fits already is left as it is, for no work")
{
    auto const before = strata::first_fit(loose());
    ejection_search s(before.lifetimes, 1, 1);
    CHECK(s.run(before.offsets, 5, 1000, {}));
    CHECK(s.offsets() == before.offsets);
    CHECK(s.work() == 0);
}

TEST_CASE("ejection_search: gives up below the load, below a buffer's size, without work and when time is up")
{
    auto const before = strata::first_fit(loose());
    ejection_search s(before.lifetimes, 1, 1);
    CHECK_FALSE(s.run(before.offsets, 3, 1000, {}));
    CHECK(s.work() <= 1001);
    CHECK_FALSE(s.run(before.offsets, 1, 1000, {}));
    CHECK_FALSE(s.run(before.offsets, 4, 0, {}));
    CHECK_FALSE(s.run(before.offsets, 3, INT64_MAX / 2, expired()));
    ejection_search none(lifetimes{}, 1, 1);
    CHECK(none.run({}, 0, 0, {}));
}

TEST_CASE("ejection_search: what it finds is valid, aligned and within the capacity")
{
    std::mt19937 random(3);
    int found = 0;
    for (int round = 0; round < (strata::test::sanitized ? 20 : 120); ++round) {
        auto v = step(random, 20 + random() % 200);
        v.push_back({7, 7, 50});
        v.push_back({0, 9, 0});
        bytes_t const alignment = round % 3 == 0 ? 16 : 1;
        auto const before = strata::first_fit(v, alignment);
        auto const load = strata::max_load(v, alignment).value();
        auto const capacity = load + (before.arena - load) / 2;
        ejection_search s(v, alignment, random());
        if (!s.run(before.offsets, capacity, 20'000, {})) {
            continue;
        }
        ++found;
        auto const r = strata::detail::make_placement(v, s.offsets(), alignment);
        auto const e = strata::check(r);
        INFO("round " << round);
        REQUIRE((e ? e->message : "") == "");
        REQUIRE(r.arena <= capacity);
    }
    CHECK(found > (strata::test::sanitized ? 10 : 60));
}

TEST_CASE("ejection_search: the same calls give the same answers")
{
    std::mt19937 random(4);
    auto const v = step(random, 300);
    auto const before = strata::first_fit(v);
    auto const load = strata::max_load(v).value();
    REQUIRE(before.arena > load);
    ejection_search a(v, 1, 9);
    ejection_search b(v, 1, 9);
    for (auto capacity : {load, load + (before.arena - load) / 2}) {
        CHECK(a.run(before.offsets, capacity, 3000, {}) == b.run(before.offsets, capacity, 3000, {}));
        CHECK(a.offsets() == b.offsets());
        CHECK(a.work() == b.work());
    }
}

} // namespace place_ejection_search_test
