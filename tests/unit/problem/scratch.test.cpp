// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Tests of strata/problem/scratch.hpp.
#include <strata/problem/scratch.hpp>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include "tests/support/catch.hpp"

namespace problem_scratch_test {

using strata::bytes_t;
using strata::detail::pack_scratch;
using strata::detail::scratch_piece;

TEST_CASE("scratch: pieces that meet lie apart, and no instant needs more than the whole")
{
    for (std::uint32_t seed = 0; seed < 500; ++seed) {
        INFO("seed " << seed);
        std::mt19937 random(seed);
        std::vector<scratch_piece> pieces(random() % 12);
        for (auto& x : pieces) {
            x.first = random() % 6;
            x.last = x.first + random() % 4;
            x.size = static_cast<bytes_t>(random() % 5) * 8;
        }
        auto const total = pack_scratch(pieces);
        REQUIRE(total);
        bytes_t end = 0;
        bytes_t load = 0;
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            auto const& x = pieces[i];
            CHECK(x.offset % 8 == 0);
            end = std::max(end, x.offset + x.size);
            bytes_t now = 0;
            for (std::size_t j = 0; j < pieces.size(); ++j) {
                auto const& y = pieces[j];
                now += y.first <= x.first && x.first <= y.last ? y.size : 0;
                bool const meet = i < j && x.first <= y.last && y.first <= x.last && x.size > 0 && y.size > 0;
                CHECK_FALSE((meet && x.offset < y.offset + y.size && y.offset < x.offset + x.size));
            }
            load = std::max(load, now);
        }
        CHECK(*total == end);
        CHECK(*total >= load);
        CHECK(*total <= load + load / 2); // a bad packer takes the sum of all sizes
    }
}

TEST_CASE("scratch: the better of two orders is taken")
{
    // by time a (2 bytes) lies below b (8), and c (9) does not fit the hole of a; by size c lies at the bottom
    std::vector<scratch_piece> in_size{{0, 0, 2}, {0, 1, 8}, {1, 1, 9}};
    CHECK(pack_scratch(in_size) == 17);
    // by size the 4 and the 3 share the bottom, and the 2 and the 2 between them come on top, one above the other: 8
    std::vector<scratch_piece> in_time{{2, 3, 2}, {3, 3, 4}, {0, 2, 3}, {1, 2, 2}};
    CHECK(pack_scratch(in_time) == 7);
}

TEST_CASE("scratch: nothing takes nothing, and a sum beyond 64 bits is no size")
{
    CHECK(pack_scratch({}) == 0);
    std::vector<scratch_piece> huge{{0, 1, strata::max_bytes - 4}, {1, 2, 8}};
    CHECK_FALSE(pack_scratch(huge));
}

} // namespace problem_scratch_test
