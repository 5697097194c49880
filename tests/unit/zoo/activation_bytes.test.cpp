// SPDX-License-Identifier: Apache-2.0
// Bytes that forward keeps for backward, by a closed formula per layer or stage that knows nothing of the builder.
// Letters: b batch, s tokens, d width, m width of the feed-forward block, a heads, v vocabulary, e bytes per number,
// p pixels. Statistics are fp32: 8 bytes a row (mean, deviation), or 4 (root mean square, log-sum-exp).
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "examples/zoo/models.hpp"
#include "tests/support/catch.hpp"

namespace zoo_activation_bytes_test {

using namespace strata;
using strata::zoo::dtype;
using bytes = std::int64_t;

/// Bytes made in forward and read in backward, parameters and inputs left out.
auto kept(std::string const& model, zoo::options const& o) -> bytes
{
    auto const p = zoo::make_problem(model, o).value();
    bytes sum = 0;
    for (tensor_id t = 0; t < p.tensor_count(); ++t) {
        if (p.resident(t) || p.op(p.producer(t)).phase != phase::forward) {
            continue;
        }
        for (auto reader : p.consumers(t)) {
            if (p.op(reader).phase == phase::backward) {
                sum += p.size(t);
                break;
            }
        }
    }
    return sum;
}

/// Logits and the statistic of the cross entropy.
auto head(bytes rows, bytes classes, bytes e) -> bytes { return rows * classes * e + 4 * rows; }

TEST_CASE("zoo: GPT-2 keeps sbd (34 + 5 a s / d) bytes a layer, and its statistics")
{
    bytes const b = 3, s = 40, d = 24, a = 4, v = 100, layers = 3;
    zoo::options const o{.layers = layers, .batch = b, .seq = s, .width = d, .heads = a, .vocab = v};
    auto const layer = s * b * d * 34 + 5 * a * s * s * b + 2 * 8 * s * b;
    auto const ends = s * b * d /* embedding's mask */ + 2 * 2 * s * b * d + 8 * s * b /* last norm */;
    CHECK(kept("gpt2-medium", o) == layers * layer + ends + head(s * b, v, 2));
}

TEST_CASE("zoo: without dropout GPT-2 keeps neither masks nor dropped probabilities, fused, one number a row")
{
    bytes const b = 2, s = 32, d = 16, a = 2, v = 50, layers = 2, e = 4;
    zoo::options o{.layers = layers, .batch = b, .seq = s, .width = d, .heads = a, .vocab = v};
    o.dropout = 0;
    o.dtype = dtype::fp32;
    auto const body = 16 * e * s * b * d + 2 * 8 * s * b;
    auto const ends = 2 * e * s * b * d + 8 * s * b + head(s * b, v, e);
    CHECK(kept("gpt2-small", o) == layers * (body + e * a * s * s * b) + ends);
    o.fused = true;
    CHECK(kept("gpt2-small", o) == layers * (body + 4 * a * s * b) + ends);
}

TEST_CASE("zoo: LLaMA keeps six widths, keys, values and four hidden widths a layer")
{
    bytes const b = 2, s = 24, d = 32, m = 88, a = 4, groups = 2, v = 60, layers = 3, e = 2;
    zoo::options o{.layers = layers, .batch = b, .seq = s, .width = d, .hidden = m, .heads = a, .vocab = v};
    o.kv_heads = groups;
    auto const body = e * s * b * (6 * d + 4 * m) + 2 * 4 * s * b;
    auto const ends = e * 2 * s * b * d + 4 * s * b + head(s * b, v, e);
    auto const kv = d / a * groups;
    CHECK(kept("llama-7b", o) == layers * (body + e * s * b * 2 * kv + 4 * a * s * b) + ends);
    // Op by op, keys and values are copied for every head, and the copies are what backward reads.
    o.fused = false;
    CHECK(kept("llama-7b", o) == layers * (body + e * s * b * 2 * d + e * a * s * s * b) + ends);
    o.kv_heads = a;
    CHECK(kept("llama-7b", o) == layers * (body + e * s * b * 2 * d + e * a * s * s * b) + ends);
}

TEST_CASE("zoo: BERT keeps what GPT-2 does a layer, and two heads")
{
    bytes const b = 2, s = 20, d = 32, a = 4, v = 70, layers = 2;
    zoo::options const o{.layers = layers, .batch = b, .seq = s, .width = d, .heads = a, .vocab = v};
    auto const layer = s * b * d * 34 + 5 * a * s * s * b + 2 * 8 * s * b;
    auto const embedding = 2 * s * b * d + 8 * s * b + s * b * d;
    auto const words = 4 * 2 * s * b * d + 8 * s * b + head(s * b, v, 2); // last layer's result, and three of the head
    auto const next = 2 * b * d + head(b, 2, 2);
    CHECK(kept("bert-large", o) == layers * layer + embedding + words + next);
}

TEST_CASE("zoo: every decoder layer keeps a second attention, the encoder's output is kept once")
{
    bytes const b = 2, s = 12, d = 24, m = 40, a = 3, v = 50, layers = 2, e = 2;
    zoo::options o{.layers = layers, .batch = b, .seq = s, .width = d, .hidden = m, .heads = a, .vocab = v};
    auto const square = (2 * e + 1) * a * s * s * b;
    auto const encoder = e * s * b * (8 * d + m) + 2 * s * b * d + 2 * 8 * s * b + square;
    auto const decoder = e * s * b * (14 * d + m) + 3 * s * b * d + 3 * 8 * s * b + 2 * square;
    auto const masks = 2 * s * b * d;
    auto const memory = e * s * b * d;
    auto const last = e * s * b * d + head(s * b, v, e);
    auto const all = layers * (encoder + decoder) + masks + memory + last;
    CHECK(kept("encoder-decoder", o) == all);
    // Out of place, the sums before the activation still are nobody's need.
    o.in_place = false;
    CHECK(kept("encoder-decoder", o) == all);
}

TEST_CASE("zoo: a vision transformer keeps 16 widths and its probabilities a layer")
{
    bytes const b = 2, image = 64, d = 32, a = 4, c = 10, layers = 2, e = 2;
    auto const s = (image / 16) * (image / 16) + 1;
    zoo::options const o{.layers = layers, .batch = b, .image = image, .width = d, .heads = a, .classes = c};
    auto const layer = e * (16 * s * b * d + a * s * s * b) + 2 * 8 * s * b;
    CHECK(kept("vit-l", o) == layers * layer + e * 2 * s * b * d + 8 * s * b + head(b, c, e));
}

TEST_CASE("zoo: a mixer keeps a copy of its tokens turned over")
{
    bytes const b = 2, image = 48, d = 32, m = 96, c = 10, layers = 2, e = 2;
    auto const t = (image / 16) * (image / 16);
    zoo::options const o{
        .layers = layers, .batch = b, .image = image, .width = d, .hidden = m, .classes = c, .dtype = dtype::bf16};
    auto const layer = e * b * (4 * t * d + 2 * d * (d / 2) + 2 * t * m) + 2 * 8 * b * t;
    CHECK(kept("mlp-mixer", o) == layers * layer + e * b * (t * d + d) + 8 * b * t + head(b, c, e));
}

/// Pixels after a window that halves, rounding up.
auto half(bytes side) -> bytes { return (side + 1) / 2; }

/// Convolution and norm of both first stages of ResNet and DenseNet, the norm's result, and the maximum with indices.
auto stem(bytes b, bytes side, bytes w, bytes e) -> bytes
{
    auto const p1 = half(side) * half(side);
    auto const p2 = half(half(side)) * half(half(side));
    return b * w * (2 * p1 * e + p2 * (e + 8)) + 8 * w;
}

TEST_CASE("zoo: a ResNet keeps two tensors per convolution, stage by stage")
{
    bytes const b = 2, w = 16, c = 10, e = 4;
    for (auto const& [name, blocks] :
         {std::pair("resnet50", std::array{3, 4, 6, 3}), std::pair("resnet101", std::array{3, 4, 23, 3})}) {
        for (bytes const side : {64, 72}) {
            auto sum = stem(b, side, w, e);
            auto now = half(half(side));
            for (std::size_t k = 0; k < 4; ++k) {
                auto const inner = w << k;
                for (int i = 0; i < blocks[k]; ++i) {
                    auto const then = k > 0 && i == 0 ? half(now) : now;
                    auto const outer = 4 * inner * then * then;
                    sum += b * e * (2 * inner * now * now + 2 * inner * then * then + 2 * outer);
                    sum += 8 * (inner + inner + 4 * inner);
                    if (i == 0) {
                        sum += b * e * outer + 8 * 4 * inner; // what the shortcut's norm reads
                    }
                    now = then;
                }
            }
            sum += b * e * 32 * w + head(b, c, e);
            zoo::options o{.batch = b, .image = side, .width = w, .classes = c};
            CHECK(kept(name, o) == sum);
            // Out of place, the norm before each activation is still nobody's need: only the result of the activation is.
            o.in_place = false;
            CHECK(kept(name, o) == sum);
        }
    }
}

TEST_CASE("zoo: a RegNet keeps the gates of squeeze-excite and what they weigh")
{
    bytes const b = 2, side = 64, c = 10, e = 2;
    std::array const depth{2, 4, 10, 1};
    std::array<bytes, 4> const width{224, 448, 896, 2016};
    auto now = half(side);
    bytes before = 32;
    auto sum = b * e * 2 * before * now * now + 8 * before;
    for (std::size_t k = 0; k < 4; ++k) {
        for (int i = 0; i < depth[k]; ++i) {
            auto const w = width[k];
            auto const then = i == 0 ? half(now) : now;
            sum += b * e * w * (2 * now * now + 5 * then * then) + 3 * 8 * w;
            sum += b * e * (2 * w + before / 4); // means, gates, and the narrow layer between
            sum += i == 0 ? b * e * w * then * then + 8 * w : 0;
            before = w;
            now = then;
        }
    }
    sum += b * e * before + head(b, c, e);
    CHECK(kept("regnet", {.batch = b, .image = side, .classes = c, .dtype = dtype::fp16}) == sum);
}

TEST_CASE("zoo: a DenseNet keeps every concatenation and its normalised copy")
{
    bytes const b = 2, side = 64, w = 64, c = 10, e = 4;
    auto sum = stem(b, side, w, e) - b * w * e * 16 * 16; // the first block's input is counted there
    auto now = half(half(side));
    auto channels = w;
    std::array const depth{6, 12, 24, 16};
    for (std::size_t k = 0; k < 4; ++k) {
        auto const p = now * now;
        for (int i = 0; i < depth[k]; ++i, channels += 32) {
            sum += b * e * p * (2 * channels + 2 * 128) + 8 * (channels + 128);
        }
        sum += b * e * p * 2 * channels + 8 * channels; // before the transition, and before the head
        if (k < 3) {
            channels /= 2;
            now /= 2;
        }
    }
    sum += b * e * channels + head(b, c, e);
    CHECK(kept("densenet121", {.batch = b, .image = side, .classes = c}) == sum);
}

TEST_CASE("zoo: a U-Net keeps four tensors a size on either side, and what is joined")
{
    bytes const b = 2, side = 32, w = 8, c = 3, e = 4;
    bytes sum = 0;
    for (int level = 0; level <= 4; ++level) {
        auto const p = (side >> level) * (side >> level);
        auto const twice = b * e * p * 4 * (w << level) + 2 * 8 * (w << level);
        sum += twice;
        sum += level > 0 ? b * p * (w << (level - 1)) * (e + 8) : 0; // maximum and its indices
        sum += level < 4 ? twice + b * e * p * 2 * (w << level) : 0; // the way up, with its concatenation
    }
    sum += b * e * side * side * c;
    CHECK(kept("unet", {.batch = b, .image = side, .width = w, .classes = c}) == sum);
}

TEST_CASE("zoo: a diffusion U-Net keeps six tensors a block, and five and the probabilities an attention")
{
    bytes const b = 2, side = 16, w = 64, e = 4;
    auto const pixels = [&](int level) { return (side >> level) * (side >> level); };
    auto const width = [&](int level) { return level == 0 ? w : 2 * w; };
    auto const statistics = 2 * 32 * b * 4;
    auto const block = [&](bytes from, bytes to, bytes p) {
        return b * p * (3 * e * from + 3 * e * to + to) + 2 * statistics + b * e * 4 * w;
    };
    auto const attention = [&](bytes c, bytes p) { return b * e * (6 * c * p + p * p) + statistics; };
    // The embedded time, before and after its activation (the result of the second product is read by every block).
    auto sum = b * e * 3 * 4 * w;
    // On the way down, what a block reads is what the last op made; each side by side copy on the way up is new.
    std::array<bytes, 12> skips{w};
    std::size_t n = 1;
    auto c = w;
    for (int level = 0; level < 4; ++level) {
        for (int i = 0; i < 2; ++i) {
            sum += block(c, width(level), pixels(level));
            c = width(level);
            sum += level == 1 ? attention(c, pixels(level)) : 0;
            skips.at(n++) = c;
        }
        if (level < 3) {
            sum += b * e * c * pixels(level); // read by the convolution that halves
            skips.at(n++) = c;
        }
    }
    sum += 2 * block(c, c, pixels(3)) + attention(c, pixels(3));
    for (int level = 3; level >= 0; --level) {
        for (int i = 0; i < 3; ++i) {
            sum += block(c + skips.at(--n), width(level), pixels(level));
            c = width(level);
            sum += level == 1 ? attention(c, pixels(level)) : 0;
        }
        sum += level > 0 ? b * e * c * pixels(level - 1) : 0; // enlarged, for the convolution
    }
    sum += b * e * pixels(0) * (3 * w + 3) + statistics; // the last norm, and what is predicted
    CHECK(n == 0);
    CHECK(kept("diffusion-unet", {.batch = b, .image = side, .width = w}) == sum);
}

TEST_CASE("zoo: an LSTM keeps gates, cell, state and input of every step")
{
    bytes const b = 3, s = 5, d = 16, v = 40, layers = 3, e = 4;
    auto const step = b * d * (e * (4 + 1 + 1 + 1) + 1);
    auto const last_states = layers * b * d * e; // nobody multiplies them
    CHECK(kept("lstm", {.layers = layers, .batch = b, .seq = s, .width = d, .vocab = v}) ==
          layers * s * step - last_states + s * b * d * (e + 1) + head(s * b, v, e));
}

TEST_CASE("zoo: Mamba keeps the states of every token, or, fused, of every chunk")
{
    bytes const b = 2, s = 30, d = 32, v = 40, n = 4, layers = 2, e = 2;
    auto const body = e * s * b * (2 * d + 4 * d + 6 * 2 * d + d / 16 + 2 * n) + 4 * s * b;
    auto const ends = e * 2 * s * b * d + 4 * s * b + head(s * b, v, e);
    zoo::options o{.layers = layers, .batch = b, .seq = s, .width = d, .vocab = v, .state = n};
    CHECK(kept("mamba", o) == layers * (body + 4 * b * 2 * 2 * d * n) + ends);
    o.fused = false;
    CHECK(kept("mamba", o) == layers * (body + 4 * b * s * 2 * d * n) + ends);
}

} // namespace zoo_activation_bytes_test
