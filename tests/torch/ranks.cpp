// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Two processes train one model, data parallel over Gloo on loopback: rank 0 plans for both, and the gradients are
/// those of plain training.
#include <strata/io/read_plan.hpp>
#include <strata/io/write_plan.hpp>
#include <strata/torch/rematerialize.hpp>

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/optim/adamw.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "examples/torch_finetune/models.hpp"
#include "tests/torch/support.hpp"
#include <sys/wait.h>

namespace {

using at::Tensor;
using strata::test::same_bits;

void require(bool holds, std::string const& what)
{
    if (!holds) {
        throw std::runtime_error(what);
    }
}

class rank {
public:
    rank(int me, std::string const& file)
        : me_(me)
    {
        auto how = c10d::ProcessGroupGloo::Options::create(std::chrono::seconds(60)); // should the other fail
        how->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
        group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(c10::make_intrusive<c10d::FileStore>(file, 2), me, 2, how);
    }

    /// What rank 0 says.
    auto told(std::string text) -> std::string
    {
        std::vector<Tensor> size{at::full({1}, static_cast<std::int64_t>(text.size()), at::kLong)};
        group_->broadcast(size)->wait();
        text.resize(static_cast<std::size_t>(size[0].item<std::int64_t>()));
        std::vector<Tensor> letters{at::empty({static_cast<std::int64_t>(text.size())}, at::kByte)};
        std::memcpy(letters[0].data_ptr(), text.data(), text.size());
        group_->broadcast(letters)->wait();
        std::memcpy(text.data(), letters[0].data_ptr(), text.size());
        return text;
    }
    /// Means over both ranks.
    void average(std::vector<Tensor> const& parameters)
    {
        for (auto const& p : parameters) {
            std::vector<Tensor> one{p.grad()};
            group_->allreduce(one)->wait();
            one[0].div_(2);
        }
    }

    void run()
    {
        std::string const name = "gpt";
        auto const fresh = [&] {
            at::manual_seed(1);
            return finetune::make_model(name, finetune::size::small);
        };
        at::manual_seed(10U + static_cast<std::uint64_t>(me_)); // data of its own
        std::vector<std::vector<Tensor>> data;
        for (int k = 0; k < 3; ++k) {
            data.push_back(finetune::make_batch(name, finetune::size::small));
        }
        auto plain = fresh();
        auto model = fresh();
        std::string text;
        if (me_ == 0) {
            auto const first = strata::torch::rematerialize(
                model, data[0], {.budget = strata::budget::fraction(0.5), .or_least = true});
            text = strata::write_plan(first.plan(), name);
        }
        text = told(std::move(text));
        auto const plan = strata::read_plan_file(text).value().plan;
        auto planned = strata::torch::rematerialize(model, data[0], plan);
        require(!planned.report().recomputed.empty(), "nothing is recomputed");
        require(strata::write_plan(planned.plan(), name) == text, "the plan is not that of rank 0");
        std::vector<Tensor> prints{at::full({1}, static_cast<std::int64_t>(planned.plan().fingerprint), at::kLong)};
        group_->broadcast(prints)->wait();
        require(prints[0].item<std::int64_t>() == static_cast<std::int64_t>(planned.plan().fingerprint),
                "fingerprints of the ranks differ");
        auto const train = [&](auto& m, auto&& step) {
            std::vector<Tensor> all;
            ::torch::optim::AdamW optimizer(m->parameters(), ::torch::optim::AdamWOptions(1e-3));
            at::manual_seed(20U + static_cast<std::uint64_t>(me_));
            for (auto const& x : data) {
                for (auto const& p : m->parameters()) {
                    p.mutable_grad() = Tensor();
                }
                step(x).backward();
                average(m->parameters());
                for (auto const& p : m->parameters()) {
                    all.push_back(p.grad().clone());
                }
                optimizer.step();
            }
            return all;
        };
        auto const a = train(plain, [&](auto const& x) { return plain->forward(x[0], x[1]); });
        auto const b = train(model, [&](auto const& x) { return planned.forward(x[0], x[1]); });
        for (std::size_t k = 0; k < a.size(); ++k) {
            require(same_bits(a[k], b[k]), "gradient " + std::to_string(k) + " differs");
        }
        std::printf("rank %d: %zu gradients, the same bits\n", me_, a.size());
        std::fflush(stdout);
    }

private:
    int me_;
    c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

auto run(int me, std::string const& file) -> int
{
    try {
        rank(me, file).run();
        return 0;
    } catch (std::exception const& e) {
        std::fprintf(stderr, "rank %d: %s\n", me, e.what());
        return 1;
    }
}

} // namespace

auto main() -> int
{
    auto const file = std::filesystem::temp_directory_path() / ("strata_ranks." + std::to_string(getpid()));
    auto const child = fork(); // before libtorch has any thread
    if (child == 0) {
        _exit(run(1, file.string()));
    }
    auto const mine = run(0, file.string());
    int status = 0;
    waitpid(child, &status, 0);
    std::filesystem::remove(file);
    return mine == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}
