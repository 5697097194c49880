// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Masks of dropout as bits: the same draws, in every type and layout, where they are worth it.
#include <strata/torch/mask_bits.hpp>
#include <strata/torch/rematerialize.hpp>

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/torch/support.hpp"

namespace torch_mask_bits_test {

namespace remat = strata::torch;
using at::Tensor;
using strata::test::same_bits;

/// How many units of the step have `part` in their name.
template <class Planned>
auto units_named(Planned const& p, std::string const& part) -> std::ptrdiff_t
{
    auto const& ops = p.graph().plain.ops;
    return std::count_if(ops.begin(), ops.end(), [&](auto const& x) {
        return x.phase == strata::phase::forward && x.name.find(part) != std::string::npos;
    });
}

/// `f(x)`, its gradient and what is drawn next, in three steps.
template <class F>
auto steps(F&& f, Tensor const& x) -> std::vector<Tensor>
{
    at::manual_seed(11);
    std::vector<Tensor> all;
    for (int k = 0; k < 3; ++k) {
        x.mutable_grad() = Tensor();
        auto const y = f(x);
        all.push_back(y.detach().clone());
        y.sum().backward();
        all.push_back(x.grad().clone());
        all.push_back(at::rand({2}));
    }
    return all;
}

TEST_CASE("mask bits: drawn as bits and widened, a mask is the same in every size, type and layout")
{
    auto const layouts = {std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>{{1}, {1}},
                          {{8}, {1}},
                          {{4099}, {1}},
                          {{33, 130}, {1, 33}},
                          {{2, 3, 40, 41}, {4920, 1, 123, 3}}};
    for (auto const& [sizes, strides] : layouts) {
        for (auto const type : {at::kFloat, at::kDouble, at::kBFloat16}) {
            for (auto const p : {0.1, 0.5, 0.9, 1.0}) {
                INFO("size " << at::IntArrayRef(sizes) << ", " << type << ", p = " << p);
                at::manual_seed(3);
                auto const mask = at::empty_strided(sizes, strides, type).bernoulli_(p).div_(p);
                auto const next = at::rand({3});
                at::manual_seed(3);
                ::torch::jit::Stack stack{sizes, strides, p};
                remat::detail::draw_bits(stack);
                CHECK(stack.at(0).toTensor().nbytes() == static_cast<std::size_t>((mask.numel() + 7) / 8));
                CHECK(same_bits(at::rand({3}), next));
                stack.insert(stack.end(), {sizes, strides, at::arange(2, at::TensorOptions(type)).div_(p)});
                remat::detail::widen_bits(stack);
                CHECK(stack.at(0).toTensor().strides() == mask.strides());
                CHECK(same_bits(stack.at(0).toTensor(), mask));
            }
        }
    }
}

TEST_CASE("mask bits: every kind of dropout has the same bits planned, and only large masks are packed")
{
    at::manual_seed(1);
    auto const x = at::randn({8, 16, 64}).requires_grad_();
    auto const f = [](Tensor const& in) {
        auto y = at::dropout(at::tanh(in), 0.1, true);
        y = at::dropout(at::sigmoid(y.transpose(0, 2)), 0.3, true).transpose(0, 2); // the mask has these strides
        y = at::alpha_dropout(at::tanh(y), 0.2, true);
        y = y * 1.5;
        at::dropout_(y, 0.4, true);
        y = at::tanh(y) * at::bernoulli(at::full_like(y, 0.5)); // no mask of dropout
        y = at::feature_dropout(at::tanh(y), 0.2, true);        // a small one, of features
        return at::dropout(at::tanh(y), 0.1, true).to(at::kDouble);
    };
    auto const plain = steps(f, x);
    for (auto const& how : {remat::options{.budget = strata::budget::bytes(1), .or_least = true, .repeats = 1},
                            remat::options{.repeats = 1}}) {
        auto planned = remat::rematerialize(f, {x}, how);
        CHECK(units_named(planned, "draw_bits") == 5);
        CHECK(units_named(planned, "bernoulli") == 2);
        auto const again = steps([&](Tensor const& in) { return planned.forward(in); }, x);
        REQUIRE(again.size() == plain.size());
        for (std::size_t k = 0; k < plain.size(); ++k) {
            INFO("result " << k);
            CHECK(same_bits(plain[k], again[k]));
        }
    }
}

TEST_CASE("mask bits: a budget without room for masks is kept without drawing any twice")
{
    auto const x = at::randn({64, 1024}).requires_grad_();
    auto const f = [](Tensor const& in) {
        auto y = in * 1.5;
        for (int k = 0; k < 8; ++k) { // all that backward needs are masks
            y = at::dropout(y, 0.1, true);
        }
        return y.sum();
    };
    auto const bytes = static_cast<strata::bytes_t>(x.nbytes());
    // Two tensors are there at a time, the mask, and what all masks are drawn as.
    auto planned = remat::rematerialize(f, {x}, {.budget = strata::budget::bytes(4 * bytes), .repeats = 1});
    auto const r = planned.report();
    CHECK(r.plain_peak > 8 * bytes);
    CHECK(r.measured_peak <= 4 * bytes);
    REQUIRE_FALSE(r.recomputed.empty());
    for (auto const& name : r.recomputed) {
        CHECK(name.find("draw_bits") == std::string::npos);
    }
}

} // namespace torch_mask_bits_test
