// SPDX-License-Identifier: Apache-2.0
#include <strata/io/format.hpp>

#include <limits>
#include <string>

#include "tests/support/catch.hpp"

namespace io_format_test {

using namespace strata;

TEST_CASE("format: bytes are written in the largest binary unit that leaves at least one")
{
    CHECK(format_bytes(0) == "0 B");
    CHECK(format_bytes(900) == "900 B");
    CHECK(format_bytes(1024) == "1 KiB");
    CHECK(format_bytes(1536) == "1.5 KiB");
    CHECK(format_bytes(bytes_t{12345} << 20U) == "12.1 GiB");
    CHECK(format_bytes(6657199309) == "6.2 GiB");
    CHECK(format_bytes(max_bytes) == "8 EiB");
    CHECK(format_bytes(-2048) == "-2 KiB");
}

TEST_CASE("format: bytes just below a unit are rounded into it and never written as 1024")
{
    CHECK(format_bytes(1023) == "1023 B");
    CHECK(format_bytes((bytes_t{1} << 20U) - 1) == "1 MiB");
    CHECK(format_bytes(bytes_t{1000} << 10U) == "1000 KiB");
}

TEST_CASE("format: a share that is not zero is never written as zero")
{
    CHECK(format_percent(0) == "0 %");
    CHECK(format_percent(0.0384) == "3.84 %");
    CHECK(format_percent(0.5) == "50 %");
    CHECK(format_percent(12.345) == "1234 %");
    CHECK(format_percent(0.00001) == "< 0.01 %");
}

TEST_CASE("format: costs find their unit in both directions")
{
    CHECK(format_cost(0) == "0 ns");
    CHECK(format_cost(41'300'000) == "41.3 ms");
    CHECK(format_cost(999) == "999 ns");
    CHECK(format_cost(999'900) == "1 ms");
    CHECK(format_cost(1e13) == "10000 s");
    CHECK(format_cost(0.0123, "s") == "12.3 ms");
    CHECK(format_cost(1500, "us") == "1.5 ms");
    CHECK(format_cost(2500, "flops") == "2500 flops");
    CHECK(format_cost(3, "") == "3");
}

TEST_CASE("format: what is no number is written as a question mark")
{
    CHECK(format_percent(std::numeric_limits<double>::infinity()) == "? %");
    CHECK(format_percent(std::numeric_limits<double>::quiet_NaN()) == "? %");
}

TEST_CASE("format: thousands are set apart")
{
    CHECK(detail::grouped(0) == "0");
    CHECK(detail::grouped(999) == "999");
    CHECK(detail::grouped(1000) == "1,000");
    CHECK(detail::grouped(-1234567) == "-1,234,567");
}

TEST_CASE("format: a negative number that rounds to zero loses its sign")
{
    CHECK(detail::fixed(-0.001, 2) == "0.00");
    CHECK(detail::fixed(-0.25, 2) == "-0.25");
}

TEST_CASE("format: long names lose their middle, and no character of UTF-8 is cut in two")
{
    CHECK(detail::shortened("conv", 8) == "conv");
    auto const cut = detail::shortened(std::string(40, 'a') + "tail", 20);
    CHECK(cut == std::string(13, 'a') + "…" + "tail");
    std::string umlauts;
    for (int i = 0; i < 30; ++i) {
        umlauts += "ä";
    }
    auto const name = detail::shortened(umlauts, 20);
    std::size_t odd = 0;
    for (std::size_t i = 0; i < name.size(); ++i) {
        bool const inside = (static_cast<unsigned char>(name[i]) & 0xC0U) == 0x80U;
        bool const lead = static_cast<unsigned char>(name[i]) == 0xC3U;
        odd += lead && (i + 1 == name.size() || static_cast<unsigned char>(name[i + 1]) != 0xA4U) ? 1U : 0U;
        odd += inside && i == 0 ? 1U : 0U;
    }
    CHECK(odd == 0);
    CHECK(name.size() <= 20);
}

TEST_CASE("format: a number and its unit stay on one line")
{
    CHECK(detail::unbroken("6.2 GiB in all") == "6.2\u00a0GiB in all");
}

} // namespace io_format_test
