// SPDX-License-Identifier: Apache-2.0
// Placement: MiniMalloc's hard instances against their capacity, and time against the number of lifetimes.
//
//     placement [--smoke] [--seconds 10] [--seed 1]
//
// Instances are read from $STRATA_DATA/placement, or from ../shared/data/placement beside the repository.
#include <strata/place/check.hpp>
#include <strata/place/place.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#ifndef STRATA_BUILD_FLAGS
#    ifdef __OPTIMIZE__
#        define STRATA_BUILD_FLAGS "optimized"
#    else
#        define STRATA_BUILD_FLAGS "not optimized"
#    endif
#endif

namespace {

using strata::bytes_t;
using strata::lifetime;

class timer {
public:
    [[nodiscard]] auto seconds() const -> double
    {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    }

private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

auto data_folder() -> std::string
{
    if (auto const* set = std::getenv("STRATA_DATA")) {
        return set;
    }
#ifdef STRATA_SOURCE_DIR
    return std::string(STRATA_SOURCE_DIR) + "/../shared/data";
#else
    return "../shared/data";
#endif
}

auto read_instance(std::string const& path) -> std::vector<lifetime>
{
    std::ifstream in(path);
    std::vector<lifetime> v;
    std::string line;
    std::getline(in, line); // id,lower,upper,size
    while (std::getline(in, line)) {
        std::replace(line.begin(), line.end(), ',', ' ');
        std::istringstream numbers(line);
        lifetime x;
        if (numbers >> x.tensor >> x.begin >> x.end >> x.size) {
            v.push_back(x);
        }
    }
    return v;
}

auto verdict(strata::placement const& x) -> char const* { return strata::check(x) ? "INVALID" : "valid"; }

/// Returns: false if something placed is invalid.
auto instances(double seconds, std::uint64_t seed, bool smoke) -> bool
{
    constexpr bytes_t capacity = 1'048'576;
    auto const folder = data_folder() + "/placement/";
    bool valid = true;
    std::printf("| instance | buffers | load | first fit | capacity | arena | goal | seconds | without goal | "
                "seconds | check |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (std::string const name : {"A", "B", "C", "D", "E", "F"}) {
        auto const v = read_instance(folder + name + ".1048576.csv");
        if (v.empty()) {
            std::printf("| %s | not found in %s; set STRATA_DATA | | | | | | | | | |\n", name.c_str(), folder.c_str());
            continue;
        }
        if (smoke && name != "F") {
            continue;
        }
        auto const run = [&](bytes_t target, double limit, double& took) {
            strata::limits lim;
            lim.deadline = std::chrono::nanoseconds(static_cast<std::int64_t>(limit * 1e9));
            timer const t;
            auto r = strata::place(
                         v, {.target = target, .effort = INT64_MAX / 2, .seed = seed, .stop = strata::stop_watch(lim)})
                         .value();
            took = t.seconds();
            valid = valid && !strata::check(r);
            return r;
        };
        double with_goal = 0;
        double without = 0;
        auto const a = run(capacity, smoke ? 0.3 : seconds, with_goal);
        auto const b = run(0, smoke ? 0.05 : seconds, without);
        std::printf("| %s | %zu | %lld | %lld | %lld | %lld | %s | %.2f | %lld | %.2f | %s |\n",
                    name.c_str(),
                    v.size(),
                    static_cast<long long>(strata::max_load(v).value()),
                    static_cast<long long>(strata::first_fit(v).arena),
                    static_cast<long long>(capacity),
                    static_cast<long long>(a.arena),
                    a.arena <= capacity ? "reached" : "MISSED",
                    with_goal,
                    static_cast<long long>(b.arena),
                    without,
                    verdict(a));
        std::fflush(stdout);
    }
    return valid;
}

enum class sizes { one, few, distinct };

/// Lifetimes as a training step has them: half of the forward results live until their backward op, the others for a
/// few steps, gradients for a few steps.
auto training_like(std::size_t n, sizes kind, std::uint64_t seed) -> std::vector<lifetime>
{
    std::mt19937_64 random(seed);
    std::vector<lifetime> v;
    auto const layers = n / 2;
    for (std::size_t i = 0; i < layers; ++i) {
        auto const mirror = 4 * layers - 2 * i;
        bytes_t size = 1 << 20;
        if (kind == sizes::few) {
            size = (1 + static_cast<bytes_t>(random() % 8)) << 18;
        } else if (kind == sizes::distinct) {
            size = 1 + static_cast<bytes_t>(random() % (1 << 20));
        }
        if (random() % 2 == 0) {
            v.push_back({2 * i, mirror, size});
        } else {
            v.push_back({2 * i, 2 * i + 2 + random() % 8, 2 * size});
        }
        v.push_back({mirror, mirror + 2 + random() % 6, size});
    }
    return v;
}

/// Returns: false if something placed is invalid.
auto scaling(std::uint64_t seed, bool smoke) -> bool
{
    bool valid = true;
    std::printf("\n| sizes | lifetimes | first fit, s | check, s | arena / load | growth exponent | check |\n"
                "|---|---|---|---|---|---|---|\n");
    for (auto kind : {sizes::one, sizes::few, sizes::distinct}) {
        double before = 0;
        std::size_t n_before = 0;
        for (std::size_t n : {1'000U, 2'000U, 5'000U, 10'000U, 20'000U, 50'000U, 100'000U, 200'000U}) {
            if ((smoke && n > 2'000) || (kind == sizes::distinct && n > 50'000)) {
                break;
            }
            auto const v = training_like(n, kind, seed);
            double seconds = 1e9;
            strata::placement r;
            for (int repeat = 0; repeat < (n <= 20'000 ? 3 : 1); ++repeat) {
                timer const t;
                r = strata::first_fit(v, 512);
                seconds = std::min(seconds, t.seconds());
            }
            timer const t;
            auto const bad = strata::check(r);
            auto const checked = t.seconds();
            valid = valid && !bad;
            std::string exponent = "–";
            if (n_before != 0) {
                auto const e =
                    std::log(seconds / before) / std::log(static_cast<double>(n) / static_cast<double>(n_before));
                exponent = std::to_string(e).substr(0, 5);
            }
            std::printf("| %s | %zu | %.4f | %.4f | %.5f | %s | %s |\n",
                        kind == sizes::one   ? "one"
                        : kind == sizes::few ? "eight"
                                             : "all different",
                        v.size(),
                        seconds,
                        checked,
                        static_cast<double>(r.arena) / static_cast<double>(strata::max_load(v, 512).value()),
                        exponent.c_str(),
                        bad ? "INVALID" : "valid");
            std::fflush(stdout);
            before = seconds;
            n_before = n;
        }
    }
    return valid;
}

} // namespace

auto main(int argc, char** argv) -> int
{
    bool smoke = false;
    double seconds = 10;
    std::uint64_t seed = 1;
    for (int i = 1; i < argc; ++i) {
        std::string const a = argv[i];
        if (a == "--smoke") {
            smoke = true;
        } else if (a == "--seconds" && i + 1 < argc) {
            seconds = std::strtod(argv[++i], nullptr);
        } else if (a == "--seed" && i + 1 < argc) {
            seed = std::strtoull(argv[++i], nullptr, 10);
        } else {
            std::fprintf(stderr, "usage: placement [--smoke] [--seconds S] [--seed N]\n");
            return 2;
        }
    }
    std::printf("compiler %s, %s, seed %llu, %.3g s per instance and goal\n\n",
                __VERSION__,
                STRATA_BUILD_FLAGS,
                static_cast<unsigned long long>(seed),
                seconds);
    bool const a = instances(seconds, seed, smoke);
    bool const b = scaling(seed, smoke);
    return a && b ? 0 : 1;
}
