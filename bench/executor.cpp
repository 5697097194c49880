// SPDX-License-Identifier: Apache-2.0
// What running a plan costs beyond the ops themselves: an engine that does nothing, per step of the schedule.
#include <strata/execute/compile.hpp>
#include <strata/execute/executor.hpp>
#include <strata/execute/storage.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/schedule/validate.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>

#include "bench/support.hpp"
#include "examples/zoo/models.hpp"

namespace {

using namespace strata;

/// Reads one address per run, so that the call cannot be left out.
struct null_engine {
    std::uintptr_t seen = 0;
    std::uint64_t drawn = 0; // stands for a generator that counts
    [[nodiscard]] auto random_state() const -> std::uint64_t { return drawn; }
    void set_random_state(std::uint64_t s) { drawn = s; }
    void run(op_id o, buffers const& b)
    {
        seen += reinterpret_cast<std::uintptr_t>(b.data(0)) + static_cast<unsigned>(o);
    }
};

/// Addresses of memory that nobody touches: the graphs here are for a large accelerator.
struct address_space {
    std::uintptr_t next = 4096;
    auto allocate(std::size_t bytes, std::size_t alignment) -> void*
    {
        next = (next + alignment - 1) / alignment * alignment;
        auto* const p = reinterpret_cast<void*>(next); // NOLINT(performance-no-int-to-ptr)
        next += bytes % 4096;
        return p;
    }
    void deallocate(void* /*p*/, std::size_t /*bytes*/, std::size_t /*alignment*/) {}
};

/// Fastest of several rounds, nanoseconds per call.
template <class F>
auto nanoseconds(F const& f, int calls) -> double
{
    double best = 1e18;
    for (int round = 0; round < 7; ++round) {
        auto const begin = std::chrono::steady_clock::now();
        for (int k = 0; k < calls; ++k) {
            f();
        }
        best = std::min(best, bench::seconds_since(begin) * 1e9 / calls);
    }
    return best;
}

} // namespace

int main(int argc, char** argv)
{
    auto const smoke = bench::smoke(argc, argv);
    bench::print_setting("executor: an engine that does nothing, GPT-2 medium at 50 %");
    std::cout << "| ops | runs | steps of the schedule | arena, ns per step | allocator "
                 "that does nothing, ns per step |\n|---|---|---|---|---|\n";
    for (std::int64_t layers : smoke ? std::vector<std::int64_t>{4} : std::vector<std::int64_t>{4, 24, 240}) {
        auto const g = zoo::make("gpt2-medium", {.layers = layers});
        auto const cost = zoo::make_cost("gpt2-medium", {.layers = layers});
        auto const low = lower(*g, *cost, {.alignment = 512});
        auto const made = plan(low->problem(), {.budget = budget::fraction(0.5)});
        if (!made || !validate(low->problem(), made->schedule, made->certificate.budget).ok()) {
            std::cerr << "no valid plan\n";
            return 1;
        }
        auto const p = compile(*low, *made);
        if (!p) {
            std::cerr << p.error().message << '\n';
            return 1;
        }
        null_engine e;
        address_space memory;
        executor in_arena(*p, e, memory);
        executor by_tensor(*p, e, allocating(memory));
        auto const steps = static_cast<double>(made->schedule.steps.size());
        auto const calls = static_cast<int>(2e6 / steps) + 1;
        auto const arena_ns = nanoseconds([&] { in_arena.run(); }, calls);
        auto const allocated = nanoseconds([&] { by_tensor.run(); }, calls);
        std::cout << "| " << g->op_count() << " | " << runs_of(made->schedule).size() << " | "
                  << made->schedule.steps.size() << " | " << bench::number(arena_ns / steps, 2) << " | "
                  << bench::number(allocated / steps, 2) << " |\n"
                  << std::flush;
        if (e.seen == 1) { // never: what was computed is used
            std::cout << e.seen;
        }
    }
}
