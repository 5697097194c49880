// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Running plans, for users: engines, programs, executors. Goes with `strata/strata.hpp`.
#pragma once

#include <strata/execute/buffers.hpp>
#include <strata/execute/checking.hpp>
#include <strata/execute/compile.hpp>
#include <strata/execute/concepts.hpp>
#include <strata/execute/executor.hpp>
#include <strata/execute/measure.hpp>
#include <strata/execute/program.hpp>
#include <strata/execute/step_report.hpp>
#include <strata/execute/storage.hpp>
