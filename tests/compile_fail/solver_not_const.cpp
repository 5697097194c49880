// expect-error: strata::solver: needs `s\.solve\(search&\)`, const, returning void
// SPDX-License-Identifier: Apache-2.0
#include <strata/pipeline/plan.hpp>
#include <strata/solve/keep_all.hpp>

#include <string_view>

struct my_solver {
    [[nodiscard]] auto name() const -> std::string_view { return "mine"; }
#ifdef STRATA_EXPECT_OK
    void solve(strata::search& on) const
    {
        on.propose({.make = [&p = on.subject()] { return strata::keep_all_order(p); }, .name = "mine"});
    }
#else
    void solve(strata::search& on)
    {
        on.propose({.make = [&p = on.subject()] { return strata::keep_all_order(p); }});
    }
#endif
};

auto planned(strata::problem const& p) -> bool { return strata::plan(p, {}, my_solver{}).has_value(); }
