// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Modules of TorchScript: control flow, statistics and dropout, and the file that the example writes.
#include <strata/torch/rematerialize.hpp>

#include <ATen/ATen.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "examples/torch_finetune/models.hpp"
#include "examples/torch_finetune/script_model.hpp"
#include "tests/support/catch.hpp"
#include "tests/torch/support.hpp"

namespace torch_script_test {

namespace remat = strata::torch;
using strata::test::same_bits;
using tensors = std::vector<at::Tensor>;

/// While it lives, TorchScript runs as it is written: the executor that optimises changes the bits of plain training too.
class as_written {
public:
    as_written()
        : before_(::torch::jit::getExecutorMode())
    {
        ::torch::jit::getExecutorMode() = false;
        ::torch::jit::setGraphExecutorOptimize(false);
    }
    as_written(as_written const&) = delete;
    auto operator=(as_written const&) -> as_written& = delete;
    ~as_written()
    {
        ::torch::jit::getExecutorMode() = before_;
        ::torch::jit::setGraphExecutorOptimize(true);
    }

private:
    bool before_;
};

/// Losses of three steps, then gradients, buffers and a random number.
template <class Step>
auto trained(::torch::jit::Module& m, Step&& loss_of, tensors const& x) -> tensors
{
    at::manual_seed(5);
    tensors all;
    for (int k = 0; k < 3; ++k) {
        auto const loss = loss_of(x);
        loss.backward();
        all.push_back(loss.detach());
    }
    for (auto const& p : m.parameters()) {
        all.push_back(p.grad());
    }
    for (auto const& b : m.buffers()) {
        all.push_back(b);
    }
    all.push_back(at::rand({2}));
    return all;
}

/// Checks that the bits are the same with as little memory as possible. `make` makes the same module each time.
template <class Make>
void check_same(Make const& make, tensors const& x)
{
    auto plain_module = make();
    auto const plain = trained(
        plain_module,
        [&](tensors const& in) {
            return plain_module.forward({in[0], in[1]}).toTensor();
        },
        x);
    auto module = make();
    auto planned = remat::rematerialize(module, x, {.budget = strata::budget::bytes(1), .or_least = true});
    auto const again = trained(
        module, [&](tensors const& in) { return planned.forward(in[0], in[1]).toTensor(); }, x);
    CHECK_FALSE(planned.report().recomputed.empty());
    REQUIRE(again.size() == plain.size());
    for (std::size_t k = 0; k < plain.size(); ++k) {
        INFO("result " << k);
        CHECK(same_bits(plain[k], again[k]));
    }
}

TEST_CASE("script: loops, branches, statistics and dropout have the same bits")
{
    as_written const now;
    auto const make = [] {
        at::manual_seed(1);
        ::torch::jit::Module m("classifier");
        for (auto const* name : {"w0", "w1", "w2", "w3"}) {
            m.register_parameter(name, (at::randn({32, 32}) / 6).requires_grad_(), false);
        }
        m.register_parameter("head", (at::randn({32, 10}) / 6).requires_grad_(), false);
        m.register_buffer("mean", at::zeros({32}));
        m.register_buffer("var", at::ones({32}));
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
        return m;
    };
    check_same(make, {at::randn({160, 32}), at::randint(10, {160}, at::kLong)});
}

TEST_CASE("script: the file that the example writes is the model of the same name, and has the same bits planned")
{
    as_written const now;
    auto const file = (std::filesystem::temp_directory_path() / "strata_script_gpt.pt").string();
    finetune::save_script_gpt(file, finetune::size::small);
    auto m = finetune::load_script_model(file);
    auto const x = finetune::script_batch(m);
    at::manual_seed(1);
    auto const same = finetune::make_model("gpt", finetune::size::small);
    at::manual_seed(2);
    auto const here = same->forward(x[0], x[1]);
    at::manual_seed(2);
    CHECK(same_bits(m.forward({x[0], x[1]}).toTensor().detach(), here.detach()));
    check_same([&] { return finetune::load_script_model(file); }, x);
    std::filesystem::remove(file);
}

} // namespace torch_script_test
