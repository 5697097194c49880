// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Layers: each adds one op to a network and says what its backward ops read and write.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "examples/engine_eigen/network.hpp"

namespace engine_eigen {

using strata::grad::input;
using strata::grad::of_input;
using strata::grad::of_output;
using strata::grad::output;
using strata::grad::saved;

/// Over the innermost axis.
inline auto linear(network& n, std::string const& name, value const& x, index out) -> value
{
    auto const in = x.dims.back();
    auto const rows = count(x.dims) / in;
    auto const w = n.parameter(name + ".weight", {out, in}, 0, 1 / std::sqrt(static_cast<float>(in)));
    auto const b = n.parameter(name + ".bias", {out}, 0, 0);
    auto y = x.dims;
    y.back() = out;
    return n.add(
        {.name = name,
         .kernel = ops::linear{rows, in, out},
         .reads = {x.id, w, b},
         .makes = y,
         .gradient = {
             .ops = {{ops::linear_weight_gradient{rows, in, out}, {input(0), of_output(0)}, {of_input(1), of_input(2)}},
                     {ops::linear_input_gradient{rows, in, out}, {input(1), of_output(0)}, {of_input(0)}}}}});
}

/// Over x [images, channels, height, width].
inline auto convolution(network& n, std::string const& name, value const& x, index out, index window = 3) -> value
{
    ops::detail::convolution_shape const s{x.dims[0], x.dims[1], out, x.dims[2], x.dims[3], window};
    auto const deviation = std::sqrt(2 / static_cast<float>(s.taps()));
    auto const w = n.parameter(name + ".weight", {out, s.taps()}, 0, deviation);
    return n.add(
        {.name = name,
         .kernel = ops::convolution{s},
         .reads = {x.id, w},
         .makes = {s.images, out, s.height, s.width},
         .gradient = {.ops = {{ops::convolution_weight_gradient{s}, {input(0), of_output(0)}, {of_input(1)}},
                              {ops::convolution_input_gradient{s}, {input(1), of_output(0)}, {of_input(0)}}}}});
}

/// Over the innermost axis.
inline auto layer_norm(network& n, std::string const& name, value const& x) -> value
{
    auto const width = x.dims.back();
    ops::layer_norm const kernel{count(x.dims) / width, width};
    auto const weight = n.parameter(name + ".weight", {width}, 1, 0);
    auto const bias = n.parameter(name + ".bias", {width}, 0, 0);
    return n.add({.name = name,
                  .kernel = kernel,
                  .reads = {x.id, weight, bias},
                  .makes = x.dims,
                  .gradient = {.saved = {{.name = "statistics", .bytes = kernel.statistics_bytes()}},
                               .ops = {{ops::layer_norm_backward{kernel.rows, width},
                                        {input(0), input(1), saved(0), of_output(0)},
                                        {of_input(0), of_input(1), of_input(2)}}}}});
}

/// Over images and pixels of x [images, channels, height, width].
inline auto batch_norm(network& n, std::string const& name, value const& x) -> value
{
    auto const channels = x.dims[1];
    ops::detail::image_shape const s{x.dims[0], channels, x.dims[2] * x.dims[3]};
    ops::batch_norm const kernel{s};
    auto const weight = n.parameter(name + ".weight", {channels}, 1, 0);
    auto const bias = n.parameter(name + ".bias", {channels}, 0, 0);
    auto const mean = n.state(name + ".running_mean", {channels}, 0);
    auto const variance = n.state(name + ".running_variance", {channels}, 1);
    return n.add({.name = name,
                  .kernel = kernel,
                  .reads = {x.id, weight, bias},
                  .makes = x.dims,
                  .gradient = {.saved = {{.name = "statistics", .bytes = kernel.statistics_bytes()}},
                               .ops = {{ops::batch_norm_backward{s},
                                        {input(0), input(1), saved(0), of_output(0)},
                                        {of_input(0), of_input(1), of_input(2)}}}},
                  .effects = strata::effect::stateful,
                  .writes = {mean, variance}});
}

inline auto gelu(network& n, std::string const& name, value const& x) -> value
{
    auto const numbers = count(x.dims);
    return n.add({.name = name,
                  .kernel = ops::gelu{numbers},
                  .reads = {x.id},
                  .makes = x.dims,
                  .gradient = {.ops = {{ops::gelu_backward{numbers}, {input(0), of_output(0)}, {of_input(0)}}}}});
}

/// Overwrites `x`; what it makes is a view of it.
inline auto relu_in_place(network& n, std::string const& name, value const& x) -> value
{
    auto const numbers = count(x.dims);
    return n.add({.name = name,
                  .kernel = ops::relu_in_place{numbers},
                  .reads = {x.id},
                  .makes = x.dims,
                  .gradient = {.ops = {{ops::relu_backward{numbers}, {output(0), of_output(0)}, {of_input(0)}}}},
                  .view_of = x.id,
                  .in_place = true});
}

inline auto dropout(network& n, std::string const& name, value const& x, float rate) -> value
{
    ops::dropout const kernel{count(x.dims), rate};
    return n.add(
        {.name = name,
         .kernel = kernel,
         .reads = {x.id},
         .makes = x.dims,
         .gradient = {.saved = {{.name = "mask", .bytes = kernel.mask_bytes()}},
                      .ops = {{ops::dropout_backward{kernel.numbers, rate}, {saved(0), of_output(0)}, {of_input(0)}}}},
         .effects = strata::effect::random});
}

/// a + b. The gradient of the sum is that of both; an op is needed where the two cannot share its buffer.
inline auto add(network& n, std::string const& name, value const& a, value const& b) -> value
{
    auto const numbers = count(a.dims);
    strata::backward_op<operation> const otherwise(ops::accumulate{numbers});
    return n.add({.name = name,
                  .kernel = ops::add{numbers},
                  .reads = {a.id, b.id},
                  .makes = a.dims,
                  .gradient = {.passes = {{0, 0, otherwise}, {0, 1, otherwise}}}});
}

/// Causal, over queries, keys and values [batch, context, 3 width] side by side.
inline auto attention(network& n, std::string const& name, value const& x, index heads) -> value
{
    ops::detail::attention_shape const s{x.dims[0], x.dims[1], x.dims[2] / 3, heads};
    return n.add(
        {.name = name,
         .kernel = ops::attention{s},
         .reads = {x.id},
         .makes = {s.batch, s.context, s.width},
         .gradient = {
             .saved = {{.name = "statistics", .bytes = ops::attention{s}.statistics_bytes()}},
             .ops = {{ops::attention_backward{s}, {input(0), output(0), saved(0), of_output(0)}, {of_input(0)}}}}});
}

/// Of tokens [batch, context], and of their positions.
inline auto embedding(network& n, std::string const& name, value const& tokens, index vocabulary, index width) -> value
{
    auto const batch = tokens.dims[0];
    auto const context = tokens.dims[1];
    auto const token_table = n.parameter(name + ".tokens", {vocabulary, width}, 0, 0.5F);
    auto const position_table = n.parameter(name + ".positions", {context, width}, 0, 0.5F);
    return n.add({.name = name,
                  .kernel = ops::embedding{batch, context, vocabulary, width},
                  .reads = {tokens.id, token_table, position_table},
                  .makes = {batch, context, width},
                  .gradient = {.ops = {{ops::embedding_backward{batch, context, vocabulary, width},
                                        {input(0), of_output(0)},
                                        {of_input(1), of_input(2)}}}}});
}

/// Mean over all rows of logits [..., classes], each against a class of `targets`.
inline auto cross_entropy(network& n, std::string const& name, value const& logits, value const& targets) -> value
{
    auto const classes = logits.dims.back();
    ops::cross_entropy const kernel{count(logits.dims) / classes, classes};
    return n.add({.name = name,
                  .kernel = kernel,
                  .reads = {logits.id, targets.id},
                  .makes = {1},
                  .gradient = {.saved = {{.name = "statistics", .bytes = kernel.statistics_bytes()}},
                               .ops = {{ops::cross_entropy_backward{kernel.rows, classes},
                                        {input(0), input(1), saved(0), of_output(0)},
                                        {of_input(0)}}}}});
}

/// Over windows of 2 x 2 of x [images, channels, height, width].
inline auto max_pool(network& n, std::string const& name, value const& x) -> value
{
    ops::detail::pool_shape const s{x.dims[0] * x.dims[1], x.dims[2], x.dims[3]};
    return n.add({.name = name,
                  .kernel = ops::max_pool{s},
                  .reads = {x.id},
                  .makes = {x.dims[0], x.dims[1], s.height / 2, s.width / 2},
                  .gradient = {.saved = {{.name = "choice", .bytes = ops::max_pool{s}.choice_bytes()}},
                               .ops = {{ops::max_pool_backward{s}, {saved(0), of_output(0)}, {of_input(0)}}}}});
}

/// x [images, channels, height, width] to [images, channels, 1, 1].
inline auto global_average_pool(network& n, std::string const& name, value const& x) -> value
{
    auto const planes = x.dims[0] * x.dims[1];
    auto const pixels = x.dims[2] * x.dims[3];
    return n.add(
        {.name = name,
         .kernel = ops::global_average_pool{planes, pixels},
         .reads = {x.id},
         .makes = {x.dims[0], x.dims[1], 1, 1},
         .gradient = {.ops = {{ops::global_average_pool_backward{planes, pixels}, {of_output(0)}, {of_input(0)}}}}});
}

/// All but the outermost axis in one; a view, and so is its gradient.
inline auto flatten(network& n, std::string const& name, value const& x) -> value
{
    return n.add({.name = name,
                  .kernel = ops::flatten{},
                  .reads = {x.id},
                  .makes = {x.dims[0], count(x.dims) / x.dims[0]},
                  .gradient = {.passes = {{0, 0}}},
                  .view_of = x.id});
}

} // namespace engine_eigen
