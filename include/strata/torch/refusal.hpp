// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What is thrown when a model cannot be trained in less memory with the same bits, or not within the budget.
#pragma once

#include <strata/error.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace strata::torch {

/// Thrown when a forward pass does something that cannot be repeated exactly. The message names the op and the remedy.
class refusal : public std::runtime_error {
public:
    refusal(std::string op, std::string const& why, std::string const& remedy)
        : std::runtime_error("strata::torch: " + op + ": " + why + "; " + remedy)
        , op_(std::move(op))
    {
    }
    /// Name of the op, such as `aten::item`.
    [[nodiscard]] auto op() const noexcept -> std::string const& { return op_; }

private:
    std::string op_;
};

/// Thrown when there is no plan; `why()` says what would do: a budget that is known to work, for instance.
class not_planned : public std::runtime_error {
public:
    explicit not_planned(error why)
        : std::runtime_error("strata::torch: " + why.message)
        , why_(std::move(why))
    {
    }
    [[nodiscard]] auto why() const noexcept -> error const& { return why_; }

private:
    error why_;
};

} // namespace strata::torch
