// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What goes wrong for users of tools that drop and recompute tensors; each is shown on a naive executor first.
#include <strata/cost/table_cost.hpp>
#include <strata/execute/checking.hpp>
#include <strata/execute/compile.hpp>
#include <strata/execute/executor.hpp>
#include <strata/execute/storage.hpp>
#include <strata/graph/builder.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/pipeline/plan_graph.hpp>
#include <strata/place/place.hpp>
#include <strata/problem/fingerprint.hpp>
#include <strata/problem/lower.hpp>
#include <strata/schedule/replay.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/counting_memory.hpp"
#include "tests/support/naive_executor.hpp"
#include "tests/support/plain_machine.hpp"
#include "tests/support/symbolic_engine.hpp"

namespace execute_failures_test {

using namespace strata;
using Catch::Matchers::Contains;
using test::naive_executor;
using test::plain_machine;
using test::step_of;
using test::symbolic_engine;
using graph = training_graph<int>;
using order = run_order;

auto at(std::int64_t i) -> std::size_t { return static_cast<std::size_t>(i); }

auto lowered(graph const& g, bytes_t alignment = 1, std::vector<cost_t> costs = {}) -> lowering
{
    if (costs.empty()) {
        costs.assign(at(g.op_count()), 1);
    }
    return lower(g, table_cost(costs), {.alignment = alignment}).value();
}

/// A plan that runs `order`, ops of the problem, and frees early.
auto plan_of(problem const& p, order const& ids) -> certified_plan
{
    certified_plan x;
    x.schedule = free_early(p, ids);
    x.placement = place(p, x.schedule).value();
    x.fingerprint = fingerprint(p);
    return x;
}

/// Checks that `planned`, run by an executor, ends as the plain run does; returns whether the naive one does too.
auto naive_agrees(graph const& g, lowering const& from, certified_plan const& planned) -> bool
{
    auto const expected = plain_machine(g).step();
    auto const prog = compile(from, planned).value();
    symbolic_engine ours(g), checked(g), theirs(g);
    executor x(prog, ours);
    ours.bind_to(x);
    CHECK(step_of(g, ours, x) == expected);
    executor y(prog, checked, checking(*std::pmr::new_delete_resource()));
    checked.bind_to(y);
    CHECK(step_of(g, checked, y) == expected);
    return naive_executor(g, theirs).run(from.expand(planned.schedule)) == expected;
}

/// x -> layer 0 -> layer 1 -> … and a head that reads the last and the first: `bytes` each.
auto chain(int layers, bytes_t bytes, op_attributes first = {}) -> graph
{
    graph_builder<int> b;
    auto const x = b.input("x", bytes);
    auto const s = b.state("s", 16);
    if (first.effects.has(effect::stateful)) {
        first.writes.push_back(s);
    }
    auto const begin = b.add(0, {x}, {{.name = "h0", .bytes = bytes}}, std::move(first));
    tensor_id h = begin;
    for (int i = 1; i < layers; ++i) {
        h = b.add(0, {h}, {{.name = "h", .bytes = bytes}});
    }
    b.target(b.add(0, {h, begin}, {{.name = "y", .bytes = bytes}}));
    return b.build().value();
}

/// `layers` forward ops and as many backward, each of which reads what its forward op read.
auto training(int layers, bytes_t bytes) -> graph
{
    graph_builder<int> b;
    std::vector<tensor_id> h = {b.input("x", bytes)};
    for (int i = 0; i < layers; ++i) {
        h.push_back(b.add(0, {h.back()}, {{.name = "h", .bytes = bytes}}));
    }
    auto d = h.back();
    for (int i = layers; i-- > 0;) {
        d = b.add(0, {h[at(i)], d}, {{.name = "d", .bytes = bytes}});
    }
    b.target(d);
    return b.build().value();
}

/// The first layer is run again for the head.
order const again{0, 1, 2, 0, 3};

// ---- Budget and peak -----------------------------------------------------------------------------------------------

TEST_CASE("failure 1: a smaller budget takes less memory, and what is taken keeps to it")
{
    auto const g = training(24, 64);
    auto const low = lowered(g);
    bytes_t last = max_bytes;
    for (double share : {1.0, 0.8, 0.6, 0.4}) {
        auto const made = plan(low.problem(), {.budget = budget::fraction(share)});
        REQUIRE(made);
        test::counting_memory memory;
        symbolic_engine e(g);
        executor x(compile(low, *made).value(), e, allocating(memory));
        e.bind_to(x);
        x.run();
        auto const taken = x.memory().peak_bytes();
        CHECK(taken < last);
        CHECK(taken + low.problem().resident_bytes() <= made->certificate.budget);
        last = taken;
    }
    // One that drops nothing until it is told to, and is told to recompute, takes more for the smaller budget.
    symbolic_engine e(g);
    naive_executor naive(g, e);
    schedule runs;
    for (auto o : runs_of(plan(low.problem(), {.budget = budget::fraction(0.4)})->schedule)) {
        runs.steps.push_back(run(o));
    }
    naive.run(runs);
    CHECK(naive.peak > plan(low.problem()).value().certificate.peak);
}

TEST_CASE("failure 2: a budget in which the plain step runs is feasible")
{
    auto const g = chain(5, 64);
    auto const low = lowered(g);
    auto const keep = plan(low.problem()).value();
    auto const made = plan(low.problem(), {.budget = budget::bytes(keep.certificate.peak)});
    REQUIRE(made);
    CHECK(naive_agrees(g, low, *made)); // nothing needs to run again
}

TEST_CASE("failure 3: a budget says its unit")
{
    using namespace strata::literals;
    CHECK(500_MB == budget::bytes(500'000'000));
    CHECK(500_MiB != 500_MB);
    auto const low = lowered(chain(5, 64));
    auto const made = plan(low.problem(), {.budget = 60_B});
    REQUIRE_FALSE(made);
    CHECK_THAT(made.error().message, Contains("60 bytes"));
}

TEST_CASE("failure 4: a plan that goes over its budget does not run")
{
    auto const g = chain(3, 64);
    auto const low = lowered(g);
    auto x = plan_of(low.problem(), again);
    x.certificate.budget = low.problem().resident_bytes() + x.placement.arena - 1;
    auto const refused = compile(low, x);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == errc::invalid_plan);
    symbolic_engine e(g);
    naive_executor naive(g, e);
    naive.run(low.expand(x.schedule));
    CHECK(naive.peak + low.problem().resident_bytes() > x.certificate.budget); // and nobody says so
}

TEST_CASE("failure 5: what cannot fit says which op needs how much")
{
    auto const low = lowered(chain(5, 64));
    auto const made = plan(low.problem(), {.budget = budget::bytes(100)});
    REQUIRE_FALSE(made);
    REQUIRE(made.error().limit);
    CHECK(made.error().limit->pinned_by != none);
    CHECK(made.error().limit->lower_limit > 100);
    CHECK_THAT(made.error().message, Contains(made.error().limit->pinned_by_name));
}

TEST_CASE("failure 6: resident tensors are part of the account")
{
    auto const g = chain(3, 64);
    auto const low = lowered(g);
    CHECK(low.problem().resident_bytes() == 64 + 16);
    auto const made = plan(low.problem(), {.budget = budget::bytes(64 + 16 + 3 * 64)}).value();
    auto const prog = compile(low, made).value();
    CHECK(prog.arena() + low.problem().resident_bytes() <= made.certificate.budget);
    CHECK(prog.arena() < made.certificate.peak);
}

TEST_CASE("failure 7: making a chain again for one use takes no more memory than keeping it")
{
    auto const g = training(16, 64);
    auto const low = lowered(g);
    auto const keep = plan(low.problem()).value().certificate.peak;
    for (double share : {0.9, 0.7, 0.5, 0.4}) {
        auto const made = plan(low.problem(), {.budget = budget::fraction(share)});
        REQUIRE(made);
        CHECK(made->certificate.peak <= made->certificate.budget);
        CHECK(made->certificate.peak < keep);
        CHECK(naive_agrees(g, low, *made)); // pure ops: here the naive one computes the same, in more memory
    }
    // Checkpoints are kept and everything between the first and the last is made again at once: no gain at all.
    order at_once;
    for (op_id o = 0; o < 16; ++o) {
        at_once.push_back(o);
    }
    for (op_id o = 0; o < 15; ++o) {
        at_once.push_back(o);
    }
    for (op_id o = 16; o < 32; ++o) {
        at_once.push_back(o);
    }
    CHECK(replay(low.problem(), free_early(low.problem(), at_once))->peak >= keep);
}

TEST_CASE("failure 8: what fits in sum has its place in one piece before anything runs")
{
    graph_builder<int> b; // a hole of 3 bytes is left where 4 are needed
    auto const a = b.add(0, {}, {{.name = "a", .bytes = 3}});
    auto const c = b.add(0, {a}, {{.name = "c", .bytes = 3}});
    auto const d = b.add(0, {c}, {{.name = "d", .bytes = 4}});
    b.target(b.add(0, {c, d}, {{.name = "e", .bytes = 3}}));
    auto const g = b.build().value();
    auto const low = lowered(g);
    auto const made = plan(low.problem()).value();
    test::counting_memory memory;
    symbolic_engine e(g);
    {
        executor x(compile(low, made).value(), e, memory);
        x.run();
        CHECK(memory.asked() == 1); // one slab, whatever is in it
        CHECK(x.memory().peak_bytes() == made.placement.arena);
        CHECK(made.placement.arena == 10);
    }
    // By address order, first fit at run time needs 3 + 3 + 4, then has 3 free and puts e behind: 13.
}

TEST_CASE("failure 9: planning takes memory in proportion to the ops, whatever the bytes are")
{
    auto const low = lowered(training(40, bytes_t{1} << 40U));
    auto const made = plan(low.problem(), {.budget = budget::fraction(0.5)});
    REQUIRE(made);
    CHECK(made->certificate.peak <= made->certificate.budget);
}

TEST_CASE("failure 10: sizes are rounded as the allocator rounds them, and the account holds it")
{
    auto const g = chain(5, 65);
    auto const exact = lowered(g).problem().resident_bytes();
    auto const low = lowered(g, 512);
    CHECK(exact == 65 + 16);
    CHECK(low.problem().resident_bytes() == 1024);
    auto const made = plan(low.problem(), {.budget = budget::bytes(1024 + 3 * 512)}).value();
    auto const prog = compile(low, made).value();
    CHECK(prog.alignment() == 512);
    for (auto const& x : prog.pieces()) {
        CHECK(x.offset % 512 == 0);
        CHECK(x.size == 512);
        CHECK(x.bytes == 65);
    }
    symbolic_engine e(g);
    naive_executor naive(g, e);
    naive.run(low.expand(made.schedule));
    CHECK(naive.peak < made.certificate.peak - 1024); // it counts what was asked for, not what is taken
}

// ---- Randomness and state ------------------------------------------------------------------------------------------

TEST_CASE("failures 11 and 12: dropout replays its mask, and the stream goes on as if it had not")
{
    graph_builder<int> b;
    auto const x = b.input("x", 64);
    auto const drop = b.add(0, {x}, {{.name = "m", .bytes = 64}}, {.name = "dropout", .effects = effect::random});
    auto const h = b.add(0, {drop}, {{.name = "h", .bytes = 64}}, {.effects = effect::random});
    b.target(b.add(0, {h, drop}, {{.name = "y", .bytes = 64}}));
    auto const g = b.build().value();
    auto const low = lowered(g);
    auto const planned = plan_of(low.problem(), {0, 1, 0, 2});
    CHECK_FALSE(naive_agrees(g, low, planned));

    auto const expected = plain_machine(g).step();
    symbolic_engine e(g);
    auto const wrong = naive_executor(g, e).run(low.expand(planned.schedule));
    CHECK(wrong.targets != expected.targets); // 11
    CHECK(wrong.random != expected.random);   // 12
}

/// Two generators: a random op draws from both.
class two_generators : public symbolic_engine {
public:
    struct state {
        number first, second;
    };
    using symbolic_engine::symbolic_engine;
    void run(op_id o, buffers const& b)
    {
        auto const one = symbolic_engine::random_state();
        set_both({one ^ second_, second_});
        symbolic_engine::run(o, b);
        set_both({one * 3 + 1, second_ * 5 + 1});
    }
    [[nodiscard]] auto random_state() const -> state { return {symbolic_engine::random_state(), second_}; }
    void set_random_state(state s) { set_both(s); }

private:
    void set_both(state s)
    {
        symbolic_engine::set_random_state(s.first);
        second_ = s.second;
    }
    number second_ = 99;
};
/// The same, but only the first generator is saved.
class one_of_two : public two_generators {
public:
    using two_generators::two_generators;
    [[nodiscard]] auto random_state() const -> number { return two_generators::random_state().first; }
    void set_random_state(number s) { two_generators::set_random_state({s, two_generators::random_state().second}); }
};

template <class Engine>
auto drop_twice(graph const& g, program const& p) -> std::vector<std::byte>
{
    Engine e(g);
    executor x(p, e);
    e.bind_to(x);
    x.run();
    return test::target_content(g, g.targets()[0], x.data(g.targets()[0]));
}

TEST_CASE("failure 13: the random state is whatever the engine says it is, all of its generators")
{
    auto const g = chain(3, 64, {.effects = effect::random});
    auto const low = lowered(g);
    auto const once = compile(low, plan_of(low.problem(), {0, 1, 2, 3})).value();
    auto const twice = compile(low, plan_of(low.problem(), again)).value();
    CHECK(drop_twice<two_generators>(g, twice) == drop_twice<two_generators>(g, once));
    CHECK(drop_twice<one_of_two>(g, twice) != drop_twice<one_of_two>(g, once));
}

TEST_CASE("failures 14 and 15: what lives on is written once, however often its op runs")
{
    auto const g = chain(3, 64, {.effects = effect::stateful});
    auto const low = lowered(g);
    auto const planned = plan_of(low.problem(), again);
    CHECK_FALSE(naive_agrees(g, low, planned));

    // 15: a step counter in the engine, no tensor at all
    struct counting : symbolic_engine {
        using symbolic_engine::symbolic_engine;
        void run(op_id o, buffers const& b)
        {
            calls += o == 0 ? 1 : 0;
            symbolic_engine::run(o, b);
        }
        int calls = 0;
    };
    counting ours(g), theirs(g);
    executor x(compile(low, planned).value(), ours);
    ours.bind_to(x);
    x.run();
    CHECK(ours.calls == 1);
    naive_executor<counting>(g, theirs).run(low.expand(planned.schedule));
    CHECK(theirs.calls == 2);
}

TEST_CASE("failure 16: what may answer differently runs once, and a plan that says otherwise is refused")
{
    auto const g = chain(3, 64, {.effects = effect::nondeterministic});
    auto const low = lowered(g);
    for (double share : {1.0, 0.9, 0.8}) {
        if (auto const made = plan(low.problem(), {.budget = budget::fraction(share)})) {
            auto const runs = runs_of(made->schedule);
            CHECK(std::count(runs.begin(), runs.end(), 0) == 1);
        }
    }
    auto const refused = compile(low, plan_of(low.problem(), again));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == errc::invalid_plan);
}

/// An engine with a mode that ops obey, as autocast is: it changes while the step runs.
class moody : public symbolic_engine {
public:
    using symbolic_engine::symbolic_engine;
    void run(op_id o, buffers const& b)
    {
        mode = o == 2 ? 1 : mode; // forward is over
        auto const was = random_state();
        set_random_state(was + static_cast<number>(mode));
        symbolic_engine::run(o, b);
        set_random_state(was);
    }
    int mode = 0;
};

TEST_CASE("failure 17: an op that answers differently in a replay is noticed when the engine is checked")
{
    auto const g = chain(3, 64, {.name = "autocast", .effects = effect::random});
    auto const low = lowered(g);
    auto const prog = compile(low, plan_of(low.problem(), {0, 1, 2, 0, 3})).value();
    moody e(g);
    executor x(prog, e, checking(*std::pmr::new_delete_resource()));
    e.bind_to(x);
    CHECK_THROWS_WITH(x.run(), Contains("op 0 (autocast) run again") && Contains("is not what the first run made"));
    moody theirs(g);
    CHECK_NOTHROW(naive_executor<symbolic_engine>(g, theirs).run(low.expand(plan_of(low.problem(), again).schedule)));
}

TEST_CASE("failure 18: collectives run once each, in the order of the graph")
{
    graph_builder<int> b;
    auto const x = b.input("x", 64);
    auto const p = b.add(0, {x}, {{.name = "p", .bytes = 64}}, {.effects = effect::collective});
    auto const q = b.add(0, {x}, {{.name = "q", .bytes = 64}}, {.effects = effect::collective});
    b.target(b.add(0, {p, q}, {{.name = "y", .bytes = 64}}));
    auto const low = lowered(b.build().value());
    CHECK(compile(low, plan_of(low.problem(), {0, 1, 2})));
    for (auto const& wrong : {order{1, 0, 2}, order{0, 1, 0, 2}}) {
        auto const refused = compile(low, plan_of(low.problem(), wrong));
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == errc::invalid_plan);
    }
}

// ---- In place, views, aliases --------------------------------------------------------------------------------------

TEST_CASE("failures 19 and 21: an in-place op and what it changes run again together")
{
    graph_builder<int> b;
    auto const x = b.input("x", 64);
    auto const h = b.add(0, {x}, {{.name = "h", .bytes = 64}}, {.name = "linear"});
    b.add(0, {}, {}, {.name = "relu_", .mutates = {h}}); // last of its block
    auto const k = b.add(0, {h}, {{.name = "k", .bytes = 64}}, {.name = "next"});
    b.target(b.add(0, {k, h}, {{.name = "y", .bytes = 64}}, {.name = "backward"}));
    auto const g = b.build().value();
    auto const low = lowered(g);
    REQUIRE(low.problem().op_count() == 3);
    CHECK(naive_agrees(g, low, plan_of(low.problem(), {0, 1, 0, 2})));

    // A naive plan knows the two as ops of their own and makes h again without the in-place op.
    symbolic_engine e(g);
    schedule const naive{{run(0), run(1), run(2), free(h), run(0), run(3)}};
    CHECK(naive_executor(g, e).run(naive) != plain_machine(g).step());
    auto const back = low.collapse(naive);
    REQUIRE_FALSE(back);
    CHECK_THAT(back.error().message, Contains("run one after the other"));
}

TEST_CASE("failure 20: a buffer lives as long as a view of it is used")
{
    graph_builder<int> b;
    auto const h = b.add(0, {b.input("x", 64)}, {{.name = "h", .bytes = 64}});
    auto const v = b.add(0, {h}, {{.name = "v", .bytes = 64, .view_of = h}});
    auto const k = b.add(0, {v}, {{.name = "k", .bytes = 64}});
    b.target(b.add(0, {k, v}, {{.name = "y", .bytes = 64}}));
    auto const g = b.build().value();
    auto const low = lowered(g);
    CHECK(naive_agrees(g, low, plan_of(low.problem(), {0, 1, 2})));
    CHECK(naive_agrees(g, low, plan_of(low.problem(), {0, 1, 0, 2})));
    symbolic_engine e(g); // the last op that reads h by that name is the one that makes the view
    CHECK(naive_executor(g, e).run({{run(0), run(1), free(h), run(2), run(3)}}) != plain_machine(g).step());
    CHECK_FALSE(low.collapse({{run(0), run(1), free(h), free(v), run(2), run(3)}}));
}

TEST_CASE("failure 22: a buffer and its views count once")
{
    graph_builder<int> b;
    auto h = static_cast<tensor_id>(b.add(0, {b.input("x", 64)}, {{.name = "h", .bytes = 64}}));
    for (int i = 0; i < 5; ++i) {
        h = b.add(0, {h}, {{.name = "permuted", .bytes = 64, .view_of = h}});
    }
    b.target(b.add(0, {h}, {{.name = "y", .bytes = 64}}));
    auto const g = b.build().value();
    auto const low = lowered(g);
    auto const made = plan(low.problem()).value();
    CHECK(made.placement.arena == 128);
    symbolic_engine e(g);
    naive_executor naive(g, e);
    naive.run(low.expand(made.schedule));
    CHECK(naive.peak == 7 * 64); // each by itself
}

// ---- Shape of the graph --------------------------------------------------------------------------------------------

TEST_CASE("failures 23 and 25: unread tensors, unused outputs, ops that read or make nothing")
{
    graph_builder<int> b;
    auto const x = b.input("x", 64);
    b.add(0, {x}, {{.name = "unread", .bytes = 64}});
    auto const two = b.add(0, {}, {{.name = "used", .bytes = 64}, {.name = "unused", .bytes = 32}});
    b.add(0, {two[0]}, {}, {.name = "log", .effects = effect::once});
    auto const y = b.add(0, {two[0], x}, {{.name = "y", .bytes = 64}});
    b.target(y);
    b.target(two[0]); // also read by others
    b.target(x);      // an input that is an output
    auto const g = b.build().value();
    auto const low = lowered(g);
    CHECK(naive_agrees(g, low, plan(low.problem()).value()));
    auto const prog = compile(low, plan(low.problem()).value()).value();
    CHECK(prog.targets().size() == 2);
}

TEST_CASE("failure 24: a tensor that is read at both ends of the step need not be there in between")
{
    auto const g = chain(20, 64);
    auto const low = lowered(g);
    CHECK(naive_agrees(g, low, plan(low.problem()).value()));
    order ends;
    for (op_id o = 0; o < 20; ++o) {
        ends.push_back(o);
    }
    ends.push_back(0); // made again for the head
    ends.push_back(20);
    auto const planned = plan_of(low.problem(), ends);
    CHECK(naive_agrees(g, low, planned));
    CHECK(compile(low, planned)->arena() == 3 * 64); // with it: the head reads two and writes one
}

TEST_CASE("failure 26: one op is a step, and so is a graph without any cut point")
{
    graph_builder<int> one;
    one.target(one.add(0, {}, {{.name = "y", .bytes = 8}}));
    auto const g = one.build().value();
    CHECK(naive_agrees(g, lowered(g), plan(lowered(g).problem()).value()));

    graph_builder<int> b; // each reads all before it
    std::vector<tensor_id> all = {b.input("x", 16)};
    for (int i = 0; i < 8; ++i) {
        all.push_back(b.add(0, all, {{.name = "h", .bytes = 16}}));
    }
    b.target(all.back());
    auto const dense = b.build().value();
    auto const low = lowered(dense);
    auto const made = plan(low.problem(), {.budget = budget::fraction(0.9)});
    CHECK(naive_agrees(dense, low, made ? *made : plan(low.problem()).value()));
}

TEST_CASE("failure 27: costs of zero and of 10^13, tensors of no bytes")
{
    graph_builder<int> b;
    auto const x = b.input("x", 64);
    auto const h = b.add(0, {x}, {{.name = "h", .bytes = 64}, {.name = "empty", .bytes = 0}});
    auto const k = b.add(0, {h[0], h[1]}, {{.name = "k", .bytes = 64}});
    b.target(b.add(0, {k, h[0], h[1]}, {{.name = "y", .bytes = 64}}));
    auto const g = b.build().value();
    auto const low = lowered(g, 64, {0, 10'000'000'000'000, 0});
    CHECK(naive_agrees(g, low, plan(low.problem()).value()));
    CHECK(naive_agrees(g, low, plan_of(low.problem(), {0, 1, 0, 2})));
}

TEST_CASE("a backward op runs again wherever it adds into nothing")
{
    auto const g = training(4, 64); // ops 4 to 7 are backward; 5 reads what 4 makes
    auto const low = lowered(g);
    for (auto const& twice : {order{0, 1, 2, 3, 4, 4, 5, 6, 7}, order{0, 1, 2, 3, 4, 5, 3, 4, 5, 6, 7}}) {
        auto const planned = plan_of(low.problem(), twice);
        CHECK(naive_agrees(g, low, planned));
        auto const prog = compile(low, planned).value();
        auto const replays = [](instruction const& x) { return x.what == instruction::kind::run && x.again; };
        CHECK(std::count_if(prog.instructions().begin(), prog.instructions().end(), replays) ==
              static_cast<std::ptrdiff_t>(twice.size()) - 8);
    }
}

// ---- Integration ---------------------------------------------------------------------------------------------------

TEST_CASE("failure 29: a part of the step, or a tensor that is gone, is refused and not made up")
{
    auto const g = chain(3, 64);
    auto const low = lowered(g);
    auto const part = compile(low, plan_of(low.problem(), {0, 1, 2}));
    REQUIRE_FALSE(part);
    CHECK(part.error().code == errc::invalid_plan);
    symbolic_engine e(g);
    executor x(compile(low, plan_of(low.problem(), again)).value(), e);
    e.bind_to(x);
    x.run();
    CHECK(x.data(g.targets()[0]) != nullptr);
    CHECK(x.data(g.outputs(1)[0]) == nullptr);
}

TEST_CASE("failure 30: an exception in the middle of a step leaves nothing alive")
{
    auto const g = chain(6, 64);
    auto const low = lowered(g);
    test::counting_memory memory;
    symbolic_engine e(g);
    executor x(compile(low, plan(low.problem()).value()).value(), e, allocating(memory));
    e.bind_to(x);
    e.throw_at = 4;
    CHECK_THROWS_AS(x.run(), std::runtime_error);
    CHECK(memory.live() == 0);
    CHECK(x.data(g.outputs(0)[0]) == nullptr);
    x.run();
    CHECK(memory.live() == 1); // the target
}

TEST_CASE("failure 30: an exception in a replay of a random op puts the random state back")
{
    auto const g = chain(3, 64, {.effects = effect::random});
    auto const low = lowered(g);
    symbolic_engine e(g);
    executor x(compile(low, plan_of(low.problem(), again)).value(), e);
    e.bind_to(x);
    x.run();
    auto const begin = e.random_state();
    x.run();
    auto const after_a_step = e.random_state();
    e.set_random_state(begin);
    e.throw_at = 4; // the replay
    CHECK_THROWS_AS(x.run(), std::runtime_error);
    CHECK(e.random_state() == after_a_step); // as the first run has left it
}

TEST_CASE("failure 31: micro-batches in flight have their own buffers")
{
    auto const g = chain(3, 64);
    auto const low = lowered(g);
    auto const prog = compile(low, plan_of(low.problem(), again)).value();
    symbolic_engine e(g), f(g);
    f.residents[0][0] = std::byte{200}; // another input
    executor a(prog, e);
    executor b(prog, f);
    e.bind_to(a);
    f.bind_to(b);
    auto const y = g.targets()[0];
    a.run();
    auto const alone = test::target_content(g, y, a.data(y));
    b.run();
    CHECK(test::target_content(g, y, a.data(y)) == alone);
    CHECK(test::target_content(g, y, b.data(y)) != alone);
}

/// A linear layer used twice: two ops add into the gradient of its weight.
auto tied() -> graph
{
    graph_builder<int> b;
    auto const x = b.input("x", 32);
    auto const w = b.parameter("w", 32);
    auto const dw = b.parameter_gradient("w.grad", 32);
    auto const h = b.add(0, {x, w}, {{.name = "h", .bytes = 32}});
    auto const y = b.add(0, {h, w}, {{.name = "y", .bytes = 32}});
    b.add(0, {h, y}, {}, {.name = "wgrad 2", .writes = {dw}});
    auto const dh = b.add(0, {y, w}, {{.name = "dh", .bytes = 32}});
    b.add(0, {x, dh}, {}, {.name = "wgrad 1", .writes = {dw}});
    return b.build().value();
}

TEST_CASE("failures 32 and 36: parameter gradients add up over ops and steps, each contribution once")
{
    auto const g = tied();
    auto const low = lowered(g);
    plain_machine plain(g);
    symbolic_engine e(g);
    auto const prog = compile(low, plan_of(low.problem(), {0, 1, 0, 2, 1, 3, 4})).value();
    executor x(prog, e);
    e.bind_to(x);
    std::vector<int> contributions(at(g.op_count()), 0);
    for (int step = 0; step < 3; ++step) { // never zeroed: they accumulate
        auto const expected = plain.step();
        x.run([](instruction const&) {}, [&](instruction const& i) { ++contributions[at(i.id)]; });
        CHECK(e.residents == expected.residents);
    }
    CHECK(contributions == std::vector<int>{6, 6, 3, 3, 3});
    auto const twice = compile(low, plan_of(low.problem(), {0, 1, 2, 2, 3, 4}));
    REQUIRE_FALSE(twice);
    CHECK(twice.error().code == errc::invalid_plan);
    symbolic_engine naive(g);
    auto const wrong = naive_executor(g, naive).run({{run(0), run(1), run(2), run(2), run(3), run(4)}});
    CHECK(wrong.residents != plain_machine(g).step().residents);
}

TEST_CASE("failures 33 and 35: a plan for another batch size, or for yesterday's graph, is refused")
{
    auto const low = lowered(chain(3, 64));
    auto const planned = plan_of(low.problem(), again);
    for (auto const& other : {chain(3, 128), chain(4, 64), chain(3, 64, {.effects = effect::random})}) {
        auto const refused = compile(lowered(other), planned);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == errc::wrong_graph);
        CHECK_THAT(refused.error().message, Contains("plan again"));
    }
}

TEST_CASE("failure 34: two runs of the planner give one plan")
{
    auto const low = lowered(training(20, 64));
    auto const a = plan(low.problem(), {.budget = budget::fraction(0.5)}).value();
    auto const b = plan(low.problem(), {.budget = budget::fraction(0.5), .threads = 2}).value();
    CHECK(a.schedule == b.schedule);
    CHECK(a.placement == b.placement);
    CHECK(compile(low, a)->instructions() == compile(low, b)->instructions());
}

} // namespace execute_failures_test
