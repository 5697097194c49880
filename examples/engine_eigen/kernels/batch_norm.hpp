// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Batch normalisation in training: every channel to mean 0 and variance 1 over images and pixels.
#pragma once

#include <cmath>

#include "examples/engine_eigen/kernels/operands.hpp"

namespace engine_eigen::ops {

namespace detail {

/// Shapes of a batch of images, and one channel of it as a matrix of a column per image.
struct image_shape {
    index images, channels, pixels;

    using channel = Eigen::Map<Eigen::ArrayXXf, 0, Eigen::OuterStride<>>;
    using const_channel = Eigen::Map<Eigen::ArrayXXf const, 0, Eigen::OuterStride<>>;

    [[nodiscard]] auto of(float* x, index c) const -> channel
    {
        return {x + c * pixels, pixels, images, Eigen::OuterStride<>(channels * pixels)};
    }
    [[nodiscard]] auto of(float const* x, index c) const -> const_channel
    {
        return {x + c * pixels, pixels, images, Eigen::OuterStride<>(channels * pixels)};
    }
    [[nodiscard]] auto numbers() const -> index { return images * channels * pixels; }
};

} // namespace detail

/// Reads x [images, channels, pixels], weight and bias [channels]; writes y, the running mean and variance and, for
/// backward, mean and inverse deviation of each channel. The running statistics live on after the step: a replay leaves
/// them alone.
struct batch_norm : detail::image_shape {
    static constexpr auto type = "batch_norm";
    static constexpr float epsilon = 1e-5F;
    static constexpr float momentum = 0.1F;

    [[nodiscard]] auto statistics_bytes() const -> strata::bytes_t { return float_bytes(2 * channels); }
    [[nodiscard]] auto flops() const -> double { return 8 * as_double(numbers()); }
    void run(operands const& t) const
    {
        auto* const mean = t.out(3);
        auto* const inverse_deviation = mean + channels;
        for (index c = 0; c < channels; ++c) {
            auto const x = of(t.in(0), c);
            mean[c] = x.mean();
            auto const variance = (x - mean[c]).square().mean();
            inverse_deviation[c] = 1 / std::sqrt(variance + epsilon);
            of(t.out(0), c) = (x - mean[c]) * (inverse_deviation[c] * t.in(1)[c]) + t.in(2)[c];
            if (!t.is_replay()) {
                auto const n = static_cast<float>(images * pixels);
                auto const unbiased = variance * n / (n - 1);
                t.out(1)[c] += momentum * (mean[c] - t.out(1)[c]);
                t.out(2)[c] += momentum * (unbiased - t.out(2)[c]);
            }
        }
    }
};

/// Reads x, weight, the statistics, the gradient of y; adds into those of x, weight and bias.
struct batch_norm_backward : detail::image_shape {
    static constexpr auto type = "batch_norm.backward";

    [[nodiscard]] auto flops() const -> double { return 14 * as_double(numbers()); }
    void run(operands const& t) const
    {
        auto const* const mean = t.in(2);
        auto const* const inverse_deviation = mean + channels;
        auto const n = static_cast<float>(images * pixels);
        for (index c = 0; c < channels; ++c) {
            auto const x = of(t.in(0), c);
            auto const dy = of(t.in(3), c);
            auto const bias_gradient = dy.sum();
            auto const weight_gradient = (dy * (x - mean[c])).sum() * inverse_deviation[c];
            auto const scale = inverse_deviation[c] * t.in(1)[c];
            auto const slope = weight_gradient * inverse_deviation[c] / n;
            put(of(t.out(0), c), (dy - bias_gradient / n - (x - mean[c]) * slope) * scale, t.adds(0));
            put(t.out(1)[c], weight_gradient, t.adds(1));
            put(t.out(2)[c], bias_gradient, t.adds(2));
        }
    }
};

} // namespace engine_eigen::ops
