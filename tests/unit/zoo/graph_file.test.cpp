// SPDX-License-Identifier: Apache-2.0
#include "examples/zoo/graph_file.hpp"

#include <cstddef>
#include <limits>
#include <string>

#include "tests/support/catch.hpp"

namespace zoo_graph_file_test {

using namespace strata;
using Catch::Matchers::Contains;

zoo::options const small{.batch = 2, .image = 64, .width = 8, .classes = 10};

/// Costs of a file.
struct stated_cost {
    auto cost(graph_file const& g, op_id o) const -> cost_t { return g.ops[static_cast<std::size_t>(o)].cost; }
};

TEST_CASE("zoo graph file: the file lowers to the problem of the model")
{
    auto const file = zoo::make_graph_file("resnet50", small).value();
    CHECK(file.name == "resnet50");
    CHECK(file.cost_unit == "ns");
    CHECK(lower(file, stated_cost{}).value().problem() == zoo::make_problem("resnet50", small).value());
}

TEST_CASE("zoo graph file: views and ops in place are kept apart")
{
    auto const file = zoo::make_graph_file("resnet50", small).value();
    auto const graph = zoo::make("resnet50", small).value();
    REQUIRE(file.ops.size() == graph.ops().size());
    int in_place = 0, views = 0;
    for (auto const& o : file.ops) {
        in_place += o.mutates.empty() ? 0 : 1;
    }
    for (auto const& t : file.tensors) {
        views += t.view_of == none ? 0 : 1;
    }
    CHECK(in_place == 49 + 16); // activations and residual sums
    CHECK(views == in_place);
}

TEST_CASE("zoo graph file: costs that are no numbers of nanoseconds are refused")
{
    struct constant {
        double ns;
        auto cost(training_graph<zoo::op> const&, op_id) const -> double { return ns; }
    };
    auto const g = zoo::make("resnet50", small).value();
    CHECK(zoo::to_graph_file(g, constant{2.5}).value().ops[0].cost == 3);
    CHECK(zoo::to_graph_file(g, constant{-1}).error().code == errc::malformed_graph);
    CHECK(zoo::to_graph_file(g, constant{std::numeric_limits<double>::quiet_NaN()}).error().code ==
          errc::malformed_graph);
    auto const e = zoo::to_graph_file(g, constant{1e30}).error();
    CHECK(e.code == errc::overflow);
    CHECK_THAT(e.message, Contains("op 0 (stem)"));
    CHECK(zoo::make_graph_file("resnet51").error().code == errc::invalid_argument);
}

} // namespace zoo_graph_file_test
