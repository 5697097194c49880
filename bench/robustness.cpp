// SPDX-License-Identifier: Apache-2.0
// Plans whose costs turn out other than they were planned with: every op's cost is drawn anew within 20 % of what it was, one
// hundred times, and the plan made before is set beside one made for the new costs. What is drawn: a factor for each op, or one
// for each type of op, since an error of a price is often shared by all ops of a type.
//
//     robustness [--smoke] [--draws N] [GRAPH...]
#include <strata/pipeline/plan.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/disturb.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "bench/support.hpp"
#include "examples/zoo/models.hpp"

namespace {

using namespace strata;

constexpr double most = 0.2; // of a cost

int refused = 0;

/// `p` with other costs.
auto redrawn(problem const& p, bool by_type, std::uint64_t seed) -> problem
{
    random_draws draw(seed);
    auto const factor = [&] { return 1 + most * (2 * draw.share() - 1); };
    std::map<std::string, double> of_type;
    auto spec = p.spec();
    for (auto& o : spec.ops) {
        auto const x = by_type ? of_type.try_emplace(o.type, factor()).first->second : factor();
        o.cost = static_cast<cost_t>(std::llround(static_cast<double>(o.cost) * x));
    }
    return problem::make(std::move(spec)).value();
}

auto percent(cost_t cost, problem const& p) -> double
{
    return 100 * (static_cast<double>(cost) / static_cast<double>(p.base_cost()) - 1);
}

/// Points of overhead by which the plan made before is above one made now.
struct loss {
    double mean = 0;
    double worst = -1e9;
};

/// Of `draws` draws; the bytes of `made` must be what they were.
auto lost(problem const& p, certified_plan const& made, bool by_type, int draws) -> loss
{
    loss r;
    for (int i = 0; i < draws; ++i) {
        auto const now = redrawn(p, by_type, static_cast<std::uint64_t>(i + 1));
        auto const judged = validate(now, made.schedule, made.certificate.budget);
        refused += judged.ok() && judged.peak == made.certificate.peak ? 0 : 1;
        auto const again = plan(now, {.budget = budget::bytes(made.certificate.budget)});
        if (!again) {
            ++refused; // the plan made before shows that one exists
            continue;
        }
        auto const x = percent(judged.cost, now) - percent(again->certificate.cost, now);
        r.mean += x / draws;
        r.worst = std::max(r.worst, x);
    }
    return r;
}

} // namespace

int main(int argc, char** argv)
{
    bool const smoke = bench::smoke(argc, argv);
    int draws = smoke ? 5 : 100;
    std::vector<std::string_view> names;
    for (int i = smoke ? 2 : 1; i < argc; ++i) {
        std::string_view const word = argv[i];
        if (word == "--draws" && i + 1 < argc) {
            draws = std::atoi(argv[++i]);
        } else {
            names.push_back(word);
        }
    }
    bench::print_setting(
        "robustness: overhead of a plan whose costs are off by up to 20 %, less that of one made anew; points");
    std::cout << "\n| graph | ops | budget | planned % | each op: mean | worst | each type: mean | worst |\n"
                 "|---|---|---|---|---|---|---|---|\n";
    auto const row = [&](std::string_view name, problem const& p, double share) {
        auto const made = plan(p, {.budget = budget::fraction(share)});
        if (!made) {
            std::cout << "| " << name << " | " << p.op_count() << " | " << bench::number(100 * share, 0)
                      << " % | none |\n";
            return;
        }
        auto const by_op = lost(p, *made, false, draws);
        auto const by_type = lost(p, *made, true, draws);
        std::cout << "| " << name << " | " << p.op_count() << " | " << bench::number(100 * share, 0) << " % | "
                  << bench::number(100 * made->certificate.overhead(), 2) << " | " << bench::number(by_op.mean, 2)
                  << " | " << bench::number(by_op.worst, 2) << " | " << bench::number(by_type.mean, 2) << " | "
                  << bench::number(by_type.worst, 2) << " |\n"
                  << std::flush;
    };
    if (smoke) {
        row("gpt2-medium", zoo::make_problem("gpt2-medium", {.layers = 2}).value(), 0.5);
    } else {
        for (auto const* name :
             {"gpt12", "gptflash12", "encdec6_6", "resnet50", "unet4_2", "dtr_unet", "dtr_transformer"}) {
            bool const wanted = names.empty() || std::find(names.begin(), names.end(), name) != names.end();
            auto const g = wanted ? bench::load(name) : std::nullopt;
            for (double share : {0.7, 0.5, 0.3}) {
                if (g) {
                    row(name, g->numbers, share);
                }
            }
        }
    }
    std::cout << "\nplans refused by the judge, or with another peak: " << refused << '\n';
    return refused == 0 ? 0 : 1;
}
