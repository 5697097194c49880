// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Models of the zoo, by name.
#pragma once

#include <strata/units.hpp>

#include <optional>
#include <string>

#include "common.hpp"

namespace cli {

/// The model `name` with its default options; `align` replaces its alignment unless it is 0.
/// Returns: nothing when there is no such model.
[[nodiscard]] auto make_model(std::string const& name, strata::bytes_t align) -> std::optional<strata::result<subject>>;

} // namespace cli
