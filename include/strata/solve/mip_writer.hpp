// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Writes a `mip_model` of 0-1 columns row by row, where what is known to be 0 or 1 needs no column.
#pragma once

#include <strata/solve/mip_backend.hpp>

#include <Eigen/Core>
#include <Eigen/SparseCore>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace strata::detail {

/// A column, or one of the constants below.
using mip_term = std::int32_t;
inline constexpr mip_term zero = -1;
inline constexpr mip_term one = -2;

[[nodiscard]] constexpr auto is_column(mip_term t) noexcept -> bool { return t >= 0; }

/// What `t` is worth in a solution.
template <class = void>
[[nodiscard]] auto value_of(mip_term t, Eigen::VectorXd const& x) -> double
{
    return is_column(t) ? x[t] : t == one ? 1 : 0;
}

/// A model under construction. Every column lies between 0 and 1; every row is `lower <= Σ factor · term`.
template <class = void>
class basic_mip_writer {
public:
    auto add_column(double cost, bool whole) -> mip_term
    {
        cost_.push_back(cost);
        upper_.push_back(1);
        whole_.push_back(whole ? 1 : 0);
        return static_cast<mip_term>(cost_.size() - 1);
    }
    /// Makes a column 0.
    void forbid(mip_term column) { upper_[static_cast<std::size_t>(column)] = 0; }

    /// Adds to the row under construction.
    void put(mip_term t, double factor)
    {
        if (is_column(t)) {
            entries_.emplace_back(static_cast<int>(row_lower_.size()), t, factor);
        } else if (t == one) {
            constant_ += factor;
        }
    }
    /// Ends the row under construction.
    void close(double lower)
    {
        row_lower_.push_back(lower - constant_);
        constant_ = 0;
    }
    /// The row a <= b + c, unless it says nothing.
    void at_most(mip_term a, mip_term b, mip_term c = zero)
    {
        if (a == zero || b == one || c == one || a == b || a == c) {
            return;
        }
        put(b, 1);
        put(c, 1);
        put(a, -1);
        close(0);
    }
    /// The row Σ `less` <= Σ `more`, unless it says nothing.
    void at_least(std::vector<mip_term> const& more, std::vector<mip_term> const& less)
    {
        auto const void_of = [](mip_term t) { return t == zero; };
        bool const nothing = std::all_of(less.begin(), less.end(), void_of) ||
                             (less.size() == 1 && (std::find(more.begin(), more.end(), one) != more.end() ||
                                                   std::find(more.begin(), more.end(), less.front()) != more.end()));
        if (nothing) {
            return;
        }
        for (auto t : more) {
            put(t, 1);
        }
        for (auto t : less) {
            put(t, -1);
        }
        close(0);
    }

    [[nodiscard]] auto columns() const noexcept -> std::size_t { return cost_.size(); }
    [[nodiscard]] auto entries() const noexcept -> std::size_t { return entries_.size(); }

    /// The model, with which the writer is done.
    [[nodiscard]] auto finish() && -> mip_model
    {
        auto const columns = static_cast<Eigen::Index>(cost_.size());
        auto const rows = static_cast<Eigen::Index>(row_lower_.size());
        mip_model m;
        m.objective = Eigen::Map<Eigen::VectorXd const>(cost_.data(), columns);
        m.rows.resize(rows, columns);
        m.rows.setFromTriplets(entries_.begin(), entries_.end());
        m.row_lower = Eigen::Map<Eigen::VectorXd const>(row_lower_.data(), rows);
        m.row_upper = Eigen::VectorXd::Constant(rows, infinite);
        m.column_lower = Eigen::VectorXd::Zero(columns);
        m.column_upper = Eigen::Map<Eigen::VectorXd const>(upper_.data(), columns);
        m.integer = std::move(whole_);
        return m;
    }

private:
    std::vector<double> cost_, upper_, row_lower_;
    std::vector<char> whole_;
    std::vector<Eigen::Triplet<double>> entries_;
    double constant_ = 0;
};

using mip_writer = basic_mip_writer<>;

} // namespace strata::detail
