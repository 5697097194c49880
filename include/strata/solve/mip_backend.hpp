// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What a mixed-integer programming solver is: a linear model in; a solution, a proven bound and a status out.
///
/// Solvers that need integer programming are written against the concept `mip_backend` alone. `strata::glpk` and
/// `strata::cbc` bring two models of it; docs/extending.md shows how to plug in another.
#pragma once

#include <strata/error.hpp>
#include <strata/result.hpp>
#include <strata/solve/limits.hpp>

#include <Eigen/Core>
#include <Eigen/SparseCore>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

/// No bound, as a bound.
inline constexpr double infinite = std::numeric_limits<double>::infinity();

/// Minimise `objective` · x over row_lower <= rows · x <= row_upper, column_lower <= x <= column_upper, where some
/// columns of x are whole numbers. Bounds may be infinite. A lower bound above its upper one is no mistake: such a model
/// is infeasible. Without integer columns the model is a linear program.
struct mip_model {
    Eigen::VectorXd objective;                  ///< one finite entry per column
    Eigen::SparseMatrix<double> rows;           ///< rows × columns, finite entries
    Eigen::VectorXd row_lower, row_upper;       ///< one entry per row
    Eigen::VectorXd column_lower, column_upper; ///< one entry per column
    std::vector<char> integer;                  ///< one entry per column; not 0: a whole number
    [[nodiscard]] auto columns() const -> Eigen::Index { return objective.size(); }
    [[nodiscard]] auto row_count() const -> Eigen::Index { return row_lower.size(); }
};

/// Where a backend stands.
struct mip_progress {
    double best = infinite;   ///< objective of the best solution so far
    double bound = -infinite; ///< no solution is below it
    std::int64_t nodes = 0;   ///< subproblems so far
};

/// What a backend may use, and what is known already.
struct mip_request {
    /// A solution to begin with; ignored unless it satisfies the model and `cutoff`. A backend may take no notice of it,
    /// but then answers with a solution at least as good whenever it answers with any.
    std::optional<Eigen::VectorXd> start = {};
    double cutoff = infinite; ///< only solutions with at most this objective are asked for
    std::int64_t max_nodes =
        0; ///< subproblems after which the search stops; 0: no limit. Unlike time, it is repeatable
    stop_watch stop = {};
    std::function<void(mip_progress const&)> on_progress =
        {}; ///< on the caller's thread; may throw, which ends the run
};

/// What the answer of a backend is worth.
enum class mip_status : std::uint8_t {
    optimal,    ///< `solution` is the best there is
    feasible,   ///< stopped by a limit; `solution` satisfies the model
    infeasible, ///< proven: no solution satisfies the model and the cutoff
    unbounded,  ///< the objective has no lower end (or, with integer columns, there is no solution at all)
    stopped,    ///< stopped by a limit before any solution was found
    failed,     ///< the backend gave up, for numerical reasons; nothing is known
};

[[nodiscard]] constexpr auto to_string(mip_status s) noexcept -> char const*
{
    switch (s) {
    case mip_status::optimal: return "optimal";
    case mip_status::feasible: return "feasible";
    case mip_status::infeasible: return "infeasible";
    case mip_status::unbounded: return "unbounded";
    case mip_status::stopped: return "stopped";
    case mip_status::failed: return "failed";
    }
    return "unknown";
}

/// The answer of a backend.
struct mip_outcome {
    mip_status status = mip_status::failed;
    Eigen::VectorXd solution = {}; ///< one entry per column, integer ones rounded; empty unless optimal or feasible
    double objective = infinite;   ///< of `solution`
    double bound = -infinite;      ///< proven, up to the backend's tolerance: no solution is below it
    std::int64_t nodes = 0;        ///< subproblems looked at
};

/// What is wrong with `m`, if anything: sizes that disagree, entries that are not numbers. Backends hand nothing to a
/// third party that has not passed this. Errors: `invalid_argument`. Complexity: O(entries).
template <class = void>
[[nodiscard]] auto check_model(mip_model const& m) -> std::optional<error>
{
    constexpr Eigen::Index most = 100'000'000; // what backends number with 32 bits
    auto const bad = [](std::string const& what) { return fail(errc::invalid_argument, "strata::mip_model: " + what); };
    auto const n = m.columns();
    auto const rows = m.row_count();
    if (m.column_lower.size() != n || m.column_upper.size() != n || m.integer.size() != static_cast<std::size_t>(n)) {
        return bad("objective, column_lower, column_upper and integer must have one entry per column, " +
                   std::to_string(n));
    }
    if (m.row_upper.size() != rows || m.rows.rows() != rows || m.rows.cols() != n) {
        return bad("rows must have " + std::to_string(rows) + " rows, as row_lower and row_upper, and " +
                   std::to_string(n) + " columns");
    }
    if (n > most || rows > most || m.rows.nonZeros() > most) {
        return bad("more than " + std::to_string(most) + " columns, rows or entries");
    }
    for (Eigen::Index j = 0; j < n; ++j) {
        if (!std::isfinite(m.objective[j]) || std::isnan(m.column_lower[j]) || std::isnan(m.column_upper[j])) {
            return bad("objective or bounds of column " + std::to_string(j) + " are no numbers");
        }
        for (Eigen::SparseMatrix<double>::InnerIterator x(m.rows, j); x; ++x) {
            if (!std::isfinite(x.value())) {
                return bad("row " + std::to_string(x.row()) + ", column " + std::to_string(j) + " is not finite");
            }
        }
    }
    for (Eigen::Index i = 0; i < rows; ++i) {
        if (std::isnan(m.row_lower[i]) || std::isnan(m.row_upper[i])) {
            return bad("bounds of row " + std::to_string(i) + " are no numbers");
        }
    }
    return {};
}

/// By how much `x` misses the bounds, rows and whole numbers of `m` at worst, each row relative to its largest entry or 1.
/// Returns: infinity when `x` has the wrong size. Requires: `check_model(m)` finds nothing.
/// Complexity: O(entries).
template <class = void>
[[nodiscard]] auto violation_of(mip_model const& m, Eigen::VectorXd const& x) -> double
{
    if (x.size() != m.columns() || !x.allFinite()) {
        return infinite;
    }
    double worst = 0;
    for (Eigen::Index j = 0; j < x.size(); ++j) {
        worst = std::max({worst, m.column_lower[j] - x[j], x[j] - m.column_upper[j]});
        if (m.integer[static_cast<std::size_t>(j)] != 0) {
            worst = std::max(worst, std::abs(x[j] - std::round(x[j])));
        }
    }
    Eigen::VectorXd value = Eigen::VectorXd::Zero(m.row_count());
    Eigen::VectorXd largest = Eigen::VectorXd::Ones(m.row_count());
    for (Eigen::Index j = 0; j < x.size(); ++j) {
        for (Eigen::SparseMatrix<double>::InnerIterator e(m.rows, j); e; ++e) {
            value[e.row()] += e.value() * x[j];
            largest[e.row()] = std::max(largest[e.row()], std::abs(e.value()));
        }
    }
    for (Eigen::Index i = 0; i < value.size(); ++i) {
        worst = std::max({worst, (m.row_lower[i] - value[i]) / largest[i], (value[i] - m.row_upper[i]) / largest[i]});
    }
    return worst;
}

namespace detail {

inline constexpr double mip_tolerance = 1e-6; // by which backends let a row or a whole number be missed

/// Part of every backend: answers what needs no third party, and tidies the rest.
template <class = void>
[[nodiscard]] auto settle_or_tidy(mip_model& m, mip_request const& r) -> std::optional<mip_outcome>
{
    mip_outcome const nothing{.status = mip_status::infeasible, .bound = infinite};
    for (Eigen::Index j = 0; j < m.columns(); ++j) {
        if (m.integer[static_cast<std::size_t>(j)] != 0) {
            m.column_lower[j] = std::ceil(m.column_lower[j] - mip_tolerance);
            m.column_upper[j] = std::floor(m.column_upper[j] + mip_tolerance);
        }
    }
    auto const crossed = [](auto const& lower, auto const& upper) {
        for (Eigen::Index i = 0; i < lower.size(); ++i) {
            if (lower[i] > upper[i] || lower[i] == infinite || upper[i] == -infinite) {
                return true;
            }
        }
        return false;
    };
    if (crossed(m.column_lower, m.column_upper) || crossed(m.row_lower, m.row_upper) || !(r.cutoff > -infinite)) {
        return nothing;
    }
    if (m.columns() == 0) {
        bool const fits = violation_of(m, Eigen::VectorXd(0)) <= mip_tolerance && r.cutoff >= 0;
        return fits ? mip_outcome{.status = mip_status::optimal, .objective = 0, .bound = 0} : nothing;
    }
    return {};
}

/// The start of `r`, integer columns rounded, if it is any good for `m`.
template <class = void>
[[nodiscard]] auto usable_start(mip_model const& m, mip_request const& r) -> std::optional<Eigen::VectorXd>
{
    if (!r.start || violation_of(m, *r.start) > mip_tolerance ||
        m.objective.dot(*r.start) > r.cutoff + mip_tolerance * std::max(1.0, std::abs(r.cutoff))) {
        return {};
    }
    auto x = *r.start;
    for (Eigen::Index j = 0; j < x.size(); ++j) {
        x[j] = m.integer[static_cast<std::size_t>(j)] != 0 ? std::round(x[j]) : x[j];
    }
    return x;
}

// clang-format off
template <class B>
concept named_backend = requires(B const& b) {
    { b.name() } -> std::convertible_to<std::string_view>;
};
template <class B>
concept solving_backend = requires(B const& b, mip_model const& m, mip_request const& r) {
    { b.solve(m, r) } -> std::same_as<result<mip_outcome>>;
};
// clang-format on

} // namespace detail

/// A solver of mixed-integer programs.
///
/// Given `B const& b`, a `mip_model const& m` and a `mip_request const& r`:
///   - `b.name()`      → convertible to `std::string_view`; stays valid while `b` lives
///   - `b.solve(m, r)` → `result<mip_outcome>`; an error only for a model that `check_model` refuses
///
/// Laws:       a solution satisfies the model within 1e-6 of each row's largest entry, and the cutoff; no solution is
///             below `bound`; `optimal` and `infeasible` are proven; the same model and request, without a deadline,
///             give the same answer; a request to stop is answered within a moment, with the best solution so far.
/// Not needed: taking notice of `start`, reporting progress, several calls at once on one object.
/// Cost:       exponential; callers bound it by `max_nodes` and `stop`.
/// Models:     `glpk`, `cbc`.
/// Near miss:  a backend whose `solve` is not const, or returns the outcome without a `result`.
template <class B>
concept mip_backend = detail::named_backend<B> && detail::solving_backend<B>;

/// Names the part of `mip_backend` that `B` lacks. Call it at the head of a template that takes a backend.
template <class B>
consteval void require_mip_backend()
{
    static_assert(detail::named_backend<B>,
                  "strata::mip_backend: needs `b.name()`, const, convertible to std::string_view");
    static_assert(detail::solving_backend<B>,
                  "strata::mip_backend: needs `b.solve(m, r)`, const, returning result<mip_outcome>");
}

} // namespace strata
