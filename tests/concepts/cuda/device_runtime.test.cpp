// SPDX-License-Identifier: Apache-2.0
#include <strata/cuda/arena_resource.hpp>
#include <strata/cuda/concepts.hpp>
#include <strata/cuda/device_resource.hpp>
#include <strata/cuda/pool_resource.hpp>

#include <cstddef>
#include <new>

#include "tests/support/catch.hpp"
#include "tests/support/fake_runtime.hpp"

namespace cuda_device_runtime_test {

using namespace strata;
using namespace strata::test;
namespace part = strata::detail;

struct handle { // regular, and nothing else
    friend auto operator==(handle const&, handle const&) -> bool = default;
    auto operator&() const = delete;
};

/// The least that is a runtime: no default construction, calls that are not const. Its memory is the host's, which is
/// done with everything at once.
struct archetype {
    using stream = handle;
    using event = handle;
    explicit archetype(int /*only_way*/) {}

    auto allocate(void*& p, std::size_t n) -> int
    {
        p = ::operator new(n, std::align_val_t{256}, std::nothrow);
        return p == nullptr ? 1 : 0;
    }
    auto free(void* p) -> int
    {
        ::operator delete(p, std::align_val_t{256});
        return 0;
    }
    auto allocate_async(void*& p, std::size_t n, stream /*s*/) -> int { return allocate(p, n); }
    auto free_async(void* p, stream /*s*/) -> int { return free(p); }
    auto create(event& /*e*/) -> int { return 0; }
    auto destroy(event /*e*/) -> int { return 0; }
    auto record(event /*e*/, stream /*s*/) -> int { return 0; }
    auto wait(stream /*s*/, event /*e*/) -> int { return 0; }
    auto query(event /*e*/, bool& done) -> int
    {
        done = true;
        return 0;
    }
    auto synchronize(stream /*s*/) -> int { return 0; }
    auto memory(std::size_t& unused, std::size_t& all) -> int
    {
        unused = all = 0;
        return 0;
    }
    struct message {
        operator char const*() const { return "no memory"; }
    };
    auto text(int /*code*/) -> message { return {}; }
    auto ran_out(int code) -> int { return code; }
};

// Each near miss hides one group of calls of a complete runtime by a declaration that almost fits.
struct stream_not_comparable : archetype {
    struct stream {};
};
struct throws_instead : archetype {
    void allocate(void*& p, std::size_t n);
};
struct returns_memory : archetype {
    auto allocate(std::size_t n) -> void*;
};
struct free_without_answer : archetype {
    void free(void* p);
};
struct async_without_stream : archetype {
    auto allocate_async(void*& p, std::size_t n) -> int;
};
struct frees_async_without_stream : archetype {
    auto free_async(void* p) -> int;
};
struct returns_event : archetype {
    auto create() -> event;
};
struct destroy_takes_pointer : archetype {
    auto destroy(event* e) -> int;
};
struct record_the_other_way : archetype {
    struct event : handle {};
    auto create(event& e) -> int;
    auto destroy(event e) -> int;
    struct other {};
    auto record(other s, event e) -> int;
    auto wait(stream s, event e) -> int;
    auto query(event e, bool& done) -> int;
};
struct query_answers_bool : archetype {
    auto query(event e) -> bool;
};
struct cannot_synchronize : archetype {
    auto synchronize() -> int;
};
struct says_one_number : archetype {
    auto memory(std::size_t& unused) -> int;
};
struct text_is_a_number : archetype {
    auto text(int code) -> int;
};
struct nobody_knows : archetype {
    void ran_out(int code);
};
struct not_copyable : archetype {
    not_copyable(not_copyable const&) = delete;
};

TEST_CASE("device_runtime: the archetype models it, and so does the fake")
{
    STATIC_REQUIRE(device_runtime<archetype>);
    STATIC_REQUIRE(device_runtime<fake_runtime>);
    require_device_runtime<archetype>();
}

TEST_CASE("device_runtime: each near miss lacks one requirement")
{
    STATIC_REQUIRE_FALSE(part::runtime_handles<stream_not_comparable>);
    STATIC_REQUIRE_FALSE(part::runtime_handles<int>);
    STATIC_REQUIRE_FALSE(part::runtime_memory<throws_instead>);
    STATIC_REQUIRE_FALSE(part::runtime_memory<returns_memory>);
    STATIC_REQUIRE_FALSE(part::runtime_memory<free_without_answer>);
    STATIC_REQUIRE_FALSE(part::runtime_ordered_memory<async_without_stream>);
    STATIC_REQUIRE_FALSE(part::runtime_ordered_memory<frees_async_without_stream>);
    STATIC_REQUIRE_FALSE(part::runtime_events<returns_event>);
    STATIC_REQUIRE_FALSE(part::runtime_events<destroy_takes_pointer>);
    STATIC_REQUIRE(part::runtime_events<record_the_other_way>);
    STATIC_REQUIRE_FALSE(part::runtime_order<record_the_other_way>);
    STATIC_REQUIRE_FALSE(part::runtime_order<query_answers_bool>);
    STATIC_REQUIRE_FALSE(part::runtime_order<cannot_synchronize>);
    STATIC_REQUIRE_FALSE(part::runtime_answers<says_one_number>);
    STATIC_REQUIRE_FALSE(part::runtime_answers<text_is_a_number>);
    STATIC_REQUIRE_FALSE(part::runtime_answers<nobody_knows>);
    STATIC_REQUIRE_FALSE(device_runtime<throws_instead>);
    STATIC_REQUIRE_FALSE(device_runtime<not_copyable>);
}

TEST_CASE("device_runtime: the archetype goes through everything that takes a runtime")
{
    device_resource device(archetype(1));
    device.deallocate(device.allocate(1000, 1024), 1000, 1024);

    pool_resource pool(archetype(1));
    pool.deallocate(pool.allocate(1000, 1024), 1000, 1024);
    CHECK(pool.trim() > 0);

    placement const p{{{0, 1, 512, 0}, {1, 2, 512, 1}}, {0, 0}, 512, 512};
    arena_resource arena(archetype(1), p);
    CHECK(arena.acquire(0, {}) == arena.data());
    arena.release(0, {});
    CHECK(arena.allocate(512, 512) == arena.data());
    arena.deallocate(arena.data(), 512, 512);
}

} // namespace cuda_device_runtime_test
