// SPDX-License-Identifier: Apache-2.0
#include <strata/io/lower_graph.hpp>
#include <strata/io/read_graph.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/catch.hpp"

namespace io_lower_graph_test {

auto lowered(std::string const& tensors, std::string const& ops, std::string const& targets = "")
    -> strata::result<strata::lowering>
{
    auto const g = strata::read_graph(R"({"format":"strata-graph","version":1,"name":"g","cost_unit":"ns","alignment":4,
        "tensors":[)" + tensors + R"(],"ops":[)" +
                                      ops + R"(],"targets":[)" + targets + "]}");
    return strata::lower_graph(g.value());
}

constexpr std::string_view x = R"({"name":"x","bytes":10,"kind":"activation"})";
constexpr std::string_view y = R"({"name":"y","bytes":20,"kind":"activation"})";

auto op(std::string const& name, std::string const& in, std::string const& out, std::string const& more = "")
    -> std::string
{
    return R"({"name":")" + name + R"(","type":"t","phase":"forward","cost":3,"inputs":[)" + in + R"(],"outputs":[)" +
           out + "]" + more + "}";
}

auto both() -> std::string { return std::string(x) + "," + std::string(y); }

void check_refused(std::string const& tensors,
                   std::string const& ops,
                   std::string const& targets,
                   std::string const& message)
{
    auto const r = lowered(tensors, ops, targets);
    REQUIRE_FALSE(r.has_value());
    CHECK(r.error().code == strata::errc::malformed_graph);
    CHECK(r.error().message == "strata::lower: " + message);
}

TEST_CASE("lower_graph: a graph file without views keeps its ids, costs, alignment and labels")
{
    auto const l = lowered(both(), op("a", "", "0", R"(,"workspace":5)") + "," + op("b", "0", "1"), "1").value();
    auto const& p = l.problem();
    CHECK(l.identity());
    CHECK(p.name() == "g");
    CHECK(p.alignment() == 4);
    CHECK(p.size(0) == 12);
    CHECK(p.workspace(0) == 8);
    CHECK(p.base_cost() == 6);
    CHECK(p.op(1).name == "b");
    CHECK(p.op(1).phase == strata::phase::forward);
    CHECK(std::vector<strata::tensor_id>(p.targets().begin(), p.targets().end()) == std::vector<strata::tensor_id>{1});
}

TEST_CASE("lower_graph: an alignment given by the caller replaces that of the file")
{
    auto const g = strata::read_graph(R"({"format":"strata-graph","version":1,"cost_unit":"ns","alignment":4,
        "tensors":[{"bytes":10,"kind":"activation"}],
        "ops":[{"type":"t","phase":"other","cost":1,"inputs":[],"outputs":[0]}],"targets":[0]})");
    CHECK(strata::lower_graph(g.value()).value().problem().size(0) == 12);
    CHECK(strata::lower_graph(g.value(), 512).value().problem().size(0) == 512);
    auto const r = strata::lower_graph(g.value(), -1);
    REQUIRE_FALSE(r.has_value());
    CHECK(r.error().code == strata::errc::invalid_argument);
}

TEST_CASE("lower_graph: views fold into the buffer, in-place ops into the ops that touched it before")
{
    auto const view = R"({"name":"v","bytes":10,"kind":"activation","view_of":0})";
    auto const l = lowered(both() + "," + view,
                           op("a", "", "0") + "," + op("view", "0", "2") + "," +
                               op("relu_", "2", "", R"j(,"effects":["mutates(0)"])j") + "," + op("b", "2", "1"),
                           "1")
                       .value();
    CHECK_FALSE(l.identity());
    CHECK(l.problem().op_count() == 2);
    CHECK(l.problem().tensor_count() == 2);
    CHECK(l.problem().cost(0) == 9);
    CHECK(l.group_of(2) == 0);
    CHECK(l.tensor_of(2) == 0);
}

TEST_CASE("lower_graph: a graph whose file is in order but whose rules are broken is refused by name")
{
    check_refused(
        both(),
        op("a", "", "0") + "," + op("b", "", "0") + "," + op("c", "0", "1"),
        "1",
        "tensor 0 (x) is produced by op 0 (a) and by op 1 (b); only a gradient may have several producers, and "
        "an op that changes a tensor in place names it in mutates, not in outputs");
    check_refused(both(),
                  op("a", "1", "0") + "," + op("b", "0", "1"),
                  "",
                  "op 0 (a) reads tensor 1 (y) before op 1 (b) has produced it: ops must stand in first-run order");
    check_refused(
        both(), op("a", "0", "1"), "1", "op 0 (a) reads tensor 0 (x), which no op produces and which is not resident");
    check_refused(
        both(),
        op("a", "0", "0"),
        "0",
        "op 0 (a) reads tensor 0 (x), which it produces itself; an op that works in place names the tensor in "
        "mutates");
    check_refused(both(), op("a", "", "0"), "1", "target tensor 1 (y) is neither resident nor produced by any op");
    check_refused(std::string(x), "", "", "a step needs at least one op");
    check_refused(R"({"name":"v","bytes":1,"kind":"activation","view_of":0})",
                  op("a", "", "0"),
                  "",
                  "tensor 0 (v) is a view of itself; a chain of views must end at a buffer");
}

TEST_CASE("lower_graph: sums that leave the 64-bit range are refused")
{
    auto const huge = R"({"bytes":9223372036854775807,"kind":"activation"})";
    auto const bytes = lowered(std::string(huge) + "," + huge, op("a", "", "0") + "," + op("b", "0", "1"), "1");
    REQUIRE_FALSE(bytes.has_value());
    CHECK(bytes.error().code == strata::errc::overflow);
    auto costly = op("a", "", "0") + "," + op("b", "0", "1");
    for (auto at = costly.find("\"cost\":3"); at != std::string::npos; at = costly.find("\"cost\":3")) {
        costly.replace(at, 8, "\"cost\":9223372036854775807");
    }
    auto const cost = lowered(both(), costly, "1");
    REQUIRE_FALSE(cost.has_value());
    CHECK(cost.error().code == strata::errc::overflow);
    CHECK(cost.error().message ==
          "strata::lower: the sum of all costs does not fit 64 bits at op 1 (b); measure in a coarser unit");
}

} // namespace io_lower_graph_test
