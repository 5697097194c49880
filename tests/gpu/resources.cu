// SPDX-License-Identifier: Apache-2.0
// The resources on a device: what the tests with the fake runtime show there, shown by kernels that write and check bytes.
#include <strata/cuda/arena_resource.hpp>
#include <strata/cuda/capped_resource.hpp>
#include <strata/cuda/cccl_resource.hpp>
#include <strata/cuda/device_resource.hpp>
#include <strata/cuda/fallback_resource.hpp>
#include <strata/cuda/pool_resource.hpp>
#include <strata/cuda/runtime.hpp>
#include <strata/cuda/tracking_resource.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "tests/support/stream_scenarios.hpp"

namespace gpu_resources_test {

using namespace strata;
using namespace strata::test;

using arena = arena_resource<cuda_runtime>;
using pool = pool_resource<cuda_runtime>;

int failures = 0;

void check(bool good, std::string const& what)
{
    if (!good) {
        ++failures;
        std::printf("FAILED: %s\n", what.c_str());
    }
}
void call(cudaError_t code)
{
    if (code != cudaSuccess) {
        throw cuda_error("a call of the test", code, cudaGetErrorString(code));
    }
}

/// Writes `value` all over, slowly, so that whoever does not wait comes too early.
__global__ void write_slowly(std::uint32_t* p, std::size_t n, std::uint32_t value)
{
    auto const begin = clock64();
    while (clock64() - begin < 200'000) {
    }
    for (auto i = static_cast<std::size_t>(threadIdx.x); i < n; i += blockDim.x) {
        p[i] = value;
    }
}
/// Counts what is not `value` any more.
__global__ void count_others(std::uint32_t const* p, std::size_t n, std::uint32_t value, unsigned long long* wrong)
{
    for (auto i = static_cast<std::size_t>(threadIdx.x); i < n; i += blockDim.x) {
        if (p[i] != value) {
            atomicAdd(wrong, 1ULL);
        }
    }
}

/// Streams, and kernels that notice when somebody else writes where they do.
class bench {
public:
    explicit bench(int streams)
        : streams_(static_cast<std::size_t>(streams))
    {
        for (auto& s : streams_) {
            call(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
        }
        call(cudaMalloc(&wrong_, sizeof *wrong_));
        call(cudaMemset(wrong_, 0, sizeof *wrong_));
        call(cudaDeviceSynchronize()); // the streams do not wait for the default one
    }
    bench(bench const&) = delete;
    auto operator=(bench const&) -> bench& = delete;
    ~bench()
    {
        cudaFree(wrong_);
        for (auto s : streams_) {
            cudaStreamDestroy(s);
        }
    }

    [[nodiscard]] auto stream(std::int64_t i) const -> cudaStream_t { return streams_[static_cast<std::size_t>(i)]; }
    [[nodiscard]] auto size() const -> std::int64_t { return static_cast<std::int64_t>(streams_.size()); }
    void write(cudaStream_t s, void* p, std::size_t bytes, std::uint32_t value)
    {
        write_slowly<<<1, 128, 0, s>>>(static_cast<std::uint32_t*>(p), bytes / 4, value);
        call(cudaGetLastError());
    }
    void read(cudaStream_t s, void const* p, std::size_t bytes, std::uint32_t value)
    {
        count_others<<<1, 128, 0, s>>>(static_cast<std::uint32_t const*>(p), bytes / 4, value, wrong_);
        call(cudaGetLastError());
    }
    [[nodiscard]] auto wrong() const -> unsigned long long
    {
        call(cudaDeviceSynchronize());
        unsigned long long n = 0;
        call(cudaMemcpy(&n, wrong_, sizeof n, cudaMemcpyDeviceToHost));
        return n;
    }

private:
    std::vector<cudaStream_t> streams_;
    unsigned long long* wrong_ = nullptr;
};

/// The tests can see what they are for: two streams that share bytes and do not wait.
void streams_out_of_order_are_noticed()
{
    bench b(2);
    device_resource device(cuda_runtime{}, {device_call::malloc, b.stream(0)});
    auto* const p = device.allocate(1 << 16, 256);
    for (std::uint32_t i = 0; i < 20; ++i) {
        b.write(b.stream(i % 2), p, 1 << 16, i);
        b.read(b.stream(i % 2), p, 1 << 16, i);
    }
    check(b.wrong() > 0, "kernels that share bytes without waiting are noticed");
    device.deallocate(p, 1 << 16, 256);
}

void arena_keeps_order(device_call how, std::uint64_t seed)
{
    dice random(seed);
    bench b(4);
    auto const p = random_placement(random, 40, 4096);
    std::vector<std::int64_t> on(p.lifetimes.size());
    {
        arena a(cuda_runtime{}, p, {how, b.stream(0)});
        std::vector<void*> address(p.lifetimes.size());
        for (std::uint32_t step = 0; step < 4; ++step) {
            for (auto& s : on) {
                s = random.below(b.size());
            }
            auto const value = [&](std::size_t i) { return step * 1000 + static_cast<std::uint32_t>(i); };
            auto const bytes = [&](std::size_t i) { return static_cast<std::size_t>(p.lifetimes[i].size); };
            play(
                p,
                [&](std::size_t i) { return b.stream(on[i]); },
                [&](std::size_t i, cudaStream_t s) {
                    address[i] = a.acquire(i, s);
                    b.write(s, address[i], bytes(i), value(i));
                },
                [&](std::size_t i, cudaStream_t s) { b.read(s, address[i], bytes(i), value(i)); },
                [&](std::size_t i, cudaStream_t s) {
                    b.read(s, address[i], bytes(i), value(i));
                    a.release(i, s);
                });
        }
        check(reinterpret_cast<std::uintptr_t>(a.data()) % 4096 == 0, "the slab is aligned as the plan is");
    }
    check(b.wrong() == 0, "lifetimes of an arena on several streams do not disturb each other");
}

void pool_keeps_order(device_call how, std::uint64_t seed)
{
    struct user {
        void* p;
        std::size_t n;
        cudaStream_t s;
        std::uint32_t value;
    };
    dice random(seed);
    bench b(4);
    {
        pool a(cuda_runtime{}, {how, b.stream(0), 0});
        std::vector<user> users;
        for (std::uint32_t turn = 0; turn < 300; ++turn) {
            if (users.empty() || random.chance(50)) {
                auto const n = static_cast<std::size_t>(4 * random.between(1, 4000));
                auto* const s = b.stream(random.below(b.size()));
                users.push_back({a.allocate(n, 256, s), n, s, turn});
                b.write(s, users.back().p, n, turn);
            } else {
                auto const i = random.below(static_cast<std::int64_t>(users.size()));
                auto const x = users[static_cast<std::size_t>(i)];
                users.erase(users.begin() + i);
                b.read(x.s, x.p, x.n, x.value);
                a.deallocate(x.p, x.n, 256, x.s);
            }
        }
        for (auto const& x : users) {
            a.deallocate(x.p, x.n, 256, x.s);
        }
        check(a.trim() > 0, "a pool gives back what is unused");
    }
    check(b.wrong() == 0, "blocks of a pool on several streams do not disturb each other");
}

void one_stream_needs_no_events()
{
    dice random(1);
    bench b(1);
    auto const p = random_placement(random, 40, 512);
    arena a(cuda_runtime{}, p, {device_call::malloc_async, b.stream(0)});
    play(
        p,
        [&](std::size_t) { return b.stream(0); },
        [&](std::size_t i, cudaStream_t s) { a.acquire(i, s); },
        [](std::size_t, cudaStream_t) {},
        [&](std::size_t i, cudaStream_t s) { a.release(i, s); });
    check(a.events() == 0, "an arena on one stream makes no events");
}

void what_is_not_there_is_refused()
{
    std::size_t unused = 0;
    std::size_t all = 0;
    call(cudaMemGetInfo(&unused, &all));
    for (auto how : {device_call::malloc, device_call::malloc_async}) {
        device_resource device(cuda_runtime{}, {how, nullptr});
        try {
            static_cast<void>(device.allocate(2 * all, 256));
            check(false, "twice the memory of the device is refused");
        } catch (out_of_memory const& e) {
            check(e.asked() == 2 * all && e.free() > 0 && e.free() <= all, e.what());
        }
        check(cudaGetLastError() == cudaSuccess, "the error is not left for the host program to find");
        capped_resource capped(device, 1000);
        try {
            static_cast<void>(capped.allocate(1001, 256));
            check(false, "a cap is kept");
        } catch (std::bad_alloc const&) {
        }
    }
}

void adapters_reach_the_memory()
{
    bench b(1);
    auto* const s = b.stream(0);
    pool from(cuda_runtime{}, {device_call::malloc_async, s, 0});
    tracking_resource tracked(from);
    cccl_resource as_cccl(tracked);
    from_cccl back(as_cccl);
    auto* const p = back.allocate(4096, 256, s);
    b.write(s, p, 4096, 7);
    b.read(s, p, 4096, 7);
    check(tracked.total() == memory_count{4096, 4096, 1}, "what goes through two adapters is counted");
    back.deallocate(p, 4096, 256, s);
    auto* const q = as_cccl.allocate(::cuda::stream_ref(s), 4096);
    check(p == q, "a pool behind adapters hands out the same block again");
    as_cccl.deallocate(::cuda::stream_ref(s), q, 4096);
    check(b.wrong() == 0 && tracked.total().live == 0, "adapters lose nothing");

    placement const plan{{{0, 1, 512, 0}}, {0}, 512, 512};
    arena planned(cuda_runtime{}, plan, {device_call::malloc_async, s});
    fallback_resource both(planned, from);
    auto* const x = both.allocate(512, 512, s);
    auto* const y = both.allocate(4096, 512, s);
    check(planned.owns(x) && !planned.owns(y), "what is planned comes from the arena, the rest from the pool");
    both.deallocate(x, 512, 512, s);
    both.deallocate(y, 4096, 512, s);
}

void run_all(bool side_by_side)
{
    if (side_by_side) {
        streams_out_of_order_are_noticed();
    }
    for (auto how : {device_call::malloc, device_call::malloc_async}) {
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            arena_keeps_order(how, seed);
            pool_keeps_order(how, seed);
        }
    }
    one_stream_needs_no_events();
    what_is_not_there_is_refused();
    adapters_reach_the_memory();
}

} // namespace gpu_resources_test

/// With an argument nothing relies on kernels running side by side, which they do not under compute-sanitizer.
auto main(int argc, char** /*argv*/) -> int
{
    if (int devices = 0; cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::puts("there is no CUDA device: nothing was run");
        return 77;
    }
    try {
        gpu_resources_test::run_all(argc == 1);
    } catch (std::exception const& e) {
        std::printf("FAILED: %s\n", e.what());
        return 1;
    }
    std::printf("%d failures\n", gpu_resources_test::failures);
    return gpu_resources_test::failures == 0 ? 0 : 1;
}
