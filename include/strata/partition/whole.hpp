// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The partitioner that does not cut.
#pragma once

#include <strata/partition/concepts.hpp>
#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace strata {

/// Leaves the step in one piece.
struct whole {
    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "whole"; }
    [[nodiscard]] auto split(problem const& /*p*/, std::span<op_id const> /*ops*/) const -> std::vector<part>
    {
        return {};
    }
};

} // namespace strata
