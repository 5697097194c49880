// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Max pooling over windows of 2 x 2, the mean of each channel, and flattening, which moves nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "examples/engine_eigen/kernels/operands.hpp"

namespace engine_eigen::ops {

namespace detail {

/// `height` and `width` are those of the larger image, and even.
struct pool_shape {
    index planes, height, width;

    [[nodiscard]] auto numbers() const -> index { return planes * height * width; }
    /// Calls `f(k, corners)` for every window: `k` counts them, the corners are places in the larger image.
    template <class F>
    void for_each_window(F const& f) const
    {
        index k = 0;
        for (index row = 0; row < planes * height; row += 2) {
            for (auto i = row * width; i < (row + 1) * width; i += 2) {
                f(k++, std::array{i, i + 1, i + width, i + width + 1});
            }
        }
    }
};

} // namespace detail

/// Reads x [planes, height, width]; writes y of half the height and width and, for backward, which of the four numbers
/// of each window is the largest (of several, the first).
struct max_pool : detail::pool_shape {
    static constexpr auto type = "max_pool";

    [[nodiscard]] auto choice_bytes() const -> strata::bytes_t { return numbers() / 4; }
    [[nodiscard]] auto flops() const -> double { return 3 * as_double(numbers()); }
    void run(operands const& t) const
    {
        auto const* const x = t.in(0);
        auto* const y = t.out(0);
        auto* const choice = t.out<std::uint8_t>(1);
        for_each_window([&](index k, std::array<index, 4> const& corners) {
            std::uint8_t best = 0;
            for (std::uint8_t c = 1; c < 4; ++c) {
                best = x[corners[c]] > x[corners[best]] ? c : best;
            }
            y[k] = x[corners[best]];
            choice[k] = best;
        });
    }
};

/// Reads the choices and the gradient of y; adds into that of x.
struct max_pool_backward : detail::pool_shape {
    static constexpr auto type = "max_pool.backward";

    [[nodiscard]] auto flops() const -> double { return 2 * as_double(numbers()); }
    void run(operands const& t) const
    {
        auto const* const choice = t.in<std::uint8_t>(0);
        auto const* const dy = t.in(1);
        auto* const dx = t.out(0);
        bool const adds = t.adds(0);
        for_each_window([&](index k, std::array<index, 4> const& corners) {
            for (std::size_t c = 0; c < 4; ++c) {
                put(dx[corners[c]], dy[k] * static_cast<float>(c == choice[k]), adds);
            }
        });
    }
};

/// Reads x [planes, pixels]; writes the mean of each plane.
struct global_average_pool {
    static constexpr auto type = "global_average_pool";
    index planes, pixels;

    [[nodiscard]] auto flops() const -> double { return as_double(planes * pixels); }
    void run(operands const& t) const
    {
        for (index p = 0; p < planes; ++p) {
            t.out(0)[p] = const_array(t.in(0) + p * pixels, pixels).mean();
        }
    }
};

/// Reads the gradient of the means; adds into that of x.
struct global_average_pool_backward {
    static constexpr auto type = "global_average_pool.backward";
    index planes, pixels;

    [[nodiscard]] auto flops() const -> double { return as_double(planes * pixels); }
    void run(operands const& t) const
    {
        for (index p = 0; p < planes; ++p) {
            put(array(t.out(0) + p * pixels, pixels),
                Eigen::ArrayXf::Constant(pixels, t.in(0)[p] / static_cast<float>(pixels)),
                t.adds(0));
        }
    }
};

/// The same numbers with other axes: a view.
struct flatten {
    static constexpr auto type = "flatten";

    [[nodiscard]] static auto flops() -> double { return 0; }
    static void run(operands const& /*t*/) {}
};

} // namespace engine_eigen::ops
