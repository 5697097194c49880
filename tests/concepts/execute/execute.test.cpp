// SPDX-License-Identifier: Apache-2.0
#include <strata/cost/table_cost.hpp>
#include <strata/execute/checking.hpp>
#include <strata/execute/compile.hpp>
#include <strata/execute/concepts.hpp>
#include <strata/execute/executor.hpp>
#include <strata/execute/measure.hpp>
#include <strata/execute/step_report.hpp>
#include <strata/execute/storage.hpp>
#include <strata/graph/builder.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/problem/lower.hpp>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <memory_resource>

#include "tests/support/archetype.hpp"
#include "tests/support/catch.hpp"

namespace execute_execute_test {

using namespace strata;
using test::bare;

// The least that is an engine, a source of memory, a storage.
struct least_engine : bare {
    using bare::bare;
    void run(op_id /*o*/, buffers const& /*b*/) { ++runs; }
    int runs = 0;
};
struct least_state {
    explicit least_state(int n)
        : value(n)
    {
    }
    int value;
};
struct able_engine : least_engine {
    using least_engine::least_engine;
    static constexpr int alignment = 16;
    void replay(op_id /*o*/, buffers const& /*b*/) { ++replays; }
    auto random_state() -> least_state { return least_state(drawn); }
    void set_random_state(least_state const& s) { drawn = s.value; }
    void synchronize() { ++waits; }
    int replays = 0, drawn = 0, waits = 0;
};
struct least_memory : bare {
    using bare::bare;
    auto allocate(std::size_t bytes, std::size_t alignment) -> void*
    {
        ++live;
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void deallocate(void* p, std::size_t bytes, std::size_t alignment)
    {
        --live;
        std::pmr::new_delete_resource()->deallocate(p, bytes, alignment);
    }
    int live = 0;
};
struct ordered_memory : least_memory {
    using least_memory::least_memory;
    static constexpr bool stream_ordered = true;
};
struct least_storage : bare {
    using bare::bare;
    static constexpr bool gives_back = false;
    void open(program const& p) { slab = std::make_unique<std::byte[]>(static_cast<std::size_t>(p.arena() + 64)); }
    auto acquire(memory_piece const& x) -> std::byte* { return slab.get() + x.offset; }
    void release(memory_piece const& /*x*/, std::byte* /*p*/) {}
    [[nodiscard]] auto peak_bytes() const -> int { return 0; }
    std::unique_ptr<std::byte[]> slab;
};

struct takes_an_object {
    void run(int const& /*object*/, int /*more*/) {}
};
struct takes_buffers_to_change {
    void run(op_id /*o*/, buffers& /*b*/) {}
};
struct flagged_engine {
    void run(op_id /*o*/, buffers const& /*b*/, bool /*quiet*/ = false) {}
};
struct only_seeded {
    void run(op_id /*o*/, buffers const& /*b*/) {}
    void set_random_state(int /*s*/) {}
};
struct takes_another_state {
    void run(op_id /*o*/, buffers const& /*b*/) {}
    auto random_state() -> int { return 0; }
    void set_random_state(std::byte* /*s*/) {}
};
struct waits_for_one_op {
    void run(op_id /*o*/, buffers const& /*b*/) {}
    void synchronize(op_id /*o*/) {}
};
struct never_takes_back {
    auto allocate(std::size_t /*bytes*/, std::size_t /*alignment*/) -> void* { return nullptr; }
};
struct not_opened : least_storage {
    void open() {}
};
struct says_nothing_of_giving_back {
    void open(program const& /*p*/) {}
    auto acquire(memory_piece const& /*x*/) -> std::byte* { return nullptr; }
    void release(memory_piece const& /*x*/, std::byte* /*p*/) {}
    [[nodiscard]] auto peak_bytes() const -> bytes_t { return 0; }
};
struct gives_void : says_nothing_of_giving_back {
    static constexpr bool gives_back = false;
    auto acquire(memory_piece const& /*x*/) -> void* { return nullptr; }
};
struct peak_not_const : least_storage {
    auto peak_bytes() -> bytes_t { return 0; }
};

TEST_CASE("engine: the archetypes model what they name, and nothing more")
{
    STATIC_REQUIRE(engine<least_engine>);
    STATIC_REQUIRE_FALSE(stateful_engine<least_engine>);
    STATIC_REQUIRE_FALSE(random_engine<least_engine>);
    STATIC_REQUIRE_FALSE(asynchronous_engine<least_engine>);
    STATIC_REQUIRE(stateful_engine<able_engine>);
    STATIC_REQUIRE(random_engine<able_engine>);
    STATIC_REQUIRE(asynchronous_engine<able_engine>);
    STATIC_REQUIRE(required_alignment<least_engine> == 1);
    STATIC_REQUIRE(required_alignment<able_engine> == 16);
    require_engine<least_engine>();
    require_engine<able_engine>();
}

TEST_CASE("engine: each near miss lacks one requirement")
{
    STATIC_REQUIRE_FALSE(engine<takes_an_object>);
    STATIC_REQUIRE_FALSE(engine<takes_buffers_to_change>);
    STATIC_REQUIRE(engine<flagged_engine>);
    STATIC_REQUIRE_FALSE(stateful_engine<flagged_engine>);
    STATIC_REQUIRE(engine<only_seeded>);
    STATIC_REQUIRE_FALSE(random_engine<only_seeded>);
    STATIC_REQUIRE(detail::gives_random_state<takes_another_state>);
    STATIC_REQUIRE_FALSE(random_engine<takes_another_state>);
    STATIC_REQUIRE(engine<waits_for_one_op>);
    STATIC_REQUIRE_FALSE(asynchronous_engine<waits_for_one_op>);
}

TEST_CASE("memory_source: the archetype and the standard's resource model it, near misses do not")
{
    STATIC_REQUIRE(memory_source<least_memory>);
    STATIC_REQUIRE(memory_source<std::pmr::memory_resource>);
    STATIC_REQUIRE(memory_source<std::pmr::monotonic_buffer_resource>);
    STATIC_REQUIRE_FALSE(memory_source<std::allocator<std::byte>>);
    STATIC_REQUIRE_FALSE(memory_source<never_takes_back>);
    STATIC_REQUIRE_FALSE(stream_ordered<least_memory>);
    STATIC_REQUIRE(stream_ordered<ordered_memory>);
    require_memory_source<least_memory>();
}

TEST_CASE("storage: the archetype and those of the library model it, each near miss lacks one requirement")
{
    STATIC_REQUIRE(storage<least_storage>);
    STATIC_REQUIRE(storage<arena<least_memory>>);
    STATIC_REQUIRE(storage<allocating<least_memory>>);
    STATIC_REQUIRE(storage<checking<least_memory>>);
    STATIC_REQUIRE(allocating<least_memory>::gives_back);
    STATIC_REQUIRE_FALSE(allocating<ordered_memory>::gives_back);
    STATIC_REQUIRE_FALSE(detail::opens<not_opened>);
    STATIC_REQUIRE(detail::holds_pieces<not_opened>);
    STATIC_REQUIRE_FALSE(detail::holds_pieces<says_nothing_of_giving_back>);
    STATIC_REQUIRE_FALSE(detail::holds_pieces<gives_void>);
    STATIC_REQUIRE_FALSE(detail::says_its_peak<peak_not_const>);
    STATIC_REQUIRE_FALSE(storage<std::pmr::memory_resource>);
    require_storage<least_storage>();
}

/// Three layers and their backward ops; the budget makes some of them run twice.
auto small_program() -> program
{
    graph_builder<int> b;
    auto const x = b.input("x", 8);
    auto const h1 = b.add(0, {x}, {{.name = "h1", .bytes = 64}});
    auto const h2 = b.add(0, {h1}, {{.name = "h2", .bytes = 64}});
    auto const h3 = b.add(0, {h2}, {{.name = "h3", .bytes = 64}});
    b.target(b.add(0, {h3, h1}, {{.name = "y", .bytes = 64}}));
    auto const g = b.build().value();
    auto const low = lower(g, table_cost({1, 1, 1, 1}), {.alignment = 16}).value();
    return compile(low, plan(low.problem(), {.budget = budget::bytes(8 + 8 + 192)}).value()).value();
}

TEST_CASE("engine: the archetypes run in the archetypes of memory and storage, and in all of the library's")
{
    auto const p = small_program();
    least_engine e(0);
    able_engine able(0);
    least_memory memory(0);
    ordered_memory ordered(0);
    {
        executor a(p, e);
        executor b(p, e, memory);
        executor c(p, e, allocating(memory));
        executor d(p, e, checking(memory));
        executor f(p, e, least_storage(0));
        executor g(p, able, memory);
        executor h(p, able, allocating(ordered));
        a.run();
        b.run();
        c.run();
        CHECK_THROWS_AS(d.run(), engine_fault); // it writes nothing
        f.run();
        g.run();
        CHECK(able.waits == 0);
        h.run();
        CHECK(able.waits == 0);
        able.waits = 0;
        executor i(p, able, allocating(memory));
        i.run();
        CHECK(able.waits > 0); // once before each buffer goes back
        CHECK(report_step(a).runs.size() >= 4);
    }
    CHECK(memory.live == 0);
    CHECK(ordered.live == 0);
    CHECK(e.runs >= 5 * 4 + 1);
}

TEST_CASE("engine: costs are measured on the archetype")
{
    graph_builder<int> b;
    b.target(b.add(0, {b.input("x", 8)}, {{.name = "y", .bytes = 64}}));
    auto const g = b.build().value();
    auto const low = lower(g, table_cost({1})).value();
    least_engine e(0);
    least_memory memory(0);
    auto const r = measure(low, e, {.warm_up = 0, .steps = 2, .inspect = false}, memory, [](auto&) {});
    REQUIRE(r);
    CHECK(r->ops[0].ns.size() == 2);
    CHECK(e.runs == 2);
    CHECK(memory.live == 0);
}

} // namespace execute_execute_test
