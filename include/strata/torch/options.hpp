// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What a user may ask of a rematerialised model, and what it reports.
#pragma once

#include <strata/units.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace strata::torch {

/// What a budget is about. Parameters, inputs and the optimizer's state never count: no plan changes them.
enum class counted : std::uint8_t {
    activations_and_gradients, ///< also the gradients that a step returns, of parameters and inputs
    activations,               ///< what forward makes and what backward makes of it on the way
};

/// Bytes that a step may take on top of what is there before it, or a share of what the plain step takes.
class step_budget {
public:
    constexpr step_budget() noexcept = default;
    /// Activations and gradients: the most that a step adds to the memory in use, when gradients are reset to none.
    constexpr step_budget(strata::budget of) noexcept // NOLINT(google-explicit-constructor): `{.budget = 2_GiB}`
        : amount(of)
    {
    }
    /// Activations alone.
    [[nodiscard]] static constexpr auto activations(strata::budget of) noexcept -> step_budget
    {
        step_budget b(of);
        b.counts = counted::activations;
        return b;
    }

    strata::budget amount = {};
    counted counts = counted::activations_and_gradients;
};

/// How to make a model train in less memory. Every member has a safe default; without a budget everything is kept.
struct options {
    step_budget budget = {};
    bool or_least =
        false; ///< a budget that no plan keeps is raised to the least that is known to do; see `report::budget`
    /// To look for one plan; then the best found so far is taken. Most are found in a fraction of it.
    std::optional<std::chrono::nanoseconds> patience = std::chrono::seconds(3);
    std::size_t plans = 8; ///< kept for different shapes and modes; the one not used for longest goes first
    int repeats = 3;       ///< of the pass that measures, fewer where it takes long; the median counts
    /// Trial steps, at most, until no op takes more than planned; a few more where one still exceeds the budget. 0: none, and
    /// nothing that single ops take in a real step beyond what was measured is known.
    int rehearsals = 3;
    /// Gives a step its blocks out of one slab that stays taken between steps, so that the system is not asked for memory
    /// again and again; on the CPU. Not used where slab and results together would exceed the budget, see
    /// `report::arena_bytes`. Each plan has its own; a step that begins while another is in flight does without.
    bool arena = false;
    std::function<std::uint64_t()> mode =
        {}; ///< for a callable: what else the pass depends on; a new value is a new plan
};

/// What is known about the plan in use. Bytes are those that the budget counts.
struct report {
    bytes_t budget = 0;
    bytes_t planned_peak = 0;
    bytes_t plain_peak = 0;                   ///< planned, when everything is kept
    bytes_t measured_peak = 0;                ///< in the last trial step
    double overhead = 0;                      ///< planned: share of the plain step's time spent on making tensors again
    double overhead_bound = 0;                ///< proven: no plan needs less
    std::size_t ops = 0;                      ///< that the pass was seen to run
    std::size_t units = 0;                    ///< that the plan is made of, forward only
    std::size_t parts = 0;                    ///< in which they run: units that the plan always runs together are one
    std::vector<std::string> recomputed = {}; ///< units that run more than once, by name
    double capture_seconds = 0, profile_seconds = 0, plan_seconds = 0, rehearse_seconds = 0;
    int rehearsals = 0; ///< trial steps: after each, what took more memory than measured alone is planned with more
    bytes_t arena_bytes = 0; ///< of the slab that holds the blocks of a step; 0 if there is none
    std::size_t plans = 0;   ///< made so far, for all shapes and modes
};

} // namespace strata::torch
