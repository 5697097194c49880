// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Small models of the usual kinds, each with its loss, as a user of libtorch writes them.
#pragma once

#include <ATen/ATen.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/modules/rnn.h>

#include <cmath>
#include <cstdint>
#include <tuple>
#include <vector>

namespace finetune {

namespace nn = ::torch::nn;
using at::Tensor;

inline auto class_loss(Tensor const& scores, Tensor const& labels) -> Tensor
{
    return at::cross_entropy_loss(scores.flatten(0, -2), labels.flatten());
}

struct mlp_impl : nn::Module {
    explicit mlp_impl(std::int64_t width = 64, int layers = 6)
    {
        for (int i = 0; i < layers; ++i) {
            all->push_back(nn::Linear(width, width));
        }
        register_module("all", all);
        last = register_module("last", nn::Linear(width, 10));
    }
    auto forward(Tensor x, Tensor const& labels) -> Tensor
    {
        for (auto& layer : *all) {
            x = at::gelu(layer->as<nn::Linear>()->forward(x));
        }
        return class_loss(last(x), labels);
    }
    nn::ModuleList all;
    nn::Linear last{nullptr};
};
TORCH_MODULE_IMPL(mlp, mlp_impl);

struct block_impl : nn::Module {
    block_impl(std::int64_t d, std::int64_t h, std::int64_t t, double p)
        : heads(h)
    {
        before = register_module("before", nn::LayerNorm(nn::LayerNormOptions({d})));
        between = register_module("between", nn::LayerNorm(nn::LayerNormOptions({d})));
        qkv = register_module("qkv", nn::Linear(d, 3 * d));
        out = register_module("out", nn::Linear(d, d));
        up = register_module("up", nn::Linear(d, 4 * d));
        down = register_module("down", nn::Linear(4 * d, d));
        drop = register_module("drop", nn::Dropout(p));
        mask = register_buffer("mask", at::ones({t, t}).tril().eq(0));
    }
    auto forward(Tensor x) -> Tensor
    {
        auto const b = x.size(0), t = x.size(1), d = x.size(2);
        auto const part = qkv(before(x)).chunk(3, 2);
        auto const split = [&](Tensor const& y) { return y.view({b, t, heads, d / heads}).transpose(1, 2); };
        auto scores = at::matmul(split(part[0]), split(part[1]).transpose(2, 3)) *
                      (1.0 / std::sqrt(static_cast<double>(d / heads)));
        scores = at::softmax(scores.masked_fill(mask, -1e9), -1);
        auto const y = at::matmul(drop(scores), split(part[2])).transpose(1, 2).contiguous().view({b, t, d});
        x = x + out(y);
        return x + drop(down(at::gelu(up(between(x)))));
    }
    std::int64_t heads;
    nn::LayerNorm before{nullptr}, between{nullptr};
    nn::Linear qkv{nullptr}, out{nullptr}, up{nullptr}, down{nullptr};
    nn::Dropout drop{nullptr};
    Tensor mask;
};
TORCH_MODULE_IMPL(block, block_impl);

/// GPT-2, small: dropout, and weights tied between the embedding and the head.
struct gpt_impl : nn::Module {
    explicit gpt_impl(std::int64_t v = 50, std::int64_t t = 32, std::int64_t d = 32, std::int64_t h = 4, int layers = 4)
    {
        tokens = register_module("tokens", nn::Embedding(v, d));
        places = register_module("places", nn::Embedding(t, d));
        for (int i = 0; i < layers; ++i) {
            blocks->push_back(block(d, h, t, 0.1));
        }
        register_module("blocks", blocks);
        norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({d})));
        drop = register_module("drop", nn::Dropout(0.1));
        place = register_buffer("place", at::arange(t));
    }
    auto forward(Tensor const& words, Tensor const& next) -> Tensor
    {
        auto x = drop(tokens(words) + places(place));
        for (auto& b : *blocks) {
            x = b->as<block_impl>()->forward(x);
        }
        return class_loss(at::matmul(norm(x), tokens->weight.t()), next);
    }
    nn::Embedding tokens{nullptr}, places{nullptr};
    nn::ModuleList blocks;
    nn::LayerNorm norm{nullptr};
    nn::Dropout drop{nullptr};
    Tensor place;
};
TORCH_MODULE_IMPL(gpt, gpt_impl);

inline auto conv(std::int64_t from, std::int64_t to) -> nn::Conv2d
{
    return nn::Conv2d(nn::Conv2dOptions(from, to, 3).padding(1).bias(false));
}

/// A residual block with batch normalisation, and in-place activation and addition.
struct residual_impl : nn::Module {
    explicit residual_impl(std::int64_t c)
    {
        first = register_module("first", conv(c, c));
        second = register_module("second", conv(c, c));
        norm1 = register_module("norm1", nn::BatchNorm2d(c));
        norm2 = register_module("norm2", nn::BatchNorm2d(c));
    }
    auto forward(Tensor const& x) -> Tensor
    {
        auto y = norm1(first(x)).relu_();
        y = norm2(second(y));
        y += x;
        return y.relu_();
    }
    nn::Conv2d first{nullptr}, second{nullptr};
    nn::BatchNorm2d norm1{nullptr}, norm2{nullptr};
};
TORCH_MODULE_IMPL(residual, residual_impl);

struct resnet_impl : nn::Module {
    explicit resnet_impl(std::int64_t c = 8, int blocks_count = 4)
    {
        stem = register_module("stem", conv(3, c));
        norm = register_module("norm", nn::BatchNorm2d(c));
        for (int i = 0; i < blocks_count; ++i) {
            blocks->push_back(residual(c));
        }
        register_module("blocks", blocks);
        drop = register_module("drop", nn::Dropout(0.2));
        head = register_module("head", nn::Linear(c, 10));
    }
    auto forward(Tensor const& x, Tensor const& labels) -> Tensor
    {
        auto y = at::max_pool2d(norm(stem(x)).relu_(), 2);
        for (auto& b : *blocks) {
            y = b->as<residual_impl>()->forward(y);
        }
        return class_loss(head(drop(at::adaptive_avg_pool2d(y, {1, 1}).flatten(1))), labels);
    }
    nn::Conv2d stem{nullptr};
    nn::BatchNorm2d norm{nullptr};
    nn::ModuleList blocks;
    nn::Dropout drop{nullptr};
    nn::Linear head{nullptr};
};
TORCH_MODULE_IMPL(resnet, resnet_impl);

struct lstm_impl : nn::Module {
    lstm_impl()
    {
        cells = register_module("cells", nn::LSTM(nn::LSTMOptions(16, 24).num_layers(2).batch_first(true)));
        head = register_module("head", nn::Linear(24, 10));
    }
    auto forward(Tensor const& x, Tensor const& labels) -> Tensor
    {
        return class_loss(head(std::get<0>(cells(x))), labels);
    }
    nn::LSTM cells{nullptr};
    nn::Linear head{nullptr};
};
TORCH_MODULE_IMPL(lstm, lstm_impl);

/// A U-Net: down, up, and a skip between the two at every level.
struct unet_impl : nn::Module {
    explicit unet_impl(std::int64_t c = 4)
    {
        for (std::int64_t i = 0, from = 3; i < 3; ++i) {
            down->push_back(conv(from, c << i));
            from = c << i;
        }
        for (std::int64_t i = 1; i >= 0; --i) {
            up->push_back(conv((c << i) + (c << (i + 1)), c << i));
        }
        register_module("down", down);
        register_module("up", up);
        last = register_module("last", conv(c, 5));
    }
    auto forward(Tensor x, Tensor const& labels) -> Tensor
    {
        std::vector<Tensor> skips;
        for (std::size_t i = 0; i < 3; ++i) {
            x = at::relu((*down)[i]->as<nn::Conv2d>()->forward(i == 0 ? x : at::max_pool2d(x, 2)));
            skips.push_back(x);
        }
        for (std::size_t i = 0; i < 2; ++i) {
            x = at::cat({at::upsample_nearest2d(x, {skips[1 - i].size(2), skips[1 - i].size(3)}), skips[1 - i]}, 1);
            x = at::relu((*up)[i]->as<nn::Conv2d>()->forward(x));
        }
        return class_loss(last(x).permute({0, 2, 3, 1}), labels);
    }
    nn::ModuleList down, up;
    nn::Conv2d last{nullptr};
};
TORCH_MODULE_IMPL(unet, unet_impl);

} // namespace finetune
