// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Convolutional classifiers: ResNet, RegNet, DenseNet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "examples/zoo/layers.hpp"
#include "examples/zoo/network.hpp"
#include "examples/zoo/options.hpp"

namespace strata::zoo {

/// Blocks per stage.
using depths = std::array<int, 4>;

namespace detail {

/// Convolution without bias and batch norm under one name.
inline auto conv_norm(network& n, std::string const& name, value const& x, std::int64_t out, conv_options const& c)
    -> value
{
    return batch_norm(n, name + ".norm", conv(n, name, x, out, c));
}

inline auto conv_norm_relu(
    network& n, std::string const& name, value const& x, std::int64_t out, conv_options const& c, bool in_place)
    -> value
{
    return relu(n, conv_norm(n, name, x, out, c), in_place);
}

/// The image, a 7 x 7 convolution and a maximum over 3 x 3: a quarter of the size.
inline auto large_stem(network& n, options const& o) -> value
{
    auto const image = n.input("image", {*o.batch, 3, *o.image, *o.image});
    auto const x = conv_norm_relu(n, "stem", image, *o.width, {.kernel = 7, .stride = 2}, *o.in_place);
    return max_pool(n, x, {.kernel = 3, .stride = 2});
}

inline auto classify(network& n, value const& x, options const& o) -> value
{
    auto const pooled = mean(n, x, {x.size(0), x.size(1)});
    return cross_entropy(n, linear(n, "head", pooled, *o.classes));
}

/// The shortcut of a residual block: the input itself, or a convolution of it where size or channels change. Blocks add
/// it first: run between the last norm of the block and a sum into that norm's result, its own norm, which writes state
/// too, would have to run with those two as one.
inline auto shortcut(network& n, value const& x, std::int64_t out, std::int64_t stride) -> value
{
    if (x.size(1) == out && stride == 1) {
        return x;
    }
    return conv_norm(n, "shortcut", x, out, {.kernel = 1, .stride = stride});
}

} // namespace detail

/// ResNet with bottleneck blocks; the 3 x 3 convolution strides.
inline auto resnet(network& n, options const& o, depths const& blocks) -> value
{
    bool const in_place = *o.in_place;
    auto x = detail::large_stem(n, o);
    for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
        auto const width = *o.width << stage;
        for (int i = 0; i < blocks[stage]; ++i) {
            network::scope const in(n, "stage" + std::to_string(stage) + ".block" + std::to_string(i));
            auto const stride = stage > 0 && i == 0 ? 2 : 1;
            auto const past = detail::shortcut(n, x, 4 * width, stride);
            auto y = detail::conv_norm_relu(n, "conv1", x, width, {.kernel = 1}, in_place);
            y = detail::conv_norm_relu(n, "conv2", y, width, {.stride = stride}, in_place);
            y = detail::conv_norm(n, "conv3", y, 4 * width, {.kernel = 1});
            x = relu(n, add(n, y, past, in_place), in_place);
        }
    }
    return detail::classify(n, x, o);
}

/// RegNet Y: grouped convolutions and squeeze-excite, a quarter of the block's input wide inside.
inline auto regnet(network& n,
                   options const& o,
                   depths const& blocks,
                   std::array<std::int64_t, 4> const& widths,
                   std::int64_t group) -> value
{
    bool const in_place = *o.in_place;
    auto const image = n.input("image", {*o.batch, 3, *o.image, *o.image});
    auto x = detail::conv_norm_relu(n, "stem", image, 32, {.stride = 2}, in_place);
    for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
        auto const width = widths[stage];
        for (int i = 0; i < blocks[stage]; ++i) {
            network::scope const in(n, "stage" + std::to_string(stage) + ".block" + std::to_string(i));
            auto const stride = i == 0 ? 2 : 1;
            conv_options const grouped{.stride = stride, .groups = width / group};
            auto const past = detail::shortcut(n, x, width, stride);
            auto y = detail::conv_norm_relu(n, "conv1", x, width, {.kernel = 1}, in_place);
            y = detail::conv_norm_relu(n, "conv2", y, width, grouped, in_place);
            y = squeeze_excite(n, "excite", y, (x.size(1) + 2) / 4, in_place);
            y = detail::conv_norm(n, "conv3", y, width, {.kernel = 1});
            x = relu(n, add(n, y, past, in_place), in_place);
        }
    }
    return detail::classify(n, x, o);
}

/// DenseNet: every layer reads all features made before it in its block, copied side by side.
inline auto densenet(network& n, options const& o, depths const& blocks, std::int64_t growth) -> value
{
    bool const in_place = *o.in_place;
    auto const norm_relu = [&](std::string const& name, value const& v) {
        return relu(n, batch_norm(n, name, v), in_place);
    };
    auto x = detail::large_stem(n, o);
    for (std::size_t block = 0; block < blocks.size(); ++block) {
        std::vector<value> features{x};
        for (int i = 0; i < blocks[block]; ++i) {
            network::scope const in(n, "block" + std::to_string(block) + ".layer" + std::to_string(i));
            auto const all = features.size() == 1 ? x : concat(n, features, 1);
            auto const narrow = conv(n, "conv1", norm_relu("norm1", all), 4 * growth, {.kernel = 1});
            features.push_back(conv(n, "conv2", norm_relu("norm2", narrow), growth));
        }
        x = concat(n, features, 1);
        if (block + 1 < blocks.size()) {
            network::scope const in(n, "transition" + std::to_string(block));
            x = average_pool(n, conv(n, "conv", norm_relu("norm", x), x.size(1) / 2, {.kernel = 1}));
        }
    }
    return detail::classify(n, norm_relu("norm", x), o);
}

} // namespace strata::zoo
