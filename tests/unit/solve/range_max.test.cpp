// SPDX-License-Identifier: Apache-2.0
#include <strata/solve/range_max.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_range_max_test {

using namespace strata;
using strata::test::dice;

/// Every question the tree can answer, against the plain array.
void check_equal(range_max const& tree, std::vector<bytes_t> const& plain, dice& d)
{
    auto const top = std::max_element(plain.begin(), plain.end());
    REQUIRE(tree.max() == *top);
    REQUIRE(tree.argmax() == static_cast<std::size_t>(top - plain.begin()));
    for (int i = 0; i < 4; ++i) {
        auto const a = static_cast<std::size_t>(d.below(static_cast<std::int64_t>(plain.size())));
        auto const b = static_cast<std::size_t>(
            d.between(static_cast<std::int64_t>(a), static_cast<std::int64_t>(plain.size()) - 1));
        REQUIRE(tree.max(a, b) == *std::max_element(plain.begin() + static_cast<std::ptrdiff_t>(a),
                                                    plain.begin() + static_cast<std::ptrdiff_t>(b) + 1));
        REQUIRE(tree[a] == plain[a]);
    }
}

TEST_CASE("range_max: equals a plain array over random additions and assignments")
{
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        dice d(seed);
        range_max tree(static_cast<std::size_t>(d.between(1, 100)));
        std::vector<bytes_t> plain(tree.size(), 0);
        auto const n = static_cast<std::int64_t>(plain.size());
        for (int step = 0; step < 200; ++step) {
            CAPTURE(seed, step);
            if (d.chance(15)) {
                auto count = std::size_t{1};
                while (count < plain.size() && d.chance(60)) {
                    count *= 2;
                }
                auto const first = static_cast<std::size_t>(d.below(n)) / count * count;
                std::vector<bytes_t> values(count);
                for (std::size_t i = 0; i < count; ++i) {
                    values[i] = plain[first + i] = d.between(-50, 50);
                }
                tree.assign(first, values);
            } else {
                auto const first = static_cast<std::size_t>(d.below(n));
                auto const last = static_cast<std::size_t>(d.below(n));
                auto const x = d.between(-20, 20);
                tree.add(first, last, x); // nothing when first > last
                for (auto i = first; i <= last; ++i) {
                    plain[i] += x;
                }
            }
            check_equal(tree, plain, d);
        }
    }
}

TEST_CASE("range_max: slots are rounded up to a power of two of at least two")
{
    CHECK(range_max(0).size() == 2);
    CHECK(range_max(1).size() == 2);
    CHECK(range_max(5).size() == 8);
    CHECK(range_max(8).size() == 8);
    CHECK(range_max(5).max() == 0);
    CHECK(range_max(5).argmax() == 0);
}

} // namespace solve_range_max_test
