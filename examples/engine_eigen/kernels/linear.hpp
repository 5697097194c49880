// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief y = x W' + b.
#pragma once

#include "examples/engine_eigen/kernels/operands.hpp"

namespace engine_eigen::ops {

/// Reads x [rows, in], W [out, in], b [out]; writes y [rows, out].
struct linear {
    static constexpr auto type = "linear";
    index rows, in, out;

    [[nodiscard]] auto flops() const -> double { return 2 * as_double(rows * in * out); }
    void run(operands const& t) const
    {
        matrix y(t.out(0), rows, out);
        y.rowwise() = Eigen::Map<Eigen::RowVectorXf const>(t.in(2), out);
        y.noalias() += const_matrix(t.in(0), rows, in) * const_matrix(t.in(1), out, in).transpose();
    }
};

/// Reads x and the gradient of y; adds into those of W and b.
struct linear_weight_gradient {
    static constexpr auto type = "linear.weight_gradient";
    index rows, in, out;

    [[nodiscard]] auto flops() const -> double { return 2 * as_double(rows * in * out); }
    void run(operands const& t) const
    {
        const_matrix const dy(t.in(1), rows, out);
        put(matrix(t.out(0), out, in), dy.transpose() * const_matrix(t.in(0), rows, in), t.adds(0));
        put(matrix(t.out(1), 1, out), dy.colwise().sum(), t.adds(1));
    }
};

/// Reads W and the gradient of y; adds into that of x.
struct linear_input_gradient {
    static constexpr auto type = "linear.input_gradient";
    index rows, in, out;

    [[nodiscard]] auto flops() const -> double { return 2 * as_double(rows * in * out); }
    void run(operands const& t) const
    {
        put(matrix(t.out(0), rows, in), const_matrix(t.in(1), rows, out) * const_matrix(t.in(0), out, in), t.adds(0));
    }
};

} // namespace engine_eigen::ops
