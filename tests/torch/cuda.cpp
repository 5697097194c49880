// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Steps on a CUDA device, with their blocks in one slab: the same bits as plain training, and a step beside it.
///
/// For libtorch 2.x; tests/torch2.sh compiles it everywhere, and runs it where there is a device.
#include <strata/torch/cuda_arena.hpp>
#include <strata/torch/rematerialize.hpp>

#include <ATen/ATen.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/torch/support.hpp"

namespace {

using at::Tensor;

void require(bool holds, std::string const& what)
{
    if (!holds) {
        throw std::runtime_error(what);
    }
}

void run()
{
    auto& behind = strata::torch::use_cuda_arena();
    at::manual_seed(1);
    auto const on = at::TensorOptions(at::kCUDA);
    std::vector<Tensor> weights;
    for (int k = 0; k < 6; ++k) {
        weights.push_back((at::randn({256, 256}).to(on) / 16).requires_grad_());
    }
    auto const f = [&](Tensor const& x) {
        auto y = x;
        for (auto const& w : weights) {
            y = at::gelu(at::matmul(y, w));
        }
        return y.square().mean();
    };
    auto const x = at::randn({4096, 256}).to(on);
    auto const step = [&](auto const& g) {
        for (auto const& w : weights) {
            w.mutable_grad() = Tensor();
        }
        auto const loss = g(x);
        loss.backward();
        std::vector<Tensor> all{loss.detach().cpu()};
        for (auto const& w : weights) {
            all.push_back(w.grad().cpu());
        }
        return all;
    };
    auto const plain = step(f);
    auto const half = strata::torch::step_budget::activations(strata::budget::fraction(0.5));
    auto planned = strata::torch::rematerialize(f, {x}, {.budget = half, .arena = true});
    auto const r = planned.report();
    require(!r.recomputed.empty(), "nothing is recomputed at half of the memory");
    require(r.measured_peak <= r.budget, "a step takes more than its budget");
    require(r.arena_bytes > 0, "the step has no slab");
    for (int k = 0; k < 3; ++k) {
        auto const again = step([&](Tensor const& in) { return planned.forward(in); });
        for (std::size_t i = 0; i < plain.size(); ++i) {
            require(strata::test::same_bits(plain[i], again[i]), "result " + std::to_string(i) + " differs");
        }
    }
    auto const first = planned.forward(x); // has the slab
    auto const second = planned.forward(x);
    second.backward();
    first.backward();
    auto const live = behind.getDeviceStats(0).allocated_bytes[0].current;
    require(live >= r.arena_bytes, "the slab does not come from the allocator behind");
    std::printf("cuda: the same bits, %lld of %lld bytes, in a slab of %lld\n",
                static_cast<long long>(r.measured_peak),
                static_cast<long long>(r.plain_peak),
                static_cast<long long>(r.arena_bytes));
}

} // namespace

auto main() -> int
{
    try {
        run();
        return 0;
    } catch (std::exception const& e) {
        std::fprintf(stderr, "cuda: %s\n", e.what());
        return 1;
    }
}
