// SPDX-License-Identifier: Apache-2.0
#include <strata/io/json_text.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/catch.hpp"

namespace io_json_text_test {

auto json(std::string_view text) -> std::string
{
    std::string s;
    strata::append_json_string(s, text);
    return s;
}

auto number(double x) -> std::string
{
    std::string s;
    strata::append_json_number(s, x);
    return s;
}

TEST_CASE("append_json_string: quotes, backslashes and control characters are escaped")
{
    CHECK(json("") == "\"\"");
    CHECK(json("a\"b\\c") == R"("a\"b\\c")");
    CHECK(json("\n\t\r\x1f\x7f") == R"("\n\t\u000d\u001f\u007f")");
    CHECK(json(std::string_view("\0", 1)) == R"("\u0000")");
}

TEST_CASE("append_json_string: well-formed UTF-8 passes, every other byte is replaced")
{
    std::string const good = "\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf";
    CHECK(json(good) == "\"" + good + "\"");
    std::string const r = "\xEF\xBF\xBD";
    CHECK(json("\x80") == "\"" + r + "\"");
    CHECK(json("\xc3") == "\"" + r + "\"");
    CHECK(json("\xc0\xaf") == "\"" + r + r + "\"");                 // overlong
    CHECK(json("\xe0\x9f\xbf") == "\"" + r + r + r + "\"");         // overlong
    CHECK(json("\xf0\x8f\xbf\xbf") == "\"" + r + r + r + r + "\""); // overlong
    CHECK(json("\xed\xa0\x80") == "\"" + r + r + r + "\"");         // surrogate
    CHECK(json("\xf4\x90\x80\x80") == "\"" + r + r + r + r + "\""); // beyond U+10FFFF
    CHECK(json("\xf5\x80\x80\x80") == "\"" + r + r + r + r + "\"");
    CHECK(json("\xe2\x82z") == "\"" + r + r + "z\"");
}

TEST_CASE("append_json_number: numbers are exact and as short as that allows")
{
    CHECK(number(0.1) == "0.1");
    CHECK(number(1e300) == "1e+300");
    CHECK(number(3) == "3");
    CHECK(number(std::numeric_limits<double>::infinity()) == "null");
    CHECK(number(std::numeric_limits<double>::quiet_NaN()) == "null");
    std::string s;
    strata::append_json_number(s, std::numeric_limits<std::int64_t>::min());
    CHECK(s == "-9223372036854775808");
}

TEST_CASE("append_json_list, append_json_hex: lists and fingerprints")
{
    std::string s;
    strata::append_json_list(s, std::vector<int>{});
    strata::append_json_list(s, std::vector<int>{-1, 20});
    strata::append_json_hex(s, 0x0123456789abcdefU);
    CHECK(s == "[][-1,20]0123456789abcdef");
}

TEST_CASE("json_quoted: long text is cut between characters")
{
    CHECK(strata::json_quoted("abc", 3) == "\"abc\"");
    CHECK(strata::json_quoted("abcd", 3) == "\"abc\"...");
    CHECK(strata::json_quoted("ab\xc3\xa9", 3) == "\"ab\"...");
    CHECK(strata::json_quoted("ab\xc3\xa9z", 4) == "\"ab\xc3\xa9\"...");
}

} // namespace io_json_text_test
