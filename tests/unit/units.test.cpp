// SPDX-License-Identifier: Apache-2.0
#include <strata/units.hpp>

#include <limits>

#include "tests/support/catch.hpp"

namespace units_test {

using namespace strata;

TEST_CASE("units: a sum that leaves the 64-bit range is refused and leaves the sum alone")
{
    std::int64_t sum = max_bytes - 1;
    CHECK(checked_add(sum, 1));
    CHECK(sum == max_bytes);
    CHECK_FALSE(checked_add(sum, 1));
    CHECK(sum == max_bytes);
    sum = std::numeric_limits<std::int64_t>::min();
    CHECK_FALSE(checked_add(sum, -1));
}

TEST_CASE("units: sizes are rounded up to the alignment and rounding that overflows says so")
{
    CHECK(align_up(0, 64) == 0);
    CHECK(align_up(1, 64) == 64);
    CHECK(align_up(64, 64) == 64);
    CHECK(align_up(65, 64) == 128);
    CHECK(align_up(7, 1) == 7);
    CHECK(align_up(7, 3) == 9);
    CHECK(align_up(max_bytes - 1, 64) == max_bytes);
    CHECK(align_up(max_bytes, 1) == max_bytes);
    static_assert(align_up(5, 4) == 8);
}

TEST_CASE("units: an absolute budget is itself, whatever the problem")
{
    CHECK(budget::bytes(123).resolve(1000, 5000) == 123);
    CHECK(budget().resolve(1000, 5000) == max_bytes);
    CHECK_FALSE(budget::bytes(1).is_fraction());
}

TEST_CASE("units: a share is taken of the dynamic peak, rounded down, and the resident bytes are added")
{
    CHECK(budget::fraction(0.5).is_fraction());
    CHECK(budget::fraction(0.5).share() == 0.5);
    CHECK(budget::fraction(0.5).resolve(100, 11) == 105);
    CHECK(budget::fraction(1).resolve(100, 11) == 111);
    CHECK(budget::fraction(0).resolve(100, 11) == 100);
    CHECK(budget::fraction(-1).resolve(100, 11) == 100);
    CHECK(budget::fraction(std::numeric_limits<double>::quiet_NaN()).resolve(100, 11) == 100);
    CHECK(budget::fraction(1e30).resolve(100, 11) == max_bytes);
    CHECK(budget::fraction(1).resolve(0, max_bytes) == max_bytes);
}

TEST_CASE("units: written budgets mean what they say, decimal and binary units apart")
{
    CHECK(7_B == budget::bytes(7));
    CHECK(2_KB == budget::bytes(2000));
    CHECK(2_KiB == budget::bytes(2048));
    CHECK(3_MB == budget::bytes(3'000'000));
    CHECK(3_MiB == budget::bytes(3 * 1024 * 1024));
    CHECK(4_GB == budget::bytes(4'000'000'000));
    CHECK(8_GiB == budget::bytes(bytes_t{8} * 1024 * 1024 * 1024));
    CHECK(60_percent == budget::fraction(0.6));
    CHECK(12.5_percent == budget::fraction(0.125));
    CHECK_FALSE(1_B == budget::fraction(1));
}

} // namespace units_test
