// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Models of the usual kinds, each with its loss and its data, by name. models.cpp has them as users write them.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace finetune {

/// A model in training: from a batch and its labels to the loss.
struct model : ::torch::nn::Module {
    virtual auto forward(at::Tensor const& x, at::Tensor const& labels) -> at::Tensor = 0;
};

/// How large: a few milliseconds per step for tests, or large enough that ops take longer than it takes to call them.
enum class size { small, large };

/// All names.
[[nodiscard]] auto model_names() -> std::vector<std::string_view>;
/// A new model. Throws: `std::invalid_argument` for an unknown name.
[[nodiscard]] auto make_model(std::string_view name, size s) -> std::shared_ptr<model>;
/// Random data for it: a batch and labels.
[[nodiscard]] auto make_batch(std::string_view name, size s) -> std::vector<at::Tensor>;

} // namespace finetune
