// SPDX-License-Identifier: Apache-2.0
// A framework that lets its users replace its allocator gets planned addresses, op by op, and a pool for what was not
// planned. Here the "framework" is a loop that asks for what the plan says, and for some scratch memory in between.
#include <strata/cuda/arena_resource.hpp>
#include <strata/cuda/fallback_resource.hpp>
#include <strata/cuda/pool_resource.hpp>
#include <strata/cuda/runtime.hpp>
#include <strata/cuda/tracking_resource.hpp>
#include <strata/strata.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <exception>
#include <vector>

// [hook]
/// What a framework calls for every tensor: size, stream, and back.
class allocator {
public:
    explicit allocator(strata::placement const& plan)
        : planned_(strata::cuda_runtime{}, plan)
        , rest_(strata::cuda_runtime{}, {.planned = planned_.size()})
        , both_(planned_, rest_)
        , counted_(both_)
    {
    }
    auto malloc(std::size_t n, cudaStream_t s) -> void* { return counted_.allocate(n, alignment, s); }
    void free(void* p, std::size_t n, cudaStream_t s) { counted_.deallocate(p, n, alignment, s); }

    /// Between steps: the first lifetime of the plan is the next one to be asked for.
    void begin_step() { planned_.restart(); }
    [[nodiscard]] auto is_planned(void const* p) const -> bool { return planned_.owns(p); }
    [[nodiscard]] auto counts() const -> strata::memory_count { return counted_.total(); }

private:
    static constexpr std::size_t alignment = 512; // that the plan was lowered with

    using arena = strata::arena_resource<strata::cuda_runtime>;
    using pool = strata::pool_resource<strata::cuda_runtime>;
    arena planned_;
    pool rest_;
    strata::fallback_resource<arena, pool> both_;
    strata::tracking_resource<strata::fallback_resource<arena, pool>> counted_;
};
// [hook]

auto run() -> int
{
    strata::placement const plan = strata::first_fit({{0, 3, 1 << 20, 0}, {1, 2, 1 << 18, 1}, {2, 4, 1 << 19, 2}}, 512);
    if (int devices = 0; cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::puts("there is no CUDA device: nothing was run");
        return 77;
    }
    allocator a(plan);
    std::size_t at_their_place = 0;
    for (int step = 0; step < 3; ++step) {
        a.begin_step();
        std::vector<void*> live(plan.lifetimes.size());
        for (std::size_t time = 0; time <= 4; ++time) {
            for (std::size_t i = 0; i < live.size(); ++i) {
                auto const& x = plan.lifetimes[i];
                if (x.end == time) {
                    a.free(live[i], static_cast<std::size_t>(x.size), nullptr);
                } else if (x.begin == time) {
                    live[i] = a.malloc(static_cast<std::size_t>(x.size), nullptr);
                    at_their_place += a.is_planned(live[i]) ? 1U : 0U;
                }
            }
            auto* const scratch = a.malloc(12'345, nullptr);
            at_their_place += a.is_planned(scratch) ? 100U : 0U;
            a.free(scratch, 12'345, nullptr);
        }
    }
    std::printf(
        "%zu of 9 at their place, %zu bytes at once, %zu left\n", at_their_place, a.counts().peak, a.counts().live);
    return at_their_place == 9 && a.counts().live == 0 ? 0 : 1;
}

auto main() -> int
{
    try {
        return run();
    } catch (std::exception const& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
