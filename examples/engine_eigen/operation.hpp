// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The operator of the engine's graphs: one of its kernels.
#pragma once

#include <strata/graph/training_graph.hpp>

#include <variant>

#include "examples/engine_eigen/kernels/attention.hpp"
#include "examples/engine_eigen/kernels/batch_norm.hpp"
#include "examples/engine_eigen/kernels/convolution.hpp"
#include "examples/engine_eigen/kernels/cross_entropy.hpp"
#include "examples/engine_eigen/kernels/elementwise.hpp"
#include "examples/engine_eigen/kernels/embedding.hpp"
#include "examples/engine_eigen/kernels/layer_norm.hpp"
#include "examples/engine_eigen/kernels/linear.hpp"
#include "examples/engine_eigen/kernels/pool.hpp"

namespace engine_eigen {

using operation = std::variant<ops::linear,
                               ops::linear_weight_gradient,
                               ops::linear_input_gradient,
                               ops::convolution,
                               ops::convolution_weight_gradient,
                               ops::convolution_input_gradient,
                               ops::layer_norm,
                               ops::layer_norm_backward,
                               ops::batch_norm,
                               ops::batch_norm_backward,
                               ops::gelu,
                               ops::gelu_backward,
                               ops::relu_in_place,
                               ops::relu_backward,
                               ops::dropout,
                               ops::dropout_backward,
                               ops::add,
                               ops::accumulate,
                               ops::attention,
                               ops::attention_backward,
                               ops::embedding,
                               ops::embedding_backward,
                               ops::cross_entropy,
                               ops::cross_entropy_backward,
                               ops::one,
                               ops::max_pool,
                               ops::max_pool_backward,
                               ops::global_average_pool,
                               ops::global_average_pool_backward,
                               ops::flatten>;

using step_graph = strata::training_graph<operation>;

/// Name of the kernel that `o` holds.
[[nodiscard]] inline auto type_of(operation const& o) -> char const*
{
    return std::visit([](auto const& kernel) -> char const* { return kernel.type; }, o);
}

/// Scratch bytes of the kernel that `o` holds.
[[nodiscard]] inline auto workspace_of(operation const& o) -> strata::bytes_t
{
    return std::visit(
        [](auto const& kernel) -> strata::bytes_t {
            if constexpr (requires { kernel.workspace(); }) {
                return kernel.workspace();
            } else {
                return 0;
            }
        },
        o);
}

} // namespace engine_eigen
