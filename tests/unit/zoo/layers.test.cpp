// SPDX-License-Identifier: Apache-2.0
// What each layer's backward reads, what it saves, and what it does to other ops.
#include "examples/zoo/layers.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"

namespace zoo_layers_test {

using namespace strata;
using namespace strata::zoo;
using Catch::Matchers::Contains;
using names = std::set<std::string>;

/// The step `x -> first -> layer -> last -> loss`, where `first` and `last` are products with weights.
template <class Layer>
auto step(shape s, Layer const& layer) -> training_graph<op>
{
    network n("test", dtype::fp16);
    auto const x = linear(n, "first", n.input("x", s), s.back(), false);
    value const y = layer(n, x);
    auto const z = linear(n, "last", y, 2, false);
    return std::move(n).train(cross_entropy(n, z)).value();
}

/// Tensors of forward that backward ops of types beginning with `type` read; parameters, gradients left out.
auto reads(training_graph<op> const& g, std::string const& type) -> names
{
    names all;
    for (auto const& o : g.ops()) {
        if (o.phase == phase::backward && o.type.rfind(type, 0) == 0) {
            for (auto t : o.inputs) {
                auto const kind = g.kind_of(t);
                if (kind != tensor_kind::gradient && kind != tensor_kind::parameter) {
                    all.insert(g.tensor_name(t));
                }
            }
        }
    }
    return all;
}

auto find(training_graph<op> const& g, std::string const& type) -> graph_op<op> const&
{
    for (auto const& o : g.ops()) {
        if (o.type == type) {
            return o;
        }
    }
    throw std::runtime_error("no op of type " + type);
}

auto bytes_of_tensor(training_graph<op> const& g, std::string const& name) -> bytes_t
{
    for (auto const& t : g.tensors()) {
        if (t.name == name) {
            return t.bytes;
        }
    }
    return -1;
}

TEST_CASE("layers: activations read their input or their result")
{
    shape const s{4, 8};
    CHECK(reads(step(s, [](auto& n, auto& x) { return gelu(n, x); }), "gelu") == names{"first"});
    CHECK(reads(step(s, [](auto& n, auto& x) { return silu(n, x); }), "silu") == names{"first"});
    CHECK(reads(step(s, [](auto& n, auto& x) { return relu(n, x); }), "relu") == names{"relu#1"});
    CHECK(reads(step(s, [](auto& n, auto& x) { return sigmoid(n, x); }), "sigmoid") == names{"sigmoid#1"});
    CHECK(reads(step(s, [](auto& n, auto& x) { return zoo::tanh(n, x); }), "tanh") == names{"tanh#1"});
}

TEST_CASE("layers: relu in place changes its input and is a view of it")
{
    auto const g = step({4, 8}, [](auto& n, auto& x) { return relu(n, x, true); });
    auto const& o = find(g, "relu_");
    CHECK(o.mutates == o.inputs);
    CHECK(g.view_of(o.outputs[0]) == o.inputs[0]);
    CHECK(reads(g, "relu") == names{"relu_#1"});
}

TEST_CASE("layers: dropout is random and saves one byte a number, a rate of zero is no op")
{
    auto const g = step({4, 8}, [](auto& n, auto& x) { return dropout(n, x, 0.1); });
    CHECK(find(g, "dropout").effects == effects(effect::random));
    CHECK(reads(g, "dropout") == names{"dropout#1.mask"});
    CHECK(bytes_of_tensor(g, "dropout#1.mask") == 32);
    CHECK(step({4, 8}, [](auto& n, auto& x) { return dropout(n, x, 0); }).op_count() ==
          step({4, 8}, [](auto&, auto& x) { return x; }).op_count());
}

TEST_CASE("layers: sums read nothing and share the gradient of the sum")
{
    auto const sum = [](bool in_place) {
        return step({4, 8}, [&](auto& n, auto& x) {
            auto const a = gelu(n, x);
            return add(n, a, silu(n, x), in_place);
        });
    };
    auto const g = sum(false);
    CHECK(reads(g, "add").empty());
    CHECK(bytes_of_tensor(g, "gelu#1.grad") == -1);
    CHECK(bytes_of_tensor(g, "silu#2.grad") == -1);
    CHECK(bytes_of_tensor(g, "add#3.grad") == 64);
    auto const in_place = sum(true);
    CHECK(find(in_place, "add_").mutates == std::vector{find(in_place, "gelu").outputs[0]});
    network n("bad", dtype::fp16);
    CHECK_THROWS_WITH(add(n, n.input("a", {2, 3}), n.input("b", {3, 2})), Contains("cannot add [3, 2] to [2, 3]"));
}

TEST_CASE("layers: a broadcast term gets the sum of the gradient")
{
    auto const g = step({4, 8}, [](auto& n, auto& x) { return add_broadcast(n, x, n.parameter("b", {8})); });
    auto const& o = find(g, "add.sum_gradient");
    CHECK(g.tensor_name(o.outputs[0]) == "b.grad");
    CHECK(reads(g, "add").empty());
}

TEST_CASE("layers: each factor's gradient reads the other factor")
{
    auto const g = step({4, 8}, [](auto& n, auto& x) {
        auto const a = gelu(n, x);
        return multiply(n, a, silu(n, x));
    });
    CHECK(reads(g, "multiply.first") == names{"silu#2"});
    CHECK(reads(g, "multiply.second") == names{"gelu#1"});
    auto const h = step({4, 8}, [](auto& n, auto& x) {
        auto const a = gelu(n, x);
        return matmul(n, "mm", a, silu(n, x), {4, 8}, 8);
    });
    CHECK(reads(h, "matmul.first") == names{"silu#2"});
    CHECK(reads(h, "matmul.second") == names{"gelu#1"});
}

TEST_CASE("layers: a linear layer keeps its input for its weights, and nothing for the gradient it hands on")
{
    auto const g = step({4, 8}, [](auto& n, auto& x) { return linear(n, "l", x, 16); });
    CHECK(reads(g, "linear.input_gradient").empty());
    CHECK(reads(g, "linear.weight_gradient") == names{"x", "first", "l"});
    CHECK(bytes_of_tensor(g, "l.weight") == 2 * 16 * 8);
    CHECK(bytes_of_tensor(g, "l.bias.grad") == 2 * 16);
    CHECK(find(g, "linear").op.flops == 2.0 * 4 * 8 * 8);
    network n("bad", dtype::fp16);
    CHECK_THROWS_WITH(product(n, "p", n.input("a", {2, 3}), n.parameter("w", {5, 4})), Contains("[5, 4] do not fit"));
}

TEST_CASE("layers: normalisations save their statistics in fp32")
{
    auto const ln = step({4, 8}, [](auto& n, auto& x) { return layer_norm(n, "norm", x); });
    CHECK(reads(ln, "layer_norm") == names{"first", "norm.statistics"});
    CHECK(bytes_of_tensor(ln, "norm.statistics") == 4 * 2 * 4);
    auto const rms = step({4, 8}, [](auto& n, auto& x) { return rms_norm(n, "norm", x); });
    CHECK(reads(rms, "rms_norm") == names{"first", "norm.statistics"});
    CHECK(bytes_of_tensor(rms, "norm.statistics") == 4 * 4);
    CHECK(bytes_of_tensor(rms, "norm.bias") == -1);
    auto const gn = step({2, 6, 4, 8}, [](auto& n, auto& x) { return group_norm(n, "norm", x, 3); });
    CHECK(bytes_of_tensor(gn, "norm.statistics") == 2 * 3 * 2 * 4);
    auto const softmax_ = step({4, 8}, [](auto& n, auto& x) { return softmax(n, x); });
    CHECK(reads(softmax_, "softmax") == names{"softmax#1"});
}

TEST_CASE("layers: batch norm writes its running state and does not read it")
{
    auto const g = step({2, 6, 4, 8}, [](auto& n, auto& x) { return batch_norm(n, "norm", x); });
    auto const& o = find(g, "batch_norm");
    CHECK(o.effects == effects(effect::stateful));
    CHECK(reads(g, "batch_norm") == names{"first", "norm.statistics"});
    CHECK(bytes_of_tensor(g, "norm.statistics") == 6 * 2 * 4);
    names written;
    for (auto t : o.outputs) {
        if (g.kind_of(t) == tensor_kind::state) {
            written.insert(g.tensor_name(t));
        }
    }
    CHECK(written == names{"norm.running_mean", "norm.running_variance", "norm.batches"});
    for (auto t : o.inputs) {
        CHECK(g.kind_of(t) != tensor_kind::state);
    }
}

TEST_CASE("layers: an embedding trains its table and hands no gradient to ids")
{
    network n("test", dtype::fp16);
    auto const x = embedding(n, "embed", ids(n, "tokens", {2, 3}), n.parameter("table", {10, 8}));
    auto const g = std::move(n).train(cross_entropy(n, linear(n, "last", x, 2))).value();
    CHECK(reads(g, "embedding") == names{"tokens"});
    CHECK(bytes_of_tensor(g, "tokens.grad") == -1);
    CHECK(bytes_of_tensor(g, "table.grad") == 160);
    CHECK(bytes_of_tensor(g, "tokens") == 48);
    // Forward moves the rows it reads, not the table.
    CHECK(bytes_moved(g, 0) == 2.0 * 6 * 8 * 2);
}

TEST_CASE("layers: cross entropy keeps the logits and one number a row")
{
    auto const g = step({4, 8}, [](auto&, auto& x) { return x; });
    CHECK(reads(g, "cross_entropy") == names{"last", "labels", "cross_entropy#2.log_sum_exp"});
    CHECK(bytes_of_tensor(g, "cross_entropy#2.log_sum_exp") == 16);
}

TEST_CASE("layers: split and slice make views, whose gradients are put together again")
{
    auto const g = step({4, 8}, [](auto& n, auto& x) {
        auto const parts = split(n, x, {6, 2});
        return multiply(n, slice(n, parts[0], {4, 2}), parts[1]);
    });
    for (auto const* type : {"split", "slice"}) {
        auto const& o = find(g, type);
        CHECK(work::bytes_moved(g, o.name == "split#1" ? 1 : 2) == 0);
        for (auto t : o.outputs) {
            CHECK(g.view_of(t) != none);
        }
        CHECK(reads(g, type).empty());
    }
    network n("bad", dtype::fp16);
    CHECK_THROWS_WITH(split(n, n.input("a", {2, 3}), {1, 1}), Contains("do not add up"));
    CHECK_THROWS_WITH(reshaped(n.input("a", {2, 3}), {7}), Contains("cannot read [2, 3] as [7]"));
}

TEST_CASE("layers: copies need nothing in backward")
{
    auto const g = step({2, 3, 8}, [](auto& n, auto& x) {
        auto const both = concat(n, {x, gelu(n, x)}, 1);
        return transpose(n, prepend_token(n, both, n.parameter("token", {8})));
    });
    CHECK(reads(g, "concat").empty());
    CHECK(reads(g, "transpose").empty());
    CHECK(reads(g, "prepend_token").empty());
    CHECK(bytes_of_tensor(g, "transpose#4") == 2 * 2 * 7 * 8);
    network n("bad", dtype::fp16);
    CHECK_THROWS_WITH(concat(n, {n.input("a", {2, 3}), n.input("b", {3, 3})}, 1), Contains("cannot join [3, 3]"));
}

TEST_CASE("layers: attention op by op keeps probabilities, fused, the result and a statistic")
{
    auto const attend = [](attention_options const& o) {
        return step({2, 5, 8}, [&](auto& n, auto& x) {
            auto const q = gelu(n, x);
            auto const k = silu(n, x);
            return attention(n, q, k, sigmoid(n, x), o);
        });
    };
    auto const open = attend({.heads = 2});
    CHECK(reads(open, "matmul") == names{"gelu#1", "silu#2", "sigmoid#3", "softmax#5"});
    CHECK(bytes_of_tensor(open, "scores") == 2 * 2 * 2 * 5 * 5);
    auto const fused = attend({.heads = 2, .fused = true, .causal = true, .dropout = 0.1});
    CHECK(reads(fused, "fused_attention") ==
          names{"gelu#1", "silu#2", "sigmoid#3", "fused_attention#4", "fused_attention#4.log_sum_exp"});
    CHECK(bytes_of_tensor(fused, "fused_attention#4.log_sum_exp") == 2 * 5 * 2 * 4);
    CHECK(find(fused, "fused_attention").effects.has(effect::random));
    CHECK(find(fused, "fused_attention").op.flops * 2 ==
          find(attend({.heads = 2, .fused = true}), "fused_attention").op.flops);
    CHECK(find(fused, "fused_attention.backward").workspace == 4 * (2 * 5 * 8 + 2 * 5 * 2));
}

TEST_CASE("layers: rotary positions read their table alone, repeated heads nothing")
{
    auto const g = step({2, 5, 8}, [](auto& n, auto& x) {
        return repeat_heads(n, rotary(n, x, n.input("angles", {5, 4}, 4)), 3);
    });
    CHECK(reads(g, "rotary") == names{"angles"});
    CHECK(reads(g, "repeat_heads").empty());
    CHECK(bytes_of_tensor(g, "repeat_heads#2") == 3 * 2 * 2 * 5 * 8);
}

TEST_CASE("layers: convolutions know their sizes")
{
    auto const size = [](conv_options const& o) {
        network n("test", dtype::fp16);
        return conv(n, "c", n.input("x", {1, 4, 9, 9}), 8, o).dims;
    };
    CHECK(size({}) == shape{1, 8, 9, 9});
    CHECK(size({.stride = 2}) == shape{1, 8, 5, 5});
    CHECK(size({.kernel = 1}) == shape{1, 8, 9, 9});
    CHECK(size({.kernel = 7, .stride = 2}) == shape{1, 8, 5, 5});
    CHECK(size({.kernel = 2, .stride = 2, .padding = 0}) == shape{1, 8, 4, 4});
    CHECK_THROWS_WITH(size({.kernel = 10, .padding = 0}), Contains("smaller than a window of 10"));
    CHECK_THROWS_WITH(size({.groups = 3}), Contains("do not divide into 3 groups"));
}

TEST_CASE("layers: convolutions keep their input, pooling its indices or nothing")
{
    auto const g = step({2, 4, 8, 8}, [](auto& n, auto& x) {
        auto const grouped = conv(n, "conv", x, 8, {.groups = 4, .bias = true});
        auto const pooled = max_pool(n, grouped, {.kernel = 2, .stride = 2, .padding = 0});
        return upsample(n, average_pool(n, conv_transpose(n, "larger", pooled, 4)));
    });
    CHECK(reads(g, "conv.weight_gradient") == names{"first", "max_pool#2"});
    CHECK(reads(g, "conv.input_gradient").empty());
    CHECK(reads(g, "max_pool") == names{"max_pool#2.indices"});
    CHECK(bytes_of_tensor(g, "max_pool#2.indices") == 8 * 2 * 8 * 4 * 4);
    CHECK(reads(g, "average_pool").empty());
    CHECK(reads(g, "upsample").empty());
    CHECK(bytes_of_tensor(g, "conv.weight") == 2 * 8 * 1 * 9);
    CHECK(find(g, "conv").op.flops == 2.0 * 9 * 2 * 8 * 8 * 8);
    CHECK(bytes_of_tensor(g, "larger") == 2 * 2 * 4 * 8 * 8);
}

TEST_CASE("layers: squeeze-excite keeps what it weighs and the weights")
{
    auto const g = step({2, 4, 8, 8}, [](auto& n, auto& x) { return squeeze_excite(n, "se", x, 2, true); });
    CHECK(reads(g, "multiply.first") == names{"se.sigmoid#5"});
    CHECK(reads(g, "multiply.second") == names{"first"});
    CHECK(reads(g, "mean").empty());
}

TEST_CASE("layers: an LSTM cell keeps its gates and both cells")
{
    auto const g = step({3, 32}, [](auto& n, auto& x) {
        auto const first = lstm_cell(n, x, n.input("cell", {3, 8}));
        return lstm_cell(n, linear(n, "again", first[0], 32), first[1])[0];
    });
    CHECK(reads(g, "lstm_cell") ==
          names{"cell", "lstm_cell#1:1", "lstm_cell#1.gates", "lstm_cell#3:1", "lstm_cell#3.gates"});
    CHECK(bytes_of_tensor(g, "lstm_cell#1.gates") == 2 * 3 * 32);
}

TEST_CASE("layers: a selective scan keeps the states of all tokens, or of chunks of 2048")
{
    auto const scan = [](std::int64_t seq, bool fused) {
        return step({2, seq, 4}, [&](auto& n, auto& x) {
            auto const parts = split(n, linear(n, "select", x, 6), {3, 3});
            return selective_scan(n, "scan", {x, gelu(n, x), parts[0], parts[1]}, fused);
        });
    };
    CHECK(bytes_of_tensor(scan(5, false), "scan.states") == 4 * 2 * 5 * 4 * 3);
    CHECK(bytes_of_tensor(scan(5, true), "scan.states") == 4 * 2 * 2 * 4 * 3);
    CHECK(bytes_of_tensor(scan(2049, true), "scan.states") == 4 * 2 * 4 * 4 * 3);
    CHECK(reads(scan(5, true), "selective_scan") == names{"first", "gelu#3", "split#2:0", "split#2:1", "scan.states"});
    auto const c = step({2, 5, 4}, [](auto& n, auto& x) { return causal_conv(n, "conv", x, 4); });
    CHECK(reads(c, "causal_conv") == names{"first"});
}

TEST_CASE("layers: names carry their scopes, and every class has its share of the peak")
{
    network n("test", dtype::fp32);
    value x = n.input("x", {1, 2});
    {
        network::scope const outer(n, "outer");
        network::scope const inner(n, "inner");
        x = linear(n, "l", x, 2);
    }
    x = linear(n, "l", x, 2);
    auto const g = std::move(n).train(cross_entropy(n, x)).value();
    CHECK(g.op_name(0) == "outer.inner.l");
    CHECK(g.op_name(1) == "l");
    CHECK(bytes_of_tensor(g, "outer.inner.l.weight") == 16);
    auto const device = default_device(dtype::fp16);
    for (auto k : {op_kind::gemm,
                   op_kind::convolution,
                   op_kind::attention,
                   op_kind::scan,
                   op_kind::normalisation,
                   op_kind::elementwise,
                   op_kind::reduction,
                   op_kind::movement,
                   op_kind::lookup}) {
        CHECK(device.efficiency.count(zoo::to_string(k)) == 1);
    }
    CHECK(roofline_cost(device).cost(g, 0) == 3000 + (2 * 8 + 3 * 8) / 1555.0 / 0.6);
}

} // namespace zoo_layers_test
