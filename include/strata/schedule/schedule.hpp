// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The vocabulary of a plan: run an op, free a tensor; a schedule is a sequence of such steps.
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata {

/// What a step does.
enum class action : std::uint8_t { run, free };

/// One step of a schedule: run an op, or free a tensor.
struct step {
    strata::action action = action::run;
    std::int32_t id = 0; ///< op id for `run`, tensor id for `free`
    friend auto operator==(step const&, step const&) -> bool = default;
};

[[nodiscard]] constexpr auto run(op_id o) noexcept -> step { return {action::run, o}; }
[[nodiscard]] constexpr auto free(tensor_id t) noexcept -> step { return {action::free, t}; }

/// A sequence of steps.
///
/// `run o` needs every non-resident input of `o` to be live and complete; it allocates every non-resident output that
/// is not live. An output that is live already is an error unless it is a gradient being accumulated. During the run,
/// inputs, outputs, workspace and every other live tensor count towards the peak. `free t` ends the life of `t`.
struct schedule {
    std::vector<step> steps = {};
    friend auto operator==(schedule const&, schedule const&) -> bool = default;
};

/// The ops of a schedule in the order they run, replays included: what solvers search over. Frees are implied.
using run_order = std::vector<op_id>;

/// The schedule that runs `order` and frees every tensor right after its last use before it is produced again (or
/// before the end, targets excepted). No other placement of frees needs fewer bytes at any instant.
/// Requires: every id is an op of `p`. An order whose inputs are missing gives a schedule that `validate` refuses.
/// Complexity: O(sum over runs of reads and writes).
template <class = void>
[[nodiscard]] auto free_early(problem const& p, std::span<op_id const> order) -> schedule
{
    auto const at = [](auto i) { return static_cast<std::size_t>(i); };
    // Walk backwards: the first use met of a tensor since its last production met is its last use.
    std::vector<char> needed(at(p.tensor_count()), 0);
    for (auto t : p.targets()) {
        needed[at(t)] = 1;
    }
    std::vector<std::size_t> producers_left(at(p.tensor_count()), 0);
    for (tensor_id t = 0; t < p.tensor_count(); ++t) {
        producers_left[at(t)] = p.producers(t).size();
    }
    std::vector<step> reversed;
    reversed.reserve(order.size() * 2);
    for (auto k = order.size(); k-- > 0;) {
        auto const o = order[k];
        auto const last_use = [&](tensor_id t) {
            if (needed[at(t)] == 0) {
                needed[at(t)] = 1;
                reversed.push_back(free(t));
            }
        };
        for (auto t : p.inputs(o)) {
            last_use(t);
        }
        for (auto t : p.outputs(o)) {
            last_use(t);
            // A gradient lives from its first producer on; any other tensor begins anew with each production.
            if (!p.accumulated(t) || --producers_left[at(t)] == 0) {
                needed[at(t)] = 0;
            }
        }
        reversed.push_back(run(o));
    }
    return {{reversed.rbegin(), reversed.rend()}};
}

/// The ops a schedule runs, in order.
template <class = void>
[[nodiscard]] auto runs_of(schedule const& s) -> run_order
{
    run_order order;
    for (auto const& x : s.steps) {
        if (x.action == action::run) {
            order.push_back(x.id);
        }
    }
    return order;
}

} // namespace strata
