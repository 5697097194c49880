// SPDX-License-Identifier: Apache-2.0
#include <strata/io/budget_text.hpp>

#include <chrono>
#include <string>

#include "tests/support/catch.hpp"

namespace io_budget_text_test {

using strata::budget;

auto bytes(std::string const& text) -> strata::bytes_t
{
    auto const b = strata::parse_budget(text).value();
    REQUIRE_FALSE(b.is_fraction());
    return b.resolve(0, 0);
}

TEST_CASE("parse_budget: bytes with every unit, and without")
{
    CHECK(bytes("123B") == 123);
    CHECK(bytes("123 B") == 123);
    CHECK(bytes("1073741824") == 1073741824);
    CHECK(bytes("0") == 0);
    CHECK(bytes("2kB") == 2000);
    CHECK(bytes("2KB") == 2000);
    CHECK(bytes("500MB") == 500'000'000);
    CHECK(bytes("3GB") == 3'000'000'000);
    CHECK(bytes("1TB") == 1'000'000'000'000);
    CHECK(bytes("2KiB") == 2048);
    CHECK(bytes("2MiB") == 2097152);
    CHECK(bytes("8GiB") == 8589934592);
    CHECK(bytes("1TiB") == 1099511627776);
    CHECK(bytes("9223372036854775807") == strata::max_bytes);
}

TEST_CASE("parse_budget: fractions of a unit are exact, fractions of a byte are dropped")
{
    CHECK(bytes("1.5GiB") == 1610612736);
    CHECK(bytes(".5KiB") == 512);
    CHECK(bytes("0.3kB") == 300);
    CHECK(bytes("0.1GiB") == 107374182);
    CHECK(bytes("2.999999999999999999999999999999kB") == 2999);
    CHECK(bytes("1.TB") == 1'000'000'000'000);
    CHECK(bytes("7.9") == 7);
}

TEST_CASE("parse_budget: what exceeds 64 bits is the largest budget there is")
{
    CHECK(bytes("9223372036854775808") == strata::max_bytes);
    CHECK(bytes("99999999999999999999999999TiB") == strata::max_bytes);
    CHECK(bytes("8388608TiB") == strata::max_bytes);
    CHECK(bytes("8388607.999TiB") < strata::max_bytes);
    auto const b = strata::parse_budget(std::string(400, '9') + "%").value();
    CHECK(b.resolve(5, 1) == strata::max_bytes);
    CHECK(b.resolve(5, 0) == 5);
}

TEST_CASE("parse_budget: percentages are shares of the dynamic keep-all peak")
{
    CHECK(strata::parse_budget("60%").value() == budget::fraction(0.6));
    CHECK(strata::parse_budget("62.5 %").value() == budget::fraction(0.625));
    CHECK(strata::parse_budget("0%").value() == budget::fraction(0));
    CHECK(strata::parse_budget("150%").value() == budget::fraction(1.5));
    // 0.6 is no binary fraction, yet 60 % of 5000 is 3000.
    CHECK(strata::parse_budget("60%").value().resolve(100, 5000) == 3100);
    CHECK(strata::parse_budget("70%").value().resolve(0, 1'000'000'000'000) == 700'000'000'000);
    CHECK(strata::parse_budget("10%").value().resolve(0, 1009) == 100);
    CHECK(strata::parse_budget("99.99%").value().resolve(0, 9999) == 9998);
    CHECK(strata::parse_budget("100%").value().resolve(1, strata::max_bytes - 1) == strata::max_bytes);
}

TEST_CASE("parse_budget: what is no budget says what would be one")
{
    auto const message = [](std::string const& text) {
        auto const r = strata::parse_budget(text);
        REQUIRE_FALSE(r.has_value());
        CHECK(r.error().code == strata::errc::invalid_argument);
        return r.error().message;
    };
    std::string const remedy = "; write a share such as 60% or bytes such as 8GiB, 500MB, 123B or 1073741824";
    std::string const units = " (units are B, kB, MB, GB, TB, KiB, MiB, GiB, TiB, %)";
    CHECK(message("") == "strata::parse_budget: budget \"\" does not begin with a number" + remedy);
    CHECK(message("GiB") == "strata::parse_budget: budget \"GiB\" does not begin with a number" + remedy);
    CHECK(message(".") == "strata::parse_budget: budget \".\" does not begin with a number" + remedy);
    CHECK(message("+5") == "strata::parse_budget: budget \"+5\" does not begin with a number" + remedy);
    CHECK(message("-5%") == "strata::parse_budget: budget \"-5%\" is negative" + remedy);
    CHECK(message("8G") == "strata::parse_budget: budget \"8G\" has the unknown unit \"G\"" + units + remedy);
    CHECK(message("8gib") == "strata::parse_budget: budget \"8gib\" has the unknown unit \"gib\"" + units + remedy);
    CHECK(message("1e9") == "strata::parse_budget: budget \"1e9\" has the unknown unit \"e9\"" + units + remedy);
    CHECK(message("1,5GB") == "strata::parse_budget: budget \"1,5GB\" has the unknown unit \",5GB\"" + units + remedy);
    CHECK(message("60%%") == "strata::parse_budget: budget \"60%%\" has the unknown unit \"%%\"" + units + remedy);
    CHECK_FALSE(strata::parse_budget("nan").has_value());
    CHECK_FALSE(strata::parse_budget("inf%").has_value());
    CHECK_FALSE(strata::parse_budget(" 5").has_value());
}

TEST_CASE("parse_duration: numbers with units")
{
    using namespace std::chrono_literals;
    CHECK(strata::parse_duration("5s").value() == 5s);
    CHECK(strata::parse_duration("250ms").value() == 250ms);
    CHECK(strata::parse_duration("2m").value() == 2min);
    CHECK(strata::parse_duration("1.5min").value() == 90s);
    CHECK(strata::parse_duration("1h").value() == 1h);
    CHECK(strata::parse_duration("7us").value() == 7us);
    CHECK(strata::parse_duration("0s").value() == 0s);
    CHECK(strata::parse_duration("3 ns").value() == 3ns);
    CHECK(strata::parse_duration("99999999999999h").value() == std::chrono::nanoseconds::max());
}

TEST_CASE("parse_duration: what is no time span says what would be one")
{
    for (auto const* text : {"", "5", "s", "-5s", "5 seconds", "1e3s", "5S"}) {
        auto const r = strata::parse_duration(text);
        REQUIRE_FALSE(r.has_value());
        CHECK(r.error().code == strata::errc::invalid_argument);
        CHECK(r.error().message == "strata::parse_duration: \"" + std::string(text) +
                                       "\" is no time span; write a number with a unit (ns, us, ms, s, m, h), such as "
                                       "5s or 250ms");
    }
}

} // namespace io_budget_text_test
