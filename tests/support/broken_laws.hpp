// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What every solver must obey, as functions that list the laws an answer breaks.
///
/// Free of any test framework, so that bench programs count violations with the same code. Tests use
/// `check_solver_laws` of tests/laws/solver_laws.hpp.
#pragma once

#include <strata/pipeline/certificate.hpp>
#include <strata/problem/problem.hpp>
#include <strata/result.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/schedule/validate.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/brute_force.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/slow_simulator.hpp"

namespace strata::test {

/// What is expected beyond the laws that bind everyone.
struct law_options {
    bool finds_every_feasible = false; ///< answers "infeasible" only when nothing fits (exact solvers)
    bool finds_optimum = false;        ///< under the first-run order (exact solvers)
    bool keeps_what_fits = true;       ///< replays nothing under a budget that keeps everything
    op_id brute_force_ops = 12;        ///< the optimum is enumerated for problems of at most so many ops
};

/// A solver's answer, whatever it returns: a plan, a schedule, or the order of runs (then frees are early).
struct claim {
    strata::schedule schedule;
    std::optional<strata::certificate> certificate;
    friend auto operator==(claim const&, claim const&) -> bool = default;
};

inline auto as_claim(problem const&, certified_plan plan) -> claim
{
    plan.certificate.seconds = 0; // the only part that may differ between two runs
    return {std::move(plan.schedule), std::move(plan.certificate)};
}
inline auto as_claim(problem const&, schedule s) -> claim { return {std::move(s), {}}; }
inline auto as_claim(problem const& p, run_order const& order) -> claim { return {free_early(p, order), {}}; }

/// Peak of the schedule that runs every op once, in index order, and frees early; by the slow simulator.
inline auto keep_all_peak(problem const& p) -> bytes_t { return slow_simulate(p, free_early(p, index_order(p))).peak; }

namespace detail {

/// True if the first runs of `s` stand in index order.
inline auto first_runs_in_index_order(problem const& p, schedule const& s) -> bool
{
    std::vector<char> ran(static_cast<std::size_t>(p.op_count()), 0);
    op_id last = none;
    for (auto o : runs_of(s)) {
        if (ran[static_cast<std::size_t>(o)] == 0) {
            if (o < last) {
                return false;
            }
            last = o;
            ran[static_cast<std::size_t>(o)] = 1;
        }
    }
    return true;
}

/// Holds one problem, its exact answers (made when first asked for), and the list of broken laws.
class law_court {
public:
    law_court(problem const& p, bytes_t budget, law_options const& options)
        : p_(p)
        , budget_(budget)
        , opt_(options)
        , small_(p.op_count() <= options.brute_force_ops && p.tensor_count() <= 64)
        , keep_all_(keep_all_peak(p))
    {
    }

    void judge_plan(claim const& c)
    {
        auto const v = validate(p_, c.schedule, budget_);
        if (!v.ok()) {
            broken("the judge refuses the plan: " + v.violations.front().message);
            return;
        }
        if (auto const slow = slow_simulate(p_, c.schedule, budget_);
            p_.op_count() <= 400 && (!slow.ok() || slow.peak != v.peak || slow.cost != v.cost)) {
            broken("the slow simulator disagrees with the judge");
        }
        bool const in_order = first_runs_in_index_order(p_, c.schedule);
        if (opt_.keeps_what_fits && budget_ >= keep_all_ && v.cost != base_cost()) {
            broken("replays although everything can be kept in " + number(keep_all_));
        }
        if (c.certificate) {
            judge_certificate(*c.certificate, v, in_order);
        }
        if (!small_) {
            return;
        }
        auto const best =
            brute_force(p_, in_order ? first_runs::in_index_order : first_runs::in_any_order).solve(budget_);
        if (!best) {
            broken("enumeration finds no plan, so judge and enumeration disagree");
        } else if (v.cost < best->cost) {
            broken("cost " + number(v.cost) + " is below the optimum " + number(best->cost));
        } else if (opt_.finds_optimum && in_order && v.cost > best->cost) {
            broken("cost " + number(v.cost) + " is above the optimum " + number(best->cost));
        }
    }

    void judge_error(error const& e)
    {
        if (e.message.empty()) {
            broken("an error says nothing");
        }
        if (e.limit.has_value() != (e.code == errc::infeasible)) {
            broken("exactly an infeasible answer carries a limit");
        }
        if (e.code != errc::infeasible) {
            broken(std::string("an answer that is neither a plan nor infeasible: ") + to_string(e.code) + ": " +
                   e.message);
            return;
        }
        if (budget_ >= keep_all_) {
            broken("infeasible, but keeping everything takes only " + number(keep_all_));
        }
        if (!e.limit) {
            return;
        }
        auto const& limit = *e.limit;
        if (limit.lower_limit > keep_all_) {
            broken("the lower limit " + number(limit.lower_limit) + " is above the keep-all peak " + number(keep_all_));
        }
        if (limit.pinned_by != none && (limit.pinned_by < 0 || limit.pinned_by >= p_.op_count())) {
            broken("pinned by an op that does not exist");
        }
        if (limit.known_feasible && *limit.known_feasible <= budget_) {
            broken("infeasible, but a plan of " + number(*limit.known_feasible) + " bytes is known");
        }
        if (!small_) {
            return;
        }
        auto const least = brute_force(p_).minimum_budget();
        if (limit.lower_limit > least) {
            broken("the lower limit " + number(limit.lower_limit) + " is above the smallest budget " + number(least));
        }
        if (opt_.finds_every_feasible && budget_ >= least) {
            broken("infeasible, but a plan of " + number(least) + " bytes exists");
        }
        if (limit.known_feasible && *limit.known_feasible < least &&
            *limit.known_feasible < brute_force(p_, first_runs::in_any_order).minimum_budget()) {
            broken("known to be feasible in " + number(*limit.known_feasible) + " bytes, which is too little");
        }
    }

    void broken(std::string what)
    {
        broken_.push_back(p_.name() + ", " + number(p_.op_count()) + " ops, budget " + number(budget_) + ": " +
                          std::move(what));
    }

    auto take() && -> std::vector<std::string> { return std::move(broken_); }

private:
    static auto number(std::int64_t n) -> std::string { return std::to_string(n); }

    [[nodiscard]] auto base_cost() const -> cost_t
    {
        cost_t sum = 0;
        for (auto const& o : p_.spec().ops) {
            sum += o.cost;
        }
        return sum;
    }

    void judge_certificate(certificate const& c, verdict const& v, bool in_order)
    {
        auto const equal = [&](std::string const& what, std::int64_t claimed, std::int64_t found) {
            if (claimed != found) {
                broken("the certificate says " + what + " " + number(claimed) + ", the judge " + number(found));
            }
        };
        equal("peak", c.peak, v.peak);
        equal("cost", c.cost, v.cost);
        equal("base cost", c.base_cost, base_cost());
        equal("keep-all peak", c.keep_all_peak, keep_all_);
        equal("resident", c.resident, slow_simulate(p_, {}).peak);
        if (c.peak > c.budget || c.budget > budget_) {
            broken("the certificate's budget " + number(c.budget) + " lies outside peak " + number(c.peak) +
                   " and budget");
        }
        if (c.lower_bound < c.base_cost || (in_order && c.lower_bound > c.cost)) {
            broken("the lower bound " + number(c.lower_bound) + " lies outside base cost " + number(c.base_cost) +
                   " and cost " + number(c.cost));
        }
        if (small_) {
            auto const best = brute_force(p_).solve(budget_);
            if (best && c.lower_bound > best->cost) {
                broken("the lower bound " + number(c.lower_bound) + " is above the optimum " + number(best->cost));
            }
        }
    }

    problem const& p_;
    bytes_t budget_;
    law_options opt_;
    bool small_;
    bytes_t keep_all_;
    std::vector<std::string> broken_;
};

} // namespace detail

/// Asks `solve(p, budget)` twice and lists the laws its answers break. It returns a `result` of `certified_plan`,
/// `schedule` or `run_order`.
///
/// Laws: equal questions get equal answers; a plan passes the judge under the budget; it costs at least the optimum;
/// its certificate repeats the judge's numbers and its lower bound is at most the optimum; "infeasible" comes with a
/// lower limit that is at most the smallest budget for which a plan exists, and never for a budget that keeps
/// everything; nothing is replayed when everything fits.
template <class Solve>
auto broken_solver_laws(problem const& p, bytes_t budget, Solve const& solve, law_options const& options = {})
    -> std::vector<std::string>
{
    detail::law_court court(p, budget, options);
    auto const first = solve(p, budget);
    auto const second = solve(p, budget);
    if (first.has_value() != second.has_value()) {
        court.broken("the same question gets a plan once and an error once");
    } else if (first) {
        auto const c = as_claim(p, *first);
        if (!(c == as_claim(p, *second))) {
            court.broken("the same question gets two different plans");
        }
        court.judge_plan(c);
    } else {
        if (!(first.error() == second.error())) {
            court.broken("the same question gets two different errors");
        }
        court.judge_error(first.error());
    }
    return std::move(court).take();
}

/// Asks for every budget and lists where a larger one is answered with a costlier plan, or with none where a smaller
/// one had a plan. For `frontier`, exact solvers, and pipelines that promise it.
template <class Solve>
auto broken_monotone_law(problem const& p, std::span<bytes_t const> budgets, Solve const& solve)
    -> std::vector<std::string>
{
    std::vector<bytes_t> sorted(budgets.begin(), budgets.end());
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::string> broken;
    std::optional<std::pair<bytes_t, cost_t>> best;
    for (auto b : sorted) {
        auto const answer = solve(p, b);
        if (!answer) {
            if (best) {
                broken.push_back("no plan for " + std::to_string(b) + " bytes, but one for " +
                                 std::to_string(best->first));
            }
            continue;
        }
        auto const cost = validate(p, as_claim(p, *answer).schedule, b).cost;
        if (best && cost > best->second) {
            broken.push_back("cost " + std::to_string(cost) + " for " + std::to_string(b) + " bytes, but " +
                             std::to_string(best->second) + " for " + std::to_string(best->first));
        }
        if (!best || cost < best->second) {
            best = std::pair{b, cost};
        }
    }
    return broken;
}

/// Budgets worth asking for: none, below and at the smallest, between, at and above keep-all, no limit.
/// Requires: `p` is small enough for `brute_force` or `smallest` is given.
inline auto telling_budgets(problem const& p, std::optional<bytes_t> smallest = {}) -> std::vector<bytes_t>
{
    auto const least = smallest ? *smallest : brute_force(p).minimum_budget();
    auto const most = keep_all_peak(p);
    std::vector<bytes_t> r{0, least - 1, least};
    for (int i = 1; i < 4; ++i) {
        r.push_back(least + (most - least) * i / 4);
    }
    r.insert(r.end(), {most - 1, most, most + 1, max_bytes});
    std::sort(r.begin(), r.end());
    r.erase(std::unique(r.begin(), r.end()), r.end());
    std::erase_if(r, [](bytes_t b) { return b < 0; });
    return r;
}

} // namespace strata::test
