// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief U-Nets: one that segments, one that removes noise at a given time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "examples/zoo/convnets.hpp"
#include "examples/zoo/layers.hpp"
#include "examples/zoo/network.hpp"
#include "examples/zoo/options.hpp"

namespace strata::zoo {

/// U-Net with four halvings; every size on the way up is joined to the features of the same size on the way down.
inline auto unet(network& n, options const& o) -> value
{
    if (*o.image % 16 != 0) {
        throw model_error("the image size must be a multiple of 16, not " + std::to_string(*o.image));
    }
    auto const twice = [&](value x, std::int64_t out) {
        x = detail::conv_norm_relu(n, "conv1", x, out, {}, *o.in_place);
        return detail::conv_norm_relu(n, "conv2", x, out, {}, *o.in_place);
    };
    auto x = n.input("image", {*o.batch, 3, *o.image, *o.image});
    std::vector<value> skips;
    for (int level = 0; level <= 4; ++level) {
        network::scope const in(n, "down" + std::to_string(level));
        if (level > 0) {
            skips.push_back(x);
            x = max_pool(n, x, {.kernel = 2, .stride = 2, .padding = 0});
        }
        x = twice(x, *o.width << level);
    }
    for (int level = 4; level-- > 0;) {
        network::scope const in(n, "up" + std::to_string(level));
        auto const larger = conv_transpose(n, "up", x, *o.width << level);
        x = twice(concat(n, {skips[static_cast<std::size_t>(level)], larger}, 1), *o.width << level);
    }
    auto const logits = conv(n, "head", x, *o.classes, {.kernel = 1, .bias = true});
    return pointwise_loss(n, "binary_cross_entropy", "binary_cross_entropy.backward", logits);
}

namespace detail {

/// Normalise, activate, convolve, twice; the embedded time comes in between.
inline auto
time_block(network& n, std::string const& name, value const& x, value const& time, std::int64_t out, double rate)
    -> value
{
    network::scope const in(n, name);
    auto y = conv(n, "conv1", silu(n, group_norm(n, "norm1", x, 32)), out, {.bias = true});
    y = add_broadcast(n, y, linear(n, "time", silu(n, time), out));
    y = dropout(n, silu(n, group_norm(n, "norm2", y, 32)), rate);
    y = conv(n, "conv2", y, out, {.bias = true});
    return add(n, x.size(1) == out ? x : conv(n, "shortcut", x, out, {.kernel = 1, .bias = true}), y);
}

/// Attention among pixels.
inline auto pixel_attention(network& n, std::string const& name, value const& x, options const& o) -> value
{
    network::scope const in(n, name);
    conv_options const dense{.kernel = 1, .bias = true};
    auto const y = group_norm(n, "norm", x, 32);
    auto const project = [&](char const* what) {
        return reshaped(conv(n, what, y, x.size(1), dense), {x.size(0), x.size(2) * x.size(3), x.size(1)});
    };
    auto const query = project("query");
    auto const key = project("key");
    auto const mixed = attention(n, query, key, project("value"), {.heads = *o.heads, .fused = *o.fused});
    return add(n, x, conv(n, "out", reshaped(mixed, x.dims), x.size(1), dense));
}

} // namespace detail

/// The noise predictor of diffusion models: time embedding, attention at half the image's size, skips from every block.
inline auto diffusion_unet(network& n, options const& o) -> value
{
    constexpr int levels = 4;
    constexpr int attention_level = 1;
    if (*o.image % 8 != 0) {
        throw model_error("the image size must be a multiple of 8, not " + std::to_string(*o.image));
    }
    auto const width = [&](int level) { return level == 0 ? *o.width : 2 * *o.width; };
    auto time = linear(n, "time1", n.input("time", {*o.batch, *o.width}), 4 * *o.width);
    time = linear(n, "time2", silu(n, time), 4 * *o.width);
    auto const image = n.input("image", {*o.batch, 3, *o.image, *o.image});
    auto x = conv(n, "first", image, *o.width, {.bias = true});
    auto const block = [&](std::string const& name, value const& in, int level) {
        auto const y = detail::time_block(n, name, in, time, width(level), *o.dropout);
        return level == attention_level ? detail::pixel_attention(n, name + ".attention", y, o) : y;
    };
    std::vector<value> skips{x};
    for (int level = 0; level < levels; ++level) {
        network::scope const in(n, "down" + std::to_string(level));
        for (int i = 0; i < 2; ++i) {
            x = block("block" + std::to_string(i), x, level);
            skips.push_back(x);
        }
        if (level + 1 < levels) {
            x = conv(n, "halve", x, x.size(1), {.stride = 2, .bias = true});
            skips.push_back(x);
        }
    }
    x = detail::time_block(n, "middle1", x, time, x.size(1), *o.dropout);
    x = detail::pixel_attention(n, "middle", x, o);
    x = detail::time_block(n, "middle2", x, time, x.size(1), *o.dropout);
    for (int level = levels; level-- > 0;) {
        network::scope const in(n, "up" + std::to_string(level));
        for (int i = 0; i < 3; ++i) {
            auto const joined = concat(n, {x, skips.back()}, 1);
            skips.pop_back();
            x = block("block" + std::to_string(i), joined, level);
        }
        if (level > 0) {
            x = conv(n, "double", upsample(n, x), x.size(1), {.bias = true});
        }
    }
    auto const noise = conv(n, "last", silu(n, group_norm(n, "norm", x, 32)), 3, {.bias = true});
    return pointwise_loss(n, "squared_error", "squared_error.backward", noise);
}

} // namespace strata::zoo
