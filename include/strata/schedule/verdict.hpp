// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What the judge says about a schedule: the rules it breaks, its peak and its cost.
#pragma once

#include <strata/units.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace strata {

/// The rule that a step, or the whole schedule, breaks.
enum class violation_kind : std::uint8_t {
    unknown_op,         ///< a step runs an op that does not exist
    unknown_tensor,     ///< a step frees a tensor that does not exist
    input_not_live,     ///< an op runs while something it reads is not there
    input_incomplete,   ///< an op reads a gradient before all ops that add into it have run
    output_live,        ///< an op runs while something it produces anew is there already
    accumulation_order, ///< ops that add into one gradient do not run in index order
    free_not_live,      ///< a step frees what is not there
    free_resident,      ///< a step frees a resident tensor
    free_incomplete,    ///< a gradient is freed before all ops that add into it have run
    forbidden_replay,   ///< an op that must not repeat runs again
    state_order,        ///< ops that write one resident tensor do not run in index order
    wrong_version,      ///< an op reads a resident tensor before an earlier, or after a later, op has written it
    effect_order,       ///< first runs of random, of stateful or of collective ops are not in index order
    over_budget,        ///< bytes during a run exceed the budget
    overflow,           ///< cost or bytes leave the 64-bit range
    op_never_run,       ///< an op does not run at all
    target_missing,     ///< a target is not there, or not complete, at the end
};

/// Name of an enumerator, as written in the source.
[[nodiscard]] constexpr auto to_string(violation_kind k) noexcept -> char const*
{
    switch (k) {
    case violation_kind::unknown_op: return "unknown_op";
    case violation_kind::unknown_tensor: return "unknown_tensor";
    case violation_kind::input_not_live: return "input_not_live";
    case violation_kind::input_incomplete: return "input_incomplete";
    case violation_kind::output_live: return "output_live";
    case violation_kind::accumulation_order: return "accumulation_order";
    case violation_kind::free_not_live: return "free_not_live";
    case violation_kind::free_resident: return "free_resident";
    case violation_kind::free_incomplete: return "free_incomplete";
    case violation_kind::forbidden_replay: return "forbidden_replay";
    case violation_kind::state_order: return "state_order";
    case violation_kind::wrong_version: return "wrong_version";
    case violation_kind::effect_order: return "effect_order";
    case violation_kind::over_budget: return "over_budget";
    case violation_kind::overflow: return "overflow";
    case violation_kind::op_never_run: return "op_never_run";
    case violation_kind::target_missing: return "target_missing";
    }
    return "unknown";
}

/// One broken rule.
struct violation {
    violation_kind kind = violation_kind::unknown_op;
    std::size_t step = 0;    ///< index of the step; the number of steps for what shows only at the end
    op_id op = none;         ///< the op concerned, if any
    tensor_id tensor = none; ///< the tensor concerned, if any
    std::string message;     ///< place and rule, for people; no trailing period
    friend auto operator==(violation const&, violation const&) -> bool = default;
};

/// What the judge says. `peak` and `cost` are its own account, whatever a certificate claims.
struct verdict {
    static constexpr std::size_t max_listed = 64;

    std::vector<violation> violations; ///< the first `max_listed`, in the order of the steps
    std::size_t count = 0;             ///< all of them
    bytes_t peak = 0;                  ///< largest bytes during a run, resident included; `max_bytes` on overflow
    cost_t cost = 0;                   ///< of all runs; `max_cost` on overflow

    /// True when no rule is broken.
    [[nodiscard]] auto ok() const noexcept -> bool { return count == 0; }

    friend auto operator==(verdict const&, verdict const&) -> bool = default;
};

} // namespace strata
