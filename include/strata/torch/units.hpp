// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Planning units: ops of a forward pass that run as one, since they change or view one storage.
#pragma once

#include <strata/torch/unit_code.hpp>
#include <strata/units.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace strata::torch::detail {

/// One argument of one op of a unit that comes from outside the unit. Each has an edge of its own in the unit's graph, so
/// that the gradients that autograd would have added up one by one arrive one by one; where nothing comes between them,
/// several may share one edge.
struct outside_use {
    std::int32_t value = none;
    bool grad = false;      ///< a gradient is wanted
    std::int32_t rank = -1; ///< how-many-th contribution to the gradient of the value this is, or the first of `parts`
    std::int32_t parts = 1; ///< contributions that it stands for
};

/// Ops that run as one.
struct unit {
    std::string name;
    std::vector<std::int32_t> ops; ///< of the trace, in order
    std::vector<outside_use> uses; ///< in the order of ops and arguments
    /// Per op, per tensor argument: a local, or ~k for the use k; absent ones left out.
    std::vector<std::vector<std::int32_t>> reads;
    std::vector<std::int32_t> locals;  ///< values that its ops make, by local number
    std::vector<std::int32_t> results; ///< locals that others read, or forward returns
    unit_code code;
    std::vector<std::int32_t> makes;            ///< groups it brings forth that others read
    std::vector<std::int32_t> needs;            ///< groups made by others that it reads
    std::vector<std::int32_t> touches, changes; ///< groups not made in the pass: read, written
    bool backward = false;                      ///< has a part in backward
    bool random = false;
    bool stateful = false;    ///< running statistics
    bool once = false;        ///< must not run again
    bool chooses = false;     ///< might choose otherwise if it ran again
    bool undisturbed = false; ///< what backward reads stays from the last run forward on, so that the graph may hold it
};

/// The units of a pass, in the order they run; backward runs them the other way round.
struct unit_list {
    std::vector<unit> all;
    std::vector<std::int32_t> contributions; ///< per value: how many parts its gradient has
    std::vector<std::int32_t> held_apart;    ///< per value: parts that must be kept apart at one time, at least 1
};

} // namespace strata::torch::detail
