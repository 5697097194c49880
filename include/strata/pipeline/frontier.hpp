// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Plans for many budgets of one problem, none beaten by a smaller budget's.
#pragma once

#include <strata/pipeline/plan.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace strata {

/// `count` budgets in bytes, evenly spaced from the proven minimum to the keep-all peak, ascending.
/// Requires: `count` >= 1. A single budget is the keep-all peak.
template <class = void>
[[nodiscard]] auto even_budgets(problem const& p, std::size_t count) -> std::vector<bytes_t>
{
    auto const low = minimum_budget(p).bytes;
    auto const high = std::max(low, peak_of(p, keep_all_order(p)));
    std::vector<bytes_t> all;
    for (std::size_t i = 0; i < count; ++i) {
        auto const share = count == 1 ? 1.0L : static_cast<long double>(i) / static_cast<long double>(count - 1);
        all.push_back(i + 1 == count ? high : low + static_cast<bytes_t>(share * static_cast<long double>(high - low)));
    }
    return all;
}

/// Plans for each of `budgets` (bytes, any order; duplicates count once), ascending by budget. Budgets
/// below the first for which a plan is found are left out.
///
/// Monotone: a larger budget never has a costlier plan, because the plan of each budget is also a seed for the next one
/// up, where `fill` uses the added room; what is found there serves again, where nothing better is found, or nothing in
/// time. Their bounds do not rise either. `lim.budget` is ignored; the deadline holds for all budgets together, each may use
/// its share of what is left. One budget of many is not worth as long a look for a placement as `plan` takes, which may find
/// a cheaper plan for it, or one for a smaller budget.
/// Errors: as `plan`, when no budget has a plan.
/// Complexity: `plan` for each budget.
template <class S = default_solver>
[[nodiscard]] auto frontier(problem const& p, std::vector<bytes_t> budgets, limits const& lim = {}, S const& s = {})
    -> result<std::vector<certified_plan>>
{
    require_solver<S>();
    if (budgets.empty()) {
        return fail(errc::invalid_argument, "strata::frontier: needs at least one budget");
    }
    std::sort(budgets.begin(), budgets.end());
    budgets.erase(std::unique(budgets.begin(), budgets.end()), budgets.end());
    stop_watch const stop(lim);
    return detail::with_planner<S>(p, lim, [&](auto const& with) -> result<std::vector<certified_plan>> {
        auto const print = fingerprint(p);
        std::vector<detail::lazy<certified_plan, S>> plans;
        error last_error;
        candidate known;
        auto quiet = lim;
        quiet.on_progress = nullptr;
        for (std::size_t i = 0; i < budgets.size(); ++i) {
            auto const begin = std::chrono::steady_clock::now();
            auto const slice = stop.part(1 / static_cast<double>(budgets.size() - i));
            auto const* const smaller = plans.empty() ? nullptr : &known;
            // When time is up, only that nothing needs a replay is still news.
            bool const late = smaller != nullptr && stop.expired() &&
                              (budgets[i] < with.keep_all_peak() || known.cost == p.base_cost());
            auto made = late
                            ? result<certified_plan>(error{})
                            : detail::plan_within(with, budgets[i], quiet, slice, s, smaller, detail::patience::little);
            if (!plans.empty() && (!made || made->certificate.cost > plans.back().certificate.cost)) {
                // It may fit in sum and not in one piece; the smaller budget's plan has its place already.
                auto again = plans.back();
                again.certificate.budget = budgets[i];
                auto const proof = with.tighten(budgets[i], known, {p.base_cost(), none, false}, stop);
                detail::note_proof(p, proof, again);
                made = std::move(again);
            }
            if (made) {
                made->fingerprint = print;
                made->certificate.seconds =
                    std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
                known = {runs_of(made->schedule), made->certificate.cost, made->certificate.solver};
                plans.push_back(*std::move(made));
            } else {
                last_error = std::move(made).error();
            }
            if (lim.on_progress) {
                lim.on_progress(
                    {.done = static_cast<double>(i + 1) / static_cast<double>(budgets.size()), .stage = "frontier"});
            }
        }
        if (plans.empty()) {
            return last_error;
        }
        // What no plan of a larger budget costs less than, none of a smaller one does.
        for (auto i = plans.size() - 1; i-- > 0;) {
            auto& c = plans[i].certificate;
            if (auto const& larger = plans[i + 1].certificate; larger.lower_bound > c.lower_bound) {
                c.lower_bound = larger.lower_bound;
                c.bound_reach = 0; // what proves it was laid out for another plan
            }
        }
        return plans;
    });
}

} // namespace strata
