// SPDX-License-Identifier: Apache-2.0
#include <strata/cuda/device_resource.hpp>
#include <strata/execute/concepts.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/fake_runtime.hpp"

namespace cuda_device_resource_test {

using namespace strata;
using namespace strata::test;

using device = device_resource<fake_runtime>;

TEST_CASE("device_resource: memory comes from the device and goes back to it")
{
    STATIC_REQUIRE(memory_source<device>);
    fake_device d;
    d.misalign = GENERATE(std::size_t{0}, std::size_t{256});
    auto const alignment = GENERATE(std::size_t{1}, std::size_t{256}, std::size_t{512}, std::size_t{2048});
    device m(fake_runtime(d), {GENERATE(device_call::malloc, device_call::malloc_async), 0});
    auto* const p = m.allocate(1000, alignment);
    auto* const q = m.allocate(1000, alignment, 1);
    CHECK(p != q);
    CHECK(reinterpret_cast<std::uintptr_t>(p) % alignment == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(q) % alignment == 0);
    d.use(0, p, 1000);
    d.use(1, q, 1000);
    m.deallocate(p, 1000, alignment);
    m.deallocate(q, 1000, alignment, 1);
    CHECK(d.offences == std::vector<std::string>{});
    CHECK(d.clean());
}

TEST_CASE("device_resource: no bytes are nowhere")
{
    fake_device d;
    device m{fake_runtime(d)};
    CHECK(m.allocate(0, 256) == nullptr);
    m.deallocate(nullptr, 0, 256);
    CHECK(d.calls == 0);
}

TEST_CASE("device_resource: no call that fails leaves anything behind")
{
    for (std::size_t n = 1; n <= 4; ++n) {
        CAPTURE(n);
        fake_device d;
        d.misalign = 256;
        d.fail_call = n;
        device m{fake_runtime(d)};
        try {
            auto* const p = m.allocate(1000, 512); // takes, gives back and takes more
            m.deallocate(p, 1000, 512);
        } catch (cuda_error const& e) {
            CHECK(e.code() == 700);
            CHECK((n == 1 || n == 3));
        }
        CHECK(d.clean());
    }
}

TEST_CASE("device_resource: what the device does not have is said")
{
    fake_device d;
    d.capacity = 1000;
    device m{fake_runtime(d)};
    CHECK_THROWS_AS(m.allocate(1001, 1), out_of_memory);
    CHECK_THROWS_AS(m.allocate(1001, 1), std::bad_alloc);
    d.fail_call = d.calls + 2; // the question how much is free
    try {
        static_cast<void>(m.allocate(1001, 1));
        FAIL("no exception");
    } catch (out_of_memory const& e) {
        CHECK(e.free() == 0);
    }
}

} // namespace cuda_device_resource_test
