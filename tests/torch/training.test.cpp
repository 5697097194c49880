// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Models of the usual kinds, trained plainly and within budgets: the same bits, and no more memory than planned.
#include <strata/torch/rematerialize.hpp>

#include <ATen/ATen.h>

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

/// Trains model `name` plainly and within less and less memory, five steps each.
void check(std::string const& name)
{
    finetune::counting_allocator::installed();
    at::set_num_threads(1);
    at::manual_seed(3);
    std::vector<std::vector<at::Tensor>> data;
    for (int k = 0; k < 5; ++k) {
        data.push_back(make_batch(name, size::small));
    }
    auto const fresh = [&] {
        at::manual_seed(1);
        return make_model(name, size::small);
    };
    auto plain_model = fresh();
    auto const plain = train(
        plain_model, [&](auto const& x) { return plain_model->forward(x[0], x[1]); }, data);
    strata::bytes_t before = 0;
    for (auto const share : {1.0, 0.7, 0.5, 0.3, 0.2}) {
        auto model = fresh();
        auto planned = strata::torch::rematerialize(
            model,
            data[0],
            {.budget = strata::budget::bytes(static_cast<strata::bytes_t>(share * static_cast<double>(plain.peak))),
             .or_least = true,
             .repeats = 1});
        auto const said = planned.report();
        auto const r = train(
            model, [&](auto const& x) { return planned.forward(x[0], x[1]); }, data);
        INFO(name << " at " << share << ": plain " << plain.peak << " budget " << said.budget << " planned "
                  << said.planned_peak << " rehearsed " << said.measured_peak << " measured " << r.peak << " overhead "
                  << said.overhead << " units " << said.units << " rehearsals " << said.rehearsals);
        CHECK(differing(plain, r) == std::vector<std::string>());
        CHECK(r.peak <= said.budget);
        for (auto const& unit : said.recomputed) {
            CHECK(unit.find("topk") == std::string::npos); // where tokens go is decided once
        }
        if (std::exchange(before, said.budget) == said.budget) {
            break; // the least that is known to do
        }
    }
}

TEST_CASE("rematerialize: a multilayer perceptron") { check("mlp"); }
TEST_CASE("rematerialize: GPT-2 with dropout and tied weights") { check("gpt"); }
TEST_CASE("rematerialize: GPT-2 with attention in one call") { check("gpt_fused"); }
TEST_CASE("rematerialize: an encoder and a decoder") { check("transformer"); }
TEST_CASE("rematerialize: a residual net with batch normalisation and in-place ops") { check("resnet18"); }
TEST_CASE("rematerialize: a deep residual net with bottlenecks") { check("resnet50"); }
TEST_CASE("rematerialize: a net in which every layer reads all before it") { check("densenet"); }
TEST_CASE("rematerialize: a U-Net with skips") { check("unet"); }
TEST_CASE("rematerialize: a recurrent net") { check("lstm"); }
TEST_CASE("rematerialize: a recurrent net in both directions") { check("gru"); }
TEST_CASE("rematerialize: linear layers over places and channels by turns") { check("mixer"); }
TEST_CASE("rematerialize: experts, where routing is decided once") { check("experts"); }
TEST_CASE("rematerialize: a recurrence with a state that each token chooses") { check("state_space"); }
TEST_CASE("rematerialize: a Fourier operator, in complex numbers") { check("fourier"); }

} // namespace torch_training_test
