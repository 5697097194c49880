// SPDX-License-Identifier: Apache-2.0
#include <strata/merge/block_graph.hpp>
#include <strata/merge/concepts.hpp>
#include <strata/solve/limits.hpp>

#include <optional>
#include <string_view>
#include <vector>

#include "tests/support/archetype.hpp"
#include "tests/support/catch.hpp"

namespace merge_merger_test {

using namespace strata;
using namespace strata::test;
using strata::detail::choosing_merger;
using strata::detail::named_merger;

/// The least that is a merger.
struct archetype : bare {
    using bare::bare;
    [[nodiscard]] auto name() const -> archetype_name { return {}; }
    [[nodiscard]] auto merge(block_graph const& g, bytes_t /*budget*/, stop_watch const& /*stop*/) const
        -> std::optional<block_plan>
    {
        return once_each(g, std::vector<int>(g.size(), 0));
    }
};

struct unnamed {
    [[nodiscard]] auto merge(block_graph const& /*g*/, bytes_t /*budget*/, stop_watch const& /*stop*/) const
        -> std::optional<block_plan>
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
struct merge_not_const : idle {
    [[nodiscard]] auto merge(block_graph const& /*g*/, bytes_t /*budget*/, stop_watch const& /*stop*/)
        -> std::optional<block_plan>
    {
        return {};
    }
};
struct returns_an_order : idle {
    [[nodiscard]] auto merge(block_graph const& /*g*/, bytes_t /*budget*/, stop_watch const& /*stop*/) const
        -> std::optional<run_order>
    {
        return {};
    }
};

TEST_CASE("merger: the archetype models it, and each near miss lacks one requirement")
{
    STATIC_REQUIRE(merger<archetype>);
    STATIC_REQUIRE(choosing_merger<unnamed>);
    STATIC_REQUIRE_FALSE(named_merger<unnamed>);
    STATIC_REQUIRE_FALSE(named_merger<named_by_number>);
    STATIC_REQUIRE_FALSE(named_merger<name_not_const>);
    STATIC_REQUIRE(named_merger<idle>);
    STATIC_REQUIRE_FALSE(choosing_merger<idle>);
    STATIC_REQUIRE_FALSE(choosing_merger<merge_not_const>);
    STATIC_REQUIRE_FALSE(choosing_merger<returns_an_order>);
    STATIC_REQUIRE_FALSE(merger<unnamed>);
}

} // namespace merge_merger_test
