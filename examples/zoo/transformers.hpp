// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Transformers over text: GPT-2, LLaMA, BERT, encoder-decoder. Every function adds a model and answers its loss.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "examples/zoo/layers.hpp"
#include "examples/zoo/network.hpp"
#include "examples/zoo/options.hpp"

namespace strata::zoo {

namespace detail {

/// What attention needs of the options of a model.
[[nodiscard]] inline auto attention_of(options const& o) -> attention_options
{
    return {.heads = *o.heads, .kv_heads = o.kv_heads.value_or(0), .fused = *o.fused, .dropout = o.dropout.value_or(0)};
}

/// Self-attention with one product for queries, keys and values.
inline auto packed_attention(network& n, value const& x, attention_options const& a) -> value
{
    network::scope const in(n, "attention");
    auto const d = x.size(-1);
    auto const parts = split(n, linear(n, "qkv", x, 3 * d), {d, d, d});
    return linear(n, "out", attention(n, parts[0], parts[1], parts[2], a), d);
}

/// Attention of `x` over `memory`, which may be `x` itself, with a product each.
inline auto
attention_over(network& n, std::string const& name, value const& x, value const& memory, attention_options const& a)
    -> value
{
    network::scope const in(n, name);
    auto const d = x.size(-1);
    auto const query = linear(n, "query", x, d);
    auto const key = linear(n, "key", memory, d);
    return linear(n, "out", attention(n, query, key, linear(n, "value", memory, d), a), d);
}

/// The block of GPT-2 and of vision transformers: normalise, transform, add.
inline auto pre_norm_block(network& n, value x, std::int64_t hidden, attention_options const& a) -> value
{
    auto const y = packed_attention(n, layer_norm(n, "norm1", x), a);
    x = add(n, x, dropout(n, y, a.dropout));
    auto const inner = gelu(n, linear(n, "up", layer_norm(n, "norm2", x), hidden));
    return add(n, x, dropout(n, linear(n, "down", inner, x.size(-1)), a.dropout));
}

/// Adds what a sub-layer made to what went in, then normalises.
inline auto add_and_norm(network& n, std::string const& name, value const& x, value const& y, double rate) -> value
{
    return layer_norm(n, name, add(n, x, dropout(n, y, rate)));
}

} // namespace detail

/// GPT-2: learned positions, tied embedding. Positions are trained for at least 1024 tokens.
inline auto gpt2(network& n, options const& o) -> value
{
    auto const d = *o.width;
    auto const tokens = ids(n, "tokens", {*o.batch, *o.seq});
    auto const table = n.parameter("tokens.weight", {*o.vocab, d});
    auto const positions = n.parameter("positions.weight", {std::max<std::int64_t>(1024, *o.seq), d});
    auto x = embedding(n, "embed", tokens, table);
    x = dropout(n, add_broadcast(n, x, slice(n, positions, {*o.seq, d})), *o.dropout);
    auto a = detail::attention_of(o);
    a.causal = true;
    for (std::int64_t i = 0; i < *o.layers; ++i) {
        network::scope const in(n, "h" + std::to_string(i));
        x = detail::pre_norm_block(n, x, *o.hidden, a);
    }
    auto const logits = product(n, "head", layer_norm(n, "norm", x), table);
    return cross_entropy(n, logits);
}

/// LLaMA: root mean square norm, rotary positions, gated feed-forward, optionally fewer heads for keys and values.
inline auto llama(network& n, options const& o) -> value
{
    auto const d = *o.width;
    auto a = detail::attention_of(o);
    a.causal = true;
    auto const kv_width = d / *o.heads * a.kv_heads;
    auto const angles = n.input("angles", {*o.seq, d / *o.heads}, 4);
    auto const tokens = ids(n, "tokens", {*o.batch, *o.seq});
    auto x = embedding(n, "embed", tokens, n.parameter("tokens.weight", {*o.vocab, d}));
    for (std::int64_t i = 0; i < *o.layers; ++i) {
        network::scope const in(n, "layer" + std::to_string(i));
        auto const y = rms_norm(n, "norm1", x);
        auto const query = rotary(n, linear(n, "query", y, d, false), angles);
        auto const key = rotary(n, linear(n, "key", y, kv_width, false), angles);
        auto const mixed = attention(n, query, key, linear(n, "value", y, kv_width, false), a);
        x = add(n, x, linear(n, "out", mixed, d, false));
        auto const z = rms_norm(n, "norm2", x);
        auto const gate = silu(n, linear(n, "gate", z, *o.hidden, false));
        auto const inner = multiply(n, gate, linear(n, "up", z, *o.hidden, false));
        x = add(n, x, linear(n, "down", inner, d, false));
    }
    auto const logits = linear(n, "head", rms_norm(n, "norm", x), *o.vocab, false);
    return cross_entropy(n, logits);
}

/// BERT in pre-training: masked tokens and next sentence, padding mask, post-norm. Positions are trained for at least 512
/// tokens.
inline auto bert(network& n, options const& o) -> value
{
    auto const d = *o.width;
    shape const words{*o.batch, *o.seq};
    auto const table = n.parameter("tokens.weight", {*o.vocab, d});
    auto const positions = n.parameter("positions.weight", {std::max<std::int64_t>(512, *o.seq), d});
    auto x = embedding(n, "embed", ids(n, "tokens", words), table);
    auto const types = n.parameter("types.weight", {2, d});
    x = add(n, x, embedding(n, "embed_type", ids(n, "types", words), types));
    x = layer_norm(n, "embed_norm", add_broadcast(n, x, slice(n, positions, {*o.seq, d})));
    x = dropout(n, x, *o.dropout);
    auto a = detail::attention_of(o);
    a.mask = n.input("padding", {*o.batch, 1, 1, *o.seq});
    for (std::int64_t i = 0; i < *o.layers; ++i) {
        network::scope const in(n, "layer" + std::to_string(i));
        x = detail::add_and_norm(n, "norm1", x, detail::attention_over(n, "attention", x, x, a), a.dropout);
        auto const inner = linear(n, "down", gelu(n, linear(n, "up", x, *o.hidden)), d);
        x = detail::add_and_norm(n, "norm2", x, inner, a.dropout);
    }
    auto const guess = layer_norm(n, "mlm_norm", gelu(n, linear(n, "mlm", x, d)));
    auto const logits = product(n, "mlm_head", guess, table, n.parameter("mlm_head.bias", {*o.vocab}));
    auto const first = slice(n, x, {*o.batch, d});
    auto const pooled = tanh(n, linear(n, "pooler", first, d));
    auto const next = cross_entropy(n, linear(n, "nsp_head", pooled, 2), "is_next");
    return add(n, cross_entropy(n, logits), next);
}

/// The encoder-decoder of "Attention is all you need": post-norm, fixed positions, one embedding for everything. Every
/// decoder layer reads the output of the encoder.
inline auto encoder_decoder(network& n, options const& o) -> value
{
    auto const d = *o.width;
    shape const words{*o.batch, *o.seq};
    auto const table = n.parameter("tokens.weight", {*o.vocab, d});
    auto const positions = n.input("positions", {*o.seq, d});
    auto padded = detail::attention_of(o);
    padded.mask = n.input("padding", {*o.batch, 1, 1, *o.seq});
    auto causal = detail::attention_of(o);
    causal.causal = true;
    auto const embed = [&](std::string const& name) {
        auto const x = embedding(n, name + "_embed", ids(n, name, words), table);
        return dropout(n, add_broadcast(n, x, positions), *o.dropout);
    };
    auto const feed_forward = [&](value const& x) {
        return linear(n, "down", relu(n, linear(n, "up", x, *o.hidden), *o.in_place), d);
    };
    auto x = embed("source");
    for (std::int64_t i = 0; i < *o.layers; ++i) {
        network::scope const in(n, "encoder" + std::to_string(i));
        x = detail::add_and_norm(n, "norm1", x, detail::attention_over(n, "attention", x, x, padded), *o.dropout);
        x = detail::add_and_norm(n, "norm2", x, feed_forward(x), *o.dropout);
    }
    auto const memory = x;
    x = embed("target");
    for (std::int64_t i = 0; i < *o.layers; ++i) {
        network::scope const in(n, "decoder" + std::to_string(i));
        x = detail::add_and_norm(n, "norm1", x, detail::attention_over(n, "attention", x, x, causal), *o.dropout);
        x = detail::add_and_norm(n, "norm2", x, detail::attention_over(n, "cross", x, memory, padded), *o.dropout);
        x = detail::add_and_norm(n, "norm3", x, feed_forward(x), *o.dropout);
    }
    return cross_entropy(n, product(n, "head", x, table));
}

} // namespace strata::zoo
