// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The embedding of a text: a row per token, and one per position, added.
#pragma once

#include <algorithm>
#include <cstdint>

#include "examples/engine_eigen/kernels/operands.hpp"

namespace engine_eigen::ops {

/// Reads tokens [batch, context], a table of tokens [vocabulary, width] and one of positions [context, width]; writes y
/// [batch, context, width].
struct embedding {
    static constexpr auto type = "embedding";
    index batch, context, vocabulary, width;

    [[nodiscard]] auto flops() const -> double { return as_double(batch * context * width); }
    void run(operands const& t) const
    {
        auto const* const tokens = t.in<std::int32_t>(0);
        for (index i = 0; i < batch * context; ++i) {
            array(t.out(0) + i * width, width) =
                const_array(t.in(1) + tokens[i] * width, width) + const_array(t.in(2) + i % context * width, width);
        }
    }
};

/// Reads tokens and the gradient of y; adds into those of the tables.
struct embedding_backward {
    static constexpr auto type = "embedding.backward";
    index batch, context, vocabulary, width;

    [[nodiscard]] auto flops() const -> double { return 2 * as_double(batch * context * width); }
    void run(operands const& t) const
    {
        auto const* const tokens = t.in<std::int32_t>(0);
        if (!t.adds(0)) {
            std::fill_n(t.out(0), vocabulary * width, 0.0F);
        }
        if (!t.adds(1)) {
            std::fill_n(t.out(1), context * width, 0.0F);
        }
        for (index i = 0; i < batch * context; ++i) {
            const_array const dy(t.in(1) + i * width, width);
            array(t.out(0) + tokens[i] * width, width) += dy;
            array(t.out(1) + i % context * width, width) += dy;
        }
    }
};

} // namespace engine_eigen::ops
