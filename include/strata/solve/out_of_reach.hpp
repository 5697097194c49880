// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A quick proof that nothing fits, so that nobody looks for it.
#pragma once

#include <strata/bound/regressed_limit.hpp>
#include <strata/solve/concepts.hpp>
#include <strata/units.hpp>

#include <string_view>

namespace strata {

/// Proposes nothing: where there is no plan yet, proves that none fits, if a short search back from the most needy ops shows
/// that (see `regression`).
struct out_of_reach {
    regression_effort effort = {.states = 20'000, .states_of_op = 5'000, .ops = 50};

    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "out_of_reach"; }
    template <class Lazy>
    void solve(basic_search<Lazy>& on) const
    {
        if (on.best() || on.done()) {
            return;
        }
        basic_reach_test<Lazy> test(on.subject(), on.budget(), effort);
        if (test.out_of_reach(on.budget(), on.stop())) {
            on.prove(max_cost);
        }
    }
};

} // namespace strata
