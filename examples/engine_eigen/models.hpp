// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The two networks: a transformer that learns to continue a text, and a convolutional net that tells patterns
/// apart.
#pragma once

#include <strata/result.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "examples/engine_eigen/layers.hpp"
#include "examples/engine_eigen/network.hpp"
#include "examples/engine_eigen/text.hpp"

namespace engine_eigen {

struct gpt_options {
    index layers = 8;
    index width = 32;
    index heads = 4;
    index context = 64;
    index batch = 8;
    float dropout = 0.1F;
};

/// A text as numbers: each letter is its place among the letters that occur.
struct encoded_text {
    explicit encoded_text(std::string_view text)
    {
        std::string letters(text);
        std::sort(letters.begin(), letters.end());
        letters.erase(std::unique(letters.begin(), letters.end()), letters.end());
        vocabulary = static_cast<index>(letters.size());
        for (auto const c : text) {
            tokens.push_back(static_cast<std::int32_t>(letters.find(c)));
        }
    }
    std::vector<std::int32_t> tokens;
    index vocabulary = 0;
};

/// Learns from stretches of `training_text`, letter by letter.
[[nodiscard]] inline auto gpt(gpt_options const& o = {}) -> strata::result<model>
{
    encoded_text text(training_text);
    network n("gpt");
    auto const tokens = n.input("tokens", {o.batch, o.context}, sizeof(std::int32_t));
    auto const targets = n.input("targets", {o.batch, o.context}, sizeof(std::int32_t));
    auto x = embedding(n, "embedding", tokens, text.vocabulary, o.width);
    x = dropout(n, "embedding.dropout", x, o.dropout);
    for (index l = 0; l < o.layers; ++l) {
        auto const in = std::to_string(l) + ".";
        auto h = layer_norm(n, in + "attention.norm", x);
        h = linear(n, in + "attention.in", h, 3 * o.width);
        h = attention(n, in + "attention", h, o.heads);
        h = linear(n, in + "attention.out", h, o.width);
        h = dropout(n, in + "attention.dropout", h, o.dropout);
        x = add(n, in + "attention.add", x, h);
        h = layer_norm(n, in + "mlp.norm", x);
        h = linear(n, in + "mlp.in", h, 4 * o.width);
        h = gelu(n, in + "mlp.gelu", h);
        h = linear(n, in + "mlp.out", h, o.width);
        h = dropout(n, in + "mlp.dropout", h, o.dropout);
        x = add(n, in + "mlp.add", x, h);
    }
    auto const logits = linear(n, "head", layer_norm(n, "norm", x), text.vocabulary);
    auto made = std::move(n).train(cross_entropy(n, "loss", logits, targets));
    if (made) {
        made->next_batch = [o, text = std::move(text.tokens), from = tokens.id, to = targets.id](
                               generator& random, resident_memory& memory) {
            auto const input = memory.as<std::int32_t>(from);
            auto const target = memory.as<std::int32_t>(to);
            auto const context = static_cast<std::size_t>(o.context);
            for (std::size_t i = 0; i < input.size(); i += context) {
                auto const begin = static_cast<std::size_t>(random.below(text.size() - context));
                for (std::size_t k = 0; k < context; ++k) {
                    input[i + k] = text[begin + k];
                    target[i + k] = text[begin + k + 1];
                }
            }
        };
    }
    return made;
}

struct convnet_options {
    index batch = 32;
    index pixels = 16;
    index channels = 8; ///< of the first stage; each stage has half the pixels per side and twice the channels
    std::vector<index> blocks = {8, 6, 4};
    float dropout = 0.2F;
};

/// Number of kinds of pattern.
inline constexpr index pattern_count = 10;

/// Draws pattern `kind` into `pixels` times `pixels` numbers: waves of two lengths in four directions, rings, and
/// chequers, each somewhere else every time, under noise.
inline void draw_pattern(generator& random, std::int32_t kind, index pixels, std::span<float> to)
{
    auto const turn = 2 * std::numbers::pi_v<float>;
    auto const phase = turn * random.uniform();
    auto const x0 = static_cast<float>(pixels) * random.uniform();
    auto const y0 = static_cast<float>(pixels) * random.uniform();
    auto const frequency = turn * (kind < 4 ? 0.125F : 0.25F);
    auto const angle = turn / 8 * static_cast<float>(kind % 4);
    std::size_t k = 0;
    for (index row = 0; row < pixels; ++row) {
        for (index column = 0; column < pixels; ++column) {
            auto const x = static_cast<float>(column) - x0;
            auto const y = static_cast<float>(row) - y0;
            float v = 0;
            if (kind < 8) {
                v = std::sin(frequency * (std::cos(angle) * x + std::sin(angle) * y) + phase);
            } else if (kind == 8) {
                v = std::sin(frequency * std::hypot(x, y) + phase);
            } else {
                v = std::sin(frequency * x) * std::sin(frequency * y) > 0 ? 1.0F : -1.0F;
            }
            to[k++] = v + 0.5F * random.normal();
        }
    }
}

/// Learns to tell the patterns apart.
[[nodiscard]] inline auto convnet(convnet_options const& o = {}) -> strata::result<model>
{
    network n("convnet");
    auto const images = n.input("images", {o.batch, 1, o.pixels, o.pixels});
    auto const targets = n.input("targets", {o.batch}, sizeof(std::int32_t));
    auto x = images;
    auto channels = o.channels;
    for (std::size_t stage = 0; stage < o.blocks.size(); ++stage, channels *= 2) {
        auto const in = std::to_string(stage) + ".";
        if (stage > 0) {
            x = max_pool(n, in + "pool", x);
        }
        for (index b = 0; b < o.blocks[stage]; ++b) {
            auto const name = in + std::to_string(b) + ".";
            x = convolution(n, name + "convolution", x, channels);
            x = batch_norm(n, name + "norm", x);
            x = relu_in_place(n, name + "relu", x);
        }
    }
    x = flatten(n, "flatten", global_average_pool(n, "average", x));
    x = dropout(n, "dropout", x, o.dropout);
    auto const logits = linear(n, "head", x, pattern_count);
    auto made = std::move(n).train(cross_entropy(n, "loss", logits, targets));
    if (made) {
        made->next_batch = [o, from = images.id, to = targets.id](generator& random, resident_memory& memory) {
            auto const input = memory.as(from);
            auto const size = static_cast<std::size_t>(o.pixels * o.pixels);
            std::size_t i = 0;
            for (auto& kind : memory.as<std::int32_t>(to)) {
                kind = static_cast<std::int32_t>(random.below(pattern_count));
                draw_pattern(random, kind, o.pixels, input.subspan(size * i++, size));
            }
        };
    }
    return made;
}

} // namespace engine_eigen
