// SPDX-License-Identifier: Apache-2.0
// Planning time against the number of ops, one family: GPT-2 layers, budget 50 %. Prints the growth exponent: 1 is linear.
#include <strata/pipeline/plan.hpp>
#include <strata/schedule/validate.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/support.hpp"
#include "examples/zoo/models.hpp"

int main(int argc, char** argv)
{
    using namespace strata;
    auto const smoke = bench::smoke(argc, argv);
    bench::print_setting("scaling: default solver, budget 50 %, GPT-2 medium with more and more layers");
    std::cout << "| ops | lifetimes | seconds | of them judging | overhead % | bound % | arena / peak "
                 "|\n|---|---|---|---|---|---|---|\n";
    std::vector<std::pair<double, double>> points;
    auto const probe = zoo::make_problem("gpt2-medium", {.layers = 2});
    auto const probe_more = zoo::make_problem("gpt2-medium", {.layers = 3});
    if (!probe || !probe_more) {
        std::cerr << (probe ? probe_more : probe).error().message << '\n';
        return 1;
    }
    auto const per_layer = probe_more->op_count() - probe->op_count();
    for (int ops : smoke ? std::vector<int>{500} : std::vector<int>{500, 1000, 2000, 5000, 10'000, 50'000, 100'000}) {
        auto const p = zoo::make_problem("gpt2-medium", {.layers = std::max(1, (ops + per_layer / 2) / per_layer)});
        if (!p) {
            std::cerr << p.error().message << '\n';
            return 1;
        }
        auto best = 1e9;
        auto made = plan(*p, {.budget = budget::fraction(0.5)});
        for (int i = 0; i < (ops > 20'000 ? 1 : 3) && made; ++i) {
            auto const begin = std::chrono::steady_clock::now();
            made = plan(*p, {.budget = budget::fraction(0.5)});
            best = std::min(best, bench::seconds_since(begin));
        }
        if (!made) {
            std::cerr << made.error().message << '\n';
            return 1;
        }
        auto const begin = std::chrono::steady_clock::now();
        auto const judged = validate(*p, made->schedule, made->certificate.budget);
        auto const judging = bench::seconds_since(begin);
        if (!judged.ok()) {
            std::cerr << judged.violations.front().message << '\n';
            return 1;
        }
        auto const& c = made->certificate;
        std::cout << "| " << p->op_count() << " | " << made->placement.lifetimes.size() << " | "
                  << bench::number(best, 4) << " | " << bench::number(judging, 4) << " | "
                  << bench::number(100 * c.overhead(), 2) << " | " << bench::number(100 * c.overhead_bound(), 2)
                  << " | "
                  << bench::number(
                         static_cast<double>(made->placement.arena) / static_cast<double>(c.peak - c.resident), 5)
                  << " |\n"
                  << std::flush;
        points.emplace_back(std::log(p->op_count()), std::log(best));
    }
    if (points.size() > 1) {
        double sx = 0, sy = 0, sxx = 0, sxy = 0;
        for (auto const& [x, y] : points) {
            sx += x;
            sy += y;
            sxx += x * x;
            sxy += x * y;
        }
        auto const n = static_cast<double>(points.size());
        std::cout << "growth exponent (least squares over all sizes): "
                  << bench::number((n * sxy - sx * sy) / (n * sxx - sx * sx), 3) << '\n';
    }
}
