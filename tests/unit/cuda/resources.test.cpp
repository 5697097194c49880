// SPDX-License-Identifier: Apache-2.0
// Resources that stand on others: capped_resource, tracking_resource, fallback_resource, pmr_resource.
#include <strata/cuda/arena_resource.hpp>
#include <strata/cuda/capped_resource.hpp>
#include <strata/cuda/device_resource.hpp>
#include <strata/cuda/fallback_resource.hpp>
#include <strata/cuda/pmr_resource.hpp>
#include <strata/cuda/pool_resource.hpp>
#include <strata/cuda/tracking_resource.hpp>
#include <strata/execute/concepts.hpp>

#include <cstddef>
#include <memory_resource>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/fake_runtime.hpp"

namespace cuda_resources_test {

using namespace strata;
using namespace strata::test;

using device = device_resource<fake_runtime>;
using arena = arena_resource<fake_runtime>;
using pool = pool_resource<fake_runtime>;

TEST_CASE("resources: each is a source of memory, and so is the standard's")
{
    STATIC_REQUIRE(memory_source<capped_resource<device>>);
    STATIC_REQUIRE(memory_source<tracking_resource<capped_resource<pool>>>);
    STATIC_REQUIRE(memory_source<fallback_resource<arena, pool>>);
    STATIC_REQUIRE(memory_source<pmr_resource<pool>>);
    STATIC_REQUIRE(memory_source<std::pmr::memory_resource>);
    STATIC_REQUIRE(stream_ordered<arena>);
    STATIC_REQUIRE(stream_ordered<fallback_resource<arena, pool>>);
    STATIC_REQUIRE(stream_ordered<tracking_resource<capped_resource<pool>>>);
    STATIC_REQUIRE_FALSE(stream_ordered<tracking_resource<std::pmr::memory_resource>>);
}

template <class M>
concept takes_a_stream = requires(M& m) { m.allocate(1, 1, 1); };

TEST_CASE("resources: a stream is handed on where the source knows streams")
{
    STATIC_REQUIRE(takes_a_stream<capped_resource<device>>);
    STATIC_REQUIRE(takes_a_stream<tracking_resource<capped_resource<pool>>>);
    STATIC_REQUIRE_FALSE(takes_a_stream<capped_resource<std::pmr::memory_resource>>);
    STATIC_REQUIRE_FALSE(takes_a_stream<tracking_resource<std::pmr::memory_resource>>);
    fake_device d;
    {
        pool from{fake_runtime(d)};
        capped_resource capped(from, 1 << 20);
        tracking_resource tracked(capped);
        auto* const p = tracked.allocate(1000, 256, 1);
        d.use(1, p, 1000);
        tracked.deallocate(p, 1000, 256, 1);
        d.use(2, tracked.allocate(1000, 256, 2), 1000); // the same block: the pool makes stream 2 wait
        CHECK(d.calls_of["wait"] == 1);
    }
    CHECK(d.clean());
}

TEST_CASE("capped_resource: refuses what goes over the cap, to the byte")
{
    fake_device d;
    device from{fake_runtime(d)};
    capped_resource m(from, 1000);
    auto* const p = m.allocate(600, 256);
    try {
        static_cast<void>(m.allocate(401, 256));
        FAIL("no exception");
    } catch (out_of_memory const& e) {
        CHECK(std::string(e.what()) == "strata::capped_resource: asked for 401 bytes, 400 are free, 1000 were planned");
    }
    auto* const q = m.allocate(400, 256, 1);
    CHECK(m.live() == 1000);
    m.deallocate(p, 600, 256);
    m.deallocate(q, 400, 256, 1);
    CHECK(m.live() == 0);
    d.fail_call = d.calls + 1;
    CHECK_THROWS_AS(m.allocate(1000, 256), cuda_error);
    CHECK(m.live() == 0);
    CHECK(d.clean());
}

TEST_CASE("tracking_resource: counts in all and by tag")
{
    fake_device d;
    device from{fake_runtime(d)};
    tracking_resource m(from);
    auto* const a = m.allocate(100, 256);
    CHECK(m.set_tag("weights").empty());
    auto* const b = m.allocate(200, 256);
    m.deallocate(a, 100, 256); // under the tag of its allocation
    auto* const c = m.allocate(300, 256, 1);
    CHECK(m.set_tag("") == "weights");
    CHECK(m.total() == memory_count{500, 500, 3});
    CHECK(m.by_tag() == tracking_resource<device>::counts{{"", {0, 100, 1}}, {"weights", {500, 500, 2}}});
    m.deallocate(b, 200, 256);
    m.deallocate(c, 300, 256, 1);
    m.deallocate(m.allocate(0, 256), 0, 256);
    CHECK(m.total() == memory_count{0, 500, 4});
    d.fail_call = d.calls + 1;
    CHECK_THROWS_AS(m.allocate(1, 1), cuda_error);
    CHECK(m.total() == memory_count{0, 500, 4});
    CHECK(d.clean());
}

TEST_CASE("fallback_resource: what is planned has its planned address, the rest comes from the pool")
{
    fake_device d;
    {
        placement const p{{{0, 3, 512, 0}, {1, 2, 1024, 1}}, {0, 512}, 1536, 512};
        arena planned(fake_runtime(d), p);
        pool rest{fake_runtime(d)};
        fallback_resource m(planned, rest);
        for (int step = 0; step < 2; ++step) {
            auto* const x = m.allocate(512, 512, 1);
            auto* const other = m.allocate(512, 512, 1); // the plan goes on with 1024
            auto* const y = m.allocate(1000, 256, 1);
            auto* const nothing = m.allocate(0, 256, 1);
            CHECK(x == planned.data());
            CHECK(y == planned.data() + 512);
            CHECK_FALSE(planned.owns(other));
            m.deallocate(y, 1000, 256, 1);
            m.deallocate(other, 512, 512, 1);
            m.deallocate(x, 512, 512, 1);
            m.deallocate(nothing, 0, 256, 1);
        }
        CHECK(m.allocate(512, 512) == planned.data());
        planned.restart();
        CHECK_FALSE(planned.owns(m.allocate(512, 512))); // its place is taken
    }
    CHECK(d.clean());
}

TEST_CASE("pmr_resource: a source of memory serves the standard's containers")
{
    fake_device d; // in the host's memory
    {
        device from(fake_runtime(d), {device_call::malloc, 0});
        pmr_resource m(from);
        std::pmr::vector<int> v({1, 2, 3}, &m);
        v.push_back(4);
        CHECK(v == std::pmr::vector<int>{1, 2, 3, 4});
        CHECK(d.live_bytes() > 0);
        CHECK(m.is_equal(m));
        pmr_resource other(from);
        CHECK_FALSE(m.is_equal(other));
    }
    CHECK(d.clean());
}

TEST_CASE("capped_resource: stands on the standard's resources, too")
{
    capped_resource m(*std::pmr::new_delete_resource(), 100);
    auto* const p = m.allocate(100, 8);
    CHECK_THROWS_AS(m.allocate(1, 8), std::bad_alloc);
    m.deallocate(p, 100, 8);
}

} // namespace cuda_resources_test
