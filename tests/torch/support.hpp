// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Trains a model twice, plainly and planned, and says what differs.
#pragma once

#include <strata/torch/rematerialize.hpp>

#include <ATen/ATen.h>
#include <torch/optim/adamw.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "examples/torch_finetune/counting_allocator.hpp"

namespace strata::test {

/// Whether two tensors are the same bits.
inline auto same_bits(at::Tensor const& a, at::Tensor const& b) -> bool
{
    if (!a.defined() || !b.defined()) {
        return a.defined() == b.defined();
    }
    auto const x = a.contiguous();
    auto const y = b.contiguous();
    return x.sizes() == y.sizes() && x.dtype() == y.dtype() && std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0;
}

/// All that a few steps of training leave behind, by name.
struct trained {
    std::vector<std::pair<std::string, at::Tensor>> all;
    std::int64_t peak = 0; ///< most bytes that a step took

    void note(std::string name, at::Tensor const& t)
    {
        all.emplace_back(std::move(name), t.defined() ? t.detach().clone() : at::Tensor());
    }
};

/// Names of what differs.
inline auto differing(trained const& a, trained const& b) -> std::vector<std::string>
{
    std::vector<std::string> names;
    for (std::size_t k = 0; k < std::max(a.all.size(), b.all.size()); ++k) {
        if (k >= a.all.size() || k >= b.all.size() || !same_bits(a.all[k].second, b.all[k].second)) {
            names.push_back(k < a.all.size() ? a.all[k].first : "missing");
        }
    }
    return names;
}

/// Trains `model` for `steps` steps with AdamW; `step(inputs)` is its forward, plain or planned.
template <class Model, class Step>
auto train(Model& model, Step&& step, std::vector<std::vector<at::Tensor>> const& data) -> trained
{
    auto& memory = finetune::counting_allocator::installed();
    trained r;
    auto const parameters = model->parameters();
    ::torch::optim::AdamW optimizer(parameters, ::torch::optim::AdamWOptions(1e-3));
    at::manual_seed(7);
    for (auto const& inputs : data) {
        for (auto const& p : parameters) {
            p.mutable_grad() = at::Tensor();
        }
        auto const base = memory.live();
        memory.reset_peak();
        auto loss = step(inputs);
        loss.backward();
        r.peak = std::max(r.peak, memory.peak() - base);
        r.note("loss", loss);
        for (auto const& p : model->named_parameters()) {
            r.note("gradient of " + p.key(), p.value().grad());
        }
        optimizer.step();
    }
    for (auto const& p : model->named_parameters()) {
        r.note(p.key(), p.value());
    }
    for (auto const& b : model->named_buffers()) {
        r.note(b.key(), b.value());
    }
    r.note("random numbers", at::rand({4}));
    return r;
}

} // namespace strata::test
