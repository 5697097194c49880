// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Layer normalisation: every row to mean 0 and variance 1, then a scale and a shift per column.
#pragma once

#include <cmath>

#include "examples/engine_eigen/kernels/operands.hpp"

namespace engine_eigen::ops {

/// Reads x [rows, width], weight and bias [width]; writes y and, for backward, mean and inverse deviation of each row.
struct layer_norm {
    static constexpr auto type = "layer_norm";
    static constexpr float epsilon = 1e-5F;
    index rows, width;

    [[nodiscard]] auto statistics_bytes() const -> strata::bytes_t { return float_bytes(2 * rows); }
    [[nodiscard]] auto flops() const -> double { return 8 * as_double(rows * width); }
    void run(operands const& t) const
    {
        const_array const weight(t.in(1), width);
        const_array const bias(t.in(2), width);
        auto* const mean = t.out(1);
        auto* const inverse_deviation = mean + rows;
        for (index r = 0; r < rows; ++r) {
            const_array const x(t.in(0) + r * width, width);
            mean[r] = x.mean();
            inverse_deviation[r] = 1 / std::sqrt((x - mean[r]).square().mean() + epsilon);
            array(t.out(0) + r * width, width) = (x - mean[r]) * inverse_deviation[r] * weight + bias;
        }
    }
};

/// Reads x, weight, the statistics, the gradient of y; adds into those of x, weight and bias.
struct layer_norm_backward {
    static constexpr auto type = "layer_norm.backward";
    index rows, width;

    /// Workspace: a row of normalised numbers and a row of their gradients.
    [[nodiscard]] auto workspace() const -> strata::bytes_t { return float_bytes(2 * width); }
    [[nodiscard]] auto flops() const -> double { return 16 * as_double(rows * width); }
    void run(operands const& t) const
    {
        const_array const weight(t.in(1), width);
        auto const* const mean = t.in(2);
        auto const* const inverse_deviation = mean + rows;
        array normalised(t.workspace(), width);
        array gradient(t.workspace() + width, width);
        array weight_gradient(t.out(1), width);
        array bias_gradient(t.out(2), width);
        for (index r = 0; r < rows; ++r) {
            const_array const dy(t.in(3) + r * width, width);
            normalised = (const_array(t.in(0) + r * width, width) - mean[r]) * inverse_deviation[r];
            gradient = dy * weight;
            auto const average = gradient.mean();
            auto const projection = (gradient * normalised).mean();
            put(array(t.out(0) + r * width, width),
                (gradient - average - normalised * projection) * inverse_deviation[r],
                t.adds(0));
            put(weight_gradient, dy * normalised, r > 0 || t.adds(1));
            put(bias_gradient, dy, r > 0 || t.adds(2));
        }
    }
};

} // namespace engine_eigen::ops
