// SPDX-License-Identifier: Apache-2.0
#include <strata/cost/by_type.hpp>
#include <strata/cost/table_cost.hpp>
#include <strata/graph/access.hpp>
#include <strata/graph/concepts.hpp>
#include <strata/graph/to_spec.hpp>
#include <strata/problem/lower.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/support/catch.hpp"

/// A library of somebody else, that strata knows nothing of: its types, its ids, its free functions.
namespace theirs {

struct value {
    std::size_t size;
    std::string label;
};
struct instruction {
    std::string name;
    std::vector<std::size_t> from, to;
    bool dice = false;
};
struct tape {
    std::vector<value> values;
    std::vector<instruction> code;
};

auto op_count(tape const& t) -> std::size_t { return t.code.size(); }
auto tensor_count(tape const& t) -> std::size_t { return t.values.size(); }
auto inputs(tape const& t, std::size_t i) -> std::vector<std::size_t> const& { return t.code[i].from; }
auto outputs(tape const& t, std::size_t i) -> std::vector<std::size_t> const& { return t.code[i].to; }
auto tensor_bytes(tape const& t, std::size_t v) -> std::size_t { return t.values[v].size; }
auto tensor_name(tape const& t, std::size_t v) -> std::string const& { return t.values[v].label; }
auto op_name(tape const& t, std::size_t i) -> char const* { return t.code[i].name.c_str(); }
auto effects_of(tape const& t, std::size_t i) -> strata::effects
{
    return t.code[i].dice ? strata::effects(strata::effect::random) : strata::effects();
}
auto targets(tape const& t) -> std::vector<std::size_t> { return {t.values.size() - 1}; }

} // namespace theirs

namespace graph_access_test {

using namespace strata;

auto small_tape() -> theirs::tape
{
    return {{{100, "x"}, {20, "y"}, {30, "z"}}, {{"mul", {0, 0}, {1}}, {"drop", {1}, {2}, true}}};
}

struct conv {
    int channels;
};
struct relu {};
/// A graph of std::variant operators with member functions, and only the questions it cares about.
struct variant_graph {
    std::vector<std::variant<conv, relu>> nodes;
    [[nodiscard]] auto op_count() const -> std::size_t { return nodes.size(); }
    [[nodiscard]] auto tensor_count() const -> std::size_t { return nodes.size() + 1; }
    [[nodiscard]] auto inputs(op_id o) const -> std::vector<tensor_id> { return {o}; }
    [[nodiscard]] auto outputs(op_id o) const -> std::vector<tensor_id> { return {o + 1}; }
    [[nodiscard]] auto tensor_bytes(tensor_id) const -> int { return 64; }
    [[nodiscard]] auto op(op_id o) const -> std::variant<conv, relu> const&
    {
        return nodes[static_cast<std::size_t>(o)];
    }
};

/// Type-erased operators that price themselves.
struct any_op {
    virtual ~any_op() = default;
    [[nodiscard]] virtual auto price() const -> cost_t = 0;
};
struct cheap : any_op {
    [[nodiscard]] auto price() const -> cost_t override { return 1; }
};
struct dear : any_op {
    [[nodiscard]] auto price() const -> cost_t override { return 1000; }
};
struct erased_graph {
    std::vector<std::unique_ptr<any_op>> nodes; // cannot be copied: the library must not try
    [[nodiscard]] auto op_count() const -> std::size_t { return nodes.size(); }
    [[nodiscard]] auto tensor_count() const -> std::size_t { return nodes.size() + 1; }
    [[nodiscard]] auto inputs(op_id o) const -> std::vector<tensor_id> { return {o}; }
    [[nodiscard]] auto outputs(op_id o) const -> std::vector<tensor_id> { return {o + 1}; }
    [[nodiscard]] auto tensor_bytes(tensor_id) const -> int { return 64; }
    [[nodiscard]] auto op(op_id o) const -> any_op const& { return *nodes[static_cast<std::size_t>(o)]; }
};
struct virtual_price {
    auto cost(erased_graph const& g, op_id o) const -> cost_t { return g.op(o).price(); }
};

TEST_CASE("access: functions found by argument-dependent lookup answer, the rest has defaults")
{
    auto const t = small_tape();
    CHECK(access::op_count(t) == 2U);
    CHECK(access::inputs(t, 0).size() == 2U);
    CHECK(&access::inputs(t, 0) == &t.code[0].from); // handed on by reference
    CHECK(access::effects_of(t, 1).has(effect::random));
    CHECK(access::kind_of(t, 0) == tensor_kind::input);
    CHECK(access::kind_of(t, 1) == tensor_kind::activation);
    CHECK(access::view_of(t, 1) == none);
    CHECK(access::mutates(t, 1).empty());
    CHECK(access::op_workspace(t, 1) == 0);
    CHECK(access::phase_of(t, 1) == phase::other);
    CHECK(access::backward_of(t, 1) == none);
    CHECK(access::type_name(t, 1).empty());
    CHECK(access::graph_name(t).empty());
}

TEST_CASE("access: a graph of somebody else's types is lowered without a copy into ours")
{
    auto const l = lower(small_tape(), table_cost({5, 7}));
    REQUIRE(l);
    problem_spec expected;
    expected.ops = {{"mul", "", phase::other, 5, 0, {0}, {1}, {}, none},
                    {"drop", "", phase::other, 7, 0, {1}, {2}, effect::random, none}};
    expected.tensors = {
        {"x", 100, tensor_kind::input}, {"y", 20, tensor_kind::activation}, {"z", 30, tensor_kind::activation}};
    expected.targets = {2};
    CHECK(l->problem().spec() == expected);
}

TEST_CASE("access: a graph of std::variant operators is priced by type")
{
    variant_graph const g{{conv{3}, relu{}, conv{5}}};
    auto const l =
        lower(g, cost_by_type(priced<conv>([](conv const& c) { return c.channels * 100; }), priced<relu>(9)));
    REQUIRE(l);
    CHECK(l->problem().cost(0) == 300);
    CHECK(l->problem().cost(1) == 9);
    CHECK(l->problem().cost(2) == 500);
}

TEST_CASE("access: a graph of type-erased operators that cannot be copied is lowered")
{
    erased_graph g;
    g.nodes.push_back(std::make_unique<cheap>());
    g.nodes.push_back(std::make_unique<dear>());
    auto const l = lower(g, virtual_price{});
    REQUIRE(l);
    CHECK(l->problem().base_cost() == 1001);
}

TEST_CASE("to_spec: numbers of a user's graph that do not fit are named")
{
    auto t = small_tape();
    t.values[1].size = std::numeric_limits<std::size_t>::max();
    auto const bytes = lower(t, table_cost({5, 7}));
    REQUIRE_FALSE(bytes);
    CHECK(bytes.error().code == errc::overflow);
    CHECK(bytes.error().message == "strata::lower: the bytes of tensor 1 (y) do not fit 64 bits");

    t = small_tape();
    t.code[1].from = {std::size_t{1} << 32U}; // would be tensor 0 if it were cut to 32 bits
    auto const id = lower(t, table_cost({5, 7}));
    REQUIRE_FALSE(id);
    CHECK(id.error().code == errc::malformed_graph);
    CHECK(id.error().message.find("op 1 (drop) names tensor -2") != std::string::npos);
}

TEST_CASE("to_spec: floating point is rounded, and what is no number is told apart")
{
    using detail::to_int64;
    CHECK(to_int64(2.5) == 3);
    CHECK(to_int64(-2.5F) == -3);
    CHECK(to_int64(1e13) == 10'000'000'000'000);
    CHECK(to_int64(9.3e18) == std::nullopt);
    CHECK(to_int64(std::numeric_limits<double>::quiet_NaN()) == std::nullopt);
    CHECK(to_int64(-std::numeric_limits<float>::infinity()) == std::nullopt);
    CHECK(to_int64(std::uint64_t{1} << 63U) == std::nullopt);
    CHECK(to_int64(std::int8_t{-4}) == -4);
}

} // namespace graph_access_test
