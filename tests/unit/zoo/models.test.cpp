// SPDX-License-Identifier: Apache-2.0
#include "examples/zoo/models.hpp"

#include <strata/bound/minimum_budget.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/keep_all.hpp>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"

namespace zoo_models_test {

using namespace strata;
using namespace strata::literals;
using Catch::Matchers::Contains;
using strata::zoo::dtype;

auto parameters(std::string const& model, zoo::options o = {}) -> std::int64_t
{
    o.dtype = dtype::fp32;
    return zoo::parameter_count(zoo::make(model, o).value(), dtype::fp32);
}

/// Names of the models that train.
auto trained() -> std::vector<std::string>
{
    auto all = zoo::names();
    std::erase_if(all, [](auto const& name) { return zoo::describe(name).value().pass != zoo::pass::training; });
    return all;
}

/// A version of `model` that is quick to plan: few layers, few tokens, small images.
auto small(std::string const& model) -> zoo::options
{
    auto const has = zoo::describe(model).value().defaults;
    zoo::options o{.batch = 2};
    o.layers = has.layers ? std::optional<std::int64_t>(4) : std::nullopt;
    o.seq = has.seq ? std::optional<std::int64_t>(model == "lstm" ? 6 : 64) : std::nullopt;
    o.image = has.image ? std::optional<std::int64_t>(64) : std::nullopt;
    o.vocab = has.vocab ? std::optional<std::int64_t>(128) : std::nullopt;
    if (has.heads && model != "diffusion-unet") {
        o.width = 64;
        o.heads = 4;
    }
    return o;
}

TEST_CASE("zoo: parameter counts are the published ones")
{
    CHECK(parameters("gpt2-small") == 124'439'808);
    CHECK(parameters("gpt2-medium") == 354'823'168);
    CHECK(parameters("gpt2-large") == 774'030'080);
    CHECK(parameters("gpt2-xl") == 1'557'611'200);
    CHECK(parameters("llama-7b") == 6'738'415'616);
    CHECK(parameters("vit-l") == 304'326'632);
    CHECK(parameters("mlp-mixer") == 59'880'472);
    CHECK(parameters("resnet50") == 25'557'032);
    CHECK(parameters("resnet101") == 44'549'160);
    CHECK(parameters("regnet") == 39'381'472);
    CHECK(parameters("densenet121") == 7'978'856);
    CHECK(parameters("unet") == 31'037'633);
    CHECK(parameters("diffusion-unet") == 35'746'307);
    CHECK(parameters("mamba") == 129'135'360);
    // The encoder with embeddings and pooler has 335,141,888; the heads of pre-training come on top.
    std::int64_t const d = 1024, masked = d * d + d + 2 * d + 30522, next = 2 * d + 2;
    CHECK(parameters("bert-large") == 335'141'888 + masked + next);
}

TEST_CASE("zoo: parameter counts of the other models follow their formulas")
{
    std::int64_t const d = 48, m = 80, v = 70, layers = 3;
    auto const attention = 4 * (d * d + d);
    auto const feed_forward = 2 * d * m + m + d;
    CHECK(parameters("encoder-decoder",
                     {.layers = layers, .batch = 1, .seq = 9, .width = d, .hidden = m, .heads = 3, .vocab = v}) ==
          v * d + layers * (3 * attention + 2 * feed_forward + 5 * 2 * d));
    CHECK(parameters("lstm", {.layers = layers, .batch = 1, .seq = 4, .width = d, .vocab = v}) ==
          v * d + layers * (8 * d * d + 8 * d) + v * d + v);
    // Grouped queries: keys and values of two heads of four.
    CHECK(
        parameters(
            "llama-7b",
            {.layers = layers, .batch = 1, .seq = 8, .width = d, .hidden = m, .heads = 4, .kv_heads = 2, .vocab = v}) ==
        2 * v * d + d + layers * (3 * d * d + 3 * d * m + 2 * d));
}

TEST_CASE("zoo: sequences longer than the published ones train positions of their own")
{
    zoo::options const o{.layers = 1, .batch = 1, .seq = 1025, .width = 32, .heads = 2, .vocab = 10, .fused = true};
    auto shorter = o;
    shorter.seq = 1024;
    CHECK(parameters("gpt2", o) == parameters("gpt2", shorter) + 32);
}

TEST_CASE("zoo: every model is a valid step with a gradient for every parameter, and runs as it stands")
{
    for (auto const& name : trained()) {
        CAPTURE(name);
        auto const graph = zoo::make(name, small(name)).value();
        CHECK(graph.graph_name() == name);
        std::set<std::string> names;
        std::int64_t parameters = 0, gradients = 0;
        for (auto const& t : graph.tensors()) {
            parameters += t.kind == tensor_kind::parameter ? t.bytes : 0;
            gradients += t.kind == tensor_kind::parameter_gradient ? t.bytes : 0;
            CHECK(t.bytes > 0);
        }
        CHECK(parameters == gradients);
        for (auto const& o : graph.ops()) {
            CAPTURE(o.name);
            CHECK(names.insert(o.name).second);
            CHECK(o.type == o.op.type);
            CHECK((o.phase == phase::backward) ==
                  (o.name.find(".backward") != std::string::npos || o.name.find(".accumulate") != std::string::npos ||
                   o.type == "loss.gradient"));
        }
        auto const p = zoo::make_problem(name, small(name)).value();
        auto const verdict = validate(p, free_early(p, keep_all_order(p)));
        CHECK(verdict.ok());
        CHECK(verdict.cost == p.base_cost());
        CHECK(p.base_cost() > 0);
    }
}

TEST_CASE("zoo: every model can be planned into half its memory")
{
    for (auto const& name : trained()) {
        CAPTURE(name);
        auto const p = zoo::make_problem(name, small(name)).value();
        limits lim;
        lim.budget = 50_percent;
        auto const plan = strata::plan(p, lim);
        CAPTURE((plan ? std::string() : plan.error().message));
        REQUIRE(plan.has_value());
        auto const verdict = validate(p, plan->schedule, plan->certificate.budget);
        CHECK(verdict.ok());
        CHECK(plan->certificate.peak <= plan->certificate.budget);
    }
}

TEST_CASE("zoo: half the memory of every model, as it comes, is above the proven minimum")
{
    for (auto const& name : trained()) {
        CAPTURE(name);
        auto const p = zoo::make_problem(name).value();
        auto const peak = validate(p, free_early(p, keep_all_order(p))).peak;
        auto const half = (50_percent).resolve(p.resident_bytes(), peak - p.resident_bytes());
        CHECK(minimum_budget(p).bytes < half);
    }
}

TEST_CASE("zoo: number types halve or double activations and weights alike")
{
    auto o = small("gpt2");
    auto const resident = [&](dtype d) {
        o.dtype = d;
        return zoo::make_problem("gpt2", o).value().resident_bytes();
    };
    auto const ids = 2 * 2 * 64 * 8; // tokens and labels
    CHECK(resident(dtype::fp32) - ids == 2 * (resident(dtype::fp16) - ids));
    CHECK(resident(dtype::bf16) == resident(dtype::fp16));
}

TEST_CASE("zoo: an encoder-decoder reads the encoder's output in every decoder layer")
{
    auto const g = zoo::make("encoder-decoder", small("encoder-decoder")).value();
    std::vector<std::string> readers;
    for (auto const& o : g.ops()) {
        for (auto t : o.inputs) {
            if (o.phase == phase::forward && g.tensor_name(t) == "encoder3.norm2") {
                readers.push_back(o.name);
            }
        }
    }
    CHECK(readers == std::vector<std::string>{"decoder0.cross.key",
                                              "decoder0.cross.value",
                                              "decoder1.cross.key",
                                              "decoder1.cross.value",
                                              "decoder2.cross.key",
                                              "decoder2.cross.value",
                                              "decoder3.cross.key",
                                              "decoder3.cross.value"});
}

TEST_CASE("zoo: a U-Net joins every size on the way up to the same size on the way down")
{
    auto const g = zoo::make("unet", {.batch = 1, .image = 32, .width = 8}).value();
    int joins = 0;
    for (auto const& o : g.ops()) {
        if (o.type == "concat") {
            ++joins;
            REQUIRE(o.inputs.size() == 2);
            CHECK(g.tensor_bytes(o.inputs[0]) == g.tensor_bytes(o.inputs[1]));
            CHECK(g.tensor_name(o.inputs[0]).find("down" + std::to_string(4 - joins)) == 0);
        }
    }
    CHECK(joins == 4);
}

TEST_CASE("zoo: state of batch norm is written by stateful ops that a plan may replay")
{
    auto const p = zoo::make_problem("resnet50", {.batch = 1, .image = 64, .width = 8}).value();
    int norms = 0;
    for (op_id o = 0; o < p.op_count(); ++o) {
        if (p.op(o).phase == phase::forward && p.op(o).effects.has(effect::stateful)) {
            ++norms;
            CHECK(p.replayable(o));
        }
    }
    CHECK(norms == 53);
}

TEST_CASE("zoo: an unknown name is answered with those that are near")
{
    auto const message = [](char const* name) { return zoo::make(name).error().message; };
    CHECK(zoo::make("gpt3").error().code == errc::invalid_argument);
    CHECK_THAT(message("gpt3"), Contains("'gpt3'") && Contains("did you mean gpt2-small, gpt2-medium"));
    CHECK_THAT(message("resnet"), Contains("resnet50, resnet101"));
    CHECK_THAT(message("lsmt"), Contains("did you mean lstm?"));
    CHECK_THAT(message("unet2"), Contains("unet"));
    CHECK_THAT(message("zzz"), Contains("there are gpt2-small") && Contains("mamba"));
    CHECK_THAT(message(""), Contains("there are gpt2-small"));
    CHECK(zoo::make_problem("gpt3").error() == zoo::make("gpt3").error());
    CHECK(zoo::make_cost("gpt3").error() == zoo::make("gpt3").error());
}

TEST_CASE("zoo: gpt2 is the small one")
{
    auto const o = small("gpt2");
    CHECK(zoo::make("gpt2", o).value() == zoo::make("gpt2-small", o).value());
}

TEST_CASE("zoo: sizes that do not fit each other are refused in words")
{
    auto const message = [](char const* name, zoo::options const& o) {
        auto const r = zoo::make_problem(name, o);
        REQUIRE_FALSE(r.has_value());
        CHECK(r.error().code == errc::invalid_argument);
        return r.error().message;
    };
    CHECK_THAT(message("gpt2", {.heads = 7}), Contains("heads must divide the width") && Contains("width 768"));
    CHECK_THAT(message("gpt2", {.heads = 1000}), Contains("heads must divide the width"));
    CHECK_THAT(message("llama-7b", {.kv_heads = 3}), Contains("kv_heads the heads") && Contains("kv_heads 3"));
    CHECK_THAT(message("vit-l", {.image = 100}), Contains("multiple of 16, not 100"));
    CHECK_THAT(message("mlp-mixer", {.width = 33}), Contains("must be even, not 33"));
    CHECK_THAT(message("unet", {.image = 24}), Contains("multiple of 16, not 24"));
    CHECK_THAT(message("diffusion-unet", {.image = 12}), Contains("multiple of 8, not 12"));
    CHECK_THAT(message("diffusion-unet", {.width = 100}), Contains("100 channels") && Contains("32 groups"));
    CHECK_THAT(message("densenet121", {.image = 20}), Contains("choose a larger image"));
    CHECK_THAT(message("lstm", {.seq = 200'000}), Contains("at most 100000, not 4 times 200000"));
}

TEST_CASE("zoo: sizes beyond 64 bits are an overflow")
{
    auto const code = [](char const* name, zoo::options const& o) {
        auto const r = zoo::make_problem(name, o);
        return r ? errc::io : r.error().code;
    };
    std::int64_t const huge = 1'000'000'000;
    CHECK(code("gpt2", {.batch = huge, .seq = huge}) == errc::overflow);
    CHECK(code("gpt2", {.batch = huge, .seq = huge, .fused = true}) == errc::overflow);
    CHECK(code("gpt2", {.layers = 1, .width = huge, .heads = 1}) == errc::overflow);
    CHECK(code("llama-7b", {.batch = huge, .seq = huge}) == errc::overflow);
    CHECK(code("resnet50", {.batch = huge, .image = huge}) == errc::overflow);
    CHECK(code("mamba", {.batch = huge, .seq = huge}) == errc::overflow);
    CHECK(code("unet", {.batch = 1, .image = 160'000'000}) == errc::overflow); // each tensor fits, their sum does not
}

TEST_CASE("zoo: every single option at its largest is answered, never a crash")
{
    for (auto const& name : zoo::names()) {
        auto const has = zoo::describe(name).value().defaults;
        zoo::for_each_number([&](char const* option, auto member, std::int64_t largest) {
            if (has.*member && std::string(option) != "layers") {
                CAPTURE(name, option);
                auto o = small(name);
                o.*member = largest;
                auto const r = zoo::make(name, o);
                CHECK((r.has_value() || r.error().code == errc::overflow || r.error().code == errc::invalid_argument));
            }
        });
    }
}

} // namespace zoo_models_test
