// SPDX-License-Identifier: Apache-2.0
#include <strata/place/check.hpp>
#include <strata/place/lifetimes.hpp>

#include <optional>
#include <string>

#include "tests/support/catch.hpp"

namespace place_check_test {

using strata::check;
using strata::placement;

//     bytes
//     30 |     cccc
//     20 |  bbbbbbb
//     10 |  bbbbbbb
//      0 |aaaaa ddd      time 0 … 4
auto good() -> placement
{
    return {{{0, 3, 10, 0}, {1, 5, 20, 1}, {2, 4, 5, 2}, {3, 5, 10, 3}}, {0, 10, 30, 0}, 35, 1};
}

auto message(placement const& x) -> std::string
{
    auto const e = check(x);
    if (!e) {
        return "fine";
    }
    CHECK(e->code == strata::errc::invalid_plan);
    return e->message;
}

TEST_CASE("check: a placement without overlap is fine")
{
    CHECK(message(good()) == "fine");
    CHECK(message({}) == "fine");
}

TEST_CASE("check: two live buffers that share a byte are named")
{
    using Catch::Matchers::Contains;
    auto x = good();
    x.offsets[1] = 9; // into a from above
    CHECK_THAT(message(x), Contains("lifetime 1 (tensor 1, steps 1 to 5, 20 bytes at 9) overlaps lifetime 0"));
    x = good();
    x.offsets[2] = 29; // into b
    x.arena = 34;
    CHECK_THAT(message(x), Contains("lifetime 2") && Contains("overlaps lifetime 1"));
    x = good();
    x.offsets[1] = 26; // b begins first, c reaches into it from below
    x.offsets[2] = 24;
    x.arena = 46;
    CHECK_THAT(message(x), Contains("lifetime 2") && Contains("overlaps lifetime 1"));
    x = good();
    x.lifetimes[3].begin = 2; // d in place of a before a has ended
    CHECK_THAT(message(x), Contains("lifetime 3") && Contains("overlaps lifetime 0"));
}

TEST_CASE("check: the same offset at the same time is an overlap also for equal buffers")
{
    placement const x{{{0, 2, 8, 0}, {0, 2, 8, 0}}, {0, 0}, 8, 1};
    CHECK(message(x) != "fine");
}

TEST_CASE("check: buffers of zero bytes and empty lifetimes overlap nobody")
{
    placement const x{{{0, 2, 8, 0}, {0, 2, 0, 1}, {1, 1, 8, 2}}, {0, 4, 0}, 8, 1};
    CHECK(message(x) == "fine");
}

TEST_CASE("check: alignment, sign, size and arena are judged")
{
    using Catch::Matchers::Contains;
    auto x = good();
    x.alignment = 4;
    CHECK_THAT(message(x), Contains("lifetime 1") && Contains("not aligned to 4 bytes"));
    x.alignment = 0;
    CHECK_THAT(message(x), Contains("alignment is 0"));
    x = good();
    x.offsets[0] = -10;
    CHECK_THAT(message(x), Contains("negative"));
    x = good();
    x.lifetimes[0].size = -10;
    CHECK_THAT(message(x), Contains("negative"));
    x = good();
    x.arena = 36;
    CHECK_THAT(message(x), Contains("36") && Contains("35"));
    x = good();
    x.offsets.pop_back();
    CHECK_THAT(message(x), Contains("4 lifetimes have 3 offsets"));
    x = good();
    x.lifetimes[0].end = 0;
    x.lifetimes[0].begin = 1;
    CHECK_THAT(message(x), Contains("ends before it begins"));
    x = good();
    x.offsets[2] = strata::max_bytes;
    CHECK_THAT(message(x), Contains("beyond 64 bits"));
}

TEST_CASE("check: a placement for a schedule holds exactly the buffers the schedule needs")
{
    using Catch::Matchers::Contains;
    strata::problem_spec spec;
    spec.tensors = {{"x", 8, strata::tensor_kind::activation}, {"g", 16, strata::tensor_kind::gradient}};
    spec.ops.resize(4);
    spec.ops[0].outputs = {0};
    spec.ops[0].workspace = 4;
    spec.ops[1].inputs = spec.ops[2].inputs = {0};
    spec.ops[1].outputs = spec.ops[2].outputs = {1};
    spec.ops[3].inputs = {1};
    auto const p = strata::problem::make(spec).value();
    using strata::run;
    strata::schedule const s{{run(0), run(1), strata::free(0), run(0), run(2), strata::free(0), run(3)}};
    placement const right{{{0, 2, 8, 0}, {0, 1, 4, strata::none}, {1, 7, 16, 1}, {3, 5, 8, 0}, {3, 4, 4, strata::none}},
                          {0, 8, 12, 0, 8},
                          28,
                          1};
    CHECK(check(p, s, right) == std::nullopt);
    CHECK(right.lifetimes == strata::lifetimes_of(p, s));

    auto x = right;
    x.lifetimes[3].end = 4;
    CHECK_THAT(check(p, s, x).value().message, Contains("does not need tensor 0 of 8 bytes in steps 3 to 4"));
    x = right;
    x.lifetimes.pop_back();
    x.offsets.pop_back();
    CHECK_THAT(check(p, s, x).value().message, Contains("needs workspace of 4 bytes in steps 3 to 4"));
    x = right;
    x.lifetimes[4].size = 3;
    CHECK(check(p, s, x).has_value());
    x = right;
    x.offsets[2] = 4;
    x.arena = 20;
    CHECK_THAT(check(p, s, x).value().message, Contains("overlaps"));
}

} // namespace place_check_test
