// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Inference passes for small devices: MobileNetV2, a U-Net on top of it, a randomly wired network.
///
/// Norms and activations are folded into the convolutions, as converters do. The image is what the first op delivers, so
/// it takes room only as long as it is needed; it cannot be delivered again. Weights are resident: on a microcontroller
/// they lie in flash.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "examples/zoo/layers.hpp"
#include "examples/zoo/network.hpp"
#include "examples/zoo/options.hpp"

namespace strata::zoo {

namespace detail {

/// The image, delivered by an op of its own.
inline auto delivered_image(network& n, options const& o) -> value
{
    return n.add({"input", op_kind::movement},
                 {},
                 {shape{*o.batch, 3, *o.image, *o.image}},
                 {},
                 {.name = "image", .effects = effect::once});
}

/// A convolution with its norm and activation folded in.
inline auto folded_conv(network& n, std::string const& name, value const& x, std::int64_t out, conv_options c = {})
    -> value
{
    c.bias = true;
    return conv(n, name, x, out, c);
}

/// The same with one kernel per channel.
inline auto depthwise(network& n, std::string const& name, value const& x, std::int64_t stride) -> value
{
    return folded_conv(n, name, x, x.size(1), {.stride = stride, .groups = x.size(1)});
}

/// The sum of one or more tensors of one shape; one is that tensor itself.
inline auto sum(network& n, std::string const& name, std::vector<value> const& parts) -> value
{
    if (parts.size() == 1) {
        return parts[0];
    }
    auto const work = per_number(static_cast<double>(parts.size()), parts[0]);
    return n.add({"sum", op_kind::elementwise, work}, parts, {parts[0]}, {}, {.name = name});
}

/// `channels` of the published net of 32 first channels for one of `width`: a multiple of 8, not below 90 %.
[[nodiscard]] inline auto scaled(std::int64_t channels, std::int64_t width) -> std::int64_t
{
    auto const exact = channels * width; // in 32nds
    auto const rounded = std::max<std::int64_t>(8, (exact + 4 * 32) / (8 * 32) * 8);
    return rounded * 32 * 10 < exact * 9 ? rounded + 8 : rounded;
}

/// What an inverted residual made.
struct inverted_residual {
    value expanded; ///< the wide features inside
    value out;
};

/// Widen by 1 x 1 (a factor of 1 does not), convolve each channel, narrow by 1 x 1; plus the input where the shape is its.
inline auto invert_residual(network& n, value const& x, std::int64_t factor, std::int64_t out, std::int64_t stride)
    -> inverted_residual
{
    auto const wide = factor == 1 ? x : folded_conv(n, "expand", x, factor * x.size(1), {.kernel = 1});
    auto const y = folded_conv(n, "project", depthwise(n, "depthwise", wide, stride), out, {.kernel = 1});
    return {wide, y.dims == x.dims ? value(add(n, x, y)) : y};
}

/// The stages of MobileNetV2, until the features of 320 channels. Returns: these, and before each halving but the first
/// the expanded features.
struct mobile_features {
    value last;
    std::vector<value> before_halving;
};

inline auto mobile_stages(network& n, options const& o) -> mobile_features
{
    struct stage {
        std::int64_t factor, channels;
        int blocks;
        std::int64_t stride;
    };
    constexpr std::array stages{stage{1, 16, 1, 1},
                                stage{6, 24, 2, 2},
                                stage{6, 32, 3, 2},
                                stage{6, 64, 4, 2},
                                stage{6, 96, 3, 1},
                                stage{6, 160, 3, 2},
                                stage{6, 320, 1, 1}};
    mobile_features r{folded_conv(n, "stem", delivered_image(n, o), scaled(32, *o.width), {.stride = 2}), {}};
    for (std::size_t k = 0; k < stages.size(); ++k) {
        auto const& s = stages[k];
        for (int i = 0; i < s.blocks; ++i) {
            network::scope const in(n, "stage" + std::to_string(k) + ".block" + std::to_string(i));
            auto const stride = i == 0 ? s.stride : 1;
            auto const block = invert_residual(n, r.last, s.factor, scaled(s.channels, *o.width), stride);
            if (stride == 2) {
                r.before_halving.push_back(block.expanded);
            }
            r.last = block.out;
        }
    }
    return r;
}

/// Mean over pixels, and a linear layer.
inline auto scores(network& n, value const& x, options const& o) -> value
{
    return linear(n, "head", mean(n, x, {x.size(0), x.size(1)}), *o.classes);
}

/// Random numbers that are the same everywhere (splitmix64).
class random_numbers {
public:
    explicit random_numbers(std::uint64_t seed)
        : state_(seed)
    {
    }
    auto below(std::size_t n) -> std::size_t
    {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return static_cast<std::size_t>((z ^ (z >> 31U)) % n);
    }

private:
    std::uint64_t state_;
};

/// A small world of `nodes`: a ring in which each node is joined to two neighbours on either side, and three of four of
/// these edges then go elsewhere (Watts and Strogatz). Returns: for each node, the nodes before it that it is joined to.
[[nodiscard]] inline auto small_world(std::size_t nodes, random_numbers& random)
    -> std::vector<std::vector<std::size_t>>
{
    std::vector<std::vector<char>> joined(nodes, std::vector<char>(nodes, 0));
    auto const set = [&](std::size_t a, std::size_t b, char on) { joined[a][b] = joined[b][a] = on; };
    for (std::size_t step = 1; step <= 2; ++step) {
        for (std::size_t a = 0; a < nodes; ++a) {
            set(a, (a + step) % nodes, 1);
        }
    }
    for (std::size_t step = 1; step <= 2; ++step) {
        for (std::size_t a = 0; a < nodes; ++a) {
            auto const full = static_cast<std::size_t>(std::count(joined[a].begin(), joined[a].end(), 1)) + 1 >= nodes;
            if (random.below(4) == 0 || full) {
                continue;
            }
            auto b = random.below(nodes);
            while (b == a || joined[a][b] != 0) {
                b = random.below(nodes);
            }
            set(a, (a + step) % nodes, 0);
            set(a, b, 1);
        }
    }
    std::vector<std::vector<std::size_t>> before(nodes);
    for (std::size_t b = 0; b < nodes; ++b) {
        for (std::size_t a = 0; a < b; ++a) {
            if (joined[a][b] != 0) {
                before[b].push_back(a);
            }
        }
    }
    return before;
}

/// One stage of a randomly wired network: each node sums what it reads and convolves, each channel and then 1 x 1. Nodes
/// with none before them read `x` and halve it; what no node reads is averaged.
inline auto wired_stage(network& n, value const& x, std::size_t nodes, std::int64_t channels, random_numbers& random)
    -> value
{
    auto const wiring = small_world(nodes, random);
    std::vector<value> made;
    std::vector<char> read(nodes, 0);
    for (std::size_t k = 0; k < nodes; ++k) {
        network::scope const in(n, "node" + std::to_string(k));
        std::vector<value> parts;
        for (auto b : wiring[k]) {
            parts.push_back(made[b]);
            read[b] = 1;
        }
        auto const y =
            parts.empty() ? depthwise(n, "depthwise", x, 2) : depthwise(n, "depthwise", sum(n, "sum", parts), 1);
        made.push_back(folded_conv(n, "pointwise", y, channels, {.kernel = 1}));
    }
    std::vector<value> ends;
    for (std::size_t k = 0; k < nodes; ++k) {
        if (read[k] == 0) {
            ends.push_back(made[k]);
        }
    }
    return sum(n, "average", ends);
}

} // namespace detail

/// MobileNetV2. Its blocks follow one another: there is one order, but for nothing.
inline auto mobilenet(network& n, options const& o) -> value
{
    auto const x = detail::mobile_stages(n, o).last;
    auto const wide = std::max<std::int64_t>(1280, detail::scaled(1280, *o.width));
    return detail::scores(n, detail::folded_conv(n, "last", x, wide, {.kernel = 1}), o);
}

/// A U-Net that segments, with MobileNetV2 on the way down. On the way up, every size is joined to the expanded features of
/// the same size, narrowed by a 1 x 1 convolution and added; as usual, that is listed where it is needed.
inline auto mobile_unet(network& n, options const& o) -> value
{
    if (*o.image % 32 != 0) {
        throw model_error("the image size must be a multiple of 32, not " + std::to_string(*o.image));
    }
    auto const down = detail::mobile_stages(n, o);
    auto x = down.last;
    constexpr std::array<std::int64_t, 4> channels{16, 24, 32, 64};
    for (auto level = channels.size(); level-- > 0;) {
        network::scope const in(n, "up" + std::to_string(level));
        auto const out = detail::scaled(channels[level], *o.width);
        auto const larger = conv_transpose(n, "up", x, out);
        auto const same = detail::folded_conv(n, "skip", down.before_halving[level], out, {.kernel = 1});
        auto const joined = add(n, larger, same);
        x = detail::folded_conv(n, "pointwise", detail::depthwise(n, "depthwise", joined, 1), out, {.kernel = 1});
    }
    return conv_transpose(n, "head", x, *o.classes);
}

/// A randomly wired network of three stages (Xie et al., "Exploring randomly wired neural networks for image recognition",
/// ICCV 2019): `layers` nodes each, listed in the order in which they are numbered.
inline auto randwire(network& n, options const& o) -> value
{
    if (*o.layers < 6) {
        throw model_error("a small world needs at least 6 nodes, not " + std::to_string(*o.layers));
    }
    detail::random_numbers random(1);
    auto x = detail::folded_conv(n, "stem", detail::delivered_image(n, o), (*o.width + 1) / 2, {.stride = 2});
    for (int stage = 0; stage < 3; ++stage) {
        network::scope const in(n, "stage" + std::to_string(stage));
        x = detail::wired_stage(n, x, static_cast<std::size_t>(*o.layers), *o.width << stage, random);
    }
    return detail::scores(n, detail::folded_conv(n, "last", x, 1280, {.kernel = 1}), o);
}

} // namespace strata::zoo
