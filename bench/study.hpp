// SPDX-License-Identifier: Apache-2.0
// The study's cells, and what a solver finds before the plan is certified and has its place in an arena: what the study's
// numbers are, too.
#pragma once

#include <strata/pipeline/plan.hpp>
#include <strata/pipeline/planner.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/schedule/validate.hpp>

#include <algorithm>

#include "bench/known_results.hpp"
#include "bench/support.hpp"

namespace strata::bench {

struct order_found {
    double overhead = -1; ///< percent; -1: no order
    double seconds = 0;   ///< the fastest of the repeats
    bool valid = true;    ///< what the judge says of the order
};

/// The best order `s` finds whose live bytes fit `bytes`, and the time to find it.
template <solver S>
[[nodiscard]] auto search_alone(problem const& p, bytes_t bytes, S const& s, int repeats, unsigned threads = 1)
    -> order_found
{
    order_found a;
    a.seconds = 1e9;
    stop_watch const no_limit;
    limits lim;
    lim.threads = threads;
    for (int i = 0; i < repeats; ++i) {
        auto const begin = std::chrono::steady_clock::now();
        detail::planner const with(p);
        auto const studied = with.analyse(bytes, no_limit);
        if (!studied) {
            return a;
        }
        auto const best = with.best_order(bytes, *studied, lim, no_limit, s, nullptr);
        a.seconds = std::min(a.seconds, seconds_since(begin));
        if (!best) {
            return a;
        }
        a.valid = a.valid && validate(p, free_early(p, best->order), bytes).ok();
        a.overhead = 100 * (static_cast<double>(best->cost) / static_cast<double>(p.base_cost()) - 1);
    }
    return a;
}

/// A plan with its certificate and its place.
struct answer {
    double overhead = -1; ///< percent; -1: no plan
    double bound = -1;    ///< percent
    double seconds = 0;   ///< the fastest of the repeats: the machine does other things too
    double arena_over_peak = 1;
    std::string solver = {};
    int refused = 0; ///< plans that the judge does not accept, and errors other than that nothing fits or time was up
};

/// What `plan` makes of `p` under `bytes`, as often as `repeats` says. Without a `place`, as the study's plans are.
template <solver S>
[[nodiscard]] auto plan_and_judge(problem const& p,
                                  bytes_t bytes,
                                  S const& s,
                                  int repeats,
                                  std::optional<std::chrono::nanoseconds> deadline = {},
                                  bool place = true) -> answer
{
    limits lim;
    lim.place = place;
    lim.budget = budget::bytes(bytes);
    lim.deadline = deadline;
    answer a;
    a.seconds = 1e9;
    for (int i = 0; i < repeats; ++i) {
        auto const begin = std::chrono::steady_clock::now();
        auto const made = plan(p, lim, s);
        a.seconds = std::min(a.seconds, seconds_since(begin));
        if (!made) {
            if (made.error().code != errc::infeasible && !(deadline && made.error().code == errc::deadline)) {
                std::cerr << made.error().message << '\n';
                ++a.refused;
            }
            return a;
        }
        auto const& c = made->certificate;
        a.refused += validate(p, made->schedule, bytes).ok() ? 0 : 1;
        a.overhead = 100 * c.overhead();
        a.bound = 100 * c.overhead_bound();
        a.solver = c.solver;
        auto const dynamic = c.peak - c.resident;
        a.arena_over_peak = dynamic > 0 ? static_cast<double>(made->placement.arena) / static_cast<double>(dynamic) : 1;
    }
    return a;
}

/// Calls `f(cell, problem, bytes of its budget)` for each of the study's cells that `wanted` says, as far as their graphs are
/// there.
template <class Wanted, class F>
void for_each_cell(Wanted const& wanted, F const& f)
{
    std::string_view loaded_name;
    std::optional<measured_graph> g;
    for (auto const& known : study) {
        if (!wanted(known)) {
            continue;
        }
        if (known.graph != loaded_name) {
            g = load(known.graph);
            loaded_name = known.graph;
        }
        if (!g) {
            std::cout << "| " << known.graph << " | not there: skipped |\n";
            continue;
        }
        auto const& p = g->numbers;
        auto const dynamic = peak_of(p, keep_all_order(p)) - p.resident_bytes();
        f(known, p, budget::fraction(known.budget / 100.0).resolve(p.resident_bytes(), dynamic));
    }
}

} // namespace strata::bench
