// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A plan as the program prints it: one JSON object, or a table for people.
#pragma once

#include <strata/pipeline/certificate.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common.hpp"

namespace cli {

/// The JSON object of a plan, without a newline: the keys of docs/cli.md, in their order.
[[nodiscard]] auto plan_json(subject const& s, strata::certified_plan const& x, bool valid) -> std::string;

/// The summary table of a plan. `budget` is as the user wrote it.
[[nodiscard]] auto plan_table(subject const& s, strata::certified_plan const& x, std::string const& budget)
    -> std::string;

/// `label   value` lines with the values below one another.
[[nodiscard]] auto two_columns(std::vector<std::pair<std::string, std::string>> const& rows) -> std::string;

/// True when the judge and the checker of placements accept `x` under `budget` bytes and its certificate tells the truth;
/// `why`, if given, receives what is wrong.
[[nodiscard]] auto judged(subject const& s, strata::certified_plan const& x, strata::bytes_t budget, std::string* why)
    -> bool;

/// "1,234 things", and "1 thing".
[[nodiscard]] auto count_of(std::int64_t n, std::string const& thing) -> std::string;

} // namespace cli
