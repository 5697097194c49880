// SPDX-License-Identifier: Apache-2.0
// Trains a model within a byte budget, beside the same model trained plainly: torch_finetune --help.
#include <strata/io/budget_text.hpp>
#include <strata/torch/rematerialize.hpp>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models.hpp"
#include "script_model.hpp"
#include "training.hpp"

namespace {

using finetune::tensors;

struct settings {
    std::string model; // the default, or with a table all
    std::string save;  // a TorchScript file to write, instead of training
    strata::budget budget = strata::budget::fraction(0.5);
    std::string budget_name;
    finetune::size scale = finetune::size::large;
    int steps = 5;
    int threads = 1;
    bool check = false;
    bool json = false;
    bool table = false;
    bool arena = false;
};

constexpr auto usage = R"(usage: torch_finetune [OPTION...]
Trains a model twice on the same data, plainly and within a budget, taking turns, and compares.
  --model NAME|FILE.pt  one of those below (default gpt), or a TorchScript file: forward(batch, labels) returns the
                        loss, batch() makes both
  --budget 50%|200MB    share of what the plain step takes, or bytes (default 50%)
  --steps N             of training (default 5)
  --threads N           of libtorch (default 1)
  --small               the model in a size that trains in milliseconds
  --arena               blocks of a step come out of one slab; see strata::torch::options::arena
  --check               exit code 1 unless all bits agree and the measured peak is within the budget
  --json                one object instead of text
  --table               at 70, 50, 30 and 20 %, one row of a table each; all models, or the one named
  --save FILE.pt        write gpt as a TorchScript file to train, and stop
Exit codes: 0 done, 1 check failed, 2 usage, 3 no plan for that budget, 4 the model is refused.
)";

auto read(int argc, char** argv) -> settings
{
    settings s;
    for (int k = 1; k < argc; ++k) {
        std::string const flag = argv[k];
        auto const next = [&]() -> std::string {
            if (k + 1 >= argc) {
                throw std::invalid_argument(flag + " needs a value");
            }
            return argv[++k];
        };
        if (flag == "--model") {
            s.model = next();
        } else if (flag == "--save") {
            s.save = next();
        } else if (flag == "--budget") {
            auto const b = strata::parse_budget(next());
            if (!b) {
                throw std::invalid_argument(b.error().message);
            }
            s.budget = *b;
        } else if (flag == "--steps") {
            s.steps = std::max(1, std::atoi(next().c_str()));
        } else if (flag == "--threads") {
            s.threads = std::max(1, std::atoi(next().c_str()));
        } else if (flag == "--small") {
            s.scale = finetune::size::small;
        } else if (flag == "--arena") {
            s.arena = true;
        } else if (flag == "--check") {
            s.check = true;
        } else if (flag == "--table") {
            s.table = true;
        } else if (flag == "--json") {
            s.json = true;
        } else {
            throw std::invalid_argument(flag == "--help" ? "" : "there is no option " + flag);
        }
    }
    if (s.model.empty() && !s.table) {
        s.model = "gpt";
    }
    return s;
}

void print(settings const& s,
           strata::torch::report const& r,
           finetune::trainee const& plain,
           finetune::trainee const& planned)
{
    bool const equal = plain.same_as(planned);
    auto const ratio = planned.ratio_to(plain);
    if (s.table) {
        auto const mb = [](auto n) { return static_cast<double>(n) / 1e6; };
        auto const percent = [](double x) { return 100 * x; };
        std::printf("| %s | %zu | %s | %.2f | %.2f | %.2f | %+.1f %% | %+.1f %% | %.2f | %s |\n",
                    s.model.c_str(),
                    r.units,
                    s.budget_name.c_str(),
                    mb(plain.peak()),
                    mb(planned.peak()),
                    mb(r.budget),
                    percent(r.overhead),
                    percent(ratio - 1),
                    r.plan_seconds,
                    equal ? "yes" : "NO");
        std::fflush(stdout);
        return;
    }
    if (s.json) {
        std::printf("{\"model\":\"%s\",\"ops\":%zu,\"units\":%zu,\"budget_bytes\":%lld,\"planned_peak_bytes\":%lld,"
                    "\"measured_peak_bytes\":%lld,\"plain_peak_bytes\":%lld,\"planned_overhead\":%.6f,"
                    "\"measured_ratio\":%.4f,\"plain_step_seconds\":%.6f,\"capture_seconds\":%.4f,"
                    "\"profile_seconds\":%.4f,\"plan_seconds\":%.4f,\"rehearse_seconds\":%.4f,\"equal\":%s}\n",
                    s.model.c_str(),
                    r.ops,
                    r.units,
                    static_cast<long long>(r.budget),
                    static_cast<long long>(r.planned_peak),
                    static_cast<long long>(planned.peak()),
                    static_cast<long long>(plain.peak()),
                    r.overhead,
                    ratio,
                    plain.seconds(),
                    r.capture_seconds,
                    r.profile_seconds,
                    r.plan_seconds,
                    r.rehearse_seconds,
                    equal ? "true" : "false");
        return;
    }
    auto const mb = [](auto n) { return static_cast<double>(n) / 1e6; };
    std::printf("%zu ops in %zu units, %zu of them run more than once\n", r.ops, r.units, r.recomputed.size());
    std::printf("memory of a step  %.1f MB instead of %.1f MB (budget %.1f MB, planned %.1f MB)\n",
                mb(planned.peak()),
                mb(plain.peak()),
                mb(r.budget),
                mb(r.planned_peak));
    std::printf("time of a step    %.2f times the plain step (planned: %.2f times)\n", ratio, 1 + r.overhead);
    if (r.arena_bytes > 0) {
        std::printf("slab of a step    %.1f MB\n", mb(r.arena_bytes));
    }
    std::printf("made ready in     %.2f s: capture %.2f, measure %.2f, plan %.2f, rehearse %.2f\n",
                r.capture_seconds + r.profile_seconds + r.plan_seconds + r.rehearse_seconds,
                r.capture_seconds,
                r.profile_seconds,
                r.plan_seconds,
                r.rehearse_seconds);
    std::printf("%s\n",
                equal ? "loss, gradients, parameters, buffers and random numbers: the same bits" : "THE BITS DIFFER");
}

/// Trains two models that `make` makes, on batches that `batch` makes.
template <class Make>
auto train(settings const& s, Make const& make, std::function<tensors()> const& batch) -> int
{
    at::manual_seed(3);
    std::vector<tensors> data;
    for (int k = 0; k < s.steps; ++k) {
        data.push_back(batch());
    }
    auto const fresh = [&] {
        at::manual_seed(1);
        return make();
    };
    auto plain_model = fresh();
    auto model = fresh();
    // This line is all that training in less memory takes.
    auto planned =
        strata::torch::rematerialize(model, data[0], {.budget = s.budget, .or_least = true, .arena = s.arena});
    using finetune::parts_of;
    finetune::trainee a([&](tensors const& x) { return finetune::loss_of(plain_model, x); },
                        parts_of(plain_model).first,
                        parts_of(plain_model).second);
    finetune::trainee b([&](tensors const& x) { return finetune::to_tensor(planned.forward(x[0], x[1])); },
                        parts_of(model).first,
                        parts_of(model).second);
    for (int k = 0; k < s.steps; ++k) {
        a.train(data[static_cast<std::size_t>(k)]);
        b.train(data[static_cast<std::size_t>(k)]);
        if (!s.json && !s.table) {
            std::printf("step %d of %d  loss %.4f\n", k + 1, s.steps, b.loss());
            std::fflush(stdout);
        }
    }
    auto const r = planned.report();
    print(s, r, a, b);
    return !s.check || (a.same_as(b) && b.peak() <= r.budget) ? 0 : 1;
}

/// A model of models.hpp.
auto train_named(settings const& s) -> int
{
    return train(
        s,
        [&] { return finetune::make_model(s.model, s.scale); },
        [&] { return finetune::make_batch(s.model, s.scale); });
}

constexpr auto header =
    "| model | units | budget | plain peak, MB | measured peak, MB | budget used, MB | planned overhead | "
    "measured | planning, s | same bits |\n|---|---|---|---|---|---|---|---|---|---|";

auto run(settings const& s) -> int
{
    finetune::counting_allocator::installed();
    at::set_num_threads(s.threads);
    if (!s.save.empty()) {
        finetune::save_script_gpt(s.save, s.scale);
        return 0;
    }
    if (s.model.ends_with(".pt")) {
        // The executor that optimises rewrites gradients after a few runs, so that even plain training changes its bits.
        ::torch::jit::getExecutorMode() = false;
        ::torch::jit::setGraphExecutorOptimize(false);
        auto source = finetune::load_script_model(s.model);
        return train(
            s, [&] { return finetune::load_script_model(s.model); }, [&] { return finetune::script_batch(source); });
    }
    if (!s.table) {
        return train_named(s);
    }
    std::puts(header);
    int worst = 0;
    for (auto const name : finetune::model_names()) {
        if (!s.model.empty() && s.model != name) {
            continue;
        }
        for (auto const percent : {70, 50, 30, 20}) {
            auto one = s;
            one.model = name;
            one.budget = strata::budget::fraction(percent / 100.0);
            one.budget_name = std::to_string(percent) + " %";
            worst = std::max(worst, train_named(one));
        }
    }
    return worst;
}

} // namespace

auto main(int argc, char** argv) -> int
{
    try {
        return run(read(argc, argv));
    } catch (std::invalid_argument const& e) {
        std::cerr << (*e.what() == 0 ? "" : "torch_finetune: ") << e.what() << (*e.what() == 0 ? "" : "\n") << usage
                  << "Models:";
        for (auto const name : finetune::model_names()) {
            std::cerr << ' ' << name;
        }
        std::cerr << '\n';
        return *e.what() == 0 ? 0 : 2;
    } catch (strata::torch::not_planned const& e) {
        std::cerr << "torch_finetune: " << e.what() << '\n';
        return 3;
    } catch (strata::torch::refusal const& e) {
        std::cerr << "torch_finetune: " << e.what() << '\n';
        return 4;
    } catch (c10::Error const& e) {
        std::cerr << "torch_finetune: " << e.what_without_backtrace() << '\n';
        return 2;
    } catch (std::exception const& e) {
        std::cerr << "torch_finetune: " << e.what() << '\n';
        return 2;
    }
}
