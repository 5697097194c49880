// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Trains a network within a memory budget, and beside it the same network without one, and compares the two.
#include <strata/io/budget_text.hpp>
#include <strata/io/format.hpp>
#include <strata/result.hpp>
#include <strata/units.hpp>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "examples/engine_eigen/models.hpp"
#include "examples/engine_eigen/plain_step.hpp"
#include "examples/engine_eigen/planned_step.hpp"
#include "examples/engine_eigen/training.hpp"

namespace {

namespace ee = engine_eigen;

/// How the program ends.
enum exit_code : int {
    done = 0,
    different = 1, ///< the two runs differ, or memory exceeds the budget; also a fault of the program
    usage = 2,
    infeasible = 3,
};

struct settings {
    std::string model;
    std::string budget = "50%";
    std::string optimizer = "adamw";
    int steps = 50;
    int accumulate = 1;
    std::uint64_t seed = 1;
    bool measure = false;
    bool check = false;
    bool json = false;
};

/// What the two runs came to. Bytes include resident tensors, as everywhere in strata.
struct outcome {
    strata::certificate promise;
    strata::bytes_t peak = 0;
    double seconds = 0;
    std::optional<strata::bytes_t> plain_peak = {}; ///< these only with --check
    double plain_seconds = 0;
    bool same_losses = true;
    bool same_state = true;

    [[nodiscard]] auto equal() const -> bool { return same_losses && same_state; }
    [[nodiscard]] auto ratio() const -> double { return seconds / plain_seconds; }
};

void complain(std::string const& what) { std::fprintf(stderr, "engine_eigen: %s\n", what.c_str()); }

auto refuse(strata::error const& e) -> int
{
    complain(e.message);
    if (e.limit && e.limit->known_feasible) {
        complain("try --budget " + std::to_string(*e.limit->known_feasible));
    }
    return e.code == strata::errc::infeasible ? infeasible : usage;
}

auto same_bits(float a, float b) -> bool { return std::memcmp(&a, &b, sizeof a) == 0; }

auto train(ee::model const& m, strata::program plan, settings const& s) -> outcome
{
    outcome r{.promise = plan.promise()};
    ee::training_options const o{
        .with = s.optimizer == "sgd" ? ee::optimizer(ee::sgd{}) : ee::optimizer(ee::adamw{}),
        .seed = s.seed,
        .accumulate = s.accumulate,
    };
    ee::training<ee::planned_step> planned(m, o, std::move(plan));
    std::optional<ee::training<ee::plain_step>> plain;
    if (s.check) {
        plain.emplace(m, o);
    }
    auto const every = std::max(1, s.steps / 10);
    for (int i = 1; i <= s.steps; ++i) {
        auto const loss = planned.next();
        bool const same = !plain || same_bits(loss, plain->next());
        r.same_losses = r.same_losses && same;
        if (!s.json && (i % every == 0 || !same)) {
            std::printf(
                "step %4d  loss %.4f%s\n", i, static_cast<double>(loss), same ? "" : "  not that of the plain run");
        }
    }
    r.peak = r.promise.resident + planned.step().peak();
    r.seconds = planned.seconds();
    if (plain) {
        r.plain_peak = r.promise.resident + plain->step().peak();
        r.plain_seconds = plain->seconds();
        r.same_state = planned.same_state_as(*plain);
    }
    return r;
}

void print_json(settings const& s, outcome const& r)
{
    nlohmann::ordered_json j{{"model", s.model},
                             {"steps", s.steps},
                             {"budget_bytes", r.promise.budget},
                             {"resident_bytes", r.promise.resident},
                             {"measured_peak_bytes", r.peak},
                             {"planned_overhead", r.promise.overhead()}};
    if (r.plain_peak) {
        j["plain_peak_bytes"] = *r.plain_peak;
        j["measured_ratio"] = r.ratio();
        j["equal"] = r.equal();
    }
    std::printf("%s\n", j.dump().c_str());
}

void print_table(outcome const& r)
{
    using strata::format_bytes;
    using strata::format_cost;
    auto const line = [](char const* what, std::string const& planned, std::string const& plain) {
        std::printf("%-10s %12s %12s\n", what, planned.c_str(), plain.c_str());
    };
    line("", "planned", r.plain_peak ? "plain" : "");
    line("budget", format_bytes(r.promise.budget), "");
    line("peak", format_bytes(r.peak), r.plain_peak ? format_bytes(*r.plain_peak) : "");
    line("  resident", format_bytes(r.promise.resident), r.plain_peak ? format_bytes(r.promise.resident) : "");
    line("step", format_cost(r.seconds * 1e9), r.plain_peak ? format_cost(r.plain_seconds * 1e9) : "");
    std::printf("overhead: %s as planned", strata::format_percent(r.promise.overhead()).c_str());
    if (r.plain_peak) {
        std::printf(", %s as measured\n", strata::format_percent(r.ratio() - 1).c_str());
        std::printf("losses %s, parameters and all other state %s",
                    r.same_losses ? "equal" : "DIFFERENT",
                    r.same_state ? "equal" : "DIFFERENT");
    }
    std::printf("\n");
}

auto run(settings const& s) -> int
{
    auto const budget = strata::parse_budget(s.budget);
    if (!budget) {
        return refuse(budget.error());
    }
    auto const m = s.model == "gpt" ? ee::gpt() : ee::convnet();
    if (!m) {
        return refuse(m.error());
    }
    auto plan = ee::plan_step(*m, *budget, s.measure);
    if (!plan) {
        return refuse(plan.error());
    }
    auto const r = train(*m, *std::move(plan), s);
    s.json ? print_json(s, r) : print_table(r);
    if (r.peak > r.promise.budget) {
        complain("the measured peak exceeds the budget");
    }
    return r.equal() && r.peak <= r.promise.budget ? done : different;
}

} // namespace

auto main(int argc, char** argv) -> int
{
    settings s;
    CLI::App program("Trains a network within a memory budget, with plans made by strata.", "engine_eigen");
    program.add_option("--model", s.model, "gpt or convnet")->required()->check(CLI::IsMember({"gpt", "convnet"}));
    program.add_option(
        "--budget", s.budget, "a share of the dynamic peak such as 30%, or bytes such as 4MiB (default: 50%)");
    program.add_option("--steps", s.steps, "how many (default: 50)")->check(CLI::Range(1, 1'000'000));
    program.add_option("--optimizer", s.optimizer, "sgd or adamw (default: adamw)")
        ->check(CLI::IsMember({"sgd", "adamw"}));
    program
        .add_option("--accumulate", s.accumulate, "steps whose gradients are added up before an update (default: 1)")
        ->check(CLI::Range(1, 1'000'000));
    program.add_option("--seed", s.seed, "of parameters, examples and dropout (default: 1)")
        ->check(CLI::Range(0, 2'147'483'647));
    program.add_flag("--measure", s.measure, "price ops by what they take on this machine, not by their flops");
    program.add_flag(
        "--check", s.check, "train without a plan too, and compare all losses and the final state bitwise");
    program.add_flag("--json", s.json, "print one JSON object");
    program.footer("Exit codes: 0 done, 1 the two runs differ or memory exceeds the budget, 2 usage, 3 infeasible.");
    try {
        program.parse(argc, argv);
    } catch (CLI::Success const& e) {
        return program.exit(e); // --help
    } catch (CLI::ParseError const& e) {
        complain(std::string(e.what()) + "; `engine_eigen --help` lists the options");
        return usage;
    }
    try {
        return run(s);
    } catch (std::exception const& e) {
        complain(e.what());
    }
    return different;
}
