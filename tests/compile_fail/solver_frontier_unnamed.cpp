// expect-error: strata::solver: needs `s\.name\(\)`, const, convertible to std::string_view
// SPDX-License-Identifier: Apache-2.0
#include <strata/pipeline/frontier.hpp>
#include <strata/solve/keep_all.hpp>

#include <string_view>

struct my_solver {
#ifdef STRATA_EXPECT_OK
    [[nodiscard]] auto name() const -> std::string_view { return "mine"; }
#endif
    void solve(strata::search& on) const
    {
        on.propose({.make = [&p = on.subject()] { return strata::keep_all_order(p); }, .name = "mine"});
    }
};

auto planned(strata::problem const& p) -> bool { return strata::frontier(p, {1}, {}, my_solver{}).has_value(); }
