// SPDX-License-Identifier: Apache-2.0
#include "examples/zoo/inference.hpp"

#include <strata/bound/least_peak.hpp>
#include <strata/pipeline/plan_free_order.hpp>
#include <strata/schedule/validate.hpp>

#include <cstdint>
#include <string>
#include <utility>

#include "examples/zoo/models.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/judge_plan.hpp"

namespace zoo_inference_test {

using namespace strata;
using Catch::Matchers::Contains;
using strata::zoo::dtype;

auto parameters(std::string const& model, zoo::options const& o = {}) -> std::int64_t
{
    auto const type = o.dtype.value_or(dtype::int8);
    return zoo::parameter_count(zoo::make(model, o).value(), type);
}

/// Peak of the order given, resident bytes left out.
auto given_peak(problem const& p) -> bytes_t { return peak_of(p, keep_all_order(p)) - p.resident_bytes(); }

TEST_CASE("zoo: MobileNetV2 has the published parameters, its norms folded away")
{
    // Published: 3,504,872, of which every norm has two per channel; folded, one of them is left, as a bias.
    constexpr std::int64_t norm_channels = 17'056;
    CHECK(parameters("mobilenet") == 3'504'872 - norm_channels);
    CHECK(parameters("mobilenet", {.image = 224, .dtype = dtype::fp16}) == 3'504'872 - norm_channels);
}

TEST_CASE("zoo: MobileNetV2 needs, in any order, what its first depthwise convolution with stride reads and makes")
{
    for (std::int64_t const image : {64, 80, 96}) {
        auto const p = zoo::make_problem("mobilenet", {.image = image}).value();
        auto const wide = 96 * (image / 2) * (image / 2);
        CHECK(given_peak(p) == wide + wide / 4);
        CHECK(least_peak(p) - p.resident_bytes() == wide + wide / 4);
    }
}

TEST_CASE("zoo: the U-Net on MobileNetV2 has its encoder, skips and a way up")
{
    // As published until the features of 320 channels, less the last convolution and the head.
    std::int64_t const encoder = 3'504'872 - 17'056 - (320 * 1280 + 1280) - (1280 * 1000 + 1000);
    std::int64_t sum = encoder;
    std::int64_t before = 320;
    std::int64_t const wide[]{576, 192, 144, 96}, out[]{64, 32, 24, 16};
    for (int i = 0; i < 4; ++i) {
        sum += before * out[i] * 4 + out[i];           // up
        sum += wide[i] * out[i] + out[i];              // skip
        sum += 10 * out[i] + out[i] * out[i] + out[i]; // depthwise, pointwise
        before = out[i];
    }
    sum += before * 3 * 4 + 3; // head
    CHECK(parameters("mobile-unet") == sum);
    CHECK_THAT(zoo::make("mobile-unet", {.image = 80}).error().message, Contains("multiple of 32, not 80"));
    auto const p = zoo::make_problem("mobile-unet").value();
    REQUIRE(p.targets().size() == 1);
    CHECK(p.size(p.targets()[0]) == 96 * 96 * 3);
}

TEST_CASE("zoo: a randomly wired network is the same everywhere, and its parameters follow from its wiring")
{
    auto const g = zoo::make("randwire").value();
    CHECK(g == zoo::make("randwire").value());
    std::int64_t sum = 12 * 27 + 12, before = 12;
    for (int stage = 0; stage < 3; ++stage) {
        auto const name = "stage" + std::to_string(stage) + ".";
        std::int64_t const c = std::int64_t{24} << stage;
        std::int64_t entries = 0, nodes = 0;
        for (auto const& o : g.ops()) {
            if (o.name.find(name) == 0 && o.name.find("depthwise") != std::string::npos) {
                ++nodes;
                entries += g.tensor_name(o.inputs[0]).find(name) == 0 ? 0 : 1;
            }
        }
        CHECK(nodes == 32);
        CHECK(entries > 0);
        sum += entries * (10 * before + before * c + c) + (nodes - entries) * (10 * c + c * c + c);
        before = c;
    }
    sum += 96 * 1280 + 1280 + 1280 * 1000 + 1000;
    CHECK(parameters("randwire") == sum);
    CHECK_THAT(zoo::make("randwire", {.layers = 5}).error().message, Contains("at least 6 nodes, not 5"));
    for (std::int64_t const nodes : {6, 7, 12, 50}) {
        CHECK(zoo::make_problem("randwire", {.layers = nodes}).has_value());
    }
}

TEST_CASE("zoo: inference passes are of phase other, run as they stand, and deliver their image once")
{
    int seen = 0;
    for (auto const& name : zoo::names()) {
        if (zoo::describe(name).value().pass != zoo::pass::inference) {
            continue;
        }
        CAPTURE(name);
        ++seen;
        auto const p = zoo::make_problem(name).value();
        CHECK(validate(p, free_early(p, keep_all_order(p))).ok());
        for (op_id o = 0; o < p.op_count(); ++o) {
            CHECK(p.op(o).phase == phase::other);
            CHECK(p.replayable(o) == (p.op(o).name != "image"));
        }
        CHECK(p.resident_bytes() == parameters(name));
    }
    CHECK(seen == 3);
    CHECK_THAT(zoo::make("resnet50", {.dtype = dtype::int8}).error().message, Contains("resnet50 trains"));
}

TEST_CASE("zoo: reordering lowers the peak of what is wired irregularly, provably to the least")
{
    for (auto const& [name, image] : {std::pair("mobile-unet", 64), std::pair("randwire", 96)}) {
        CAPTURE(name);
        auto const p = zoo::make_problem(name, {.image = image}).value();
        auto const made = plan_free_order(p).value();
        CHECK(made.order.minimal());
        CHECK(made.order.peak - p.resident_bytes() < given_peak(p) * 85 / 100);
        CHECK(made.plan.certificate.cost == p.base_cost());
        CHECK(made.plan.certificate.peak == made.order.peak);
        test::judge_plan(p, made.plan, made.plan.certificate.budget);
    }
}

} // namespace zoo_inference_test
