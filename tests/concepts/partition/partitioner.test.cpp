// SPDX-License-Identifier: Apache-2.0
#include <strata/partition/at_cut_points.hpp>
#include <strata/partition/bottom_up.hpp>
#include <strata/partition/concepts.hpp>
#include <strata/partition/hierarchy.hpp>
#include <strata/partition/repeated.hpp>
#include <strata/partition/whole.hpp>

#include <span>
#include <string_view>
#include <vector>

#include "tests/support/archetype.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"

namespace partition_partitioner_test {

using namespace strata;
using namespace strata::test;
using strata::detail::named_partitioner;
using strata::detail::splitting_partitioner;

/// The least that is a partitioner.
struct archetype : bare {
    using bare::bare;
    [[nodiscard]] auto name() const -> archetype_name { return {}; }
    [[nodiscard]] auto split(problem const& /*p*/, std::span<op_id const> ops) const -> std::vector<part>
    {
        if (ops.size() < 2) {
            return {};
        }
        return {{{ops.begin(), ops.begin() + 1}, {}}, {{ops.begin() + 1, ops.end()}, {}}};
    }
};

struct unnamed {
    [[nodiscard]] auto split(problem const& /*p*/, std::span<op_id const> /*ops*/) const -> std::vector<part>
    {
        return {};
    }
};
struct named_by_number : unnamed {
    [[nodiscard]] auto name() const -> int { return 7; }
};
struct name_not_const : unnamed {
    auto name() -> std::string_view { return "x"; }
};
struct idle {
    [[nodiscard]] auto name() const -> std::string_view { return "x"; }
};
struct split_not_const : idle {
    [[nodiscard]] auto split(problem const& /*p*/, std::span<op_id const> /*ops*/) -> std::vector<part> { return {}; }
};
struct returns_lists : idle {
    [[nodiscard]] auto split(problem const& /*p*/, std::span<op_id const> /*ops*/) const
        -> std::vector<std::vector<op_id>>
    {
        return {};
    }
};
struct takes_the_problem_only : idle {
    [[nodiscard]] auto split(problem const& /*p*/) const -> std::vector<part> { return {}; }
};

TEST_CASE("partitioner: the archetype and every partitioner of the library model it")
{
    STATIC_REQUIRE(partitioner<archetype>);
    STATIC_REQUIRE(partitioner<whole>);
    STATIC_REQUIRE(partitioner<at_cut_points<>>);
    STATIC_REQUIRE(partitioner<at_cut_points<bottom_up>>);
    STATIC_REQUIRE(partitioner<bottom_up>);
    STATIC_REQUIRE(partitioner<repeated<>>);
    STATIC_REQUIRE(partitioner<repeated<at_cut_points<bottom_up>>>);
}

TEST_CASE("partitioner: each near miss lacks one requirement")
{
    STATIC_REQUIRE(splitting_partitioner<unnamed>);
    STATIC_REQUIRE_FALSE(named_partitioner<unnamed>);
    STATIC_REQUIRE_FALSE(named_partitioner<named_by_number>);
    STATIC_REQUIRE_FALSE(named_partitioner<name_not_const>);
    STATIC_REQUIRE(named_partitioner<idle>);
    STATIC_REQUIRE_FALSE(splitting_partitioner<idle>);
    STATIC_REQUIRE_FALSE(splitting_partitioner<split_not_const>);
    STATIC_REQUIRE_FALSE(splitting_partitioner<returns_lists>);
    STATIC_REQUIRE_FALSE(splitting_partitioner<takes_the_problem_only>);
    STATIC_REQUIRE_FALSE(partitioner<unnamed>);
    STATIC_REQUIRE_FALSE(partitioner<returns_lists>);
}

TEST_CASE("partitioner: the archetype goes through every algorithm that takes a partitioner")
{
    auto const p = make(training_chain_spec(16));
    CHECK(hierarchy::make(p, archetype(1)).value().size() == 3);
    CHECK(hierarchy::make(p, at_cut_points<archetype>{.sub = archetype(1)}).value().size() == 7);
    CHECK(hierarchy::make(p, repeated<archetype>{.sub = archetype(1), .min_ops = 4}).value().size() > 3);
}

} // namespace partition_partitioner_test
