// SPDX-License-Identifier: Apache-2.0
// Trains a small network on the GPU twice: with everything kept, and inside a slab of 80 % of that memory, where some
// activations are computed again. Losses and weights come out equal, bit by bit.
#include <strata/cuda/device_resource.hpp>
#include <strata/cuda/runtime.hpp>
#include <strata/execute.hpp>
#include <strata/strata.hpp>

#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mlp_engine.cuh"

namespace mlp {

constexpr int features = 784;
constexpr int hidden = 4096;
constexpr int classes = 10;
constexpr int steps = 5;

/// Two hidden layers, and which op makes which gradient.
auto network() -> graph
{
    constexpr strata::bytes_t f = sizeof(float);
    strata::graph_builder<op> b("mlp");
    auto h = b.input("x", f * batch * features);
    auto const labels = b.input("labels", f * batch);
    int in = features;
    for (int layer = 0; layer < 2; ++layer) {
        auto const n = std::to_string(layer);
        auto const w = b.parameter("w" + n, f * in * hidden);
        auto const bias = b.parameter("b" + n, f * hidden);
        auto const a = b.add({op::kind::linear, in, hidden}, {h, w}, {{"a" + n, f * batch * hidden}});
        h = b.add({op::kind::bias_relu, hidden, hidden}, {a, bias}, {{"h" + n, f * batch * hidden}});
        in = hidden;
    }
    auto const w = b.parameter("w2", f * in * classes);
    auto const logits = b.add({op::kind::linear, in, classes}, {h, w}, {{"logits", f * batch * classes}});
    auto const loss = b.add({op::kind::softmax_loss, classes, classes},
                            {logits, labels},
                            {{"loss", f}, {"p", f * batch * classes}},
                            {.workspace = f * batch});
    b.target(loss[0]);
    auto const rule = [](op const& x, strata::gradient_request const&) -> strata::op_gradient<op> {
        using namespace strata::grad;
        switch (x.what) {
        case op::kind::linear:
            return {.ops = {{op{op::kind::linear_wgrad, x.in, x.out}, {input(0), of_output(0)}, {of_input(1)}},
                            {op{op::kind::linear_dgrad, x.in, x.out}, {input(1), of_output(0)}, {of_input(0)}}}};
        case op::kind::bias_relu:
            return {.ops = {{op{op::kind::bias_relu_backward, x.in, x.out},
                             {output(0), of_output(0)},
                             {of_input(0), of_input(1)}}}};
        case op::kind::softmax_loss:
            return {
                .ops = {
                    {op{op::kind::softmax_backward, x.in, x.out}, {output(1), input(1), of_output(0)}, {of_input(0)}}}};
        default: return {};
        }
    };
    return *strata::differentiate(*b.build(), rule, {.losses = {loss[0]}});
}

/// Floating-point operations, or bytes where those are what takes time.
auto price(op const& x) -> double
{
    switch (x.what) {
    case op::kind::linear:
    case op::kind::linear_dgrad:
    case op::kind::linear_wgrad: return 2.0 * batch * x.in * x.out;
    default: return 100.0 * batch * x.out;
    }
}

/// Resident tensors: parameters, their gradients, inputs. They come in the order of stream `s`.
class residents {
public:
    residents(graph const& g,
              strata::program const& p,
              strata::device_resource<strata::cuda_runtime>& memory,
              cudaStream_t s)
        : memory_(&memory)
    {
        for (strata::tensor_id t = 0; t < p.tensor_count(); ++t) {
            if (!p.resident(t) || p.owners()[static_cast<std::size_t>(t)] != t) {
                continue;
            }
            auto const n = static_cast<std::size_t>(g.tensor_bytes(t));
            auto* const at = static_cast<std::byte*>(memory.allocate(n, 256));
            all_.push_back({t, {at, n}, g.kind_of(t), g.tensor_name(t)});
            auto const count = static_cast<int>(n / sizeof(float));
            if (g.tensor_name(t) == "labels") {
                std::vector<int> labels(batch);
                for (int i = 0; i < batch; ++i) {
                    labels[static_cast<std::size_t>(i)] = (7 * i + 3) % classes;
                }
                check("cudaMemcpyAsync", cudaMemcpyAsync(at, labels.data(), n, cudaMemcpyHostToDevice, s));
            } else if (n == sizeof(float)) { // the gradient of the loss
                float const one = 1.0F;
                check("cudaMemcpyAsync", cudaMemcpyAsync(at, &one, n, cudaMemcpyHostToDevice, s));
            } else {
                float const scale = g.tensor_name(t) == "x" ? 1.0F : 0.02F;
                fill<<<blocks(count), threads, 0, s>>>(
                    reinterpret_cast<float*>(at), count, scale, static_cast<unsigned>(t));
            }
        }
        check("filling", cudaStreamSynchronize(s));
    }
    residents(residents const&) = delete;
    auto operator=(residents const&) -> residents& = delete;
    ~residents()
    {
        for (auto const& x : all_) {
            memory_->deallocate(x.memory.data(), x.memory.size(), 256);
        }
    }

    template <class Executor>
    void bind(Executor& to) const
    {
        for (auto const& x : all_) {
            to.bind(x.id, x.memory);
        }
    }
    /// One step of gradient descent: each parameter against the gradient that stands for it.
    void descend_all(cudaStream_t s) const
    {
        for (auto const& w : all_) {
            for (auto const& dw : all_) {
                if (w.kind == strata::tensor_kind::parameter && dw.kind == strata::tensor_kind::parameter_gradient &&
                    dw.name.find(w.name) != std::string::npos) {
                    auto const n = static_cast<int>(w.memory.size() / sizeof(float));
                    descend<<<blocks(n), threads, 0, s>>>(reinterpret_cast<float*>(w.memory.data()),
                                                          reinterpret_cast<float const*>(dw.memory.data()),
                                                          n,
                                                          0.1F);
                }
            }
        }
        check("descending", cudaGetLastError());
    }
    /// The bytes of all of them, on the host.
    [[nodiscard]] auto copy() const -> std::vector<std::byte>
    {
        std::vector<std::byte> r;
        for (auto const& x : all_) {
            r.resize(r.size() + x.memory.size());
            check("cudaMemcpy",
                  cudaMemcpy(
                      r.data() + r.size() - x.memory.size(), x.memory.data(), x.memory.size(), cudaMemcpyDeviceToHost));
        }
        return r;
    }

private:
    struct resident {
        strata::tensor_id id;
        std::span<std::byte> memory;
        strata::tensor_kind kind;
        std::string name;
    };
    strata::device_resource<strata::cuda_runtime>* memory_;
    std::vector<resident> all_;
};

struct outcome {
    std::vector<float> losses;
    std::vector<std::byte> weights;
};

// [train]
auto train(graph const& g, strata::program const& program) -> outcome
{
    engine on(g);
    strata::device_resource memory(strata::cuda_runtime{}, {strata::device_call::malloc_async, on.stream()});
    residents const outside(g, program, memory, on.stream());
    strata::executor step(program, on, memory); // one slab from `memory`, every buffer at its planned offset
    outside.bind(step);

    outcome r;
    for (int k = 0; k < steps; ++k) {
        step.run();
        outside.descend_all(on.stream());
        on.synchronize();
        r.losses.emplace_back();
        check("cudaMemcpy",
              cudaMemcpy(&r.losses.back(), step.data(g.targets()[0]), sizeof(float), cudaMemcpyDeviceToHost));
    }
    r.weights = outside.copy();
    return r;
}
// [train]

auto compare() -> int
{
    auto const g = network();
    auto const low = strata::lower(g, strata::priced_by(price), {.alignment = 512});
    auto const kept = strata::plan(low->problem(), {}, strata::keep_all{});
    auto const tight = strata::plan(low->problem(), {.budget = strata::budget::fraction(0.8)});
    std::printf("keep all: slab of %lld bytes\n", static_cast<long long>(kept->placement.arena));
    std::printf("planned:  slab of %lld bytes, %s\n",
                static_cast<long long>(tight->placement.arena),
                describe(tight->certificate).c_str());
    if (int devices = 0; cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::puts("there is no CUDA device: nothing was run");
        return 77;
    }
    auto const first = train(g, *strata::compile(*low, *kept));
    auto const second = train(g, *strata::compile(*low, *tight));
    bool const equal = first.losses == second.losses && first.weights == second.weights;
    std::printf("loss %.6f, then %.6f: %s\n",
                static_cast<double>(second.losses.front()),
                static_cast<double>(second.losses.back()),
                equal ? "bitwise equal" : "the two runs DIFFER");
    return equal && second.losses.back() < second.losses.front() ? 0 : 1;
}

} // namespace mlp

auto main() -> int
{
    try {
        return mlp::compare();
    } catch (std::exception const& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
