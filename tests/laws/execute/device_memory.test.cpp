// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Laws of the executor on a device's memory: wherever the buffers come from, the step ends with the same bytes.
#include <strata/cost/table_cost.hpp>
#include <strata/cuda/arena_resource.hpp>
#include <strata/cuda/device_resource.hpp>
#include <strata/cuda/fallback_resource.hpp>
#include <strata/cuda/pool_resource.hpp>
#include <strata/execute/compile.hpp>
#include <strata/execute/executor.hpp>
#include <strata/execute/storage.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/problem/lower.hpp>

#include <cstddef>
#include <random>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/fake_runtime.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/symbolic_engine.hpp"

namespace execute_device_memory_test {

using namespace strata;
using test::fake_device;
using test::fake_runtime;
using test::symbolic_engine;

TEST_CASE("executor: in device memory, from an arena, a pool or both, a step ends as on the host")
{
    auto const seed = GENERATE(range(1U, 21U));
    CAPTURE(seed);
    std::mt19937 random(seed);
    auto const g = test::random_graph(random, 12, 8);
    std::vector<cost_t> const costs(static_cast<std::size_t>(g.op_count()), 10);
    auto const low = lower(g, table_cost(costs), {.alignment = 512});
    auto const kept = plan(low->problem()).value();
    auto const tight = plan(low->problem(), {.budget = budget::fraction(0.7)});
    auto const& planned = tight ? *tight : kept;
    auto const program = compile(*low, planned).value();

    auto const run = [&](auto&&... memory) { // two steps
        symbolic_engine e(g);
        executor x(program, e, memory...);
        e.bind_to(x);
        x.run();
        x.run();
        return e.residents;
    };
    auto const host = run();
    fake_device d;
    {
        device_resource device{fake_runtime(d)};
        CHECK(run(device) == host);
        pool_resource pool{fake_runtime(d)};
        CHECK(run(allocating(pool)) == host);
        arena_resource arena(fake_runtime(d), planned.placement);
        fallback_resource both(arena, pool);
        CHECK(run(allocating(both)) == host);
    }
    CHECK(d.clean());
}

} // namespace execute_device_memory_test
