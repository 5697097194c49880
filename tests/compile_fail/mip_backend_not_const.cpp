// expect-error: strata::mip_backend: needs `b\.solve\(m, r\)`, const, returning result<mip_outcome>
// SPDX-License-Identifier: Apache-2.0
#include <strata/pipeline/plan.hpp>
#include <strata/solve/checkmate.hpp>

#include <string_view>

struct my_backend {
    [[nodiscard]] auto name() const -> std::string_view { return "mine"; }
#ifdef STRATA_EXPECT_OK
    [[nodiscard]] auto solve(strata::mip_model const&, strata::mip_request const&) const
        -> strata::result<strata::mip_outcome>
    {
        return strata::mip_outcome{};
    }
#else
    [[nodiscard]] auto solve(strata::mip_model const&, strata::mip_request const&)
        -> strata::result<strata::mip_outcome>
    {
        return strata::mip_outcome{};
    }
#endif
};

auto planned(strata::problem const& p) -> bool
{
    return strata::plan(p, {}, strata::checkmate<my_backend>{}).has_value();
}
