// SPDX-License-Identifier: Apache-2.0
#include <strata/place/check.hpp>
#include <strata/place/first_fit.hpp>
#include <strata/place/lifetimes.hpp>
#include <strata/place/squeeze.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/random_problem.hpp"

namespace place_squeeze_test {

using namespace strata;
using strata::detail::squeeze;
using strata::test::dice;

/// Buffers that are born and die at random, of sizes with nothing in common.
auto crowd(std::uint64_t seed, std::int64_t n) -> std::vector<lifetime>
{
    dice d(seed);
    std::vector<lifetime> v;
    for (std::int64_t i = 0; i < n; ++i) {
        auto const begin = d.below(n);
        auto const end = begin + d.between(1, 1 + n / 4);
        v.push_back({static_cast<std::size_t>(begin), static_cast<std::size_t>(end), d.between(1, 1000), none});
    }
    return v;
}

TEST_CASE("squeeze: a placement that nearly fits is made to fit, and stays valid")
{
    int squeezed = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        bytes_t const alignment = seed % 2 == 0 ? 1 : 8;
        auto const before = first_fit(crowd(seed, 100), alignment);
        auto const load = max_load(before.lifetimes, alignment).value();
        auto const capacity = (load + before.arena) / 2;
        auto const x = squeeze(before, capacity, 60'000, seed, {});
        CAPTURE(seed, load, capacity, before.arena, x.arena);
        REQUIRE_FALSE(check(x));
        REQUIRE(x.lifetimes == before.lifetimes);
        REQUIRE(x.alignment == alignment);
        REQUIRE((x.arena <= capacity || x == before));
        squeezed += before.arena > capacity && x.arena <= capacity ? 1 : 0;
        REQUIRE(squeeze(before, capacity, 60'000, seed, {}) == x);
    }
    CHECK(squeezed > 15);
}

TEST_CASE("squeeze: what fits already, or never will, stays as it is")
{
    auto const before = first_fit(crowd(1, 60));
    auto const load = max_load(before.lifetimes).value();
    CHECK(squeeze(before, before.arena, 10'000, 1, {}) == before);
    CHECK(squeeze(before, load - 1, 10'000, 1, {}) == before);
    CHECK(squeeze(before, (load + before.arena) / 2, 0, 1, {}) == before);
    CHECK(squeeze(first_fit({}), 0, 10'000, 1, {}).arena == 0);
}

} // namespace place_squeeze_test
