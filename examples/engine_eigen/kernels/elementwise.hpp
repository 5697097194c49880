// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Ops that touch every number once: GELU, ReLU in place, dropout, sums.
#pragma once

#include <algorithm>
#include <cstdint>

#include "examples/engine_eigen/kernels/operands.hpp"

namespace engine_eigen::ops {

namespace detail {

/// GELU by its usual approximation, x / 2 (1 + tanh(u)) with u = sqrt(2 / pi) (x + 0.044715 x^3).
inline constexpr float gelu_slope = 0.7978845608F;
inline constexpr float gelu_cubic = 0.044715F;

} // namespace detail

/// Reads x; writes y.
struct gelu {
    static constexpr auto type = "gelu";
    index numbers;

    [[nodiscard]] auto flops() const -> double { return 10 * as_double(numbers); }
    void run(operands const& t) const
    {
        const_array const x(t.in(0), numbers);
        array(t.out(0), numbers) = 0.5F * x * (1 + (detail::gelu_slope * (x + detail::gelu_cubic * x.cube())).tanh());
    }
};

/// Reads x and the gradient of y; adds into that of x.
struct gelu_backward {
    static constexpr auto type = "gelu.backward";
    index numbers;

    /// Workspace: the hyperbolic tangent, which the slope needs twice, of a stretch of numbers.
    static constexpr index stretch = 1024;
    [[nodiscard]] static auto workspace() -> strata::bytes_t { return float_bytes(stretch); }
    [[nodiscard]] auto flops() const -> double { return 20 * as_double(numbers); }
    void run(operands const& t) const
    {
        for (index i = 0; i < numbers; i += stretch) {
            auto const n = std::min(stretch, numbers - i);
            const_array const x(t.in(0) + i, n);
            const_array const dy(t.in(1) + i, n);
            array th(t.workspace(), n);
            th = (detail::gelu_slope * (x + detail::gelu_cubic * x.cube())).tanh();
            put(array(t.out(0) + i, n),
                0.5F * dy *
                    (1 + th + x * (1 - th.square()) * detail::gelu_slope * (1 + 3 * detail::gelu_cubic * x.square())),
                t.adds(0));
        }
    }
};

/// Overwrites x by y.
struct relu_in_place {
    static constexpr auto type = "relu_";
    index numbers;

    [[nodiscard]] auto flops() const -> double { return as_double(numbers); }
    void run(operands const& t) const
    {
        array y(t.out(0), numbers);
        y = y.max(0.0F);
    }
};

/// Reads y, which is positive where x was, and the gradient of y; adds into that of x.
struct relu_backward {
    static constexpr auto type = "relu.backward";
    index numbers;

    [[nodiscard]] auto flops() const -> double { return 2 * as_double(numbers); }
    void run(operands const& t) const
    {
        const_array const y(t.in(0), numbers);
        const_array const dy(t.in(1), numbers);
        // A product, since nobody can predict the branch.
        put(array(t.out(0), numbers), dy * (y > 0.0F).cast<float>(), t.adds(0));
    }
};

/// Reads x; writes y and, for backward, a mask of one byte per number. Draws from the engine's generator.
struct dropout {
    static constexpr auto type = "dropout";
    index numbers;
    float rate;

    [[nodiscard]] auto mask_bytes() const -> strata::bytes_t { return numbers; }
    [[nodiscard]] auto flops() const -> double { return 12 * as_double(numbers); }
    void run(operands const& t) const
    {
        auto const* const x = t.in(0);
        auto* const y = t.out(0);
        auto* const mask = t.out<std::uint8_t>(1);
        for (index i = 0; i < numbers; ++i) {
            mask[i] = t.random().uniform() < rate ? 0 : 1;
            y[i] = x[i] * static_cast<float>(mask[i]) / (1 - rate);
        }
    }
};

/// Reads the mask and the gradient of y; adds into that of x.
struct dropout_backward {
    static constexpr auto type = "dropout.backward";
    index numbers;
    float rate;

    [[nodiscard]] auto flops() const -> double { return 3 * as_double(numbers); }
    void run(operands const& t) const
    {
        Eigen::Map<Eigen::Array<std::uint8_t, Eigen::Dynamic, 1> const> const mask(t.in<std::uint8_t>(0), numbers);
        put(array(t.out(0), numbers), const_array(t.in(1), numbers) * mask.cast<float>() / (1 - rate), t.adds(0));
    }
};

/// Reads a and b; writes their sum.
struct add {
    static constexpr auto type = "add";
    index numbers;

    [[nodiscard]] auto flops() const -> double { return as_double(numbers); }
    void run(operands const& t) const
    {
        array(t.out(0), numbers) = const_array(t.in(0), numbers) + const_array(t.in(1), numbers);
    }
};

/// Passes a gradient on, where two gradients cannot share a buffer: reads one, adds it into the other.
struct accumulate {
    static constexpr auto type = "accumulate";
    index numbers;

    [[nodiscard]] auto flops() const -> double { return as_double(numbers); }
    void run(operands const& t) const { put(array(t.out(0), numbers), const_array(t.in(0), numbers), t.adds(0)); }
};

} // namespace engine_eigen::ops
