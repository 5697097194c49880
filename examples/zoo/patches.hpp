// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Models that cut an image into patches of 16 x 16: vision transformer, MLP-Mixer.
#pragma once

#include <cstdint>
#include <string>

#include "examples/zoo/layers.hpp"
#include "examples/zoo/network.hpp"
#include "examples/zoo/options.hpp"
#include "examples/zoo/transformers.hpp"

namespace strata::zoo {

namespace detail {

/// Tokens [batch, patches, width] of an image, by a convolution that strides as far as it reaches.
inline auto patches(network& n, options const& o) -> value
{
    constexpr std::int64_t side = 16;
    if (*o.image % side != 0) {
        throw model_error("the image size must be a multiple of 16, not " + std::to_string(*o.image));
    }
    auto const image = n.input("image", {*o.batch, 3, *o.image, *o.image});
    auto const x = conv(n, "patches", image, *o.width, {.kernel = side, .stride = side, .bias = true, .padding = 0});
    return reshaped(x, {*o.batch, x.size(2) * x.size(3), *o.width});
}

} // namespace detail

/// Vision transformer with a class token.
inline auto vision_transformer(network& n, options const& o) -> value
{
    auto const d = *o.width;
    auto const token = n.parameter("class_token", {d});
    auto x = prepend_token(n, detail::patches(n, o), token);
    x = dropout(n, add_broadcast(n, x, n.parameter("positions", {x.size(1), d})), *o.dropout);
    for (std::int64_t i = 0; i < *o.layers; ++i) {
        network::scope const in(n, "layer" + std::to_string(i));
        x = detail::pre_norm_block(n, x, *o.hidden, detail::attention_of(o));
    }
    auto const first = slice(n, layer_norm(n, "norm", x), {*o.batch, d});
    return cross_entropy(n, linear(n, "head", first, *o.classes));
}

/// MLP-Mixer: a feed-forward network across tokens (of half the width inside), then one across channels.
inline auto mixer(network& n, options const& o) -> value
{
    auto const d = *o.width;
    if (d % 2 != 0) {
        throw model_error("the width of a mixer must be even, not " + std::to_string(d));
    }
    auto x = detail::patches(n, o);
    for (std::int64_t i = 0; i < *o.layers; ++i) {
        network::scope const in(n, "layer" + std::to_string(i));
        auto const across = transpose(n, layer_norm(n, "norm1", x));
        auto const mixed = linear(n, "token_down", gelu(n, linear(n, "token_up", across, d / 2)), x.size(1));
        x = add(n, x, dropout(n, reshaped(mixed, x.dims), *o.dropout));
        auto const inner = gelu(n, linear(n, "up", layer_norm(n, "norm2", x), *o.hidden));
        x = add(n, x, dropout(n, linear(n, "down", inner, d), *o.dropout));
    }
    auto const pooled = mean(n, layer_norm(n, "norm", x), {*o.batch, d});
    return cross_entropy(n, linear(n, "head", pooled, *o.classes));
}

} // namespace strata::zoo
