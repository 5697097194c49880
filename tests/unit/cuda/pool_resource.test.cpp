// SPDX-License-Identifier: Apache-2.0
#include <strata/cuda/pool_resource.hpp>
#include <strata/execute/concepts.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/fake_runtime.hpp"
#include "tests/support/random_problem.hpp"

namespace cuda_pool_resource_test {

using namespace strata;
using namespace strata::test;

using pool = pool_resource<fake_runtime>;

TEST_CASE("pool_resource: a class holds what it is for, and at most a quarter more")
{
    STATIC_REQUIRE(memory_source<pool>);
    CHECK(pool::class_of(0) == 512);
    CHECK(pool::class_of(512) == 512);
    CHECK(pool::class_of(513) == 640);
    CHECK(pool::class_of(1024) == 1024);
    CHECK(pool::class_of(1025) == 1280);
    for (std::size_t n = 513; n < 100'000; n += 37) {
        auto const c = pool::class_of(n);
        CHECK(c >= n);
        CHECK(c - n <= n / 4);
        CHECK(pool::class_of(c) == c);
    }
    CHECK(pool::class_of(std::numeric_limits<std::size_t>::max()) == std::numeric_limits<std::size_t>::max());
}

TEST_CASE("pool_resource: a block comes back to its stream without events")
{
    fake_device d;
    {
        pool a(fake_runtime(d), {GENERATE(device_call::malloc, device_call::malloc_async), 0, 0});
        auto* const p = a.allocate(1000, 256);
        d.use(0, p, 1000);
        a.deallocate(p, 1000, 256);
        CHECK(a.unused() == 1024);
        CHECK(a.allocate(900, 256) == p);
        CHECK(a.unused() == 0);
        CHECK(a.allocate(1000, 256) != p); // it is out
        CHECK(a.events() == 0);
        CHECK(d.calls_of["allocate"] == 2);
    }
    CHECK(d.clean());
}

TEST_CASE("pool_resource: a stream takes over the block of another and waits for it")
{
    fake_device d;
    d.events_happen = GENERATE(false, true);
    {
        pool a{fake_runtime(d)};
        auto* const p = a.allocate(1000, 256, 1);
        d.use(1, p, 1000);
        a.deallocate(p, 1000, 256, 1);
        auto* const q = a.allocate(1000, 256, 2);
        CHECK(p == q);
        CHECK(d.calls_of["wait"] == 1);
        d.use(2, q, 1000);
        a.deallocate(q, 1000, 256, 2);
        CHECK(d.calls_of["allocate"] == 1);
        for (int k = 0; k < 20; ++k) {
            a.deallocate(a.allocate(1000, 256, k % 2), 1000, 256, k % 2);
        }
        CHECK(a.events() <= 2); // used again
    }
    CHECK(d.clean());
}

TEST_CASE("pool_resource: a stream prefers its own block")
{
    fake_device d;
    {
        pool a{fake_runtime(d)};
        auto* const p = a.allocate(1000, 256, 1);
        auto* const q = a.allocate(1000, 256, 2);
        a.deallocate(q, 1000, 256, 2);
        a.deallocate(p, 1000, 256, 1);
        CHECK(a.allocate(1000, 256, 1) == p);
        CHECK(a.allocate(1000, 256, 2) == q);
        CHECK(d.calls_of["wait"] == 0);
    }
    CHECK(d.clean());
}

TEST_CASE("pool_resource: addresses are aligned, whatever the device gives")
{
    fake_device d;
    d.misalign = 256;
    {
        pool a{fake_runtime(d)};
        for (auto alignment : std::vector<std::size_t>{1, 256, 512, 2048}) {
            auto* const p = a.allocate(1000, alignment);
            CHECK(reinterpret_cast<std::uintptr_t>(p) % alignment == 0);
            d.use(0, p, 1000);
            a.deallocate(p, 1000, alignment);
        }
    }
    CHECK(d.clean());
}

TEST_CASE("pool_resource: unused blocks go back on request, and when the device has no more")
{
    fake_device d;
    d.capacity = 4096;
    {
        pool a(fake_runtime(d), {GENERATE(device_call::malloc, device_call::malloc_async), 0, 1'000'000});
        auto* const p = a.allocate(1024, 256);
        a.deallocate(p, 1024, 256);
        CHECK(a.trim() == 1024);
        CHECK(a.trim() == 0);
        CHECK(d.live_bytes() == 0);
        a.deallocate(a.allocate(1024, 256), 1024, 256);
        auto* const all = a.allocate(4096, 256); // only once the other one is gone
        CHECK(d.live_bytes() == 4096);
        try {
            static_cast<void>(a.allocate(100, 256));
            FAIL("no exception");
        } catch (out_of_memory const& e) {
            CHECK(e.asked() == 512);
            CHECK(e.free() == 0);
            CHECK(e.planned() == 1'000'000);
        }
        CHECK_THROWS_AS(a.allocate(std::numeric_limits<std::size_t>::max() - 5, 4096), out_of_memory);
        a.deallocate(all, 4096, 256);
    }
    CHECK(d.clean());
}

/// Random users on `streams` streams, each with bytes of its own while it has them. A call that fails is made again.
void play(fake_device& d, pool& a, dice& random, int streams, int turns)
{
    struct user {
        std::byte* p;
        std::size_t n;
        int s;
    };
    std::vector<user> users;
    for (int turn = 0; turn < turns; ++turn) {
        if (users.empty() || random.chance(55)) {
            auto const n = static_cast<std::size_t>(random.between(1, 4000));
            auto const s = static_cast<int>(random.below(streams));
            try {
                auto* const p = static_cast<std::byte*>(a.allocate(n, 512, s));
                for (auto const& x : users) {
                    CHECK((p + n <= x.p || x.p + x.n <= p)); // it is nobody's
                }
                d.use(s, p, n);
                users.push_back({p, n, s});
            } catch (std::exception const&) {
                CHECK(d.fail_call > 0);
            }
        } else {
            auto const i = random.below(static_cast<std::int64_t>(users.size()));
            auto const x = users[static_cast<std::size_t>(i)];
            users.erase(users.begin() + i);
            a.deallocate(x.p, x.n, 512, x.s);
        }
        if (random.chance(3)) {
            a.trim();
        }
    }
    for (auto const& x : users) {
        if (random.chance(50)) { // the rest the pool must see to
            a.deallocate(x.p, x.n, 512, x.s);
        }
    }
}

TEST_CASE("pool_resource: a block never has two users, and streams that follow each other are in order")
{
    auto const seed = GENERATE(range(std::uint64_t{1}, std::uint64_t{31}));
    CAPTURE(seed);
    dice random(seed);
    fake_device d;
    d.events_happen = random.chance(50);
    d.misalign = random.chance(50) ? 256 : 0;
    {
        pool a(fake_runtime(d), {random.chance(50) ? device_call::malloc : device_call::malloc_async, 0, 0});
        play(d, a, random, static_cast<int>(random.between(1, 4)), 200);
    }
    CHECK(d.offences == std::vector<std::string>{});
    CHECK(d.clean());
}

TEST_CASE("pool_resource: no call that fails leaves anything behind")
{
    auto const how = GENERATE(device_call::malloc, device_call::malloc_async);
    auto const code = GENERATE(700, fake_device::no_memory);
    bool failed = true;
    for (std::size_t n = 1; failed; ++n) {
        CAPTURE(n);
        fake_device d;
        d.fail_call = n;
        d.fail_with = code;
        {
            dice random(3);
            pool a(fake_runtime(d), {how, 0, 0});
            play(d, a, random, 3, 60);
        }
        failed = d.calls >= n;
        CHECK(d.offences == std::vector<std::string>{});
        CHECK(d.clean());
    }
}

} // namespace cuda_pool_resource_test
