// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Tests of strata/execute/: programs, executors, their storages, step reports and measurements.
#include <strata/cost/calibrate.hpp>
#include <strata/cost/priced_by.hpp>
#include <strata/cost/table_cost.hpp>
#include <strata/execute/compile.hpp>
#include <strata/execute/executor.hpp>
#include <strata/execute/measure.hpp>
#include <strata/execute/step_report.hpp>
#include <strata/execute/storage.hpp>
#include <strata/graph/builder.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/pipeline/plan_graph.hpp>
#include <strata/place/place.hpp>
#include <strata/problem/fingerprint.hpp>
#include <strata/problem/lower.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/counting_memory.hpp"

namespace execute_executor_test {

using namespace strata;
using Catch::Matchers::Contains;
using kind = instruction::kind;

/// a -> b -> c with a view and an in-place op: b is changed, c reads it through the view; y reads a and c.
struct aliased {
    graph_builder<int> builder;
    tensor_id x, a, b, v, c, y;
    aliased()
    {
        x = builder.input("x", 100);
        a = builder.add(0, {x}, {{.name = "a", .bytes = 100}});
        auto const two =
            builder.add(0, {a}, {{.name = "b", .bytes = 100}, {.name = "t", .bytes = 70}}, {.workspace = 10});
        b = two[0];
        builder.add(0, {two[1]}, {}, {.name = "change", .workspace = 30, .mutates = {b}});
        v = builder.add(0, {b}, {{.name = "v", .bytes = 100, .view_of = b}});
        c = builder.add(0, {v}, {{.name = "c", .bytes = 100}});
        y = builder.add(0, {a, c}, {{.name = "y", .bytes = 100}});
        builder.target(y);
    }
};

auto lowered(training_graph<int> const& g, bytes_t alignment) -> lowering
{
    return lower(
               g, table_cost(std::vector<cost_t>(static_cast<std::size_t>(g.op_count()), 1)), {.alignment = alignment})
        .value();
}

struct note_taker {
    std::vector<op_id> ran = {};
    void run(op_id o, buffers const& /*b*/) { ran.push_back(o); }
};

TEST_CASE("compile: groups run one op after the other, with temporaries and workspaces inside their piece of memory")
{
    aliased const s;
    auto const g = s.builder.build().value();
    auto const low = lowered(g, 64);
    REQUIRE(low.problem().op_count() == 4);
    auto const planned = plan(low.problem()).value();
    auto const p = compile(low, planned).value();
    std::vector<std::string> said;
    for (auto const& i : p.instructions()) {
        auto const name = [&] {
            auto const t = p.pieces()[static_cast<std::size_t>(i.id)].tensor;
            return t == none ? std::string("scratch") : p.tensor(t).name;
        };
        said.push_back(i.what == kind::run ? "run " + std::to_string(i.id)
                                           : (i.what == kind::acquire ? "+" : "-") + name());
    }
    CHECK(said == std::vector<std::string>{"+a",
                                           "run 0",
                                           "+b",
                                           "+t",
                                           "+scratch",
                                           "run 1",
                                           "-scratch",
                                           "+scratch",
                                           "run 2",
                                           "-scratch",
                                           "-t",
                                           "run 3",
                                           "+c",
                                           "run 4",
                                           "-b",
                                           "+y",
                                           "run 5",
                                           "-c",
                                           "-a"});
    CHECK(p.arena() == planned.placement.arena);
    CHECK(p.targets() == std::vector<tensor_id>{s.y});
    CHECK(p.owners()[static_cast<std::size_t>(s.v)] == s.b);
    CHECK(p.written(2) == std::vector<tensor_id>{s.b});
    CHECK(p.written(3).empty()); // the view

    note_taker e;
    executor step(p, e);
    step.run();
    CHECK(e.ran == std::vector<op_id>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("compile: takes a plan in graph ids with the graph")
{
    aliased const s;
    auto const g = s.builder.build().value();
    auto const c = priced_by([](int const&) { return 1; });
    auto const wide = plan(g, c).value(); // in graph ids
    auto const p = compile(g, c, wide);
    REQUIRE(p);
    auto const low = lower(g, c).value();
    CHECK(p->instructions() == compile(low, plan(low.problem()).value())->instructions());
    CHECK_FALSE(compile(low, wide)); // those are not the problem's
}

TEST_CASE("compile: a placement for a larger alignment needs ops that share a buffer laid out for it")
{
    aliased const s;
    auto const low = lowered(s.builder.build().value(), 1);
    auto const refused = compile(low, plan(low.problem(), {.alignment = 64}).value());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == errc::invalid_argument);
    CHECK_THAT(refused.error().message, Contains("lower the graph with {.alignment = 64}"));

    graph_builder<int> plain;
    plain.target(plain.add(0, {plain.input("x", 5)}, {{.name = "y", .bytes = 5}}));
    auto const easy = lowered(plain.build().value(), 1);
    auto const p = compile(easy, plan(easy.problem(), {.alignment = 64}).value());
    REQUIRE(p);
    CHECK(p->arena() == 64);
    CHECK(p->pieces()[0].size == 64);
    CHECK(p->pieces()[0].bytes == 5);

    auto odd = plan(easy.problem()).value();
    odd.placement.alignment = 24;
    CHECK_THAT(compile(easy, odd).error().message, Contains("must be a power of two"));
}

TEST_CASE("compile: refuses a placement that is not that of the schedule")
{
    aliased const s;
    auto const low = lowered(s.builder.build().value(), 64);
    auto x = plan(low.problem()).value();
    x.placement.offsets[1] = x.placement.offsets[0];
    auto const refused = compile(low, x);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == errc::invalid_plan);
    CHECK_THAT(refused.error().message, Contains("overlaps"));
}

/// A stateful and a random layer, each run again.
auto effects_program(effects what) -> program
{
    graph_builder<int> b;
    auto const s = b.state("s", 8);
    auto const h = b.add(0, {}, {{.name = "h", .bytes = 8}}, {.name = "layer", .effects = what, .writes = {s}});
    auto const k = b.add(0, {h}, {{.name = "k", .bytes = 8}});
    b.target(b.add(0, {h, k}, {{.name = "y", .bytes = 8}}));
    auto const low = lowered(b.build().value(), 1);
    certified_plan x;
    x.schedule = free_early(low.problem(), run_order{0, 1, 0, 2});
    x.placement = place(low.problem(), x.schedule).value();
    x.fingerprint = fingerprint(low.problem());
    return compile(low, x).value();
}

struct vectorised : note_taker {
    static constexpr bytes_t alignment = 32;
};

TEST_CASE("executor: an engine that cannot do what the program needs is refused, with the remedy")
{
    note_taker e;
    CHECK_THROWS_WITH(executor(effects_program(effect::stateful), e),
                      Contains("op 0 (layer)") && Contains("needs replay(op, buffers)"));
    CHECK_THROWS_WITH(executor(effects_program(effect::stateful | effect::random), e),
                      Contains("op 0 (layer)") && Contains("needs random_state()"));
    vectorised wide;
    graph_builder<int> b;
    b.target(b.add(0, {}, {{.name = "y", .bytes = 8}}));
    auto const g = b.build().value();
    auto const of = [&](bytes_t a) { return compile(lowered(g, a), plan(lowered(g, a).problem()).value()).value(); };
    CHECK_THROWS_WITH(executor(of(16), wide), Contains("multiples of 16 bytes, the engine needs 32"));
    CHECK_NOTHROW(executor(of(32), wide));
    CHECK_NOTHROW(executor(of(64), wide));
}

TEST_CASE("executor: binds resident tensors only, and only to enough memory")
{
    aliased const s;
    auto const low = lowered(s.builder.build().value(), 64);
    note_taker e;
    executor step(compile(low, plan(low.problem()).value()).value(), e);
    std::array<std::byte, 100> enough{};
    std::array<float, 24> little{};
    CHECK(step.data(s.x) == nullptr);
    step.bind(s.x, std::span(enough));
    CHECK(step.data(s.x) == enough.data());
    CHECK_THROWS_WITH(step.bind(s.x, std::span(little)), Contains("96 bytes for tensor 0 (x), which has 100"));
    CHECK_THROWS_AS(step.bind(s.a, std::span(enough)), std::invalid_argument);
    CHECK_THROWS_AS(step.bind(-1, std::span(enough)), std::invalid_argument);
    CHECK_THROWS_AS(step.bind(99, std::span(enough)), std::invalid_argument);
    step.run();
    CHECK(step.data(s.x) == enough.data());
    CHECK(step.data(s.y) != nullptr);
    CHECK(step.as<float>(s.y) == static_cast<void*>(step.data(s.y)));
    step.release_targets();
    CHECK(step.data(s.y) == nullptr);
}

TEST_CASE("executor: gradients know who is first, in every step")
{
    graph_builder<int> b;
    auto const d = b.gradient("d", 8);
    for (int i = 0; i < 3; ++i) {
        b.add(0, {}, {}, {.writes = {d}});
    }
    b.target(b.add(0, {d}, {{.name = "y", .bytes = 8}}));
    auto const low = lowered(b.build().value(), 1);
    struct engine_of_sums {
        tensor_id d;
        std::vector<bool> added = {};
        void run(op_id o, buffers const& b)
        {
            if (o < 3) {
                added.push_back(b.adds_into(d));
            }
        }
    } e{d};
    executor step(compile(low, plan(low.problem()).value()).value(), e);
    step.run();
    step.run();
    CHECK(e.added == std::vector<bool>{false, true, true, false, true, true});
}

TEST_CASE("executor: a step that stops in front of an op goes on from there, once, or gives everything back")
{
    aliased const s;
    auto const g = s.builder.build().value();
    auto const low = lowered(g, 64);
    auto const p = compile(low, plan(low.problem()).value()).value();
    note_taker whole;
    executor(p, whole).run();
    for (std::size_t k = 0; k < whole.ran.size(); ++k) {
        note_taker engine;
        test::counting_memory memory;
        executor step(p, engine, allocating(memory));
        step.run_before(whole.ran[k]);
        CHECK(engine.ran == std::vector<op_id>(whole.ran.begin(), whole.ran.begin() + static_cast<std::ptrdiff_t>(k)));
        step.resume();
        CHECK(engine.ran == whole.ran);
        step.resume(); // there is nothing left
        CHECK(engine.ran == whole.ran);
        step.run_before(whole.ran[k]);
        step.release_targets(); // a step that is given up
        CHECK(memory.live() == 0);
        step.resume();
        CHECK(engine.ran.size() == whole.ran.size() + k);
    }
}

TEST_CASE("executor: an arena asks once for as much as was planned, an allocator for each buffer")
{
    aliased const s;
    auto const low = lowered(s.builder.build().value(), 64);
    auto const planned = plan(low.problem()).value();
    auto const p = compile(low, planned).value();
    note_taker e;
    test::counting_memory memory;
    {
        executor step(p, e, memory);
        step.run();
        step.run();
        CHECK(memory.asked() == 1);
        CHECK(memory.live_bytes() == static_cast<std::size_t>(planned.placement.arena));
    }
    {
        executor step(p, e, allocating(memory));
        step.run();
        CHECK(memory.asked() == 1 + static_cast<std::int64_t>(p.pieces().size()));
        CHECK(memory.live() == 1);
        CHECK(step.memory().peak_bytes() == planned.certificate.peak - planned.certificate.resident);
    }
    CHECK(memory.live() == 0);
    memory.fail_at(1);
    CHECK_THROWS_AS(executor(p, e, memory), std::bad_alloc);
}

TEST_CASE("executor: a plan without a placement runs where each buffer is by itself, and in no arena")
{
    aliased const s;
    auto const low = lowered(s.builder.build().value(), 64);
    auto const planned = plan(low.problem(), {.place = false}).value();
    CHECK_FALSE(planned.placed());
    auto const p = compile(low, planned).value();
    CHECK_FALSE(p.placed());
    auto const placed = compile(low, plan(low.problem()).value()).value();
    CHECK(placed.placed());
    CHECK(p.instructions() == placed.instructions());
    note_taker e;
    test::counting_memory memory;
    CHECK_THROWS_WITH(executor(p, e, memory),
                      Contains("made without a placement") && Contains("run it in strata::allocating"));
    CHECK(memory.asked() == 0);
    executor step(p, e, allocating(memory));
    step.run();
    CHECK(step.memory().peak_bytes() == planned.certificate.peak - planned.certificate.resident);
    auto forged = planned;
    forged.placement.alignment = 24;
    CHECK_FALSE(compile(low, forged));
    forged = planned;
    forged.certificate.budget = planned.certificate.peak - 1;
    CHECK(compile(low, forged).error().code == errc::invalid_plan);
}

/// Op `o` takes `(o + 1) * 50` microseconds and uses `o` bytes of scratch.
struct slow_engine {
    std::vector<tensor_id> outputs;
    std::uint64_t drawn = 5;
    void run(op_id o, buffers const& b)
    {
        auto const end = std::chrono::steady_clock::now() + std::chrono::microseconds(50 * (o + 1));
        while (std::chrono::steady_clock::now() < end) {
        }
        ++drawn;
        std::memset(b.data(outputs[static_cast<std::size_t>(o)]), o + 1, 64);
        if (b.workspace() != nullptr) {
            std::memset(b.workspace(), 1, static_cast<std::size_t>(o));
        }
    }
    [[nodiscard]] auto random_state() const -> std::uint64_t { return drawn; }
    void set_random_state(std::uint64_t s) { drawn = s; }
};

struct slow_step {
    training_graph<int> g;
    lowering low;
    std::vector<tensor_id> outputs;
};
auto slow() -> slow_step
{
    graph_builder<int> b;
    tensor_id h = b.input("x", 64);
    std::vector<tensor_id> outputs;
    for (int i = 0; i < 4; ++i) {
        outputs.push_back(h = b.add(0, {h}, {{.name = "h", .bytes = 64}}, {.workspace = i == 2 ? 40 : 0}));
    }
    b.target(outputs.back());
    auto g = b.build().value();
    auto low = lowered(g, 64);
    return {std::move(g), std::move(low), std::move(outputs)};
}

TEST_CASE("measure: every op has its samples, its bytes, and the random state is put back")
{
    auto const s = slow();
    slow_engine e{s.outputs};
    auto const r = measure(s.low, e, {.warm_up = 1, .steps = 4});
    REQUIRE(r);
    CHECK(r->within_budget);
    CHECK(e.drawn == 5);
    REQUIRE(r->ops.size() == 4);
    for (std::size_t o = 0; o < 4; ++o) {
        CHECK(r->ops[o].ns.size() == 4);
        CHECK(r->ops[o].minimum() >= 50'000 * static_cast<cost_t>(o + 1)); // it waits at least that long
        CHECK(r->ops[o].median() >= r->ops[o].minimum());
        CHECK(r->ops[o].outputs == 64);
        CHECK(r->ops[o].workspace == (o == 2 ? 2 : 0)); // the graph says 40
    }
    CHECK(r->peak == 192);
    auto const costs = r->costs();
    CHECK(costs.cost(s.g, 3) == r->ops[3].minimum());
    CHECK(r->median_costs().cost(s.g, 3) == r->ops[3].median());
    auto const planned = plan(s.g, costs);
    REQUIRE(planned);
    CHECK(planned->certificate.base_cost >= 500'000);
}

TEST_CASE("measure: stays within the budget where a plan does, says so where none does, and refuses nonsense")
{
    auto const s = slow();
    slow_engine e{s.outputs};
    auto const resident = s.low.problem().resident_bytes();
    auto const fits = measure(s.low, e, {.budget = budget::bytes(resident + 192), .warm_up = 0, .steps = 1});
    REQUIRE(fits);
    CHECK(fits->within_budget);
    CHECK(fits->peak <= 192);
    auto const tight = measure(s.low, e, {.budget = budget::bytes(resident + 64), .warm_up = 0, .steps = 1});
    REQUIRE(tight);
    CHECK_FALSE(tight->within_budget);
    CHECK_FALSE(measure(s.low, e, {.steps = 0}));
    CHECK_FALSE(measure(s.low, e, {.budget = budget::bytes(-1)}));
}

struct product {
    double flops;
};

/// Layers of several sizes, `batch` times as much work each; the last is as good as free of arithmetic.
auto products(double batch) -> training_graph<product>
{
    graph_builder<product> b;
    tensor_id h = b.input("x", static_cast<bytes_t>(64 * batch));
    for (int i = 1; i <= 8; ++i) {
        auto const flops = i % 2 == 0 ? 1e4 * i * batch : 1.0 * batch;
        h = b.add({flops}, {h}, {{.name = "h", .bytes = static_cast<bytes_t>(64 * i * batch)}});
    }
    b.add({0}, {h}, {{.name = "view", .bytes = 8, .view_of = h}});
    return b.build().value();
}

TEST_CASE("measure: what was measured on a small batch prices a large one by a roofline")
{
    roofline const device{.launch_ns = 5000, .ns_per_flop = 0.5, .ns_per_byte = 4};
    auto const small = products(1);
    measurement m; // a clock is no test: the device says how long its ops take
    for (op_id o = 0; o < small.op_count(); ++o) {
        auto const ns = device.time(work::flops(small, o), work::bytes_moved(small, o));
        m.ops.push_back({.ns = {static_cast<std::int64_t>(ns), static_cast<std::int64_t>(3 * ns)}});
    }
    auto const samples = roofline_samples(small, m.costs());
    CHECK(samples.size() == 8); // a view takes no time
    auto const fit = calibrate(samples);
    REQUIRE(fit);
    auto const large = products(100);
    roofline_cost const priced(fit->device);
    for (op_id o = 0; o < large.op_count(); ++o) {
        auto const truth = device.time(work::flops(large, o), work::bytes_moved(large, o));
        CHECK(priced.cost(large, o) == Approx(truth).epsilon(0.01));
    }
}

TEST_CASE("step report: planned beside measured, run by run")
{
    auto const s = slow();
    slow_engine e{s.outputs};
    auto planned = plan(s.low.problem()).value();
    executor step(compile(s.low, planned).value(), e);
    auto const r = report_step(step);
    REQUIRE(r.runs.size() == 4);
    CHECK(r.planned_cost == 4);
    CHECK(r.planned_base == 4);
    CHECK(r.planned_overhead() == 0);
    CHECK(r.measured_overhead() == 0);
    CHECK(r.measured_ns >= 500'000);
    CHECK(r.runs[3].op == 3);
    CHECK(r.runs[3].measured_ns >= 200'000);
    CHECK_FALSE(r.runs[3].again);
    CHECK(r.planned_peak == planned.certificate.peak - planned.certificate.resident);
    CHECK(r.planned_arena == planned.placement.arena);
    CHECK(r.measured_peak == planned.placement.arena);
    CHECK_THAT(describe(r), Contains("peak 192 bytes") && Contains("4 runs"));

    step_report made;
    made.planned_cost = 130;
    made.planned_base = 100;
    made.measured_ns = 1250;
    made.replayed_ns = 250;
    CHECK(made.planned_overhead() == Approx(0.3));
    CHECK(made.measured_overhead() == Approx(0.25));
    CHECK_THAT(describe(made), Contains("replays 25.0 % of the time (planned 30.0 %)"));
    CHECK(step_report{}.measured_overhead() == 0);
}

} // namespace execute_executor_test
