// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The GPT of models.hpp as a TorchScript file, files like it, and what they share with models of C++.
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/nn/module.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models.hpp"

namespace finetune {

/// A module of TorchScript with the parameters, buffers and children of `m`, under the same names, and no methods.
inline auto mirrored(::torch::nn::Module const& m,
                     std::string const& name,
                     std::shared_ptr<::torch::jit::CompilationUnit> const& unit) -> ::torch::jit::Module
{
    ::torch::jit::Module s(name, unit, true);
    for (auto const& p : m.named_parameters(false)) {
        s.register_parameter(p.key(), p.value().detach(), false);
    }
    for (auto const& b : m.named_buffers(false)) {
        s.register_buffer(b.key(), b.value());
    }
    for (auto const& child : m.named_children()) {
        s.register_module(child.key(), mirrored(*child.value(), "m_" + child.key(), unit));
    }
    s.register_attribute("training", c10::BoolType::get(), m.is_training());
    return s;
}

/// Writes the model `gpt` to `file`: its parameters, and what models.cpp does with them in TorchScript's words. A second
/// method makes data for it.
inline void save_script_gpt(std::string const& file, size s)
{
    at::manual_seed(1);
    auto m = mirrored(*make_model("gpt", s), "gpt", std::make_shared<::torch::jit::CompilationUnit>());
    m.register_attribute("sizes", c10::ListType::ofInts(), make_batch("gpt", s)[0].sizes().vec());
    std::string blocks;
    for (auto block : m.attr("blocks").toModule().named_children()) {
        block.value.register_attribute("heads", c10::IntType::get(), s == size::large ? 8 : 4);
        block.value.define(R"(
def linear(self, x, weight, bias):
    return torch.matmul(x, weight.t()).add_(bias)

def split(self, x):
    return x.view([x.size(0), x.size(1), self.heads, x.size(2) // self.heads]).transpose(1, 2)

def attend(self, q, k, v):
    scores = torch.matmul(q, k.transpose(2, 3)) * (1.0 / float(q.size(3)) ** 0.5)
    scores = torch.softmax(scores.masked_fill(self.mask, -1e9), -1)
    return torch.matmul(torch.dropout(scores, 0.1, self.training), v)

def forward(self, x):
    width = [x.size(2)]
    y = torch.layer_norm(x, width, self.before.weight, self.before.bias)
    q, k, v = torch.chunk(self.linear(y, self.qkv.weight, self.qkv.bias), 3, 2)
    y = self.attend(self.split(q), self.split(k), self.split(v))
    y = y.transpose(1, 2).contiguous().view(x.size())
    x = x + self.linear(y, self.out.weight, self.out.bias)
    y = torch.layer_norm(x, width, self.between.weight, self.between.bias)
    y = self.linear(torch.gelu(self.linear(y, self.up.weight, self.up.bias)), self.down.weight, self.down.bias)
    return x + torch.dropout(y, 0.1, self.training)
)");
        blocks += "    x = getattr(self.blocks, \"" + block.name + "\").forward(x)\n";
    }
    m.define(R"(
def forward(self, words, next):
    x = torch.embedding(self.tokens.weight, words) + torch.embedding(self.places.weight, self.place)
    x = torch.dropout(x, 0.1, self.training)
)" + blocks + R"(
    x = torch.layer_norm(x, [x.size(2)], self.norm.weight, self.norm.bias)
    scores = torch.matmul(x, self.tokens.weight.t())
    return torch.cross_entropy_loss(scores.flatten(0, -2), next.flatten())

def batch(self):
    words = self.tokens.weight.size(0)
    return torch.randint(words, self.sizes), torch.randint(words, self.sizes)
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

/// A batch for it, and labels: what its method `batch` makes. Throws: `std::invalid_argument` if it has none.
inline auto script_batch(::torch::jit::Module& m) -> std::vector<at::Tensor>
{
    auto const method = m.find_method("batch");
    if (!method) {
        throw std::invalid_argument("the file has no method `batch`, which makes a batch and labels to train on");
    }
    auto const made = (*method)({}).toTupleRef().elements();
    return {made.at(0).toTensor(), made.at(1).toTensor()};
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
