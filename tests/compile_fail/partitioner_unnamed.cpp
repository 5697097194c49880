// expect-error: strata::partitioner: needs `by\.name\(\)`, const, convertible to std::string_view
// SPDX-License-Identifier: Apache-2.0
#include <strata/partition/hierarchy.hpp>

#include <span>
#include <string_view>
#include <vector>

struct my_partitioner {
#ifdef STRATA_EXPECT_OK
    [[nodiscard]] auto name() const -> std::string_view { return "mine"; }
#endif
    [[nodiscard]] auto split(strata::problem const&, std::span<strata::op_id const>) const -> std::vector<strata::part>
    {
        return {};
    }
};

auto cut(strata::problem const& p) -> bool { return strata::hierarchy::make(p, my_partitioner{}).has_value(); }
