// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Models of the usual kinds, trained plainly and within budgets: the same bits, and no more memory than planned.
#include <strata/torch/rematerialize.hpp>

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "examples/torch_finetune/models.hpp"
#include "tests/support/catch.hpp"
#include "tests/torch/support.hpp"

namespace torch_training_test {

using namespace finetune;
using strata::test::differing;
using strata::test::train;

auto images(std::int64_t n, std::int64_t size) -> std::vector<at::Tensor>
{
    return {at::randn({n, 3, size, size}), at::randint(10, {n}, at::kLong)};
}

template <class Model>
void check(std::string const& name,
           std::function<Model()> const& make,
           std::function<std::vector<at::Tensor>()> const& batch)
{
    finetune::counting_allocator::installed();
    at::set_num_threads(1);
    at::manual_seed(3);
    std::vector<std::vector<at::Tensor>> data;
    for (int k = 0; k < 5; ++k) {
        data.push_back(batch());
    }
    auto const fresh = [&] {
        at::manual_seed(1);
        return make();
    };
    auto plain_model = fresh();
    auto const plain = train(
        plain_model, [&](auto const& x) { return plain_model->forward(x[0], x[1]); }, data);
    for (auto const share : {1.0, 0.7, 0.5, 0.3}) {
        auto model = fresh();
        auto planned = strata::torch::rematerialize(
            model,
            data[0],
            {.budget = strata::budget::bytes(static_cast<strata::bytes_t>(share * static_cast<double>(plain.peak))),
             .or_least = true,
             .repeats = 1});
        auto const r = train(
            model, [&](auto const& x) { return planned.forward(x[0], x[1]); }, data);
        auto const said = planned.report();
        INFO(name << " at " << share << ": plain " << plain.peak << " budget " << said.budget << " planned "
                  << said.planned_peak << " rehearsed " << said.measured_peak << " measured " << r.peak << " overhead "
                  << said.overhead << " units " << said.units << " rehearsals " << said.rehearsals);
        CHECK(differing(plain, r) == std::vector<std::string>());
        CHECK(r.peak <= said.budget);
    }
}

TEST_CASE("rematerialize: a multilayer perceptron")
{
    check<mlp>(
        "mlp",
        [] { return mlp(); },
        [] {
            return std::vector<at::Tensor>{at::randn({128, 64}), at::randint(10, {128}, at::kLong)};
        });
}

TEST_CASE("rematerialize: GPT-2 with dropout and tied weights")
{
    check<gpt>(
        "gpt",
        [] { return gpt(); },
        [] {
            return std::vector<at::Tensor>{at::randint(50, {4, 32}, at::kLong), at::randint(50, {4, 32}, at::kLong)};
        });
}

TEST_CASE("rematerialize: a residual net with batch normalisation and in-place ops")
{
    check<resnet>(
        "resnet", [] { return resnet(); }, [] { return images(4, 16); });
}

TEST_CASE("rematerialize: a recurrent net")
{
    check<lstm>(
        "lstm",
        [] { return lstm(); },
        [] {
            return std::vector<at::Tensor>{at::randn({4, 6, 16}), at::randint(10, {4, 6}, at::kLong)};
        });
}

TEST_CASE("rematerialize: a U-Net with skips")
{
    check<unet>(
        "unet",
        [] { return unet(); },
        [] {
            return std::vector<at::Tensor>{at::randn({2, 3, 32, 32}), at::randint(5, {2, 32, 32}, at::kLong)};
        });
}

} // namespace torch_training_test
