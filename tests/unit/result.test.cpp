// SPDX-License-Identifier: Apache-2.0
#include <strata/result.hpp>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "tests/support/catch.hpp"

namespace result_test {

using namespace strata;

auto half(int n) -> result<int>
{
    if (n % 2 != 0) {
        return fail(errc::invalid_argument, std::to_string(n) + " is odd");
    }
    return n / 2;
}

auto boxed(int n) -> result<std::unique_ptr<int>>
{
    if (n < 0) {
        return fail(errc::invalid_argument, "negative");
    }
    return std::make_unique<int>(n);
}

TEST_CASE("result: holds a value or the error that explains its absence")
{
    auto const good = half(8);
    CHECK(good.has_value());
    CHECK(static_cast<bool>(good));
    CHECK(good.value() == 4);
    CHECK(*good == 4);
    auto const bad = half(7);
    CHECK_FALSE(bad);
    CHECK(bad.error() == fail(errc::invalid_argument, "7 is odd"));
    CHECK_FALSE(bad.error().limit);
}

TEST_CASE("result: reading a missing value throws the error")
{
    auto bad = half(7);
    CHECK_THROWS_AS(bad.value(), bad_result_access);
    CHECK_THROWS_WITH(*bad, "7 is odd");
    CHECK_THROWS_AS(half(7).value(), bad_result_access);
    auto const& fixed = bad;
    CHECK_THROWS_AS(fixed.value(), bad_result_access);
}

TEST_CASE("result: values that only move can be moved out, and members reached by an arrow")
{
    auto r = boxed(5);
    CHECK(**r == 5);
    auto const p = std::move(r).value();
    CHECK(*p == 5);
    result<std::string> s(std::string("abc"));
    CHECK(s->size() == 3);
    s->push_back('d');
    CHECK(*s == "abcd");
}

TEST_CASE("result: an error can be moved out")
{
    auto bad = half(3);
    error const e = std::move(bad).error();
    CHECK(e.message == "3 is odd");
}

TEST_CASE("result: copies and assignments take what the other holds and leave nothing behind")
{
    using text = result<std::string>;
    std::string const long_enough_to_allocate(100, 'x');
    text const good(long_enough_to_allocate);
    text const bad(fail(errc::invalid_argument, "none"));
    for (auto const* from : {&good, &bad}) {
        for (auto const* to : {&good, &bad}) {
            auto copied = *to;
            copied = *from;
            CHECK(copied.has_value() == from->has_value());
            auto moved = *to;
            moved = std::move(copied);
            REQUIRE(moved.has_value() == from->has_value());
            if (moved) {
                CHECK(*moved == long_enough_to_allocate);
            } else {
                CHECK(moved.error().message == "none");
            }
        }
    }
    CHECK(*good == long_enough_to_allocate);
    auto self = good;
    auto& same = self;
    self = same;
    CHECK(*self == long_enough_to_allocate);
}

TEST_CASE("result: as many values are destroyed as were made")
{
    auto const counted = std::make_shared<int>(1);
    {
        result<std::shared_ptr<int>> a(counted);
        auto b = a;
        auto c = std::move(a);
        b = c;
        CHECK(counted.use_count() == 3);
        c = fail(errc::io, "gone");
        CHECK(counted.use_count() == 2);
        c = b;
        CHECK(counted.use_count() == 3);
    }
    CHECK(counted.use_count() == 1);
}

static_assert(std::is_convertible_v<error, result<int>>);
static_assert(std::is_convertible_v<int, result<int>>);
static_assert(!std::is_convertible_v<result<int>, bool>, "a result is not a number");

} // namespace result_test
