// SPDX-License-Identifier: Apache-2.0
// strata check: the independent judge over a plan file.
#include <strata/io/budget_text.hpp>
#include <strata/io/format.hpp>
#include <strata/io/read_plan.hpp>
#include <strata/problem/fingerprint.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "common.hpp"
#include "show.hpp"

namespace cli {

namespace {

struct check_settings : settings {
    std::string plan;
    std::optional<std::string> budget;
};

/// The graph with the sizes that the plan was made for. A plan may have been made for another alignment than the
/// graph's own; the fingerprint tells whether that was all.
auto load_for(check_settings const& s, strata::certified_plan const& x) -> strata::result<subject>
{
    auto own = load(s);
    if (!own || strata::fingerprint(own->problem) == x.fingerprint || s.graph == "-") {
        return own;
    }
    auto quiet = s;
    quiet.quiet = true; // its warnings have been heard
    auto realigned = load(quiet, x.placement.alignment);
    return realigned && strata::fingerprint(realigned->problem) == x.fingerprint ? realigned : own;
}

auto run_check(check_settings const& s) -> int
{
    strata::result<strata::budget> budget = strata::budget();
    if (s.budget) {
        budget = strata::parse_budget(*s.budget);
        if (!budget) {
            return refuse(budget.error());
        }
    }
    auto const text = read_text(s.plan);
    if (!text) {
        return refuse(text.error());
    }
    std::vector<std::string> warnings;
    auto file = strata::read_plan_file(*text, &warnings);
    if (!file) {
        return refuse(file.error(), s.plan);
    }
    for (auto const& w : warnings) {
        if (!s.quiet) {
            complain("warning: " + s.plan + ": " + w);
        }
    }
    auto on = load_for(s, file->plan);
    if (!on) {
        return refuse(on.error());
    }
    auto x = on->file ? strata::plan_for(*std::move(file), *on->file) : strata::plan_for(*std::move(file), on->problem);
    if (!x) {
        return refuse(x.error(), s.plan);
    }
    if (x->placement.alignment != on->problem.alignment()) {
        // Made by a program that asked for another alignment in `limits`: judged with the sizes it has then.
        auto spec = on->problem.spec();
        spec.alignment = x->placement.alignment;
        auto p = strata::problem::make(std::move(spec));
        if (!p) {
            return refuse(p.error(), on->where);
        }
        on->problem = *std::move(p);
    }
    auto const allowed = s.budget ? resolved(*budget, on->problem) : x->certificate.budget;
    std::string why;
    bool const valid = judged(*on, *x, allowed, &why);
    x->certificate.budget = allowed;
    if (s.json) {
        print(plan_json(*on, *x, valid) + "\n");
    } else if (valid && !s.quiet) {
        print(s.plan + ": valid for " + on->name + " under " +
              (allowed == strata::max_bytes ? "any budget" : strata::format_bytes(allowed)) + ": peak " +
              strata::format_bytes(x->certificate.peak) + ", overhead " +
              strata::format_percent(x->certificate.overhead()) + ", no overlap in the arena\n");
    }
    if (!valid) {
        complain(s.plan + ": refused: " + why);
        return infeasible;
    }
    return planned;
}

} // namespace

void add_check(CLI::App& program, int& status)
{
    auto* const command = program.add_subcommand("check", "Judge a plan file");
    auto const s = std::make_shared<check_settings>();
    add_graph_options(*command, *s);
    command->add_option("PLAN", s->plan, "a strata-plan file")->required();
    command->add_option("--budget,-b", s->budget, "judge against this budget instead of the plan's own");
    command->add_flag("--json", s->json, "print one JSON object");
    command->callback([s, &status] { status = run_check(*s); });
}

} // namespace cli
