// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The loss: mean cross entropy of rows of logits against a class each; and where gradients begin.
#pragma once

#include <cmath>
#include <cstdint>

#include "examples/engine_eigen/kernels/operands.hpp"

namespace engine_eigen::ops {

/// Reads logits [rows, classes], targets [rows]; writes the loss and, for backward, the logarithm of the sum of
/// exponentials of each row.
struct cross_entropy {
    static constexpr auto type = "cross_entropy";
    index rows, classes;

    [[nodiscard]] auto statistics_bytes() const -> strata::bytes_t { return float_bytes(rows); }
    [[nodiscard]] auto flops() const -> double { return 6 * as_double(rows * classes); }
    void run(operands const& t) const
    {
        auto const* const targets = t.in<std::int32_t>(1);
        double sum = 0;
        for (index r = 0; r < rows; ++r) {
            const_array const logits(t.in(0) + r * classes, classes);
            auto const most = logits.maxCoeff();
            t.out(1)[r] = most + std::log((logits - most).exp().sum());
            sum += static_cast<double>(t.out(1)[r] - logits[targets[r]]);
        }
        *t.out(0) = static_cast<float>(sum / as_double(rows));
    }
};

/// Reads logits, targets, the statistics, the gradient of the loss; adds into that of the logits.
struct cross_entropy_backward {
    static constexpr auto type = "cross_entropy.backward";
    index rows, classes;

    [[nodiscard]] auto flops() const -> double { return 6 * as_double(rows * classes); }
    void run(operands const& t) const
    {
        auto const* const targets = t.in<std::int32_t>(1);
        auto const scale = *t.in(3) / static_cast<float>(rows);
        for (index r = 0; r < rows; ++r) {
            array gradient(t.out(0) + r * classes, classes);
            put(gradient, (const_array(t.in(0) + r * classes, classes) - t.in(2)[r]).exp() * scale, t.adds(0));
            gradient[targets[r]] -= scale;
        }
    }
};

/// Writes the gradient of the loss to itself.
struct one {
    static constexpr auto type = "one";

    [[nodiscard]] static auto flops() -> double { return 1; }
    static void run(operands const& t) { put(*t.out(0), 1.0F, t.adds(0)); }
};

} // namespace engine_eigen::ops
