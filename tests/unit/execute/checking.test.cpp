// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Tests of strata/execute/checking.hpp: an engine that breaks a rule is caught at the op that breaks it.
#include <strata/cost/table_cost.hpp>
#include <strata/execute/checking.hpp>
#include <strata/execute/compile.hpp>
#include <strata/execute/executor.hpp>
#include <strata/graph/builder.hpp>
#include <strata/place/place.hpp>
#include <strata/problem/fingerprint.hpp>
#include <strata/problem/lower.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory_resource>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/counting_memory.hpp"

namespace execute_checking_test {

using namespace strata;
using Catch::Matchers::Contains;

/// Tensors of the graph below.
enum : tensor_id { x, w, stats, h, k, d, y };

/// first: x, w -> h (random), writes stats; second: h -> k with scratch; two ops add into d; last: h, d -> y.
auto little(bytes_t bytes = 24) -> training_graph<int>
{
    graph_builder<int> b;
    b.input("x", bytes);
    b.parameter("w", bytes);
    b.state("stats", bytes);
    b.add(0,
          {x, w},
          {{.name = "h", .bytes = bytes}},
          {.name = "first", .type = "norm", .effects = effect::stateful, .writes = {stats}});
    b.add(0, {h}, {{.name = "k", .bytes = bytes}}, {.name = "second", .workspace = 20});
    b.gradient("d", bytes);
    b.add(0, {k}, {}, {.name = "adds", .writes = {d}});
    b.add(0, {h}, {}, {.name = "adds too", .writes = {d}});
    b.add(0, {h, d}, {{.name = "y", .bytes = bytes}}, {.name = "last"});
    b.target(y);
    return b.build().value();
}

auto program_of(training_graph<int> const& g, run_order const& order) -> program
{
    auto const low = lower(g, table_cost(std::vector<cost_t>(static_cast<std::size_t>(g.op_count()), 1))).value();
    certified_plan made;
    made.schedule = free_early(low.problem(), order);
    made.placement = place(low.problem(), made.schedule).value();
    made.fingerprint = fingerprint(low.problem());
    return compile(low, made).value();
}

run_order const plain{0, 1, 2, 3, 4};
run_order const replaying{0, 1, 2, 0, 3, 4};

/// Writes what it should, and then what it is told.
struct engine_with_a_fault {
    training_graph<int> const& g;
    std::function<void(op_id, buffers const&, bool)> fault = {};
    std::vector<std::vector<std::byte>> residents = std::vector<std::vector<std::byte>>(3, std::vector<std::byte>(64));

    void run(op_id o, buffers const& b) { act(o, b, true); }
    void replay(op_id o, buffers const& b) { act(o, b, false); }

private:
    void act(op_id o, buffers const& b, bool first) const
    {
        for (auto t : g.outputs(o)) {
            auto const n = static_cast<std::size_t>(g.tensor_bytes(t));
            if (t == stats && !first) {
                continue;
            }
            for (std::size_t i = 0; i < n; ++i) {
                auto const old = b.adds_into(t) ? std::to_integer<int>(b.data(t)[i]) : 0;
                b.data(t)[i] = static_cast<std::byte>(old + 3 * o + static_cast<int>(i));
            }
        }
        if (o == 1) {
            std::memset(b.workspace(), 1, 13);
        }
        if (fault) {
            fault(o, b, first);
        }
    }
};

/// Runs one step; `bytes` each.
void check_step(std::function<void(op_id, buffers const&, bool)> fault, run_order const& order, bytes_t bytes = 24)
{
    auto const g = little(bytes);
    test::counting_memory memory;
    {
        engine_with_a_fault e{g, std::move(fault)};
        executor step(program_of(g, order), e, checking(memory));
        for (tensor_id t : {x, w, stats}) {
            step.bind(t, std::span(e.residents[static_cast<std::size_t>(t)]));
        }
        try {
            step.run();
        } catch (...) {
            CHECK(memory.live() <= 8); // what was released is kept for a while
            throw;
        }
    }
    CHECK(memory.live() == 0);
}

TEST_CASE("checking: an engine that keeps the rules passes, replays and odd sizes too")
{
    for (bytes_t bytes : {0, 1, 3, 8, 13, 24, 60}) {
        CHECK_NOTHROW(check_step({}, plain, bytes));
        CHECK_NOTHROW(check_step({}, replaying, bytes));
    }
}

TEST_CASE("checking: writing beyond a buffer")
{
    auto const behind = [](op_id o, buffers const& b, bool) {
        if (o == 1) {
            b.data(k)[24] = std::byte{1};
        }
    };
    CHECK_THROWS_WITH(check_step(behind, plain),
                      Contains("op 1 (second)") && Contains("tensor 4 (k)") && Contains("behind its last byte") &&
                          Contains("it has 24 bytes, 1 more were used"));
    auto const before = [](op_id o, buffers const& b, bool) {
        if (o == 1) {
            b.data(h)[-1] = std::byte{1};
        }
    };
    CHECK_THROWS_WITH(check_step(before, plain), Contains("tensor 3 (h)") && Contains("in front of its first byte"));
    auto const scratch = [](op_id o, buffers const& b, bool) {
        if (o == 1) {
            b.workspace()[20] = std::byte{1};
        }
    };
    CHECK_THROWS_WITH(check_step(scratch, plain), Contains("its workspace") && Contains("behind its last byte"));
}

TEST_CASE("checking: changing what the op is not said to write")
{
    auto const input = [](op_id o, buffers const& b, bool) {
        if (o == 1) {
            b.data(h)[3] ^= std::byte{1};
        }
    };
    CHECK_THROWS_WITH(check_step(input, plain), Contains("op 1 (second)") && Contains("(h)") && Contains("mutates"));
    auto const weight = [](op_id o, buffers const& b, bool) {
        if (o == 4) {
            b.data(w)[0] ^= std::byte{1};
        }
    };
    CHECK_THROWS_WITH(check_step(weight, plain), Contains("op 4 (last)") && Contains("tensor 1 (w)"));
}

TEST_CASE("checking: leaving a part of an output unwritten")
{
    auto const g = little();
    struct lazy_engine {
        void run(op_id o, buffers const& b)
        {
            if (o == 0) {
                std::memset(b.data(h), 1, 16);
            }
        }
    } e;
    executor step(program_of(g, plain), e, checking(*std::pmr::new_delete_resource()));
    CHECK_THROWS_WITH(step.run(), Contains("op 0 (first), a norm,") && Contains("leaves bytes 16 to 23 unwritten"));
}

TEST_CASE("checking: a replay that answers differently, or writes what lives on")
{
    auto const other = [](op_id o, buffers const& b, bool first) {
        if (o == 0 && !first) {
            b.data(h)[5] ^= std::byte{1};
        }
    };
    CHECK_NOTHROW(check_step(other, plain));
    CHECK_THROWS_WITH(check_step(other, replaying),
                      Contains("run again") && Contains("(h)") && Contains("is not what the first run made"));
    auto const writes = [](op_id o, buffers const& b, bool first) {
        if (o == 0 && !first) {
            b.data(stats)[0] ^= std::byte{1};
        }
    };
    CHECK_THROWS_WITH(check_step(writes, replaying), Contains("(stats)") && Contains("writes it in a replay"));
}

TEST_CASE("checking: writing to a buffer that has been released")
{
    std::byte* kept = nullptr;
    auto const late = [&](op_id o, buffers const& b, bool) {
        if (o == 1) {
            kept = b.data(k);
        }
        if (o == 3 && kept != nullptr) {
            kept[0] = std::byte{1};
        }
    };
    CHECK_THROWS_WITH(check_step(late, plain), Contains("op 3") && Contains("(k)") && Contains("has been released"));
}

TEST_CASE("checking: a fault names op and tensor to programs too")
{
    try {
        check_step(
            [](op_id o, buffers const& b, bool) {
                if (o == 1) {
                    b.data(h)[0] ^= std::byte{1};
                }
            },
            plain);
        FAIL("nothing was thrown");
    } catch (engine_fault const& e) {
        CHECK(e.op() == 1);
        CHECK(e.tensor() == h);
    }
}

TEST_CASE("checking: what is used of a workspace is measured")
{
    auto const g = little();
    engine_with_a_fault e{g};
    executor step(program_of(g, plain), e, checking(*std::pmr::new_delete_resource()));
    for (tensor_id t : {x, w, stats}) {
        step.bind(t, std::span(e.residents[static_cast<std::size_t>(t)]));
    }
    step.run();
    CHECK(step.memory().touched_workspace(1) == 13);
    CHECK(step.memory().touched_workspace(0) == 0);
    CHECK(step.memory().peak_bytes() == step.plan().arena());
}

} // namespace execute_checking_test
