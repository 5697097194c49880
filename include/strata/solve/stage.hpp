// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief One stage of a row, in numbers: what `persistent_table` plans over.
#pragma once

#include <strata/units.hpp>

#include <array>
#include <cstddef>
#include <vector>

namespace strata {

/// A way to run a stage.
///
/// Needs are told for a stage whose input belongs to it and is freed as soon as nothing of the stage needs it (index 0),
/// and for one whose input somebody else holds and pays for (index 1).
struct stage_option {
    struct need {
        bytes_t forward = 0;  ///< of the forward half, with later stages to come
        bytes_t last = 0;     ///< of the forward half when the backward half is next
        bytes_t backward = 0; ///< of the backward half
        friend auto operator==(need const&, need const&) -> bool = default;
    };
    cost_t cost = 0;                     ///< of both halves
    cost_t alone = max_cost;             ///< of the backward half; `max_cost`: needs the forward half right before it
    int runs = 0;                        ///< ops run in both halves
    int runs_alone = 0;                  ///< in the backward half
    bytes_t kept = 0;                    ///< from half to half, besides input and output
    bytes_t input = 0;                   ///< of the input, from half to half
    bool output = false;                 ///< output is kept from half to half
    std::vector<std::size_t> holds = {}; ///< indices of `stage::passes` that are among `kept`
    std::array<need, 2> needs = {};
    friend auto operator==(stage_option const&, stage_option const&) -> bool = default;
};

/// Forward and backward ops that run as one. In a row of stages forward halves run in order and backward halves in reverse.
struct stage {
    /// A tensor that the forward half makes for other stages than the next one.
    struct passing {
        bytes_t bytes = 0;
        std::vector<std::size_t> readers = {}; ///< how many stages further, ascending, each >= 1
        friend auto operator==(passing const&, passing const&) -> bool = default;
    };
    bytes_t input = 0;    ///< made by the stage before, for this one
    bytes_t arriving = 0; ///< what lives across the forward halves when the backward half of this stage is next
    bool replayable = true;
    cost_t cost = 0;         ///< of running forward and keeping nothing
    int runs = 0;            ///< ops run then
    bytes_t first_need = 0;  ///< of running forward and keeping nothing, the input not counted
    bytes_t moving_need = 0; ///< the same with the input counted, up to its last use
    std::vector<passing> passes = {};
    std::vector<stage_option> options = {};
    friend auto operator==(stage const&, stage const&) -> bool = default;
};

} // namespace strata
