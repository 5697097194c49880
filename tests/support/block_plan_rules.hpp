// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What a merger must obey, as a function that names the rule a plan breaks.
#pragma once

#include <strata/merge/block_graph.hpp>
#include <strata/merge/expand.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/schedule/validate.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace strata::test {

/// The first rule of `block_plan` that `plan` breaks; empty when it breaks none. Written apart from `is_block_plan`, which it
/// judges too.
inline auto broken_rule(block_graph const& g, block_plan const& plan) -> std::string
{
    std::size_t next = 0; // item whose first run is to come
    constexpr int never = -2;
    std::vector<int> ran(g.size(), never); // option of the last run of the forward half
    std::vector<char> back(g.size(), 0);
    for (auto const& x : plan) {
        if (x.part >= g.size() || g.part(x.part).ops(x.which).empty()) {
            return "runs what is not there";
        }
        bool const again = x.which == half::forward ? ran[x.part] != never : back[x.part] != 0;
        if (!again) {
            if (next == g.items().size() || !(g.items()[next] == item{x.part, x.which})) {
                return "first runs are out of order";
            }
            ++next;
        } else if (x.which == half::backward || !g.replayable(x.part)) {
            return "runs again what may not run again";
        }
        if (x.option < fast_forward || x.option >= static_cast<int>(g.options(x.part).size())) {
            return "names an option that is not there";
        }
        if (x.which == half::backward) {
            back[x.part] = 1;
            if (x.option == fast_forward || (!g.part(x.part).forward.empty() && ran[x.part] != x.option)) {
                return "runs a backward half with another option than the forward half";
            }
        } else {
            ran[x.part] = x.option;
        }
    }
    if (next != g.items().size()) {
        return "leaves a half out";
    }
    auto const order = in_first_run_order(g.subject(), expand(g, plan));
    auto const judged = validate(g.subject(), free_early(g.subject(), order), max_bytes);
    return judged.ok() ? "" : "reads what is not there: " + judged.violations.front().message;
}

} // namespace strata::test
