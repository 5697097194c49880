// SPDX-License-Identifier: Apache-2.0
// Lower bounds beside each other: one instant at the places that planning looks at, one instant at every op, several
// instants together, and branch and bound; with the processor time of each and the best plan that is found.
//
//     bounds [--smoke] [GRAPH...]
#include <strata/bound/joint_bound.hpp>
#include <strata/bound/lower_bound.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/pipeline/thorough.hpp>

#include <algorithm>
#include <array>
#include <ctime>

#include "bench/study.hpp"
#include "bench/support.hpp"

namespace {

using namespace strata;

struct cell {
    std::string_view graph;
    int budget;             ///< percent
    bool of_reference_peak; ///< of that, resident tensors included; else of the dynamic keep-all peak
};

constexpr std::array cells = {
    cell{"unet4_2", 50, false},
    cell{"unet4_2", 40, false},
    cell{"unet4_2", 30, false},
    cell{"resnet50", 20, false},
    cell{"resnet50", 15, false},
    cell{"unet5_20", 20, false},
    cell{"unet5_20", 10, false},
    cell{"gpt12", 20, false},
    cell{"gptflash12", 40, false},
    cell{"dtr_unet", 40, true},
    cell{"dtr_unet", 30, true},
    cell{"dtr_resnet32", 20, true},
    cell{"dtr_resnet32", 10, true},
    cell{"dtr_lstm", 30, true},
    cell{"dtr_lstm", 20, true},
    cell{"dtr_transformer", 20, true},
    cell{"checkmate_vgg_unet", 50, true},
    cell{"checkmate_vgg_unet", 40, true},
    cell{"checkmate_resnet50", 30, true},
    cell{"checkmate_resnet50", 20, true},
    cell{"gpt250", 20, false},
};

/// Percent above the base cost, and processor seconds.
struct measured {
    double bound = 0, seconds = 0;
};

class measurement {
public:
    measurement(problem const& p, bytes_t bytes)
        : p_(&p)
        , bytes_(bytes)
    {
    }

    /// One instant at each of `points`. Fills in what each proves.
    auto one_instant(std::span<op_id const> points, std::vector<cost_bound>* each) const -> measured
    {
        auto const begin = std::clock();
        cost_bound best{p_->base_cost(), none, false};
        for (auto o : points) {
            auto const b = lower_bound(*p_, bytes_, std::span<op_id const>(&o, 1));
            if (b.at != none && !b.infeasible) {
                each->push_back(b);
                best = b.cost > best.cost ? b : best;
            }
        }
        return {percent(best.cost), seconds_since(begin)};
    }

    [[nodiscard]] auto percent(cost_t cost) const -> double
    {
        auto const base = static_cast<double>(p_->base_cost());
        return 100 * (static_cast<double>(cost) - base) / base;
    }

    static auto seconds_since(std::clock_t begin) -> double
    {
        return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    }

private:
    problem const* p_;
    bytes_t bytes_;
};

auto best_of(std::vector<cost_bound> const& each, problem const& p) -> cost_bound
{
    cost_bound best{p.base_cost(), none, false};
    for (auto const& b : each) {
        best = b.cost > best.cost ? b : best;
    }
    return best;
}

auto joined(std::span<op_id const> ops) -> std::string
{
    std::string text;
    for (auto o : ops) {
        text += (text.empty() ? "" : " ") + std::to_string(o);
    }
    return text;
}

/// Returns: whether no bound was above the plan.
auto row(cell const& c, problem const& p, bytes_t bytes, bool smoke) -> bool
{
    constexpr op_id few = 3000; // ops; beyond, not every op is a time point
    auto s = thorough{};
    s.polish.moves = smoke ? 100 : 20'000;
    limits lim;
    lim.budget = budget::bytes(bytes);
    auto const made = plan(p, lim, s);
    if (!made) {
        std::cout << "| " << c.graph << " | " << c.budget << " % | no plan: " << made.error().message << " |\n";
        return true;
    }
    measurement const m(p, bytes);
    auto const order = runs_of(made->schedule);
    std::vector<cost_bound> at_hot, at_every;
    auto const hot = m.one_instant(time_points(p, order, 30, 10), &at_hot);
    auto const keep_all = keep_all_order(p);
    auto const live = live_bytes(p, keep_all);
    std::vector<op_id> over;
    for (op_id o = 0; o < p.op_count(); ++o) {
        if (live[static_cast<std::size_t>(o)] > bytes && p.op_count() <= few) {
            over.push_back(o);
        }
    }
    auto const every = m.one_instant(over, &at_every);
    auto const& each = over.empty() ? at_hot : at_every;
    auto const points = telling_points(each);
    auto const alone = best_of(each, p);
    auto const known = made->certificate.cost;

    // The quick one may prove more than the plan costs, if it is wrong.
    auto begin = std::clock();
    joint_bound quick(p, bytes, known + p.base_cost() / 10, {.least_gap = 0});
    auto const together = quick(alone, points);
    auto const quick_seconds = measurement::seconds_since(begin);
    begin = std::clock();
    joint_bound deep(p, bytes, known, {.work = smoke ? 1'000'000 : 100'000'000, .least_gap = 1e-4});
    auto const proof = deep(together.bound, points);
    auto const deep_seconds = measurement::seconds_since(begin);
    auto const in_sight = proof.instants.empty() ? known : cost_in_sight(p, order, proof.instants);
    bool const sound = std::max(alone.cost, together.bound.cost) <= known;
    auto const number = [](double x) { return bench::number(x, 3); };
    std::cout << "| " << c.graph << " | " << c.budget << " % | " << p.op_count() << " | " << number(hot.bound) << " | "
              << number(hot.seconds) << " | " << (over.empty() ? "" : number(every.bound)) << " | "
              << (over.empty() ? "" : number(every.seconds)) << " | " << number(m.percent(together.bound.cost)) << " | "
              << number(quick_seconds) << " | " << number(m.percent(proof.bound.cost)) << " | " << number(deep_seconds)
              << " | " << deep.nodes() << " | " << joined(proof.instants) << " | " << number(m.percent(known)) << " | "
              << number(m.percent(known) - m.percent(proof.bound.cost)) << " | "
              << number(m.percent(known) - m.percent(in_sight)) << (sound ? "" : " FAULT: a bound above the plan")
              << " |\n"
              << std::flush;
    return sound;
}

} // namespace

int main(int argc, char** argv)
{
    bool const smoke = bench::smoke(argc, argv);
    std::vector<std::string_view> const names(argv + (smoke ? 2 : 1), argv + argc);
    bench::print_setting("bounds: in percent of the plain step's cost, with processor seconds");
    if (bench::data_folder().empty()) {
        std::cout << "no measurement data (set STRATA_DATA): skipped\n";
        return 0;
    }
    std::cout << "\n| graph | budget | ops | one instant | s | at every op | s | several instants | s | branch and "
                 "bound | s | "
                 "nodes | instants | best plan | gap | out of sight |\n"
                 "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    int faults = 0;
    for (auto const& c : cells) {
        bool const named = names.empty() || std::find(names.begin(), names.end(), c.graph) != names.end();
        if (!named || (smoke && (c.graph != "unet4_2" || c.budget != 50))) {
            continue;
        }
        auto const g = bench::load(c.graph);
        if (!g) {
            std::cout << "| " << c.graph << " | not there: skipped |\n";
            continue;
        }
        auto const& p = g->numbers;
        auto const share = c.budget / 100.0;
        auto const dynamic = peak_of(p, keep_all_order(p)) - p.resident_bytes();
        auto const bytes = c.of_reference_peak ? static_cast<bytes_t>(static_cast<double>(g->reference_peak) * share)
                                               : budget::fraction(share).resolve(p.resident_bytes(), dynamic);
        faults += row(c, p, bytes, smoke) ? 0 : 1;
    }
    return faults == 0 ? 0 : 1;
}
