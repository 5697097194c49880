// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Laws of the executor: whatever the plan, a step ends as if every op had run once with all memory in the world.
#include <strata/cost/table_cost.hpp>
#include <strata/execute/checking.hpp>
#include <strata/execute/compile.hpp>
#include <strata/execute/executor.hpp>
#include <strata/execute/storage.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/place/place.hpp>
#include <strata/problem/fingerprint.hpp>
#include <strata/problem/lower.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/counting_memory.hpp"
#include "tests/support/plain_machine.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/symbolic_engine.hpp"

namespace execute_executor_laws_test {

using namespace strata;
using test::counting_memory;
using test::plain_machine;
using test::random_graph;
using test::step_of;
using test::symbolic_engine;
using test::target_content;
using graph = training_graph<int>;

auto at(std::int64_t i) -> std::size_t { return static_cast<std::size_t>(i); }

/// An arena that notices when two live pieces share a byte.
class watched_arena {
public:
    static constexpr bool gives_back = false;
    explicit watched_arena(std::pmr::memory_resource& from)
        : arena_(from)
    {
    }
    void open(program const& p)
    {
        arena_.open(p);
        alignment_ = p.alignment();
    }
    auto acquire(memory_piece const& x) -> std::byte*
    {
        auto* const p = arena_.acquire(x);
        auto const begin = reinterpret_cast<std::uintptr_t>(p);
        if (begin % static_cast<std::uintptr_t>(alignment_) != 0 || x.offset + x.size > arena_.peak_bytes()) {
            throw std::logic_error("a piece is misplaced");
        }
        if (x.size > 0) {
            auto const above = live_.lower_bound(begin);
            if ((above != live_.end() && above->first < begin + static_cast<std::uintptr_t>(x.size)) ||
                (above != live_.begin() && std::prev(above)->second > begin)) {
                throw std::logic_error("two live pieces overlap");
            }
            live_[begin] = begin + static_cast<std::uintptr_t>(x.size);
        }
        return p;
    }
    void release(memory_piece const& x, std::byte* p) noexcept
    {
        if (x.size > 0) {
            live_.erase(reinterpret_cast<std::uintptr_t>(p));
        }
    }
    [[nodiscard]] auto peak_bytes() const noexcept -> bytes_t { return arena_.peak_bytes(); }

private:
    arena<std::pmr::memory_resource> arena_;
    std::map<std::uintptr_t, std::uintptr_t> live_;
    bytes_t alignment_ = 1;
};
static_assert(storage<watched_arena>);

struct lowered_graph {
    graph g;
    lowering from;
};
auto lowered(std::mt19937& random, std::size_t most) -> lowered_graph
{
    auto g = random_graph(random, most, 8);
    auto const a = bytes_t{1} << (random() % 7);
    std::vector<cost_t> costs;
    for (op_id o = 0; o < g.op_count(); ++o) {
        costs.push_back(static_cast<cost_t>(random() % 20));
    }
    auto from = lower(g, table_cost(costs), {.alignment = a});
    return {std::move(g), *std::move(from)};
}

/// A plan that was found, or a schedule full of replays.
auto some_plan(problem const& p, std::mt19937& random) -> certified_plan
{
    if (random() % 2 == 0) {
        if (auto found = plan(p, {.budget = budget::fraction(0.4 + 0.1 * static_cast<double>(random() % 7))})) {
            return *std::move(found);
        }
    }
    certified_plan x;
    x.schedule = test::random_replays(p, random).first;
    x.placement = place(p, x.schedule).value();
    x.fingerprint = fingerprint(p);
    return x;
}

struct graph_program {
    graph g;
    program prog;
};
auto some_program(std::mt19937& random, std::size_t most) -> graph_program
{
    auto x = lowered(random, most);
    auto prog = compile(x.from, some_plan(x.from.problem(), random)).value();
    return {std::move(x.g), std::move(prog)};
}

TEST_CASE("executor: on random graphs every plan ends as the plain run does, in every storage, step after step")
{
    std::int64_t replays = 0;
    std::int64_t budgets = 0;
    for (std::uint32_t seed = 0; seed < (test::sanitized ? 500U : 3000U); ++seed) {
        INFO("seed " << seed);
        std::mt19937 random(seed);
        auto const [g, from] = lowered(random, seed % 10 == 0 ? 60 : 12);
        auto const planned = some_plan(from.problem(), random);
        budgets += planned.certificate.solver.empty() ? 0 : 1;
        auto const prog = compile(from, planned);
        INFO((prog ? "" : prog.error().message));
        REQUIRE(prog);

        plain_machine plain(g);
        counting_memory memory;
        symbolic_engine one(g), two(g), three(g);
        executor in_arena(*prog, one, watched_arena(memory));
        executor by_tensor(*prog, two, allocating(memory));
        executor checked(*prog, three, checking(memory));
        one.bind_to(in_arena);
        two.bind_to(by_tensor);
        three.bind_to(checked);
        for (int step = 0; step < 3; ++step) {
            auto const expected = plain.step();
            REQUIRE(step_of(g, one, in_arena) == expected);
            REQUIRE(step_of(g, two, by_tensor) == expected);
            REQUIRE(step_of(g, three, checked) == expected);
        }
        REQUIRE_FALSE(one.surprised);
        replays += one.runs - plain.engine.runs;

        auto const resident = from.problem().resident_bytes();
        REQUIRE(in_arena.memory().peak_bytes() <= std::max<bytes_t>(1, planned.placement.arena));
        REQUIRE(by_tensor.memory().peak_bytes() <= planned.placement.arena);
        REQUIRE(checked.memory().peak_bytes() == by_tensor.memory().peak_bytes());
        if (!planned.certificate.solver.empty()) {
            REQUIRE(by_tensor.memory().peak_bytes() + resident <= planned.certificate.peak);
            REQUIRE(in_arena.memory().peak_bytes() + resident <= std::max(resident + 1, planned.certificate.budget));
        }
    }
    CHECK(replays > 1000);
    CHECK(budgets > (test::sanitized ? 40 : 250));
}

TEST_CASE("executor: what an op throws leaves nothing alive, and the next step runs")
{
    for (std::uint32_t seed = 0; seed < 300; ++seed) {
        INFO("seed " << seed);
        std::mt19937 random(seed);
        auto const [g, prog] = some_program(random, 12);
        counting_memory memory;
        plain_machine plain(g);
        symbolic_engine broken(g);
        executor x(prog, broken, allocating(memory));
        broken.bind_to(x);
        auto const residents = broken.residents;
        auto const state = broken.random_state();
        broken.throw_at = 1 + static_cast<std::int64_t>(random() % at(g.op_count()));
        REQUIRE_THROWS_AS(x.run(), std::runtime_error);
        REQUIRE(memory.live() == 0);
        broken.residents.assign(residents.begin(), residents.end());
        broken.set_random_state(state);
        broken.bind_to(x);
        REQUIRE(step_of(g, broken, x) == plain.step());
    }
}

TEST_CASE("executor: memory that fails leaves nothing alive, and the next step runs")
{
    for (std::uint32_t seed = 0; seed < 300; ++seed) {
        INFO("seed " << seed);
        std::mt19937 random(seed);
        auto const [g, prog] = some_program(random, 12);
        counting_memory memory;
        symbolic_engine e(g);
        executor x(prog, e, allocating(memory));
        e.bind_to(x);
        x.run();
        x.release_targets();
        auto const asked = memory.asked();
        if (asked > 0) {
            memory.fail_at(1 + static_cast<std::int64_t>(random() % at(asked)));
            REQUIRE_THROWS_AS(x.run(), std::bad_alloc);
            REQUIRE(memory.live() == 0);
            x.run();
        }
    }
}

TEST_CASE("executor: steps in flight side by side do not disturb each other")
{
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
        INFO("seed " << seed);
        std::mt19937 random(seed);
        auto const [g, prog] = some_program(random, 12);
        plain_machine alone(g);
        auto const expected = alone.step();
        symbolic_engine first(g), second(g);
        executor a(prog, first);
        executor b(prog, second);
        first.bind_to(a);
        second.bind_to(b);
        // The second step runs whole in the middle of the first.
        bool begun = false;
        test::outcome inner;
        a.run([](instruction const&) {},
              [&](instruction const&) {
                  if (!std::exchange(begun, true)) {
                      inner = step_of(g, second, b);
                  }
              });
        test::outcome outer{{}, first.residents, first.random_state(), first.seen};
        for (auto t : g.targets()) {
            outer.targets.push_back(target_content(g, t, a.data(t)));
        }
        REQUIRE(inner == expected);
        REQUIRE(outer == expected);
    }
}

TEST_CASE("executor: ten thousand steps leave as much memory as one")
{
    std::mt19937 random(7);
    auto const [g, prog] = some_program(random, 20);
    counting_memory memory;
    symbolic_engine e(g);
    {
        executor in_arena(prog, e, memory);
        e.bind_to(in_arena);
        executor by_tensor(prog, e, allocating(memory));
        e.bind_to(by_tensor);
        for (int step = 0; step < 10'000; ++step) {
            in_arena.run();
            by_tensor.run();
        }
        by_tensor.release_targets();
        CHECK(memory.live() == 1); // the slab
    }
    CHECK(memory.live() == 0);
    CHECK(memory.live_bytes() == 0);
}

} // namespace execute_executor_laws_test
