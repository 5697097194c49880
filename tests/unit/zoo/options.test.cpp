// SPDX-License-Identifier: Apache-2.0
#include "examples/zoo/options.hpp"

#include <limits>
#include <string>

#include "examples/zoo/models.hpp"
#include "tests/support/catch.hpp"

namespace zoo_options_test {

using namespace strata;
using Catch::Matchers::Contains;
using strata::zoo::dtype;

zoo::options const defaults{
    .layers = 4, .batch = 2, .width = 8, .hidden = 20, .heads = 2, .kv_heads = 2, .dropout = 0.1, .dtype = dtype::fp16};

auto refusal(zoo::options const& asked) -> std::string
{
    auto const r = zoo::merge("m", defaults, asked);
    REQUIRE_FALSE(r.has_value());
    CHECK(r.error().code == errc::invalid_argument);
    return r.error().message;
}

TEST_CASE("zoo options: what is not asked for stays as it is")
{
    CHECK(zoo::merge("m", defaults, {}).value() == defaults);
    auto const o = zoo::merge("m", defaults, {.batch = 7, .dtype = dtype::fp32}).value();
    CHECK(o.batch == 7);
    CHECK(o.dtype == dtype::fp32);
    CHECK(o.layers == 4);
}

TEST_CASE("zoo options: hidden follows width, kv_heads follow heads, unless they are given")
{
    CHECK(zoo::merge("m", defaults, {.width = 16}).value().hidden == 40);
    CHECK(zoo::merge("m", defaults, {.width = 1}).value().hidden == 2);
    CHECK(zoo::merge("m", defaults, {.width = 16, .hidden = 3}).value().hidden == 3);
    CHECK(zoo::merge("m", defaults, {.heads = 8}).value().kv_heads == 8);
    CHECK(zoo::merge("m", defaults, {.heads = 8, .kv_heads = 1}).value().kv_heads == 1);
}

TEST_CASE("zoo options: an option that the model does not have is refused with those it has")
{
    CHECK(refusal({.image = 3}) ==
          "strata::zoo: m has no option image; its options are layers=4 batch=2 width=8 hidden=20 heads=2 kv_heads=2 "
          "dropout=0.1 dtype=fp16");
    CHECK_THAT(refusal({.fused = true}), Contains("no option fused"));
    CHECK_THAT(refusal({.in_place = true}), Contains("no option in_place"));
    CHECK_THAT(refusal({.state = 1}), Contains("no option state"));
}

TEST_CASE("zoo options: zero, negative and huge numbers are refused with the range")
{
    CHECK_THAT(refusal({.layers = 0}), Contains("layers of m must be from 1 to 20000, not 0"));
    CHECK_THAT(refusal({.batch = -5}), Contains("batch of m must be from 1 to 1000000000, not -5"));
    CHECK_THAT(refusal({.width = std::numeric_limits<std::int64_t>::max()}), Contains("not 9223372036854775807"));
    CHECK_THAT(refusal({.dropout = 1.0}), Contains("dropout of m must be at least 0 and below 1"));
    CHECK_THAT(refusal({.dropout = -0.1}), Contains("dropout"));
    CHECK_THAT(refusal({.dropout = std::numeric_limits<double>::quiet_NaN()}), Contains("dropout"));
}

TEST_CASE("zoo options: number types are read by name")
{
    for (auto d : {dtype::fp16, dtype::bf16, dtype::fp32, dtype::int8}) {
        CHECK(zoo::parse_dtype(to_string(d)).value() == d);
    }
    CHECK(zoo::parse_dtype("fp64").error().message ==
          "strata::zoo: number type 'fp64' is none of fp16, bf16, fp32, int8");
}

TEST_CASE("zoo options: every model describes itself and takes its own defaults")
{
    for (auto const& name : zoo::names()) {
        CAPTURE(name);
        auto const d = zoo::describe(name).value();
        CHECK(d.name == name);
        CHECK_FALSE(d.summary.empty());
        REQUIRE(d.defaults.dtype.has_value());
        REQUIRE(d.defaults.batch.has_value());
        CHECK(zoo::merge(name, d.defaults, d.defaults).value() == d.defaults);
    }
}

TEST_CASE("zoo options: text shows what is set")
{
    CHECK(to_string(zoo::options{}) == "");
    CHECK(to_string(zoo::options{.seq = 9, .dropout = 0, .fused = false, .in_place = true}) ==
          "seq=9 dropout=0 fused=off in_place=on");
}

} // namespace zoo_options_test
