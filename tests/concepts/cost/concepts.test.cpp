// SPDX-License-Identifier: Apache-2.0
#include <strata/cost/by_type.hpp>
#include <strata/cost/concepts.hpp>
#include <strata/cost/overridden.hpp>
#include <strata/cost/priced_by.hpp>
#include <strata/cost/roofline_cost.hpp>
#include <strata/cost/scaled.hpp>
#include <strata/cost/table_cost.hpp>
#include <strata/graph/training_graph.hpp>

#include <string>

#include "tests/support/catch.hpp"

namespace cost_concepts_test {

using namespace strata;

struct op {
    double flops = 0;
};
using graph = training_graph<op>;

struct archetype {
    archetype() = default;
    archetype(archetype const&) = delete;
    auto operator=(archetype const&) -> archetype& = delete;
    void operator&() const = delete;
    template <class T>
    void operator,(T&&) const = delete;
    auto cost(graph const&, op_id) const -> float { return 1; }
};
struct not_const {
    auto cost(graph const&, op_id) -> cost_t { return 1; }
};
struct op_alone {
    auto cost(op_id) const -> cost_t { return 1; }
};
struct answers_text {
    auto cost(graph const&, op_id) const -> std::string { return {}; }
};
struct other_graph {
    auto cost(training_graph<std::string> const&, op_id) const -> cost_t { return 1; }
};

TEST_CASE("cost_model: the least model does, each near miss does not")
{
    STATIC_REQUIRE(cost_model<archetype, graph>);
    STATIC_REQUIRE_FALSE(cost_model<not_const, graph>);
    STATIC_REQUIRE_FALSE(cost_model<op_alone, graph>);
    STATIC_REQUIRE_FALSE(cost_model<answers_text, graph>);
    STATIC_REQUIRE_FALSE(cost_model<other_graph, graph>);
    STATIC_REQUIRE_FALSE(cost_model<int, graph>);
}

TEST_CASE("cost_model: the library's own models and adaptors model it")
{
    STATIC_REQUIRE(cost_model<table_cost, graph>);
    STATIC_REQUIRE(cost_model<priced_by<cost_t (*)(op const&)>, graph>);
    STATIC_REQUIRE(cost_model<roofline_cost, graph>);
    STATIC_REQUIRE(cost_model<scaled_cost<table_cost>, graph>);
    STATIC_REQUIRE(cost_model<overridden_cost<scaled_cost<roofline_cost>>, graph>);
    STATIC_REQUIRE(cost_model<decltype(cost_by_type(priced<op>(3))), graph>);
    STATIC_REQUIRE_FALSE(cost_model<scaled_cost<other_graph>, graph>);
}

} // namespace cost_concepts_test
