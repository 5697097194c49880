// SPDX-License-Identifier: Apache-2.0
#include <strata/cost/calibrate.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"

namespace cost_calibrate_test {

using namespace strata;

/// `n` ops on `device`, from 10 kB to about 100 MB, from 0.1 to about 1000 flops per byte; each time off by at most
/// `noise` of it.
auto measure(roofline const& device, std::size_t n, double noise, std::vector<std::string> const& classes = {""})
    -> std::vector<roofline_sample>
{
    std::mt19937 random(1);
    auto const unit = [&] { return static_cast<double>(random() % 10'000) / 10'000; };
    std::vector<roofline_sample> r;
    for (std::size_t k = 0; k < n; ++k) {
        roofline_sample s;
        s.bytes = std::pow(10, 4 + 4 * unit());
        s.flops = s.bytes * std::pow(10, -1 + 4 * unit());
        s.op_class = classes[k % classes.size()];
        s.nanoseconds = device.time(s.flops, s.bytes, s.op_class) * (1 + noise * (2 * unit() - 1));
        r.push_back(s);
    }
    return r;
}

auto refusal(std::vector<roofline_sample> const& samples, calibrate_options options = {}) -> std::string
{
    auto const c = calibrate(samples, options);
    REQUIRE_FALSE(c);
    CHECK(c.error().code == errc::invalid_argument);
    return c.error().message;
}

std::string const apart =
    "strata::calibrate: the samples cannot tell launch time, arithmetic and memory traffic apart; "
    "measure ops of different sizes, some with many flops per byte and some with few";

TEST_CASE("calibrate: recovers a device from exact times, whichever errors count")
{
    auto const truth = roofline::device(60, 1500, 3000);
    auto const relative = GENERATE(false, true);
    auto const c = calibrate(measure(truth, 60, 0), {.relative = relative});
    REQUIRE(c);
    CHECK(c->device.launch_ns == Approx(truth.launch_ns));
    CHECK(c->device.ns_per_flop == Approx(truth.ns_per_flop));
    CHECK(c->device.ns_per_byte == Approx(truth.ns_per_byte));
    CHECK(c->device.efficiency.empty());
    CHECK(c->r2 == Approx(1));
    CHECK(c->residuals.size() == 60);
    CHECK(c->rms_ns < 1e-3);
    CHECK(c->compute_bound > 20);
    CHECK(c->compute_bound < 50);
}

TEST_CASE("calibrate: noise shows in residuals and R2, and moves the device by little")
{
    auto const truth = roofline::device(60, 1500, 3000);
    auto const samples = measure(truth, 400, 0.1);
    auto const c = calibrate(samples, {.relative = true});
    REQUIRE(c);
    CHECK(c->device.launch_ns == Approx(truth.launch_ns).epsilon(0.1));
    CHECK(c->device.ns_per_flop == Approx(truth.ns_per_flop).epsilon(0.05));
    CHECK(c->device.ns_per_byte == Approx(truth.ns_per_byte).epsilon(0.05));
    CHECK(c->r2 > 0.95);
    CHECK(c->r2 < 1);
    double squares = 0;
    for (std::size_t k = 0; k < samples.size(); ++k) {
        auto const& s = samples[k];
        CHECK(c->residuals[k] == Approx(s.nanoseconds - c->device.time(s.flops, s.bytes)));
        squares += c->residuals[k] * c->residuals[k];
    }
    CHECK(c->rms_ns == Approx(std::sqrt(squares / 400)));
}

TEST_CASE("calibrate: recovers the efficiency of each class relative to the best")
{
    auto truth = roofline::device(60, 1500, 3000);
    truth.efficiency = {{"conv", 0.5}, {"matmul", 1}, {"norm", 0.8}};
    auto const c = calibrate(measure(truth, 90, 0, {"conv", "matmul", "norm"}), {.per_class = true});
    REQUIRE(c);
    CHECK(c->device.launch_ns == Approx(3000).epsilon(1e-4));
    CHECK(c->device.ns_per_flop == Approx(truth.ns_per_flop).epsilon(1e-5));
    CHECK(c->device.ns_per_byte == Approx(truth.ns_per_byte).epsilon(1e-5));
    CHECK(c->device.efficiency.at("conv") == Approx(0.5).epsilon(1e-5));
    CHECK(c->device.efficiency.at("matmul") == 1);
    CHECK(c->device.efficiency.at("norm") == Approx(0.8).epsilon(1e-5));
}

TEST_CASE("calibrate: no number of the answer is negative, however the samples lie")
{
    // Twice the work in less than twice the time minus a constant: the free fit has a negative launch time.
    std::vector<roofline_sample> samples;
    for (double x : {1.0, 2.0, 3.0, 4.0}) {
        samples.push_back({1e3 * x, 1, 10 * x - 8});
        samples.push_back({1, 1e3 * x, 20 * x - 8});
    }
    auto const c = calibrate(samples);
    REQUIRE(c);
    CHECK(c->device.launch_ns == 0);
    CHECK(c->device.ns_per_flop > 0);
    CHECK(c->device.ns_per_byte > 0);
    for (auto& s : samples) {
        s.op_class = s.flops > 1 ? "a" : "b";
    }
    auto const per_class = calibrate(samples, {.per_class = true});
    REQUIRE(per_class);
    CHECK(per_class->device.launch_ns == 0);
}

TEST_CASE("calibrate: degenerate samples are refused, saying what to measure")
{
    auto const device = roofline::device(60, 1500, 3000);
    auto const good = measure(device, 10, 0);
    CHECK(refusal({}) == "strata::calibrate: 0 samples cannot determine 3 numbers; measure at least as many ops, "
                         "better ten times as many");
    CHECK(refusal({good[0], good[1]}) == "strata::calibrate: 2 samples cannot determine 3 numbers; measure at least as "
                                         "many ops, better ten times as many");
    CHECK(refusal(measure(device, 4, 0, {"a", "b", "c"}), {.per_class = true}) ==
          "strata::calibrate: 4 samples cannot determine 5 numbers; measure at least as many ops, better ten times as "
          "many");
    CHECK(refusal(std::vector<roofline_sample>(10, good[0])) == apart); // one op, ten times
    CHECK(refusal(std::vector<roofline_sample>(10, good[0]), {.per_class = true}) == apart);
    std::vector<roofline_sample> line; // all of one intensity
    for (double x = 1; x < 10; ++x) {
        line.push_back({10 * x, 5 * x, 3 * x});
    }
    CHECK(refusal(line) == apart);
    CHECK(refusal(line, {.per_class = true}) == apart);
    std::vector<roofline_sample> one_size; // two ops: launch time and work cannot be told apart
    for (int k = 0; k < 5; ++k) {
        one_size.push_back({1000, 10, 50});
        one_size.push_back({10, 1000, 70});
    }
    CHECK(refusal(one_size) == apart);
}

TEST_CASE("calibrate: samples that are no measurements are refused by number")
{
    auto samples = measure(roofline::device(60, 1500, 3000), 10, 0);
    auto const with = [&](std::size_t k, roofline_sample s) {
        auto copy = samples;
        copy[k] = s;
        return copy;
    };
    auto const nan = std::numeric_limits<double>::quiet_NaN();
    auto const infinity = std::numeric_limits<double>::infinity();
    CHECK(refusal(with(3, {nan, 1, 1})) ==
          "strata::calibrate: sample 3 has nan flops, must be a finite number that is not negative");
    CHECK(refusal(with(4, {1, infinity, 1})) ==
          "strata::calibrate: sample 4 has inf bytes, must be a finite number that is not negative");
    CHECK(refusal(with(5, {1, 1, -1})) ==
          "strata::calibrate: sample 5 has -1.000000 nanoseconds, must be a finite number that is not negative");
    CHECK(refusal(with(6, {0, 0, 1})) ==
          "strata::calibrate: sample 6 neither computes nor moves anything; leave such ops out");
    CHECK(refusal(with(7, {1, 1, 0}), {.relative = true}) ==
          "strata::calibrate: sample 7 takes 0 nanoseconds, which has no relative error");
}

TEST_CASE("calibrate: a class that gets faster as it grows is refused by name")
{
    auto samples = measure(roofline::device(60, 1500, 3000), 20, 0, {"good"});
    for (double x = 1; x < 6; ++x) {
        samples.push_back({x * 1e9, 1e3, 3000 - x, "odd"});
    }
    CHECK(refusal(samples, {.per_class = true}) == "strata::calibrate: larger ops of class 'odd' do not take longer "
                                                   "than smaller ones; measure that class again or "
                                                   "leave it out");
}

} // namespace cost_calibrate_test
