// SPDX-License-Identifier: Apache-2.0
#include <strata/io/dot.hpp>

#include <string>

#include "tests/support/catch.hpp"

namespace io_dot_test {

auto sample() -> strata::problem
{
    strata::problem_spec s;
    s.name = "a \"graph\"";
    s.tensors = {{"w", 2048, strata::tensor_kind::parameter},
                 {"x\\y", 1024, strata::tensor_kind::activation},
                 {"", 10, strata::tensor_kind::saved},
                 {"\xff\n", 3, strata::tensor_kind::gradient}};
    s.ops = {{"f", "t", strata::phase::forward, 7, 0, {0}, {1, 2}, {}, strata::none},
             {"", "t", strata::phase::backward, 8, 0, {1, 2}, {3}, strata::effect::once, 0},
             {"o", "t", strata::phase::other, 0, 0, {}, {}, {}, strata::none}};
    s.targets = {3};
    return strata::problem::make(s).value();
}

auto has(std::string const& text, std::string const& part) -> bool { return text.find(part) != std::string::npos; }

TEST_CASE("to_dot: ops, tensors and edges, in a fixed order, names escaped")
{
    CHECK(strata::to_dot(sample()) == R"(digraph "a \"graph\"" {
  rankdir=TB;
  node [fontname="sans-serif",fontsize=10];
  o0 [shape=box,label="f\ncost 7",style="filled",fillcolor="#56b4e9"];
  o1 [shape=box,label="op 1\ncost 8",style="filled,bold",fillcolor="#e69f00"];
  o2 [shape=box,label="o\ncost 0",style="filled",fillcolor="#dddddd"];
  t1 [shape=ellipse,label="x\\y\n1 KiB\nactivation",style="solid"];
  t2 [shape=ellipse,label="tensor 2\n10 B\nsaved",style="dashed"];
  t3 [shape=ellipse,label="? \n3 B\ngradient",style="solid",penwidth=3];
  o0 -> t1;
  o0 -> t2;
  t1 -> o1;
  t2 -> o1;
  o1 -> t3;
}
)");
}

TEST_CASE("to_dot: resident tensors are shown on request")
{
    auto const text = strata::to_dot(sample(), {nullptr, true});
    CHECK(has(text, "t0 [shape=ellipse,label=\"w\\n2 KiB\\nparameter\",style=\"filled\",fillcolor=\"#f0f0f0\"];"));
    CHECK(has(text, "t0 -> o0;"));
    CHECK_FALSE(has(strata::to_dot(sample()), "t0"));
}

TEST_CASE("to_dot: an op that a plan runs again is marked with its number of runs")
{
    strata::schedule s;
    s.steps = {strata::run(0), strata::free(1), strata::free(2), strata::run(0), strata::run(1), strata::run(2)};
    auto const text = strata::to_dot(sample(), {&s, false});
    CHECK(has(text, "label=\"f\\ncost 7\\nruns 2 times\",style=\"filled\",fillcolor=\"#56b4e9\",peripheries=2];"));
    CHECK(has(text, "label=\"op 1\\ncost 8\","));
}

} // namespace io_dot_test
