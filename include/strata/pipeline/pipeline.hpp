// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The stages of planning as one aggregate of policies: replace any of them, pay for none you do not use.
///
/// ```cpp
/// auto const made = strata::plan(p, lim, strata::pipeline<>{}.with(my_layers{}).with(strata::block_dp{}));
/// ```
#pragma once

#include <strata/merge/concepts.hpp>
#include <strata/merge/one_option_each.hpp>
#include <strata/partition/concepts.hpp>
#include <strata/partition/whole.hpp>
#include <strata/pipeline/hierarchical.hpp>
#include <strata/solve/concepts.hpp>
#include <strata/solve/default_solver.hpp>
#include <strata/solve/polish.hpp>
#include <strata/solve/search.hpp>
#include <strata/solve/step_kind.hpp>

#include <concepts>
#include <string_view>
#include <utility>

namespace strata {

/// What plans a step: cut it, solve what the cut leaves, merge, then polish what has its place.
///
/// A pipeline is a solver; what it finds, `plan` judges and places and then hands to `polish` as long as that brings
/// something that also has a place. The default does not cut: `solve` plans the step as a whole.
template <partitioner Partition = whole,
          solver Solve = default_solver,
          merger Merge = one_option_each,
          solver Polish = strata::polish>
struct pipeline {
    Partition partition = {};            ///< how the step is cut
    Solve solve_block = {};              ///< plans a block, or the step that is left whole
    Merge merge = {};                    ///< makes one plan of the options of blocks
    Polish polish = {0, true};           ///< improves a plan; by default as long as a deadline allows
    option_effort effort = {};           ///< how many options a block gets
    std::string_view label = "pipeline"; ///< who found it, in certificates

    [[nodiscard]] constexpr auto name() const noexcept -> std::string_view { return label; }
    template <class = void>
    void solve(search& on) const
    {
        if constexpr (std::same_as<Partition, whole>) {
            solve_block.solve(on);
        } else {
            hierarchical<Partition, Solve, Merge>{
                .partition = partition, .solve_block = solve_block, .merge = merge, .effort = effort, .label = label}
                .solve(on);
        }
    }

    /// This pipeline with `stage` in the place of the policy of its kind: a partitioner, a merger, or a solver, which
    /// polishes if it `refines` and else solves.
    template <class Stage>
    [[nodiscard]] constexpr auto with(Stage stage) const
    {
        static_assert(partitioner<Stage> + merger<Stage> + solver<Stage> == 1,
                      "strata::pipeline: a stage must be a partitioner, a merger or a solver, and one of them only");
        if constexpr (partitioner<Stage>) {
            return pipeline<Stage, Solve, Merge, Polish>{std::move(stage), solve_block, merge, polish, effort, label};
        } else if constexpr (merger<Stage>) {
            return pipeline<Partition, Solve, Stage, Polish>{
                partition, solve_block, std::move(stage), polish, effort, label};
        } else if constexpr (refines<Stage>) {
            return pipeline<Partition, Solve, Merge, Stage>{
                partition, solve_block, merge, std::move(stage), effort, label};
        } else {
            return pipeline<Partition, Stage, Merge, Polish>{partition, std::move(stage), merge, polish, effort, label};
        }
    }
};

} // namespace strata
