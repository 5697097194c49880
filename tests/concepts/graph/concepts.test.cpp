// SPDX-License-Identifier: Apache-2.0
#include <strata/cost/table_cost.hpp>
#include <strata/graph/concepts.hpp>
#include <strata/graph/differentiate.hpp>
#include <strata/graph/training_graph.hpp>
#include <strata/problem/lower.hpp>

#include <string>
#include <vector>

#include "tests/support/catch.hpp"

namespace graph_concepts_test {

using namespace strata;

/// Nothing may be copied, addressed or put before a comma unless the concept grants it.
struct guarded {
    guarded() = default;
    guarded(guarded const&) = delete;
    auto operator=(guarded const&) -> guarded& = delete;
    void operator&() const = delete;
    template <class T>
    void operator,(T&&) const = delete;
};

/// The least range of tensor numbers: no size, no iterator traits, an odd number type.
struct two_ids : guarded {
    struct iterator {
        unsigned short at;
        auto operator*() const -> unsigned short { return at; }
        auto operator++() -> iterator&
        {
            ++at;
            return *this;
        }
        auto operator!=(iterator other) const -> bool { return at != other.at; }
        void operator&() const = delete;
        template <class T>
        void operator,(T&&) const = delete;
    };
    explicit two_ids(unsigned short from, unsigned short to)
        : from_(from)
        , to_(to)
    {
    }
    auto begin() const -> iterator { return {from_}; }
    auto end() const -> iterator { return {to_}; }

private:
    unsigned short from_, to_;
};

/// A chain of three ops, with the least that `task_graph` asks for.
struct archetype : guarded {
    auto op_count() const -> unsigned char { return 3; }
    auto tensor_count() const -> unsigned char { return 4; }
    auto inputs(unsigned long o) const -> two_ids
    {
        return two_ids(static_cast<unsigned short>(o), static_cast<unsigned short>(o + 1));
    }
    auto outputs(unsigned long o) const -> two_ids
    {
        return two_ids(static_cast<unsigned short>(o + 1), static_cast<unsigned short>(o + 2));
    }
    auto tensor_bytes(short t) const -> unsigned { return t < 0 ? 0U : 8U; }
};

struct no_op_count : guarded {
    auto tensor_count() const -> int { return 0; }
    auto inputs(int) const -> std::vector<int> { return {}; }
    auto outputs(int) const -> std::vector<int> { return {}; }
    auto tensor_bytes(int) const -> long { return 0; }
};
struct no_tensor_count : guarded {
    auto op_count() const -> int { return 0; }
    auto inputs(int) const -> std::vector<int> { return {}; }
    auto outputs(int) const -> std::vector<int> { return {}; }
    auto tensor_bytes(int) const -> long { return 0; }
};
struct inputs_are_text : archetype {
    auto inputs(int) const -> std::vector<std::string> { return {}; }
};
struct outputs_are_one_number : archetype {
    auto outputs(int) const -> int { return 0; }
};
struct bytes_are_not_const : archetype {
    auto tensor_bytes(int) -> long { return 0; }
};
struct effects_are_text : archetype {
    auto effects_of(int) const -> std::string { return {}; }
};
struct kind_is_a_number : archetype {
    auto kind_of(int) const -> int { return 0; }
};
struct spells_effects : archetype {
    auto effects(int) const -> strata::effects { return {}; }
};
struct spells_view : archetype {
    auto is_view_of(int) const -> int { return none; }
};
struct spells_workspace : archetype {
    auto workspace(int) const -> bytes_t { return 0; }
};
struct spells_phase : archetype {
    auto phase(int) const -> strata::phase { return strata::phase::other; }
};
struct spells_kind : archetype {
    auto kind(int) const -> tensor_kind { return tensor_kind::activation; }
};
struct spells_mutates : archetype {
    auto mutations(int) const -> std::vector<int> { return {}; }
};
struct spells_backward : archetype {
    auto forward_op(int) const -> int { return none; }
};
struct spells_targets : archetype {
    auto target_tensors() const -> std::vector<int> { return {}; }
};
struct mutates_not_const : archetype {
    auto mutates(int) -> std::vector<int> { return {}; }
};
struct both_spellings : archetype {
    auto effects(int) const -> strata::effects { return {}; }
    auto effects_of(int) const -> strata::effects { return {}; }
};

struct unit_cost : guarded {
    template <class G>
    auto cost(G const&, op_id) const -> short
    {
        return 1;
    }
};

struct with_ops : archetype {
    auto op(int) const -> int { return 7; }
};
struct good_rule : guarded {
    auto operator()(int, gradient_request const&) const -> op_gradient<int> { return {}; }
};
struct rule_returns_ops {
    auto operator()(int, gradient_request const&) const -> std::vector<backward_op<int>> { return {}; }
};
struct rule_without_request {
    auto operator()(int) const -> op_gradient<int> { return {}; }
};
struct rule_not_const {
    auto operator()(int, gradient_request const&) -> op_gradient<int> { return {}; }
};
struct rule_of_other_ops {
    auto operator()(int, gradient_request const&) const -> op_gradient<std::string> { return {}; }
};

TEST_CASE("task_graph: the least graph models it, and each missing requirement alone refuses")
{
    STATIC_REQUIRE(task_graph<archetype>);
    STATIC_REQUIRE(task_graph<training_graph<std::string>>);
    STATIC_REQUIRE_FALSE(task_graph<int>);
    STATIC_REQUIRE_FALSE(task_graph<no_op_count>);
    STATIC_REQUIRE_FALSE(task_graph<no_tensor_count>);
    STATIC_REQUIRE_FALSE(task_graph<inputs_are_text>);
    STATIC_REQUIRE_FALSE(task_graph<outputs_are_one_number>);
    STATIC_REQUIRE_FALSE(task_graph<bytes_are_not_const>);
}

TEST_CASE("task_graph: an optional answer of the wrong type or in the wrong spelling refuses")
{
    STATIC_REQUIRE_FALSE(task_graph<effects_are_text>);
    STATIC_REQUIRE_FALSE(task_graph<kind_is_a_number>);
    STATIC_REQUIRE_FALSE(task_graph<spells_effects>);
    STATIC_REQUIRE_FALSE(task_graph<spells_view>);
    STATIC_REQUIRE_FALSE(task_graph<spells_workspace>);
    STATIC_REQUIRE_FALSE(task_graph<spells_phase>);
    STATIC_REQUIRE_FALSE(task_graph<spells_kind>);
    STATIC_REQUIRE_FALSE(task_graph<spells_mutates>);
    STATIC_REQUIRE_FALSE(task_graph<spells_backward>);
    STATIC_REQUIRE_FALSE(task_graph<spells_targets>);
    STATIC_REQUIRE_FALSE(task_graph<mutates_not_const>);
    STATIC_REQUIRE(task_graph<both_spellings>);
}

TEST_CASE("task_graph: lower needs no more than the concept grants")
{
    archetype const g;
    unit_cost const c;
    auto const l = lower(g, c);
    REQUIRE(l);
    CHECK(l->identity());
    CHECK(l->problem().op_count() == 3);
    CHECK(l->problem().base_cost() == 3);
    CHECK(l->problem().tensor(0).kind == tensor_kind::input);
    CHECK(l->problem().tensor(3).kind == tensor_kind::activation);
    CHECK(l->problem().producer(3) == 2);
}

TEST_CASE("gradient_rule: callables of the right form model it")
{
    STATIC_REQUIRE(gradient_rule<good_rule, with_ops>);
    STATIC_REQUIRE_FALSE(gradient_rule<rule_returns_ops, with_ops>);
    STATIC_REQUIRE_FALSE(gradient_rule<rule_without_request, with_ops>);
    STATIC_REQUIRE_FALSE(gradient_rule<rule_not_const, with_ops>);
    STATIC_REQUIRE_FALSE(gradient_rule<rule_of_other_ops, with_ops>);
    STATIC_REQUIRE_FALSE(gradient_rule<good_rule, archetype>);
}

TEST_CASE("gradient_rule: differentiate needs no more than the concepts grant")
{
    with_ops const g;
    good_rule const rule;
    auto const step = differentiate(g, rule, {.losses = {3}});
    REQUIRE_FALSE(step);
    CHECK(step.error().message ==
          "strata::differentiate: loss tensor 3 depends on no parameter or input whose gradient "
          "is wanted through ops that have one");
}

} // namespace graph_concepts_test
