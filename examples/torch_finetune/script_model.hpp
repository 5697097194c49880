// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A TorchScript model, written to a file and read from it, and what it shares with models of C++.
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <string>
#include <utility>
#include <vector>

namespace finetune {

/// Writes a small classifier with control flow, dropout and batch normalisation to `file`.
inline void save_script_model(std::string const& file)
{
    at::manual_seed(1);
    ::torch::jit::Module m("classifier");
    for (auto const* name : {"w0", "w1", "w2", "w3"}) {
        m.register_parameter(name, at::randn({64, 64}) / 8, false);
    }
    m.register_parameter("head", at::randn({64, 10}) / 8, false);
    m.register_buffer("mean", at::zeros({64}));
    m.register_buffer("var", at::ones({64}));
    m.register_attribute("training", c10::BoolType::get(), true);
    m.define(R"(
def forward(self, x, labels):
    for i in range(8):
        w = [self.w0, self.w1, self.w2, self.w3][i % 4]
        y = torch.matmul(x, w)
        if i == 3:
            y = torch.batch_norm(y, None, None, self.mean, self.var, self.training, 0.1, 1e-5, False)
        x = x + torch.dropout(torch.relu_(y), 0.1, self.training)
    return torch.cross_entropy_loss(torch.matmul(x, self.head), labels)
)");
    m.save(file);
}

/// Reads a TorchScript file whose `forward` takes a batch and labels and returns the loss; all its parameters train.
inline auto load_script_model(std::string const& file) -> ::torch::jit::Module
{
    auto m = ::torch::jit::load(file);
    for (auto const& p : m.parameters()) {
        p.set_requires_grad(true);
    }
    return m;
}

/// A batch for it, and labels.
inline auto script_batch() -> std::vector<at::Tensor>
{
    return {at::randn({256, 64}), at::randint(10, {256}, at::kLong)};
}

inline auto to_tensor(at::Tensor t) -> at::Tensor { return t; }
inline auto to_tensor(c10::IValue const& v) -> at::Tensor { return v.toTensor(); }

/// The loss of `model` for a batch.
template <class Model>
auto loss_of(Model& model, std::vector<at::Tensor> const& x) -> at::Tensor
{
    if constexpr (requires { model->forward(x[0], x[1]); }) {
        return model->forward(x[0], x[1]);
    } else {
        return model.forward({x[0], x[1]}).toTensor();
    }
}

/// Parameters and buffers.
template <class Model>
auto parts_of(Model& model) -> std::pair<std::vector<at::Tensor>, std::vector<at::Tensor>>
{
    std::pair<std::vector<at::Tensor>, std::vector<at::Tensor>> r;
    auto const collect = [&](auto&& m) {
        for (auto const& p : m.parameters()) {
            r.first.push_back(p);
        }
        for (auto const& b : m.buffers()) {
            r.second.push_back(b);
        }
    };
    if constexpr (requires { model->parameters(); }) {
        collect(*model);
    } else {
        collect(model);
    }
    return r;
}

} // namespace finetune
