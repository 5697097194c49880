// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Layers over images [batch, channels, height, width].
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "examples/zoo/layers/elementwise.hpp"
#include "examples/zoo/network.hpp"

namespace strata::zoo {

struct conv_options {
    std::int64_t kernel = 3;
    std::int64_t stride = 1;
    std::int64_t groups = 1;
    bool bias = false;
    std::int64_t padding = -1; ///< -1: half the kernel, which keeps the size at stride 1
};

namespace detail {

[[nodiscard]] inline auto window(std::int64_t pixels, conv_options const& o) -> std::int64_t
{
    auto const padding = o.padding < 0 ? o.kernel / 2 : o.padding;
    auto const rest = pixels + 2 * padding - o.kernel;
    if (rest < 0) {
        throw model_error("an image of " + std::to_string(pixels) + " pixels is smaller than a window of " +
                          std::to_string(o.kernel) + "; choose a larger image");
    }
    return rest / o.stride + 1;
}

/// Backward: weights for the gradient of x, x for that of the weights.
inline auto convolve(network& n,
                     char const* type,
                     std::string const& name,
                     value const& x,
                     shape weights,
                     shape y,
                     double work,
                     bool bias) -> value
{
    auto const out = y.at(1);
    std::vector reads{x, n.parameter(name + ".weight", std::move(weights))};
    std::vector trained{of_input(1)};
    if (bias) {
        reads.push_back(n.parameter(name + ".bias", {out}));
        trained.push_back(of_input(2));
    }
    constexpr auto kind = op_kind::convolution;
    return n.add({type, kind, work},
                 reads,
                 {std::move(y)},
                 {.ops = {{op{"conv.input_gradient", kind, work}, {input(1), of_output(0)}, {of_input(0)}},
                          {op{"conv.weight_gradient", kind, work}, {input(0), of_output(0)}, trained}}},
                 {.name = name});
}

} // namespace detail

/// Convolution to `out` channels.
inline auto conv(network& n, std::string const& name, value const& x, std::int64_t out, conv_options o = {}) -> value
{
    if (x.size(1) % o.groups != 0 || out % o.groups != 0) {
        throw model_error("convolution " + name + ": " + std::to_string(x.size(1)) + " and " + std::to_string(out) +
                          " channels do not divide into " + std::to_string(o.groups) + " groups");
    }
    shape weights{out, x.size(1) / o.groups, o.kernel, o.kernel};
    shape y{x.size(0), out, detail::window(x.size(2), o), detail::window(x.size(3), o)};
    auto const work = per_number(2.0 * static_cast<double>(count(weights) / out), y);
    return detail::convolve(n, "conv", name, x, std::move(weights), std::move(y), work, o.bias);
}

/// Transposed convolution, kernel 2 and stride 2: twice the size, `out` channels.
inline auto conv_transpose(network& n, std::string const& name, value const& x, std::int64_t out) -> value
{
    shape weights{x.size(1), out, 2, 2};
    shape y{x.size(0), out, 2 * x.size(2), 2 * x.size(3)};
    auto const work = per_number(2.0 * static_cast<double>(x.size(1)), y);
    return detail::convolve(n, "conv_transpose", name, x, std::move(weights), std::move(y), work, true);
}

/// Backward reads the index of every maximum, 8 bytes each, which forward saves.
inline auto max_pool(network& n, value const& x, conv_options o) -> value
{
    shape const y{x.size(0), x.size(1), detail::window(x.size(2), o), detail::window(x.size(3), o)};
    return n.add(
        {"max_pool", op_kind::reduction, per_number(static_cast<double>(o.kernel * o.kernel), y)},
        {x},
        {y},
        {.saved = {{.name = "indices", .bytes = bytes_of(count(y), 8)}},
         .ops = {
             {op{"max_pool.backward", op_kind::movement, per_number(1, y)}, {saved(0), of_output(0)}, {of_input(0)}}}});
}

namespace detail {

/// An op whose backward reads the gradient of its output and nothing else.
inline auto resample(network& n, op forward, char const* backward, value const& x, shape y) -> value
{
    return n.add(forward,
                 {x},
                 {std::move(y)},
                 {.ops = {{op{backward, forward.kind, forward.flops}, {of_output(0)}, {of_input(0)}}}});
}

} // namespace detail

/// Mean over windows of 2 x 2. Backward reads nothing.
inline auto average_pool(network& n, value const& x) -> value
{
    conv_options const window{.kernel = 2, .stride = 2, .padding = 0};
    shape y{x.size(0), x.size(1), detail::window(x.size(2), window), detail::window(x.size(3), window)};
    return detail::resample(
        n, {"average_pool", op_kind::reduction, per_number(1, x)}, "average_pool.backward", x, std::move(y));
}

/// Mean over all but the given axes of x: pixels of an image, tokens of a sequence. Backward reads nothing.
inline auto mean(network& n, value const& x, shape y) -> value
{
    return detail::resample(n, {"mean", op_kind::reduction, per_number(1, x)}, "mean.backward", x, std::move(y));
}

/// Every pixel four times. Backward reads nothing.
inline auto upsample(network& n, value const& x) -> value
{
    shape y{x.size(0), x.size(1), 2 * x.size(2), 2 * x.size(3)};
    return detail::resample(n, {"upsample", op_kind::movement, 0}, "upsample.backward", x, std::move(y));
}

/// Channels weighed by a small network of their means. Backward of the product reads x and the weights.
inline auto squeeze_excite(network& n, std::string const& name, value const& x, std::int64_t inner, bool in_place)
    -> value
{
    network::scope const in(n, name);
    conv_options const dense{.kernel = 1, .bias = true};
    auto const squeezed = conv(n, "squeeze", mean(n, x, {x.size(0), x.size(1), 1, 1}), inner, dense);
    return multiply(n, x, sigmoid(n, conv(n, "excite", relu(n, squeezed, in_place), x.size(1), dense)));
}

} // namespace strata::zoo
