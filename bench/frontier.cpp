// SPDX-License-Identifier: Apache-2.0
// Fifty budgets of one step, from its proven minimum to keep-all: seconds, of the processor too, and whether plans get no
// costlier as budgets grow.
//
//     frontier [--smoke] [--threads N] [--budgets N] [GRAPH...]
#include <strata/pipeline/frontier.hpp>
#include <strata/schedule/validate.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

#include "bench/support.hpp"
#include "examples/zoo/models.hpp"

namespace {

using namespace strata;

struct row {
    std::string name;
    problem numbers;
};

/// Some of about a thousand ops, and some of about ten thousand.
auto graphs(bool smoke) -> std::vector<row>
{
    std::vector<row> all;
    auto const model = [&](std::string_view name, zoo::options const& how) {
        all.push_back({std::string(name), zoo::make_problem(name, how).value()});
    };
    if (smoke) {
        model("gpt2-medium", {.layers = 2});
        return all;
    }
    auto const file = [&](std::string_view name) {
        if (auto g = bench::load(name)) {
            all.push_back({std::string(name), std::move(g->numbers)});
        }
    };
    model("gpt2-medium", {.layers = 27});
    model("densenet121", {});
    model("lstm", {.layers = 4, .seq = 24});
    model("encoder-decoder", {.layers = 12});
    for (auto const* name : {"resnet101", "unet5_20", "dtr_unet", "gptflash48", "encdec6_6"}) {
        file(name);
    }
    model("gpt2-medium", {.layers = 263});
    model("lstm", {.layers = 4, .seq = 226});
    model("encoder-decoder", {.layers = 80});
    for (auto const* name : {"gptflash250", "gpt250"}) {
        file(name);
    }
    return all;
}

} // namespace

int main(int argc, char** argv)
{
    bool const smoke = bench::smoke(argc, argv);
    std::size_t budgets = smoke ? 8 : 50;
    limits lim;
    std::vector<std::string_view> names;
    for (int i = smoke ? 2 : 1; i < argc; ++i) {
        std::string_view const word = argv[i];
        if (word == "--threads" && i + 1 < argc) {
            lim.threads = static_cast<unsigned>(std::atoi(argv[++i]));
        } else if (word == "--budgets" && i + 1 < argc) {
            budgets = static_cast<std::size_t>(std::atoi(argv[++i]));
        } else {
            names.push_back(word);
        }
    }
    bench::print_setting("frontier: " + std::to_string(budgets) + " budgets of one step, default solver");
    std::cout << "\n| graph | ops | plans | s | processor s | mean overhead % | mean gap % | largest gap % | monotone "
                 "|\n|---|---|---|---|---|---|---|---|---|\n";
    int wrong = 0;
    for (auto const& [name, p] : graphs(smoke)) {
        if (!names.empty() && std::find(names.begin(), names.end(), name) == names.end()) {
            continue;
        }
        auto const begin = std::clock();
        auto const start = std::chrono::steady_clock::now();
        auto const made = frontier(p, even_budgets(p, budgets), lim);
        auto const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        auto const processor = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
        if (!made) {
            std::cerr << name << ": " << made.error().message << '\n';
            ++wrong;
            continue;
        }
        double overhead = 0;
        double gap = 0;
        double largest = 0;
        bool monotone = true;
        auto cost = max_cost;
        for (auto const& x : *made) {
            auto const& c = x.certificate;
            overhead += 100 * c.overhead() / static_cast<double>(made->size());
            gap += 100 * c.gap() / static_cast<double>(made->size());
            largest = std::max(largest, 100 * c.gap());
            monotone = monotone && c.cost <= cost;
            cost = c.cost;
            bool const fits = x.placement.arena + p.resident_bytes() <= c.budget;
            wrong += validate(p, x.schedule, c.budget).ok() && fits ? 0 : 1;
        }
        wrong += monotone ? 0 : 1;
        std::cout << "| " << name << " | " << p.op_count() << " | " << made->size() << " | "
                  << bench::number(seconds, 2) << " | " << bench::number(processor, 2) << " | "
                  << bench::number(overhead, 3) << " | " << bench::number(gap, 3) << " | " << bench::number(largest, 2)
                  << " | " << (monotone ? "yes" : "NO") << " |\n"
                  << std::flush;
    }
    std::cout << "\nplans refused by the judge, or out of order: " << wrong << '\n';
    return wrong == 0 ? 0 : 1;
}
