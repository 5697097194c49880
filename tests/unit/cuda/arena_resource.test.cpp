// SPDX-License-Identifier: Apache-2.0
#include <strata/cuda/arena_resource.hpp>
#include <strata/execute/concepts.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/fake_runtime.hpp"
#include "tests/support/stream_scenarios.hpp"

namespace cuda_arena_resource_test {

using namespace strata;
using namespace strata::test;

using arena = arena_resource<fake_runtime>;

/// a [0, 512) and b [512, 1024) side by side, then c over both.
auto two_then_one() -> placement { return {{{0, 1, 512, 0}, {0, 2, 512, 1}, {2, 3, 1024, 2}}, {0, 512, 0}, 1024, 512}; }

auto options(device_call how) -> arena_options<fake_runtime> { return {how, 0}; }

/// Uses lifetime `i` of `p` on stream `s` from acquiring to releasing it.
void pass(fake_device& d, arena& a, placement const& p, std::size_t i, int s)
{
    auto* const at = a.acquire(i, s);
    d.use(s, at, static_cast<std::size_t>(p.lifetimes[i].size));
    a.release(i, s);
}

TEST_CASE("arena_resource: a lifetime has its planned address, in one slab")
{
    fake_device d;
    d.misalign = GENERATE(std::size_t{0}, std::size_t{256});
    {
        arena a(fake_runtime(d), two_then_one(), options(GENERATE(device_call::malloc, device_call::malloc_async)));
        CHECK(d.calls_of["allocate"] == 1);
        CHECK(a.size() == 1024);
        CHECK(reinterpret_cast<std::uintptr_t>(a.data()) % 512 == 0);
        CHECK(a.acquire(0, 0) == a.data());
        CHECK(a.acquire(1, 0) == a.data() + 512);
        CHECK(a.owns(a.data() + 1023));
        CHECK_FALSE(a.owns(a.data() + 1024));
    }
    CHECK(d.clean());
}

TEST_CASE("arena_resource: on one stream there are no events and no waits")
{
    fake_device d;
    {
        auto const p = two_then_one();
        arena a(fake_runtime(d), p, options(GENERATE(device_call::malloc, device_call::malloc_async)));
        for (int step = 0; step < 3; ++step) {
            for (std::size_t i = 0; i < 3; ++i) {
                pass(d, a, p, i, 0);
            }
        }
        CHECK(a.events() == 0);
        CHECK(d.calls_of["wait"] == 0);
    }
    CHECK(d.clean());
}

TEST_CASE("arena_resource: a stream waits for those that had its bytes, and for no other")
{
    fake_device d;
    {
        auto const p = two_then_one();
        arena a(fake_runtime(d), p, options(device_call::malloc));
        pass(d, a, p, 0, 1);
        pass(d, a, p, 1, 2);
        CHECK(d.calls_of["wait"] == 0);
        pass(d, a, p, 2, 3); // over both
        CHECK(d.calls_of["wait"] == 2);
        CHECK(d.offences.empty());
    }
    CHECK(d.clean());
}

TEST_CASE("arena_resource: events are recorded at the release, for what another stream takes over")
{
    fake_device d;
    auto const p = two_then_one();
    arena a(fake_runtime(d), p, options(device_call::malloc));
    auto const hand_over = [&] { // from stream 1, which goes on with other work, to stream 2
        pass(d, a, p, 0, 1);
        auto const released = d.before(1, 1);
        void* other = nullptr;
        fake_runtime(d).allocate_async(other, 1, 1);
        fake_runtime(d).free_async(other, 1);
        pass(d, a, p, 0, 2);
        return d.before(2, 1) - released; // work of stream 1 after the release that stream 2 waits for
    };
    SECTION("late, while one stream was all there was")
    {
        CHECK(hand_over() > 0);
        CHECK(hand_over() == 0);
    }
    SECTION("in the first round if there are several streams")
    {
        pass(d, a, p, 1, 2);
        CHECK(hand_over() == 0);
    }
    SECTION("not where the same stream has it again")
    {
        pass(d, a, p, 0, 1);
        pass(d, a, p, 1, 2);              // now there are several
        CHECK(d.calls_of["record"] == 1); // as nobody knows yet who comes after it
        for (int step = 0; step < 3; ++step) {
            pass(d, a, p, 0, 1);
            pass(d, a, p, 1, 2);
        }
        CHECK(d.calls_of["record"] == 1);
    }
    SECTION("and used again")
    {
        for (int step = 0; step < 10; ++step) {
            hand_over();
        }
        CHECK(a.events() <= 2);
    }
    CHECK(d.offences.empty());
}

TEST_CASE("arena_resource: the stream that releases is the one to be waited for")
{
    fake_device d;
    {
        auto const p = two_then_one();
        arena a(fake_runtime(d), p, options(device_call::malloc));
        fake_runtime runtime(d);
        int handed_on = 0;
        REQUIRE(runtime.create(handed_on) == 0);
        auto* const at = a.acquire(0, 1);
        d.use(1, at, 512);
        runtime.record(handed_on, 1); // the caller has stream 2 go on with it
        runtime.wait(2, handed_on);
        runtime.destroy(handed_on);
        d.use(2, at, 512);
        a.release(0, 2);
        pass(d, a, p, 0, 1);
        CHECK(d.before(1, 2) > 0);
    }
    CHECK(d.clean());
}

TEST_CASE("arena_resource: bytes in use are given to nobody else")
{
    fake_device d;
    {
        auto const p = two_then_one();
        arena a(fake_runtime(d), p);
        a.acquire(1, 0);
        CHECK_THROWS_AS(a.acquire(2, 0), std::logic_error);
        CHECK_THROWS_AS(a.acquire(1, 0), std::logic_error);
        CHECK_THROWS_AS(a.acquire(3, 0), std::out_of_range);
        a.release(1, 0);
        CHECK(a.acquire(2, 0) == a.data());
    }
    CHECK(d.clean());
}

TEST_CASE("arena_resource: overlapping uses on different streams are always in order")
{
    auto const seed = GENERATE(range(std::uint64_t{1}, std::uint64_t{41}));
    auto const how = GENERATE(device_call::malloc, device_call::malloc_async);
    CAPTURE(seed);
    dice random(seed);
    auto const p = random_placement(random, 40, 512);
    auto const streams = random.between(1, 4);
    bool const steady = random.chance(50); // the same streams in each step
    std::vector<int> on(p.lifetimes.size());
    fake_device d;
    {
        arena a(fake_runtime(d), p, {how, static_cast<int>(random.below(2))});
        for (int step = 0; step < 4; ++step) {
            for (auto& s : on) {
                s = step == 0 || !steady ? static_cast<int>(random.below(streams)) : s;
            }
            std::vector<void*> address(p.lifetimes.size());
            auto const waits = d.calls_of["wait"];
            auto const records = d.calls_of["record"];
            play(
                p,
                [&](std::size_t i) { return on[i]; },
                [&](std::size_t i, int s) { address[i] = a.acquire(i, s); },
                [&](std::size_t i, int s) { d.use(s, address[i], static_cast<std::size_t>(p.lifetimes[i].size)); },
                [&](std::size_t i, int s) { a.release(i, s); });
            if (steady && step == 3) {
                CHECK(d.calls_of["record"] - records <= d.calls_of["wait"] - waits);
            }
        }
        if (streams == 1 && how == device_call::malloc) {
            CHECK(a.events() == 0);
        }
    }
    CHECK(d.offences == std::vector<std::string>{});
    CHECK(d.clean());
}

TEST_CASE("arena_resource: no call that fails leaves anything behind, or bytes in disorder")
{
    auto const how = GENERATE(device_call::malloc, device_call::malloc_async);
    dice random(7);
    auto const p = random_placement(random, 12, 512);
    bool failed = true;
    for (std::size_t n = 1; failed; ++n) {
        CAPTURE(n);
        fake_device d;
        d.fail_call = n;
        std::vector<char> held(p.lifetimes.size(), 0);
        try {
            arena a(fake_runtime(d), p, options(how));
            for (int step = 0; step < 2; ++step) {
                play(
                    p,
                    [&](std::size_t i) { return static_cast<int>(i) % 3; },
                    [&](std::size_t i, int s) {
                        for (bool again = true; again;) {
                            try {
                                d.use(s, a.acquire(i, s), static_cast<std::size_t>(p.lifetimes[i].size));
                                again = false;
                            } catch (cuda_error const& e) {
                                CHECK(e.code() == 700);
                            }
                        }
                    },
                    [](std::size_t, int) {},
                    [&](std::size_t i, int s) { a.release(i, s); });
            }
        } catch (cuda_error const& e) {
            CHECK(n == 1);
            CHECK(std::string(e.what()).find("allocate memory") != std::string::npos);
        }
        failed = d.calls >= n;
        CHECK(d.offences == std::vector<std::string>{});
        CHECK(d.clean());
    }
}

TEST_CASE("arena_resource: as a source of memory it gives the planned lifetimes in turn")
{
    STATIC_REQUIRE(memory_source<arena>);
    fake_device d;
    {
        auto p = two_then_one();
        p.lifetimes.insert(p.lifetimes.begin() + 1, {0, 1, 0, 3}); // an empty one is passed over
        p.offsets.insert(p.offsets.begin() + 1, 512);
        arena a(fake_runtime(d), p);
        for (int step = 0; step < 2; ++step) {
            auto* const x = a.allocate(512, 512);
            CHECK(x == a.data());
            CHECK(a.expects(1, 1)); // rounded up to the alignment
            CHECK_FALSE(a.expects(0, 1));
            CHECK_FALSE(a.expects(513, 1));
            CHECK_FALSE(a.expects(512, 1024));
            auto* const y = a.allocate(300, 256);
            CHECK(y == a.data() + 512);
            a.deallocate(x, 512, 512);
            a.deallocate(y, 300, 256);
            CHECK_THROWS_WITH(a.allocate(512, 512),
                              Catch::Contains("512 bytes are asked for") &&
                                  Catch::Contains("lifetime 3 of 1024 bytes"));
            auto* const z = a.allocate(1024, 512);
            CHECK(z == a.data());
            a.deallocate(z, 1024, 512);
        }
        static_cast<void>(a.allocate(512, 512));
        a.deallocate(a.data(), 512, 512);
        a.restart();
        CHECK(a.allocate(512, 512) == a.data());
    }
    CHECK(d.clean());
}

TEST_CASE("arena_resource: an arena of no bytes asks for none")
{
    fake_device d;
    {
        arena a(fake_runtime(d), placement{{{0, 1, 0, 0}}, {0}, 0, 512});
        CHECK(a.acquire(0, 0) == nullptr);
        a.release(0, 1);
        CHECK_FALSE(a.owns(nullptr));
        CHECK_FALSE(a.expects(0, 1));
        CHECK_THROWS_AS(a.allocate(1, 1), std::logic_error);
    }
    CHECK(d.calls == 0);
}

TEST_CASE("arena_resource: a placement that does not fit its arena is refused")
{
    fake_device d;
    auto const make = [&](placement const& p) { arena a(fake_runtime(d), p); };
    CHECK_THROWS_AS(make({{{0, 1, 512, 0}}, {}, 512, 512}), std::invalid_argument);
    CHECK_THROWS_AS(make({{{0, 1, 512, 0}}, {512}, 512, 512}), std::invalid_argument);
    CHECK_THROWS_AS(make({{{0, 1, 512, 0}}, {-512}, 512, 512}), std::invalid_argument);
    CHECK_THROWS_AS(make({{{0, 1, 512, 0}}, {0}, 512, 384}), std::invalid_argument);
    CHECK(d.calls == 0);
}

TEST_CASE("arena_resource: a slab that does not fit the device says what was planned and what is free")
{
    fake_device d;
    d.capacity = 1000;
    try {
        arena a(fake_runtime(d), two_then_one());
        FAIL("no exception");
    } catch (out_of_memory const& e) {
        CHECK(e.asked() == 1280); // with what aligning may take
        CHECK(e.free() == 1000);
        CHECK(e.planned() == 1024);
    }
    CHECK(d.clean());
}

} // namespace cuda_arena_resource_test
