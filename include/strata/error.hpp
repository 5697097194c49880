// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Answers that are not a plan: what went wrong, where, and what would help.
///
/// "Infeasible", "deadline", "cancelled" and "malformed graph" are answers and travel in `result<T>`. Misuse of an
/// object (reading the value of a failed result) throws `bad_result_access`.
#pragma once

#include <strata/units.hpp>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace strata {

/// What kind of answer an `error` is. docs/errors.md has one entry per enumerator.
enum class errc {
    malformed_graph,  ///< a graph breaks a rule of the model: ids, producers, sizes, order, effects
    malformed_plan,   ///< a plan file cannot be read or its steps name what does not exist
    malformed_file,   ///< a file is not JSON, has the wrong format, version or types
    wrong_graph,      ///< a plan was made for another graph: fingerprints differ
    invalid_plan,     ///< the judge refused a plan
    invalid_argument, ///< a limit, option or sample makes no sense: negative budget, no samples
    overflow,         ///< a sum of bytes or costs leaves the 64-bit range
    infeasible,       ///< no plan fits the budget; `error::limit` says what would
    deadline,         ///< the deadline fell before any valid plan was found
    cancelled,        ///< cancellation was requested before any valid plan was found
    io,               ///< a file cannot be opened, read or written
};

/// Name of an enumerator, as written in the source and in docs/errors.md.
[[nodiscard]] constexpr auto to_string(errc c) noexcept -> char const*
{
    switch (c) {
    case errc::malformed_graph: return "malformed_graph";
    case errc::malformed_plan: return "malformed_plan";
    case errc::malformed_file: return "malformed_file";
    case errc::wrong_graph: return "wrong_graph";
    case errc::invalid_plan: return "invalid_plan";
    case errc::invalid_argument: return "invalid_argument";
    case errc::overflow: return "overflow";
    case errc::infeasible: return "infeasible";
    case errc::deadline: return "deadline";
    case errc::cancelled: return "cancelled";
    case errc::io: return "io";
    }
    return "unknown";
}

/// What an infeasible budget should have been.
struct feasibility {
    bytes_t lower_limit = 0;                    ///< no plan under the given order uses fewer bytes; proven
    op_id pinned_by = none;                     ///< the op at whose run `lower_limit` bytes are needed
    std::string pinned_by_name = {};            ///< its name, if it has one
    std::optional<bytes_t> known_feasible = {}; ///< smallest peak of a plan that was found, if any was
    friend auto operator==(feasibility const&, feasibility const&) -> bool = default;
};

/// An answer that is not a value.
struct error {
    errc code = errc::invalid_argument;
    std::string message = {};              ///< place: parameter, requirement, remedy; units spelled; no trailing period
    std::optional<feasibility> limit = {}; ///< set exactly when `code` is `errc::infeasible`
    friend auto operator==(error const&, error const&) -> bool = default;
};

/// Thrown when the value of a failed `result` is read.
class bad_result_access : public std::logic_error {
public:
    explicit bad_result_access(error e)
        : std::logic_error(e.message)
        , error_(std::move(e))
    {
    }
    [[nodiscard]] auto why() const noexcept -> error const& { return error_; }

private:
    error error_;
};

namespace detail {
/// Kept out of line so that the throw stays off the hot path of `result::value`.
[[noreturn]] inline void raise_bad_result(error const& e) { throw bad_result_access(e); }
} // namespace detail

} // namespace strata
