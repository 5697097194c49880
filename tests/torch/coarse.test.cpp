// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Units that always run together run as one: the same bits, no more memory, and one part where all is kept.
#include <strata/torch/rematerialize.hpp>

#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "examples/torch_finetune/models.hpp"
#include "tests/support/catch.hpp"
#include "tests/torch/support.hpp"

namespace torch_coarse_test {

using strata::test::differing;
using strata::test::train;

/// Ops at random over few weights: values and weights that many ops read, views, ops in place, dropout.
struct tangle : ::torch::nn::Module {
    explicit tangle(unsigned s)
        : seed(s)
    {
        for (int k = 0; k < 3; ++k) {
            weights.push_back(register_parameter("w" + std::to_string(k), at::randn({12, 12}).mul_(0.3)));
        }
    }
    auto forward(at::Tensor const& x) -> at::Tensor
    {
        std::mt19937 random(seed);
        std::vector<at::Tensor> all{x};
        auto const any = [&]() -> at::Tensor const& {
            return all[all.size() - 1 - random() % std::min<std::size_t>(all.size(), 9)];
        };
        for (int k = 0; k < 40; ++k) {
            auto const a = any();
            auto const b = any();
            switch (random() % 8) {
            case 0: all.push_back(at::matmul(a, weights[random() % 3])); break;
            case 1: all.push_back(at::matmul(a, weights[random() % 3].t())); break;
            case 2: all.push_back(at::tanh(a) + b); break;
            case 3: all.push_back(a * b); break;
            case 4: all.push_back(at::cat({at::slice(a, 1, 0, 6), at::slice(b, 1, 6, 12)}, 1)); break;
            case 5: all.push_back((a - b).relu_()); break;
            case 6: all.push_back(at::dropout(a, 0.1, true) * 0.5); break;
            default: all.push_back(at::softmax(a, 1) + at::sigmoid(b) + a); break;
            }
        }
        return at::stack(all).mean();
    }
    std::vector<at::Tensor> weights;
    unsigned seed;
};

TEST_CASE("coarse: tangled steps have the same bits and keep the budget, however they are cut into parts")
{
    finetune::counting_allocator::installed();
    at::set_num_threads(1);
    std::size_t fewer = 0;
    for (unsigned seed = 0; seed < 8; ++seed) {
        at::manual_seed(seed);
        std::vector<std::vector<at::Tensor>> const data{{at::randn({40, 12})}, {at::randn({40, 12})}};
        auto const fresh = [&] {
            at::manual_seed(1);
            return std::make_shared<tangle>(seed);
        };
        auto plain_model = fresh();
        auto const plain = train(
            plain_model, [&](auto const& x) { return plain_model->forward(x[0]); }, data);
        for (auto const share : {1.0, 0.7, 0.5}) {
            auto model = fresh();
            auto planned = strata::torch::rematerialize(
                model,
                data[0],
                {.budget = strata::budget::bytes(static_cast<strata::bytes_t>(share * static_cast<double>(plain.peak))),
                 .or_least = true});
            auto const got = train(
                model, [&](auto const& x) { return planned.forward(x[0]); }, data);
            auto const r = planned.report();
            INFO("seed " << seed << ", budget " << share);
            CHECK(differing(plain, got) == std::vector<std::string>{});
            CHECK(got.peak <= r.budget);
            CHECK(r.parts <= r.units);
            fewer += r.parts < r.units ? 1 : 0;
        }
    }
    CHECK(fewer >= 12); // of 24
}

TEST_CASE("coarse: a step that keeps everything runs in one part")
{
    finetune::counting_allocator::installed();
    at::set_num_threads(1);
    for (auto const* name : {"lstm", "state_space", "gpt", "resnet18"}) {
        at::manual_seed(3);
        auto const data = finetune::make_batch(name, finetune::size::small);
        auto model = finetune::make_model(name, finetune::size::small);
        auto planned = strata::torch::rematerialize(model, data, strata::torch::options{});
        auto const r = planned.report();
        INFO(name);
        CHECK(r.units > 1);
        CHECK(r.parts == 1);
    }
}

} // namespace torch_coarse_test
