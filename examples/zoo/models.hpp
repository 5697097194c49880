// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The zoo: training steps and inference passes of well-known models by name, ready to be planned.
///
/// ```cpp
/// auto const step = strata::zoo::make_problem("gpt2-medium", {.layers = 4, .batch = 2});
/// ```
/// docs/zoo.md lists the models, their options, and what each backward reads.
#pragma once

#include <strata/graph/training_graph.hpp>
#include <strata/problem/lower.hpp>
#include <strata/problem/problem.hpp>
#include <strata/result.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "examples/zoo/convnets.hpp"
#include "examples/zoo/inference.hpp"
#include "examples/zoo/network.hpp"
#include "examples/zoo/op.hpp"
#include "examples/zoo/options.hpp"
#include "examples/zoo/patches.hpp"
#include "examples/zoo/sequences.hpp"
#include "examples/zoo/transformers.hpp"
#include "examples/zoo/unets.hpp"

namespace strata::zoo {

/// What a model of the zoo is a graph of.
enum class pass : std::uint8_t {
    training,  ///< forward and backward
    inference, ///< forward alone; its ops are of phase other
};

/// One model: what it is and what it may be told. An option that `defaults` does not set is none of this model.
struct description {
    std::string name;
    std::string summary;
    options defaults;
    value (*add)(network&, options const&); ///< adds the model and answers its loss, or its output
    zoo::pass pass = pass::training;
};

namespace detail {

[[nodiscard]] inline auto gpt2_of(std::int64_t layers, std::int64_t width, std::int64_t heads) -> options
{
    return {.layers = layers,
            .batch = 8,
            .seq = 1024,
            .width = width,
            .hidden = 4 * width,
            .heads = heads,
            .vocab = 50257,
            .dropout = 0.1,
            .dtype = dtype::fp16,
            .fused = false};
}

[[nodiscard]] inline auto classifier_of(std::int64_t width) -> options
{
    return {.batch = 64, .image = 224, .width = width, .classes = 1000, .dtype = dtype::fp32, .in_place = true};
}

[[nodiscard]] inline auto all_models() -> std::vector<description>
{
    auto regnet_options = classifier_of(0);
    regnet_options.width.reset();
    return {
        {"gpt2-small", "GPT-2 of 124 million parameters", gpt2_of(12, 768, 12), gpt2},
        {"gpt2-medium", "GPT-2 of 355 million parameters", gpt2_of(24, 1024, 16), gpt2},
        {"gpt2-large", "GPT-2 of 774 million parameters", gpt2_of(36, 1280, 20), gpt2},
        {"gpt2-xl", "GPT-2 of 1.6 billion parameters", gpt2_of(48, 1600, 25), gpt2},
        {"llama-7b",
         "LLaMA of 7 billion parameters: RMS norm, rotary positions, SwiGLU, grouped-query attention by kv_heads",
         {.layers = 32,
          .batch = 1,
          .seq = 2048,
          .width = 4096,
          .hidden = 11008,
          .heads = 32,
          .kv_heads = 32,
          .vocab = 32000,
          .dtype = dtype::bf16,
          .fused = true},
         llama},
        {"bert-large",
         "BERT in pre-training (masked tokens, next sentence), with padding mask",
         {.layers = 24,
          .batch = 16,
          .seq = 512,
          .width = 1024,
          .hidden = 4096,
          .heads = 16,
          .vocab = 30522,
          .dropout = 0.1,
          .dtype = dtype::fp16,
          .fused = false},
         bert},
        {"encoder-decoder",
         "transformer that translates; every decoder layer reads the output of the encoder",
         {.layers = 6,
          .batch = 32,
          .seq = 256,
          .width = 1024,
          .hidden = 4096,
          .heads = 16,
          .vocab = 37000,
          .dropout = 0.1,
          .dtype = dtype::fp16,
          .fused = false,
          .in_place = true},
         encoder_decoder},
        {"vit-l",
         "vision transformer, large, patches of 16 pixels",
         {.layers = 24,
          .batch = 64,
          .image = 224,
          .width = 1024,
          .hidden = 4096,
          .heads = 16,
          .classes = 1000,
          .dropout = 0,
          .dtype = dtype::fp16,
          .fused = false},
         vision_transformer},
        {"mlp-mixer",
         "MLP-Mixer, base, patches of 16 pixels",
         {.layers = 12,
          .batch = 64,
          .image = 224,
          .width = 768,
          .hidden = 3072,
          .classes = 1000,
          .dropout = 0,
          .dtype = dtype::fp16},
         mixer},
        {"resnet50",
         "ResNet of 50 layers",
         classifier_of(64),
         [](network& n, options const& o) {
             return resnet(n, o, {3, 4, 6, 3});
         }},
        {"resnet101",
         "ResNet of 101 layers",
         classifier_of(64),
         [](network& n, options const& o) {
             return resnet(n, o, {3, 4, 23, 3});
         }},
        {"regnet",
         "RegNet Y of 8 GFLOPs: grouped convolutions, squeeze-excite",
         regnet_options,
         [](network& n, options const& o) {
             return regnet(n, o, {2, 4, 10, 1}, {224, 448, 896, 2016}, 56);
         }},
        {"densenet121",
         "DenseNet of 121 layers: every layer reads all features before it",
         classifier_of(64),
         [](network& n, options const& o) {
             return densenet(n, o, {6, 12, 24, 16}, 32);
         }},
        {"unet",
         "U-Net that segments images",
         {.batch = 8, .image = 512, .width = 64, .classes = 1, .dtype = dtype::fp32, .in_place = true},
         unet},
        {"diffusion-unet",
         "U-Net that predicts noise: time embedding, group norm, attention",
         {.batch = 128, .image = 32, .width = 128, .heads = 1, .dropout = 0.1, .dtype = dtype::fp32, .fused = false},
         diffusion_unet},
        {"lstm",
         "language model of LSTM layers, unrolled in time",
         {.layers = 4, .batch = 64, .seq = 64, .width = 1024, .vocab = 10000, .dropout = 0.5, .dtype = dtype::fp32},
         lstm},
        {"mamba",
         "Mamba of 130 million parameters: selective state space; fused scans keep no states",
         {.layers = 24,
          .batch = 8,
          .seq = 1024,
          .width = 768,
          .vocab = 50280,
          .state = 16,
          .dtype = dtype::bf16,
          .fused = true},
         mamba},
        {"mobilenet",
         "inference: MobileNetV2 of 3.5 million parameters",
         {.batch = 1, .image = 96, .width = 32, .classes = 1000, .dtype = dtype::int8},
         mobilenet,
         pass::inference},
        {"mobile-unet",
         "inference: U-Net that segments, on MobileNetV2",
         {.batch = 1, .image = 96, .width = 32, .classes = 3, .dtype = dtype::int8},
         mobile_unet,
         pass::inference},
        {"randwire",
         "inference: randomly wired network, three stages of small worlds",
         {.layers = 32, .batch = 1, .image = 96, .width = 24, .classes = 1000, .dtype = dtype::int8},
         randwire,
         pass::inference},
    };
}

/// Insertions, deletions and exchanges of letters that make `b` of `a`.
[[nodiscard]] inline auto edit_distance(std::string_view a, std::string_view b) -> std::size_t
{
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        auto diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < b.size(); ++j) {
            auto const exchanged = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({exchanged, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

} // namespace detail

/// Names of all models.
[[nodiscard]] inline auto names() -> std::vector<std::string>
{
    std::vector<std::string> all;
    for (auto& m : detail::all_models()) {
        all.push_back(std::move(m.name));
    }
    return all;
}

/// The model called `name`; `gpt2` is the small one.
/// Errors: `invalid_argument` with the names that are near, or all of them if none is.
[[nodiscard]] inline auto describe(std::string_view name) -> result<description>
{
    if (name == "gpt2") {
        name = "gpt2-small";
    }
    std::string near, all;
    for (auto& m : detail::all_models()) {
        if (m.name == name) {
            return std::move(m);
        }
        auto const say = [&](std::string& list) { list += (list.empty() ? "" : ", ") + m.name; };
        bool const part =
            name.size() >= 3 && (m.name.find(name) != std::string::npos || m.name.starts_with(name.substr(0, 3)));
        if (part || detail::edit_distance(name, m.name) <= 2) {
            say(near);
        }
        say(all);
    }
    return fail(errc::invalid_argument,
                "strata::zoo: there is no model '" + std::string(name) + "'; " +
                    (near.empty() ? "there are " + all : "did you mean " + near + "?"));
}

namespace detail {

/// The model called `name`, with `asked` merged into its options.
[[nodiscard]] inline auto find(std::string_view name, options const& asked) -> result<description>
{
    auto model = describe(name);
    if (!model) {
        return model;
    }
    auto merged = merge(model->name, model->defaults, asked);
    if (!merged) {
        return std::move(merged).error();
    }
    if (*merged->dtype == dtype::int8 && model->pass == pass::training) {
        return fail(errc::invalid_argument, "strata::zoo: int8 is for inference, and " + model->name + " trains");
    }
    model->defaults = *std::move(merged);
    return model;
}

} // namespace detail

/// The training step, or the inference pass, of model `name`: its ops, views and in-place ops as the model has them.
/// Errors: those of `describe`; `invalid_argument` if an option is none of the model, out of range, or does not fit the
/// others; `overflow` if a tensor has more bytes than fit 64 bits.
/// Complexity: near-linear in ops.
[[nodiscard]] inline auto make(std::string_view name, options const& asked = {}) -> result<training_graph<op>>
{
    auto const model = detail::find(name, asked);
    if (!model) {
        return model.error();
    }
    try {
        network n(model->name, *model->defaults.dtype);
        auto const end = model->add(n, model->defaults);
        return model->pass == pass::training ? std::move(n).train(end) : std::move(n).infer(end);
    } catch (model_error const& e) {
        return e.why();
    }
}

/// What prices the ops of `make(name, asked)`: the device of `default_device`, in nanoseconds.
/// Errors: those of `describe`; `invalid_argument` for an option that is none of the model or out of range.
[[nodiscard]] inline auto make_cost(std::string_view name, options const& asked = {}) -> result<roofline_cost>
{
    auto const model = detail::find(name, asked);
    if (!model) {
        return model.error();
    }
    return roofline_cost(default_device(*model->defaults.dtype));
}

/// The step of `make`, priced by `make_cost`, as a problem: views and in-place ops folded.
/// Errors: those of `make` and of `lower`.
[[nodiscard]] inline auto make_problem(std::string_view name, options const& asked = {}, lower_options how = {})
    -> result<problem>
{
    auto const graph = make(name, asked);
    if (!graph) {
        return graph.error();
    }
    auto lowered = lower(*graph, *make_cost(name, asked), how);
    if (!lowered) {
        return std::move(lowered).error();
    }
    return lowered->problem();
}

/// Trained numbers of a graph whose number type is `type`; a tied weight counts once.
[[nodiscard]] inline auto parameter_count(training_graph<op> const& g, dtype type) -> std::int64_t
{
    std::int64_t n = 0;
    for (auto const& t : g.tensors()) {
        n += t.kind == tensor_kind::parameter && t.view_of == none ? t.bytes / size_of(type) : 0;
    }
    return n;
}

} // namespace strata::zoo
