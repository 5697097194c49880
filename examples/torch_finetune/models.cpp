// SPDX-License-Identifier: Apache-2.0
#include "models.hpp"

#include <ATen/ATen.h>
#include <torch/nn/functional/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/modules/rnn.h>
#include <torch/nn/modules/transformer.h>
#include <torch/version.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace finetune {

namespace {

namespace nn = ::torch::nn;
using at::Tensor;

auto class_loss(Tensor const& scores, Tensor const& labels) -> Tensor
{
    return at::cross_entropy_loss(scores.flatten(0, -2), labels.flatten());
}

auto normal(at::IntArrayRef sizes, std::int64_t fan_in) -> Tensor
{
    return at::randn(sizes) / std::sqrt(static_cast<double>(fan_in));
}

auto layer_norm(std::int64_t d) -> nn::LayerNorm { return nn::LayerNorm(nn::LayerNormOptions({d})); }

struct mlp : model {
    mlp(std::int64_t width, int layers)
    {
        for (int i = 0; i < layers; ++i) {
            all->push_back(nn::Linear(width, width));
        }
        register_module("all", all);
        last = register_module("last", nn::Linear(width, 10));
    }
    auto forward(Tensor const& x, Tensor const& labels) -> Tensor override
    {
        auto y = x;
        for (auto& layer : *all) {
            y = at::gelu(layer->as<nn::Linear>()->forward(y));
        }
        return class_loss(last(y), labels);
    }
    nn::ModuleList all;
    nn::Linear last{nullptr};
};

/// Attention as the version of libtorch has it in one call.
auto fused_attention(Tensor const& q, Tensor const& k, Tensor const& v, double dropout) -> Tensor
{
#if TORCH_VERSION_MAJOR < 2
    return std::get<0>(at::_scaled_dot_product_attention(q, k, v, {}, dropout, false, true));
#else
    return at::scaled_dot_product_attention(q, k, v, {}, dropout, true);
#endif
}

struct block_impl : nn::Module {
    block_impl(std::int64_t d, std::int64_t h, std::int64_t t, double p, bool fuse)
        : heads(h)
        , dropout(p)
        , fused(fuse)
    {
        before = register_module("before", layer_norm(d));
        between = register_module("between", layer_norm(d));
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
        auto const y = attend(split(part[0]), split(part[1]), split(part[2]));
        x = x + out(y.transpose(1, 2).contiguous().view({b, t, d}));
        return x + drop(down(at::gelu(up(between(x)))));
    }
    auto attend(Tensor const& q, Tensor const& k, Tensor const& v) -> Tensor
    {
        if (fused) {
            return fused_attention(q, k, v, is_training() ? dropout : 0);
        }
        auto scores = at::matmul(q, k.transpose(2, 3)) * (1.0 / std::sqrt(static_cast<double>(q.size(3))));
        scores = at::softmax(scores.masked_fill(mask, -1e9), -1);
        return at::matmul(drop(scores), v);
    }
    std::int64_t heads;
    double dropout;
    bool fused;
    nn::LayerNorm before{nullptr}, between{nullptr};
    nn::Linear qkv{nullptr}, out{nullptr}, up{nullptr}, down{nullptr};
    nn::Dropout drop{nullptr};
    Tensor mask;
};
TORCH_MODULE_IMPL(block, block_impl);

/// GPT-2, small: dropout, and weights tied between the embedding and the head.
struct gpt : model {
    gpt(std::int64_t v, std::int64_t t, std::int64_t d, std::int64_t h, int layers, bool fused)
    {
        tokens = register_module("tokens", nn::Embedding(v, d));
        places = register_module("places", nn::Embedding(t, d));
        for (int i = 0; i < layers; ++i) {
            blocks->push_back(block(d, h, t, 0.1, fused));
        }
        register_module("blocks", blocks);
        norm = register_module("norm", layer_norm(d));
        drop = register_module("drop", nn::Dropout(0.1));
        place = register_buffer("place", at::arange(t));
    }
    auto forward(Tensor const& words, Tensor const& next) -> Tensor override
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

/// Encoder and decoder, as libtorch has them.
struct translator : model {
    translator(std::int64_t v, std::int64_t d, std::int64_t h, int layers)
    {
        words = register_module("words", nn::Embedding(v, d));
        both = register_module("both",
                               nn::Transformer(nn::TransformerOptions(d, h, layers, layers).dim_feedforward(4 * d)));
        head = register_module("head", nn::Linear(d, v));
    }
    auto forward(Tensor const& source, Tensor const& target) -> Tensor override
    {
        auto const future = nn::TransformerImpl::generate_square_subsequent_mask(target.size(0));
        return class_loss(head(both->forward(words(source), words(target), {}, future)), target);
    }
    nn::Embedding words{nullptr};
    nn::Transformer both{nullptr};
    nn::Linear head{nullptr};
};

auto conv(std::int64_t from, std::int64_t to, std::int64_t kernel = 3, std::int64_t stride = 1) -> nn::Conv2d
{
    return nn::Conv2d(nn::Conv2dOptions(from, to, kernel).padding(kernel / 2).stride(stride).bias(false));
}

/// A residual block with batch normalisation, and in-place activation and addition: two convolutions, or three, the outer
/// ones of size 1 around fewer channels.
struct residual_impl : nn::Module {
    residual_impl(std::int64_t from, std::int64_t to, std::int64_t stride, bool bottleneck)
    {
        auto const add = [&](std::int64_t a, std::int64_t b, std::int64_t kernel, std::int64_t s) {
            convs->push_back(conv(a, b, kernel, s));
            norms->push_back(nn::BatchNorm2d(b));
        };
        if (bottleneck) {
            add(from, to / 4, 1, 1);
            add(to / 4, to / 4, 3, stride);
            add(to / 4, to, 1, 1);
        } else {
            add(from, to, 3, stride);
            add(to, to, 3, 1);
        }
        register_module("convs", convs);
        register_module("norms", norms);
        if (from != to || stride != 1) {
            shortcut = register_module("shortcut", nn::Sequential(conv(from, to, 1, stride), nn::BatchNorm2d(to)));
        }
    }
    auto forward(Tensor const& x) -> Tensor
    {
        auto y = x;
        for (std::size_t k = 0; k < convs->size(); ++k) {
            y = (*norms)[k]->as<nn::BatchNorm2d>()->forward((*convs)[k]->as<nn::Conv2d>()->forward(y));
            if (k + 1 < convs->size()) {
                y.relu_();
            }
        }
        y += shortcut ? shortcut->forward(x) : x;
        return y.relu_();
    }
    nn::ModuleList convs, norms;
    nn::Sequential shortcut{nullptr};
};
TORCH_MODULE_IMPL(residual, residual_impl);

/// Four stages of residual blocks, as many as `depth` says, each with half the width and height of the one before.
struct resnet : model {
    resnet(std::int64_t c, std::array<int, 4> depth, bool bottleneck)
    {
        stem = register_module("stem", conv(3, c, 7, 2));
        norm = register_module("norm", nn::BatchNorm2d(c));
        auto from = c;
        for (std::size_t stage = 0; stage < depth.size(); ++stage) {
            auto const to = (c << stage) * (bottleneck ? 4 : 1);
            for (int i = 0; i < depth[stage]; ++i) {
                blocks->push_back(residual(std::exchange(from, to), to, i == 0 && stage > 0 ? 2 : 1, bottleneck));
            }
        }
        register_module("blocks", blocks);
        drop = register_module("drop", nn::Dropout(0.2));
        head = register_module("head", nn::Linear(from, 10));
    }
    auto forward(Tensor const& x, Tensor const& labels) -> Tensor override
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

/// Every layer reads all that came before it, joined.
struct densenet : model {
    densenet(std::int64_t c, std::int64_t growth, int layers)
    {
        stem = register_module("stem", conv(3, c));
        for (int i = 0; i < layers; ++i, c += growth) {
            norms->push_back(nn::BatchNorm2d(c));
            convs->push_back(conv(c, growth));
        }
        register_module("norms", norms);
        register_module("convs", convs);
        head = register_module("head", nn::Linear(c, 10));
    }
    auto forward(Tensor const& x, Tensor const& labels) -> Tensor override
    {
        std::vector<Tensor> all{stem(x)};
        for (std::size_t i = 0; i < convs->size(); ++i) {
            auto const y = (*norms)[i]->as<nn::BatchNorm2d>()->forward(at::cat(all, 1)).relu_();
            all.push_back((*convs)[i]->as<nn::Conv2d>()->forward(y));
        }
        return class_loss(head(at::adaptive_avg_pool2d(at::cat(all, 1), {1, 1}).flatten(1)), labels);
    }
    nn::Conv2d stem{nullptr};
    nn::ModuleList norms, convs;
    nn::Linear head{nullptr};
};

/// A U-Net: down, up, and a skip between the two at every level.
struct unet : model {
    explicit unet(std::int64_t c)
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
    auto forward(Tensor const& image, Tensor const& labels) -> Tensor override
    {
        auto x = image;
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

struct lstm : model {
    explicit lstm(std::int64_t width)
    {
        cells = register_module("cells", nn::LSTM(nn::LSTMOptions(16, width).num_layers(2).batch_first(true)));
        head = register_module("head", nn::Linear(width, 10));
    }
    auto forward(Tensor const& x, Tensor const& labels) -> Tensor override
    {
        return class_loss(head(std::get<0>(cells(x))), labels);
    }
    nn::LSTM cells{nullptr};
    nn::Linear head{nullptr};
};

struct gru : model {
    explicit gru(std::int64_t width)
    {
        cells = register_module("cells", nn::GRU(nn::GRUOptions(16, width).batch_first(true).bidirectional(true)));
        head = register_module("head", nn::Linear(2 * width, 10));
    }
    auto forward(Tensor const& x, Tensor const& labels) -> Tensor override
    {
        return class_loss(head(std::get<0>(cells(x))), labels);
    }
    nn::GRU cells{nullptr};
    nn::Linear head{nullptr};
};

/// Linear layers over places and over channels by turns.
struct mixer : model {
    mixer(std::int64_t places, std::int64_t d, int layers)
    {
        for (int i = 0; i < layers; ++i) {
            for (auto const& [n, hidden] : {std::pair(places, 2 * places), std::pair(d, 4 * d)}) {
                norms->push_back(layer_norm(d));
                up->push_back(nn::Linear(n, hidden));
                down->push_back(nn::Linear(hidden, n));
            }
        }
        register_module("norms", norms);
        register_module("up", up);
        register_module("down", down);
        head = register_module("head", nn::Linear(d, 10));
    }
    auto forward(Tensor const& patches, Tensor const& labels) -> Tensor override
    {
        auto x = patches;
        for (std::size_t k = 0; k < norms->size(); ++k) {
            auto const turn = [&](Tensor const& y) { return k % 2 == 0 ? y.transpose(1, 2) : y; };
            auto const y = turn((*norms)[k]->as<nn::LayerNorm>()->forward(x));
            auto const h = at::gelu((*up)[k]->as<nn::Linear>()->forward(y));
            x = x + turn((*down)[k]->as<nn::Linear>()->forward(h));
        }
        return class_loss(head(x.mean(1)), labels);
    }
    nn::ModuleList norms, up, down;
    nn::Linear head{nullptr};
};

/// Layers of experts: each token goes to the two that its router likes best, each expert takes those of its tokens that
/// like it best, as many as it has room for.
struct experts : model {
    experts(std::int64_t d, std::int64_t count, int layers)
    {
        for (int i = 0; i < layers; ++i) {
            norms->push_back(layer_norm(d));
            routers->push_back(nn::Linear(d, count));
            for (std::int64_t e = 0; e < count; ++e) {
                up->push_back(nn::Linear(d, 2 * d));
                down->push_back(nn::Linear(2 * d, d));
            }
        }
        register_module("norms", norms);
        register_module("routers", routers);
        register_module("up", up);
        register_module("down", down);
        head = register_module("head", nn::Linear(d, 10));
    }
    auto forward(Tensor const& tokens, Tensor const& labels) -> Tensor override
    {
        auto x = tokens;
        auto const count = up->size() / norms->size();
        auto const room = x.size(0) * 2 / static_cast<std::int64_t>(count);
        for (std::size_t i = 0; i < norms->size(); ++i) {
            auto const y = (*norms)[i]->as<nn::LayerNorm>()->forward(x);
            auto const likes = at::softmax((*routers)[i]->as<nn::Linear>()->forward(y), -1);
            auto const [best, which] = likes.topk(2, -1);
            auto const weights = at::zeros_like(likes).scatter(1, which, best / best.sum(-1, true));
            for (std::size_t e = 0; e < count; ++e) {
                auto const [weight, rows] = weights.select(1, static_cast<std::int64_t>(e)).topk(room);
                auto const k = i * count + e;
                auto const h = at::silu((*up)[k]->as<nn::Linear>()->forward(y.index_select(0, rows)));
                x = x.index_add(0, rows, (*down)[k]->as<nn::Linear>()->forward(h) * weight.unsqueeze(1));
            }
        }
        return class_loss(head(x), labels);
    }
    nn::ModuleList norms, routers, up, down;
    nn::Linear head{nullptr};
};

/// A state of `n` numbers per channel that is decayed and fed by what each token says: the recurrence of Mamba.
struct state_space : model {
    state_space(std::int64_t d, std::int64_t n, int layers)
    {
        for (int i = 0; i < layers; ++i) {
            norms->push_back(layer_norm(d));
            in->push_back(nn::Linear(d, 2 * d));
            select->push_back(nn::Linear(d, 2 * n + 1));
            out->push_back(nn::Linear(d, d));
            decay.push_back(register_parameter("decay" + std::to_string(i),
                                               at::arange(1, n + 1).to(at::kFloat).log().repeat({d, 1})));
        }
        register_module("norms", norms);
        register_module("in", in);
        register_module("select", select);
        register_module("out", out);
        head = register_module("head", nn::Linear(d, 10));
    }
    auto forward(Tensor const& tokens, Tensor const& labels) -> Tensor override
    {
        auto x = tokens;
        for (std::size_t i = 0; i < decay.size(); ++i) {
            auto const parts =
                (*in)[i]->as<nn::Linear>()->forward((*norms)[i]->as<nn::LayerNorm>()->forward(x)).chunk(2, -1);
            auto const y = scan(at::silu(parts[0]), *(*select)[i]->as<nn::Linear>(), decay[i]);
            x = x + (*out)[i]->as<nn::Linear>()->forward(y * at::silu(parts[1]));
        }
        return class_loss(head(x), labels);
    }
    static auto scan(Tensor const& u, nn::LinearImpl& choose, Tensor const& decay) -> Tensor
    {
        auto const n = decay.size(1);
        auto const said = choose.forward(u);
        auto const pace = at::softplus(said.narrow(-1, 0, 1)); // how much of each token is taken in
        auto const rate = -decay.exp();
        auto const feed = said.narrow(-1, 1, n);
        auto const read = said.narrow(-1, 1 + n, n);
        auto state = at::zeros({u.size(0), u.size(2), n});
        std::vector<Tensor> all;
        for (std::int64_t t = 0; t < u.size(1); ++t) {
            auto const step = pace.select(1, t);
            auto const fed = (step * u.select(1, t)).unsqueeze(-1) * feed.select(1, t).unsqueeze(1);
            state = (step.unsqueeze(-1) * rate).exp() * state + fed;
            all.push_back(at::matmul(state, read.select(1, t).unsqueeze(-1)).squeeze(-1));
        }
        return at::stack(all, 1);
    }
    nn::ModuleList norms, in, select, out;
    std::vector<Tensor> decay;
    nn::Linear head{nullptr};
};

/// A Fourier neural operator: products with complex weights in the low frequencies, and a pointwise layer beside them.
struct fourier : model {
    fourier(std::int64_t c, std::int64_t modes_kept, int layers)
        : modes(modes_kept)
    {
        lift = register_module("lift", conv(3, c, 1));
        for (int i = 0; i < layers; ++i) {
            weights.push_back(
                register_parameter("weights" + std::to_string(i), normal({c, c, 2 * modes, modes, 2}, 2 * c)));
            beside->push_back(conv(c, c, 1));
        }
        register_module("beside", beside);
        last = register_module("last", conv(c, 5, 1));
    }
    auto forward(Tensor const& field, Tensor const& labels) -> Tensor override
    {
        auto x = lift(field);
        for (std::size_t i = 0; i < weights.size(); ++i) {
            auto const waves = at::fft_rfft2(x);
            auto const low = at::cat({waves.narrow(2, 0, modes), waves.narrow(2, waves.size(2) - modes, modes)}, 2)
                                 .narrow(3, 0, modes);
            auto const mixed = at::einsum("bixy,ioxy->boxy", {low, at::view_as_complex(weights[i])});
            auto full = at::zeros_like(waves);
            full.narrow(2, 0, modes).narrow(3, 0, modes).copy_(mixed.narrow(2, 0, modes));
            full.narrow(2, full.size(2) - modes, modes).narrow(3, 0, modes).copy_(mixed.narrow(2, modes, modes));
            x = at::gelu(at::fft_irfft2(full, at::IntArrayRef{x.size(2), x.size(3)}) +
                         (*beside)[i]->as<nn::Conv2d>()->forward(x));
        }
        return class_loss(last(x).permute({0, 2, 3, 1}), labels);
    }
    std::int64_t modes;
    nn::Conv2d lift{nullptr}, last{nullptr};
    std::vector<Tensor> weights;
    nn::ModuleList beside;
};

struct entry {
    std::string_view name;
    auto (*make)(bool large) -> std::shared_ptr<model>;
    auto (*batch)(bool large) -> std::vector<Tensor>;
};

template <class M, class... A>
auto made(A... a) -> std::shared_ptr<model>
{
    return std::make_shared<M>(a...);
}

auto labelled(Tensor x, std::int64_t classes, at::IntArrayRef labels) -> std::vector<Tensor>
{
    return {std::move(x), at::randint(classes, labels, at::kLong)};
}
auto words(std::int64_t v, at::IntArrayRef sizes) -> std::vector<Tensor>
{
    return labelled(at::randint(v, sizes, at::kLong), v, sizes);
}
auto images(std::int64_t n, std::int64_t side) -> std::vector<Tensor>
{
    return labelled(at::randn({n, 3, side, side}), 10, {n});
}
auto maps(std::int64_t n, std::int64_t side) -> std::vector<Tensor>
{
    return labelled(at::randn({n, 3, side, side}), 5, {n, side, side});
}
auto sequences(std::int64_t n, std::int64_t t, std::int64_t d) -> std::vector<Tensor>
{
    return labelled(at::randn({n, t, d}), 10, {n, t});
}

auto gpt_of(bool large, bool fused) -> std::shared_ptr<model>
{
    return large ? made<gpt>(1000, 256, 256, 8, 6, fused) : made<gpt>(50, 32, 32, 4, 4, fused);
}
auto gpt_words(bool large) -> std::vector<Tensor> { return large ? words(1000, {8, 256}) : words(50, {4, 32}); }

constexpr std::array entries{
    entry{"mlp",
          [](bool large) { return large ? made<mlp>(512, 8) : made<mlp>(64, 6); },
          [](bool large) {
              return large ? labelled(at::randn({512, 512}), 10, {512}) : labelled(at::randn({128, 64}), 10, {128});
          }},
    entry{"gpt", [](bool large) { return gpt_of(large, false); }, gpt_words},
    entry{"gpt_fused", [](bool large) { return gpt_of(large, true); }, gpt_words},
    entry{"transformer",
          [](bool large) { return large ? made<translator>(500, 128, 8, 3) : made<translator>(50, 16, 2, 2); },
          [](bool large) {
              return large ? words(500, {64, 16}) : words(50, {8, 4});
          }},
    entry{"resnet18",
          [](bool large) {
              return made<resnet>(large ? 32 : 4, std::array{2, 2, 2, 2}, false);
          },
          [](bool large) { return large ? images(32, 96) : images(4, 32); }},
    entry{"resnet50",
          [](bool large) {
              return made<resnet>(large ? 16 : 4, std::array{3, 4, 6, 3}, true);
          },
          [](bool large) { return large ? images(32, 96) : images(4, 32); }},
    entry{"densenet",
          [](bool large) { return large ? made<densenet>(24, 12, 12) : made<densenet>(8, 4, 6); },
          [](bool large) { return large ? images(16, 32) : images(4, 16); }},
    entry{"unet",
          [](bool large) { return made<unet>(large ? 16 : 4); },
          [](bool large) { return large ? maps(8, 128) : maps(2, 32); }},
    entry{"lstm",
          [](bool large) { return made<lstm>(large ? 128 : 24); },
          [](bool large) { return large ? sequences(64, 40, 16) : sequences(4, 6, 16); }},
    entry{"gru",
          [](bool large) { return made<gru>(large ? 128 : 24); },
          [](bool large) { return large ? sequences(64, 40, 16) : sequences(4, 6, 16); }},
    entry{"mixer",
          [](bool large) { return large ? made<mixer>(64, 128, 6) : made<mixer>(8, 16, 3); },
          [](bool large) {
              return large ? labelled(at::randn({32, 64, 128}), 10, {32}) : labelled(at::randn({4, 8, 16}), 10, {4});
          }},
    entry{"experts",
          [](bool large) { return large ? made<experts>(128, 8, 4) : made<experts>(16, 4, 2); },
          [](bool large) {
              return large ? labelled(at::randn({2048, 128}), 10, {2048}) : labelled(at::randn({32, 16}), 10, {32});
          }},
    entry{"state_space",
          [](bool large) { return large ? made<state_space>(64, 8, 2) : made<state_space>(8, 4, 2); },
          [](bool large) { return large ? sequences(32, 48, 64) : sequences(2, 8, 8); }},
    entry{"fourier",
          [](bool large) { return large ? made<fourier>(24, 8, 4) : made<fourier>(6, 3, 3); },
          [](bool large) { return large ? maps(8, 64) : maps(2, 16); }},
};

auto find(std::string_view name) -> entry const&
{
    for (auto const& e : entries) {
        if (e.name == name) {
            return e;
        }
    }
    throw std::invalid_argument("there is no model " + std::string(name));
}

} // namespace

auto model_names() -> std::vector<std::string_view>
{
    std::vector<std::string_view> all;
    for (auto const& e : entries) {
        all.push_back(e.name);
    }
    return all;
}
auto make_model(std::string_view name, size s) -> std::shared_ptr<model> { return find(name).make(s == size::large); }
auto make_batch(std::string_view name, size s) -> std::vector<Tensor> { return find(name).batch(s == size::large); }

} // namespace finetune
