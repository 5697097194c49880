// SPDX-License-Identifier: Apache-2.0
#include <strata/cost/roofline_cost.hpp>
#include <strata/cost/work.hpp>
#include <strata/graph/builder.hpp>
#include <strata/problem/lower.hpp>

#include <string>
#include <variant>
#include <vector>

#include "tests/support/catch.hpp"

namespace theirs {
struct matmul {
    int n;
};
struct softmax {};
auto flops(matmul const& x) -> long { return 2L * x.n; }
auto flops(softmax const&) -> long { return 0; }
auto op_class(softmax const&) -> std::string { return "slow"; }
auto bytes_moved(softmax const&) -> long { return 1000; }
} // namespace theirs

namespace cost_roofline_cost_test {

using namespace strata;

struct plain {
    double flops = 0;
};
struct counted {
    [[nodiscard]] auto flops() const -> double { return 5; }
};

/// A graph that knows everything itself.
struct knowing {
    [[nodiscard]] auto op_count() const -> int { return 1; }
    [[nodiscard]] auto tensor_count() const -> int { return 1; }
    [[nodiscard]] auto inputs(op_id) const -> std::vector<int> { return {}; }
    [[nodiscard]] auto outputs(op_id) const -> std::vector<int> { return {0}; }
    [[nodiscard]] auto tensor_bytes(tensor_id) const -> int { return 8; }
    [[nodiscard]] auto flops(op_id) const -> float { return 100; }
};

TEST_CASE("work: the operator says its flops as a member, as data, or by a function of its own")
{
    using op = std::variant<plain, counted, theirs::matmul, theirs::softmax>;
    graph_builder<op> b;
    auto const x = b.input("x", 10);
    auto const y = b.add(plain{3}, {x}, {{.name = "y", .bytes = 20}}, {.type = "dense"});
    b.add(counted{}, {x, x, y}, {{.name = "z", .bytes = 40}});
    b.add(theirs::matmul{50}, {x}, {});
    b.add(theirs::softmax{}, {x}, {}, {.type = "softmax"});
    auto const g = b.build().value();
    CHECK(work::flops(g, 0) == 3);
    CHECK(work::flops(g, 1) == 5);
    CHECK(work::flops(g, 2) == 100);
    CHECK(work::bytes_moved(g, 0) == 30);
    CHECK(work::bytes_moved(g, 1) == 70); // x once
    CHECK(work::bytes_moved(g, 3) == 1000);
    CHECK(work::op_class(g, 0) == "dense");
    CHECK(work::op_class(g, 3) == "slow");
    CHECK(work::flops(knowing{}, 0) == 100);
    CHECK(work::bytes_moved(knowing{}, 0) == 8);
    CHECK(work::op_class(knowing{}, 0).empty());
}

TEST_CASE("work: making a view moves nothing, changing a tensor in place writes it once more")
{
    graph_builder<plain> b;
    auto const x = b.input("x", 10);
    auto const y = b.add(plain{}, {x}, {{.name = "y", .bytes = 20}});
    b.add(plain{}, {y}, {{.name = "v", .bytes = 20, .view_of = y}});
    b.add(plain{}, {y}, {{.name = "r", .bytes = 20, .view_of = y}}, {.mutates = {y}});
    auto const g = b.build().value();
    CHECK(work::bytes_moved(g, 1) == 0);
    CHECK(work::bytes_moved(g, 2) == 40);
}

TEST_CASE("roofline: the slower of arithmetic and memory traffic, by the class's efficiency, and a launch")
{
    roofline const r{.launch_ns = 100, .ns_per_flop = 2, .ns_per_byte = 3, .efficiency = {{"half", 0.5}}};
    CHECK(r.time(10, 5) == 120);  // 20 against 15
    CHECK(r.time(10, 10) == 130); // 20 against 30
    CHECK(r.time(10, 10, "half") == 160);
    CHECK(r.time(10, 10, "unknown") == 130);
    CHECK(r.time(0, 0) == 0);
    auto const d = roofline::device(60, 1500, 3000);
    CHECK(d.time(60e12, 0) == Approx(1e9 + 3000));
    CHECK(d.time(0, 1500e9) == Approx(1e9 + 3000));
}

TEST_CASE("roofline_cost: prices every op of a graph, in rounded nanoseconds")
{
    graph_builder<plain> b;
    auto const x = b.input("x", 10);
    auto const y = b.add(plain{100}, {x}, {{.name = "y", .bytes = 20}}, {.type = "matmul"});
    auto const z = b.add(plain{1}, {y}, {{.name = "z", .bytes = 20}}, {.type = "gelu"});
    b.target(b.add(plain{}, {z}, {{.name = "v", .bytes = 20, .view_of = z}}, {.type = "view"}));
    auto const g = b.build().value();
    auto const l = lower(
        g, roofline_cost({.launch_ns = 5, .ns_per_flop = 1, .ns_per_byte = 0.51, .efficiency = {{"matmul", 0.8}}}));
    REQUIRE(l);
    CHECK(l->problem().cost(0) == 130); // 5 + 100 / 0.8
    CHECK(l->problem().cost(1) == 25);  // 5 + 40 * 0.51 = 25.4; the view joins it and is free
    CHECK(l->problem().op_count() == 2);
}

} // namespace cost_roofline_cost_test
