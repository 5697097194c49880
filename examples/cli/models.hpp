// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Models of the zoo as graphs to plan.
#pragma once

#include <strata/result.hpp>
#include <strata/units.hpp>

#include <string>

#include "common.hpp"

namespace cli {

/// The model `name` with its default options; `align` replaces its alignment unless it is 0.
/// Errors: `invalid_argument` with the names that are near when there is no such model.
[[nodiscard]] auto make_model(std::string const& name, strata::bytes_t align) -> strata::result<subject>;

} // namespace cli
