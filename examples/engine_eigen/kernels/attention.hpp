// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Causal self-attention of several heads. Backward computes the probabilities again, from one number per row.
#pragma once

#include <cmath>

#include "examples/engine_eigen/kernels/operands.hpp"

namespace engine_eigen::ops {

namespace detail {

/// Shapes of attention. A row of queries, keys and values is three rows of `width` side by side, each `heads` heads.
struct attention_shape {
    index batch, context, width, heads;

    [[nodiscard]] auto head_width() const -> index { return width / heads; }
    [[nodiscard]] auto scale() const -> float { return 1 / std::sqrt(static_cast<float>(head_width())); }
    /// One matrix of scores: a row per query, a column per key.
    [[nodiscard]] auto scores() const -> index { return context * context; }
    [[nodiscard]] auto product_flops() const -> double { return 2 * as_double(batch * scores() * width); }
    [[nodiscard]] auto softmax_flops() const -> double { return 8 * as_double(batch * heads * scores()); }

    /// Head `h` of sample `b` in rows of `parts` times `width` numbers, of part `part` (query, key or value).
    [[nodiscard]] auto of(float const* x, index parts, index part, index b, index h) const -> const_columns
    {
        return {x + offset(parts, part, b, h), context, head_width(), Eigen::OuterStride<>(parts * width)};
    }
    [[nodiscard]] auto of(float* x, index parts, index part, index b, index h) const -> columns
    {
        return {x + offset(parts, part, b, h), context, head_width(), Eigen::OuterStride<>(parts * width)};
    }

private:
    [[nodiscard]] auto offset(index parts, index part, index b, index h) const -> index
    {
        return b * context * parts * width + part * width + h * head_width();
    }
};

} // namespace detail

/// Reads queries, keys and values [batch, context, 3 width]; writes y [batch, context, width] and, for backward, the
/// logarithm of the sum of exponentials of each row of scores.
struct attention : detail::attention_shape {
    static constexpr auto type = "attention";

    [[nodiscard]] auto statistics_bytes() const -> strata::bytes_t { return float_bytes(batch * heads * context); }
    [[nodiscard]] auto workspace() const -> strata::bytes_t { return float_bytes(scores()); }
    [[nodiscard]] auto flops() const -> double { return 2 * product_flops() + softmax_flops(); }
    void run(operands const& t) const
    {
        matrix p(t.workspace(), context, context);
        for (index b = 0; b < batch; ++b) {
            for (index h = 0; h < heads; ++h) {
                auto* const statistics = t.out(1) + (b * heads + h) * context;
                p.noalias() = of(t.in(0), 3, 0, b, h) * of(t.in(0), 3, 1, b, h).transpose();
                for (index i = 0; i < context; ++i) { // a token sees itself and those before it
                    auto row = p.row(i).head(i + 1).array();
                    auto const most = scale() * row.maxCoeff();
                    row = (scale() * row - most).exp();
                    auto const sum = row.sum();
                    row /= sum;
                    p.row(i).tail(context - i - 1).setZero();
                    statistics[i] = most + std::log(sum);
                }
                of(t.out(0), 1, 0, b, h).noalias() = p * of(t.in(0), 3, 2, b, h);
            }
        }
    }
};

/// Reads queries, keys and values, y, the statistics, the gradient of y; adds into that of queries, keys and values.
struct attention_backward : detail::attention_shape {
    static constexpr auto type = "attention.backward";

    [[nodiscard]] auto workspace() const -> strata::bytes_t { return float_bytes(2 * scores()); }
    [[nodiscard]] auto flops() const -> double { return 5 * product_flops() + softmax_flops(); }
    void run(operands const& t) const
    {
        matrix p(t.workspace(), context, context);
        matrix ds(t.workspace() + scores(), context, context);
        for (index b = 0; b < batch; ++b) {
            for (index h = 0; h < heads; ++h) {
                auto const q = of(t.in(0), 3, 0, b, h);
                auto const k = of(t.in(0), 3, 1, b, h);
                auto const y = of(t.in(1), 1, 0, b, h);
                auto const* const statistics = t.in(2) + (b * heads + h) * context;
                auto const dy = of(t.in(3), 1, 0, b, h);
                p.noalias() = q * k.transpose();
                ds.noalias() = dy * of(t.in(0), 3, 2, b, h).transpose();
                for (index i = 0; i < context; ++i) {
                    auto row = p.row(i).head(i + 1).array();
                    auto gradient = ds.row(i).head(i + 1).array();
                    row = (scale() * row - statistics[i]).exp();
                    gradient = scale() * row * (gradient - dy.row(i).dot(y.row(i)));
                    p.row(i).tail(context - i - 1).setZero();
                    ds.row(i).tail(context - i - 1).setZero();
                }
                put(of(t.out(0), 3, 0, b, h), ds * k, t.adds(0));
                put(of(t.out(0), 3, 1, b, h), ds.transpose() * q, t.adds(0));
                put(of(t.out(0), 3, 2, b, h), p.transpose() * dy, t.adds(0));
            }
        }
    }
};

} // namespace engine_eigen::ops
