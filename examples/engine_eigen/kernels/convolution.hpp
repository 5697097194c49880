// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Convolution that keeps the size of the image, one matrix product per image over its windows laid out as
/// columns (im2col).
///
/// Stride 1, an odd window, zeros around the image. No bias: batch normalisation, which follows, would take it away.
#pragma once

#include <algorithm>

#include "examples/engine_eigen/kernels/operands.hpp"

namespace engine_eigen::ops {

namespace detail {

/// Shapes of a convolution, and the two ways between an image and its windows.
struct convolution_shape {
    index images, in, out, height, width, window;

    [[nodiscard]] auto pixels() const -> index { return height * width; }
    [[nodiscard]] auto taps() const -> index { return in * window * window; }
    /// Workspace: the windows of one image.
    [[nodiscard]] auto workspace() const -> strata::bytes_t { return float_bytes(taps() * pixels()); }
    [[nodiscard]] auto flops() const -> double { return 2 * as_double(images * out * pixels() * taps()); }

    /// Calls `f(pixel, column, length)` for every stretch of an image row that lies inside the image: `length` pixels
    /// from `pixel` on are `length` entries of the columns from `column` on.
    template <class F>
    void for_each_stretch(F const& f) const
    {
        auto const half = window / 2;
        index column = 0;
        for (index c = 0; c < in; ++c) {
            for (index dy = -half; dy <= half; ++dy) {
                for (index dx = -half; dx <= half; ++dx, column += pixels()) {
                    auto const left = std::max<index>(0, -dx);
                    auto const length = width - std::max<index>(dx, -dx);
                    for (auto y = std::max<index>(0, -dy); y < std::min(height, height - dy); ++y) {
                        f((c * height + y + dy) * width + left + dx, column + y * width + left, length);
                    }
                }
            }
        }
    }
    void to_columns(float const* image, float* to) const
    {
        std::fill_n(to, taps() * pixels(), 0.0F);
        for_each_stretch([&](index pixel, index column, index n) { std::copy_n(image + pixel, n, to + column); });
    }
    void add_columns(float const* from, float* image) const
    {
        for_each_stretch(
            [&](index pixel, index column, index n) { array(image + pixel, n) += const_array(from + column, n); });
    }
};

} // namespace detail

/// Reads x [images, in, height, width], W [out, in, window, window]; writes y [images, out, height, width].
struct convolution : detail::convolution_shape {
    static constexpr auto type = "convolution";

    void run(operands const& t) const
    {
        const_matrix const w(t.in(1), out, taps());
        for (index i = 0; i < images; ++i) {
            to_columns(t.in(0) + i * in * pixels(), t.workspace());
            matrix(t.out(0) + i * out * pixels(), out, pixels()).noalias() =
                w * const_matrix(t.workspace(), taps(), pixels());
        }
    }
};

/// Reads x and the gradient of y; adds into that of W.
struct convolution_weight_gradient : detail::convolution_shape {
    static constexpr auto type = "convolution.weight_gradient";

    void run(operands const& t) const
    {
        for (index i = 0; i < images; ++i) {
            to_columns(t.in(0) + i * in * pixels(), t.workspace());
            const_matrix const dy(t.in(1) + i * out * pixels(), out, pixels());
            put(matrix(t.out(0), out, taps()),
                dy * const_matrix(t.workspace(), taps(), pixels()).transpose(),
                i > 0 || t.adds(0));
        }
    }
};

/// Reads W and the gradient of y; adds into that of x.
struct convolution_input_gradient : detail::convolution_shape {
    static constexpr auto type = "convolution.input_gradient";

    void run(operands const& t) const
    {
        const_matrix const w(t.in(0), out, taps());
        if (!t.adds(0)) {
            std::fill_n(t.out(0), images * in * pixels(), 0.0F);
        }
        for (index i = 0; i < images; ++i) {
            matrix(t.workspace(), taps(), pixels()).noalias() =
                w.transpose() * const_matrix(t.in(1) + i * out * pixels(), out, pixels());
            add_columns(t.workspace(), t.out(0) + i * in * pixels());
        }
    }
};

} // namespace engine_eigen::ops
