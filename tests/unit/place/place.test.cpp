// SPDX-License-Identifier: Apache-2.0
#include <strata/place/check.hpp>
#include <strata/place/place.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

#include "tests/support/catch.hpp"

namespace place_place_test {

using strata::lifetime;
using strata::place;
using lifetimes = std::vector<lifetime>;

auto loose() -> lifetimes { return {{0, 4, 2, 0}, {4, 7, 1, 1}, {5, 9, 2, 2}, {3, 5, 2, 3}}; } // see improve.test.cpp

/// A chain of `n` ops and their backward ops: x0 -> x1 -> … and gradients back, each op with workspace.
auto chain(int n, strata::bytes_t alignment) -> strata::problem
{
    strata::problem_spec s;
    s.alignment = alignment;
    for (int i = 0; i < n; ++i) {
        s.tensors.push_back({"x", 100 + 7 * (i % 5), strata::tensor_kind::activation});
        strata::op_spec o;
        o.phase = strata::phase::forward;
        o.outputs = {i};
        o.workspace = 10 * (i % 3);
        if (i > 0) {
            o.inputs = {i - 1};
        }
        s.ops.push_back(o);
    }
    for (int i = n; i-- > 0;) {
        s.tensors.push_back({"g", 100 + 7 * (i % 5), strata::tensor_kind::gradient});
        strata::op_spec o;
        o.phase = strata::phase::backward;
        o.inputs = {i};
        if (i + 1 < n) {
            o.inputs.push_back(2 * n - 2 - i);
        }
        o.outputs = {2 * n - 1 - i};
        s.ops.push_back(o);
    }
    s.targets = {2 * n - 1};
    return strata::problem::make(s).value();
}

TEST_CASE("place: a schedule gets the buffers it needs, aligned as its problem")
{
    for (strata::bytes_t alignment : {1, 64}) {
        auto const p = chain(30, alignment);
        strata::run_order order;
        for (strata::op_id o = 0; o < p.op_count(); ++o) {
            order.push_back(o);
        }
        auto const s = strata::free_early(p, order);
        auto const r = place(p, s).value();
        CHECK(strata::check(p, s, r) == std::nullopt);
        CHECK(r.alignment == alignment);
        CHECK(r.arena == strata::max_load(r.lifetimes).value());
        CHECK(place(p, s, {.alignment = 512}).value().alignment == 512);
    }
}

TEST_CASE("place: improves first fit when it misses the load, and only then")
{
    CHECK(place(loose()).value().arena == 4);
    CHECK(place(loose(), {.target = 5}).value() == strata::first_fit(loose()));
    CHECK(place(lifetimes{}).value() == strata::placement{});
}

TEST_CASE("place: with an expired deadline or a cancelled run the answer is that of first fit")
{
    strata::limits lim;
    lim.deadline = std::chrono::nanoseconds(0);
    CHECK(place(loose(), {.stop = strata::stop_watch(lim)}).value() == strata::first_fit(loose()));
    std::stop_source source;
    source.request_stop();
    strata::limits cancelled;
    cancelled.cancel = source.get_token();
    CHECK(place(loose(), {.stop = strata::stop_watch(cancelled)}).value() == strata::first_fit(loose()));
}

TEST_CASE("place: numbers that make no sense are refused, with the number")
{
    using Catch::Matchers::Contains;
    auto const why = [](strata::result<strata::placement> const& r) {
        REQUIRE_FALSE(r.has_value());
        return r.error();
    };
    CHECK(why(place(loose(), {.alignment = -8})).code == strata::errc::invalid_argument);
    CHECK_THAT(why(place(loose(), {.alignment = -8})).message, Contains("alignment of -8 bytes"));
    CHECK_THAT(why(place(loose(), {.target = -1})).message, Contains("target of -1 bytes"));
    CHECK_THAT(why(place(loose(), {.effort = -2})).message, Contains("effort of -2"));
    CHECK_THAT(why(place(lifetimes{{0, 1, -5}})).message, Contains("-5 bytes"));
    CHECK(why(place(lifetimes{{0, 1, strata::max_bytes}})).code == strata::errc::overflow);
    CHECK(why(place(lifetimes{{0, 1, INT64_MAX / 4}, {0, 1, INT64_MAX / 4}, {0, 1, 9}})).code ==
          strata::errc::overflow);
    CHECK(why(place(lifetimes{{0, 1, strata::max_bytes}}, {.alignment = 4096})).code == strata::errc::overflow);
    CHECK(place(lifetimes{{0, 1, INT64_MAX / 4}, {0, 1, INT64_MAX / 4}}).has_value());
}

} // namespace place_place_test
