// SPDX-License-Identifier: Apache-2.0
#include <strata/io/read_graph.hpp>
#include <strata/io/write_graph.hpp>

#include <string>

#include "tests/support/catch.hpp"

namespace io_write_graph_test {

auto sample() -> strata::graph_file
{
    strata::graph_file g;
    g.name = "quote \" and \\ and \n and \x01";
    g.cost_unit = "ns";
    g.reference_peak_bytes = strata::max_bytes;
    g.alignment = 512;
    g.tensors = {{"p", 0, strata::tensor_kind::parameter, strata::none},
                 {"", strata::max_bytes, strata::tensor_kind::gradient, 0}};
    g.ops = {{"a", "t", strata::phase::forward, strata::max_cost, 9, {0, 1}, {}, strata::effect::collective, {0, 1}, 1},
             {"", "", strata::phase::other, 0, 0, {}, {1}, {}, {}, strata::none}};
    g.targets = {1, 0};
    return g;
}

TEST_CASE("write_graph: what is written reads back as it was")
{
    CHECK(strata::read_graph(strata::write_graph(sample())).value() == sample());
    auto plain = sample();
    plain.reference_peak_bytes.reset();
    plain.alignment = 1;
    CHECK(strata::read_graph(strata::write_graph(plain)).value() == plain);
}

TEST_CASE("write_graph: one op per line, fixed order, nothing that says nothing")
{
    CHECK(
        strata::write_graph(sample()) ==
        R"j({"format":"strata-graph","version":1,"name":"quote \" and \\ and \n and \u0001","cost_unit":"ns","reference_peak_bytes":9223372036854775807,"alignment":512,
"tensors":[
{"name":"p","bytes":0,"kind":"parameter"},
{"name":"","bytes":9223372036854775807,"kind":"gradient","view_of":0}],
"ops":[
{"name":"a","type":"t","phase":"forward","cost":9223372036854775807,"workspace":9,"inputs":[0,1],"outputs":[],"effects":["collective","mutates(0)","mutates(1)"],"backward_of":1},
{"name":"","type":"","phase":"other","cost":0,"inputs":[],"outputs":[1]}],
"targets":[1,0]}
)j");
}

TEST_CASE("write_graph: a name that is not UTF-8 is written with replacement characters")
{
    auto g = sample();
    g.name = "a\xff\xc3";
    CHECK(strata::read_graph(strata::write_graph(g)).value().name == "a\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_CASE("to_graph_file: a spec becomes a file with its own alignment and unit")
{
    strata::problem_spec s;
    s.name = "n";
    s.alignment = 64;
    s.tensors = {{"x", 5, strata::tensor_kind::activation}};
    s.ops = {{"o", "t", strata::phase::forward, 3, 2, {}, {0}, strata::effect::random, strata::none}};
    s.targets = {0};
    strata::graph_file g;
    g.name = "n";
    g.cost_unit = "us";
    g.alignment = 64;
    g.tensors = {{"x", 5, strata::tensor_kind::activation, strata::none}};
    g.ops = {{"o", "t", strata::phase::forward, 3, 2, {}, {0}, strata::effect::random, {}, strata::none}};
    g.targets = {0};
    CHECK(strata::to_graph_file(s, "us") == g);
}

} // namespace io_write_graph_test
