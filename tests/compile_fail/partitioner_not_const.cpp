// expect-error: strata::partitioner: needs `by\.split\(problem const&, std::span<op_id const>\)`, const, returning std::vector<part>
// SPDX-License-Identifier: Apache-2.0
#include <strata/partition/at_cut_points.hpp>
#include <strata/partition/hierarchy.hpp>

#include <span>
#include <string_view>
#include <vector>

struct my_partitioner {
    [[nodiscard]] auto name() const -> std::string_view { return "mine"; }
#ifdef STRATA_EXPECT_OK
    [[nodiscard]] auto split(strata::problem const&, std::span<strata::op_id const>) const -> std::vector<strata::part>
#else
    [[nodiscard]] auto split(strata::problem const&, std::span<strata::op_id const>) -> std::vector<strata::part>
#endif
    {
        return {};
    }
};

auto cut(strata::problem const& p) -> bool
{
    return strata::hierarchy::make(p, strata::at_cut_points<my_partitioner>{}).has_value();
}
