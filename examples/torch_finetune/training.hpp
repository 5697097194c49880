// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Steps of training, plain and planned side by side on the same data: memory, time, and whether the bits agree.
#pragma once

#include <strata/torch/rematerialize.hpp>

#include <ATen/ATen.h>
#include <torch/optim/adamw.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "counting_allocator.hpp"

namespace finetune {

using tensors = std::vector<at::Tensor>;

/// Whether two tensors are the same bits.
inline auto same_bits(at::Tensor const& a, at::Tensor const& b) -> bool
{
    if (!a.defined() || !b.defined()) {
        return a.defined() == b.defined();
    }
    auto const x = a.detach().contiguous();
    auto const y = b.detach().contiguous();
    return x.sizes() == y.sizes() && x.dtype() == y.dtype() && std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0;
}

/// One model in training. Its random numbers are its own, so that two can take turns.
class trainee {
public:
    /// `step`: from a batch to its loss; `parameters` are trained, `buffers` compared.
    trainee(std::function<at::Tensor(tensors const&)> step, tensors parameters, tensors buffers)
        : step_(std::move(step))
        , parameters_(std::move(parameters))
        , buffers_(std::move(buffers))
        , optimizer_(parameters_, ::torch::optim::AdamWOptions(1e-3))
    {
        at::manual_seed(7);
        random_ = at::detail::getDefaultCPUGenerator().get_state();
    }

    /// One step: loss, gradients, parameters.
    void train(tensors const& batch)
    {
        auto& memory = counting_allocator::installed();
        auto generator = at::detail::getDefaultCPUGenerator();
        generator.set_state(random_);
        for (auto const& p : parameters_) {
            p.mutable_grad() = at::Tensor();
        }
        auto const base = memory.live();
        memory.reset_peak();
        auto const begin = std::clock();
        {
            auto const loss = step_(batch);
            loss.backward();
            loss_ = loss.detach();
        }
        seconds_.push_back(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
        peak_ = std::max(peak_, memory.peak() - base);
        random_ = generator.get_state();
        optimizer_.step();
    }

    /// Whether everything is as with the other.
    [[nodiscard]] auto same_as(trainee const& other) const -> bool
    {
        bool same = same_bits(loss_, other.loss_) && same_bits(random_, other.random_);
        for (std::size_t k = 0; k < parameters_.size(); ++k) {
            same = same && same_bits(parameters_[k], other.parameters_[k]) &&
                   same_bits(parameters_[k].grad(), other.parameters_[k].grad());
        }
        for (std::size_t k = 0; k < buffers_.size(); ++k) {
            same = same && same_bits(buffers_[k], other.buffers_[k]);
        }
        return same;
    }

    [[nodiscard]] auto loss() const -> double { return loss_.item().toDouble(); }
    /// Most bytes that a step has taken.
    [[nodiscard]] auto peak() const noexcept -> std::int64_t { return peak_; }
    /// Processor time of forward and backward of the fastest step.
    [[nodiscard]] auto seconds() const -> double { return *std::min_element(seconds_.begin(), seconds_.end()); }
    /// Median of the ratios, step by step, to the processor time of `other`, with which it took turns.
    [[nodiscard]] auto ratio_to(trainee const& other) const -> double
    {
        std::vector<double> all;
        for (std::size_t k = 0; k < seconds_.size(); ++k) {
            all.push_back(seconds_[k] / other.seconds_[k]);
        }
        auto const middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
        std::nth_element(all.begin(), middle, all.end());
        return *middle;
    }

private:
    std::function<at::Tensor(tensors const&)> step_;
    tensors parameters_, buffers_;
    ::torch::optim::AdamW optimizer_;
    at::Tensor random_;
    at::Tensor loss_;
    std::int64_t peak_ = 0;
    std::vector<double> seconds_;
};

} // namespace finetune
