// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A quick proof that nothing fits, so that nobody looks for it.
#pragma once

#include <strata/bound/last_run_limit.hpp>
#include <strata/bound/regressed_limit.hpp>
#include <strata/solve/concepts.hpp>
#include <strata/units.hpp>

#include <string_view>

namespace strata {

/// Proposes nothing: where there is no plan yet, proves that none fits, if what is held at the last run of a needy op shows
/// that, or a short search back from the most needy ones (see `last_run_limit` and `regression`).
struct out_of_reach {
    regression_effort effort = {.states = 20'000, .states_of_op = 5'000, .ops = 50};

    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "out_of_reach"; }
    template <class Lazy>
    void solve(basic_search<Lazy>& on) const
    {
        if (on.best() || on.done()) {
            return;
        }
        auto const& p = on.subject();
        auto const held = last_run_limit<Lazy>(p, {on.budget(), none}, on.stop()).bytes;
        if (held > on.budget() || basic_reach_test<Lazy>(p, on.budget(), effort).out_of_reach(on.budget(), on.stop())) {
            on.prove(max_cost);
        }
    }
};

} // namespace strata
