// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Optimal plans of small levels by integer programming, on any `mip_backend`: H-ILP.
///
/// Exact within a class of plans: between the first runs of two items, forward halves that ran before run again in the order
/// of the items, each at most once (one pass, as a stage of Checkmate), each as a fast-forward or serving its backward
/// half with any of its options. A forward half serves once, at its first run or later; until its backward half it
/// then does not run. (What a half keeps before it runs again is of no use, so nothing is lost by that.)
#pragma once

#include <strata/detail/level_start.hpp>
#include <strata/detail/mip_run.hpp>
#include <strata/error.hpp>
#include <strata/merge/block_graph.hpp>
#include <strata/merge/concepts.hpp>
#include <strata/merge/idle_runs.hpp>
#include <strata/merge/promise.hpp>
#include <strata/merge/rules.hpp>
#include <strata/result.hpp>
#include <strata/solve/hierarchical_model.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/mip_backend.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace strata {

/// How to build and solve the integer program of a level.
struct hierarchical_options {
    int closure_every = 0;                ///< closure cuts after the first run of every k-th item; 0: none
    std::int64_t max_nodes = 0;           ///< of the backend's search; 0: no limit
    std::size_t max_entries = 60'000;     ///< of the matrix; larger models are not handed to the backend
    std::optional<block_plan> known = {}; ///< a plan that fits: only what is cheaper is looked for
};

/// The answer of the integer program.
struct hierarchical_outcome {
    block_plan plan;        ///< fits the budget; the known one if nothing cheaper was found
    cost_t cost = 0;        ///< of `plan`
    cost_t bound = 0;       ///< no plan of the class costs less
    bool optimal = false;   ///< proven: none of the class is cheaper by more than a millionth of what is decided
    std::int64_t nodes = 0; ///< subproblems looked at
};

namespace detail {

/// One level under one budget, made ready for a backend.
template <class = void>
class basic_hierarchical_run {
public:
    basic_hierarchical_run(block_graph const& g, bytes_t budget, hierarchical_options const& options)
        : g_(&g)
        , budget_(budget)
        , options_(&options)
    {
    }

    template <class B>
    [[nodiscard]] auto solve(B const& backend, stop_watch const& stop) const -> result<hierarchical_outcome>
    {
        hierarchical_outcome out;
        if (auto const& known = options_->known) {
            if (!is_block_plan(*g_, *known) || promise_of(*g_, *known).peak > budget_) {
                return fail(errc::invalid_argument,
                            "strata::solve_hierarchical: the known plan is none, or does not fit");
            }
            take(out, *known);
        }
        if (auto start = level_start(*g_, budget_).find(stop.part(0.25))) {
            take(out, *std::move(start));
        }
        auto const items = g_->items().size();
        auto const refuse = [&] {
            return fail(errc::invalid_argument,
                        "strata::solve_hierarchical: the model of " + std::to_string(items) + " items has more than " +
                            std::to_string(options_->max_entries) +
                            " entries, and no simple plan fits; cut into fewer parts, or give them fewer options");
        };
        auto slack = bytes_t{0}; // by which rounding in the backend let a plan exceed the budget
        for (int i = 0; i < attempts && !proven(out); ++i) {
            if (items * items > options_->max_entries) {
                return out.plan.empty() ? result<hierarchical_outcome>(refuse()) : std::move(out);
            }
            hierarchical_model const m(*g_, budget_ - slack, {options_->closure_every, options_->max_entries});
            out.bound = std::max(out.bound, m.base_cost());
            if (proven(out)) {
                break;
            }
            if (m.too_large()) {
                if (out.plan.empty()) {
                    return refuse();
                }
                break;
            }
            bool const known = !out.plan.empty();
            auto const extra = out.cost - m.base_cost();
            auto const answer = backend.solve(
                m.model(), detail::request_below(m, known ? &out.plan : nullptr, extra, options_->max_nodes, stop));
            if (!answer) {
                return answer.error();
            }
            out.nodes += answer->nodes;
            if (slack == 0) {
                out.optimal = answer->status == mip_status::infeasible || answer->status == mip_status::optimal;
                out.bound =
                    std::max(out.bound, m.base_cost() + detail::proven_extra(m, *answer, known ? &extra : nullptr));
            }
            if (answer->status == mip_status::infeasible && out.plan.empty() && slack == 0) {
                return does_not_fit("strata::solve_hierarchical: no plan with one pass per stage fits ");
            }
            if (answer->solution.size() == 0) {
                break;
            }
            auto plan = m.plan_of(answer->solution);
            if (!is_block_plan(*g_, plan)) { // the backend is at fault
                out.optimal = false;
                break;
            }
            plan = without_idle_runs(*g_, std::move(plan));
            auto const peak = promise_of(*g_, plan).peak;
            if (peak <= budget_) {
                take(out, std::move(plan));
                break;
            }
            slack += peak - budget_;
        }
        if (out.plan.empty()) {
            return fail(stop.expired() ? stop.why() : errc::deadline,
                        "strata::solve_hierarchical: stopped after " + std::to_string(out.nodes) +
                            " subproblems, before any plan that fits was found; allow more");
        }
        out.optimal = out.optimal || proven(out);
        out.bound = std::min(out.bound, out.cost);
        return out;
    }

    /// Cost that the linear program proves.
    template <class B>
    [[nodiscard]] auto relax(B const& backend, stop_watch const& stop) const -> result<double>
    {
        hierarchical_model const m(*g_, budget_, {options_->closure_every, options_->max_entries});
        if (m.too_large()) {
            return fail(errc::invalid_argument, "strata::hierarchical_relaxation: the model is too large");
        }
        auto const extra = detail::relaxed_extra(m, backend, stop, "strata::hierarchical_relaxation");
        if (!extra) {
            return extra.error();
        }
        if (*extra == infinite) {
            return does_not_fit("strata::hierarchical_relaxation: no plan with one pass per stage fits ");
        }
        return static_cast<double>(m.base_cost()) + *extra;
    }

private:
    static constexpr int attempts = 4;

    /// That nothing fits is proven for plans with one pass per stage; one that fits more bytes is known if there is any.
    [[nodiscard]] auto does_not_fit(std::string what) const -> error
    {
        auto e = fail(errc::infeasible, std::move(what) + std::to_string(budget_) + " bytes");
        e.limit = feasibility{.lower_limit = budget_ + 1};
        if (auto const plan = level_start(*g_, max_bytes).find({})) {
            e.limit->known_feasible = promise_of(*g_, *plan).peak;
            e.message += "; one of " + std::to_string(*e.limit->known_feasible) + " bytes is known";
        }
        return e;
    }

    void take(hierarchical_outcome& out, block_plan plan) const
    {
        plan = without_vain_keeping(*g_, std::move(plan));
        auto const cost = promise_of(*g_, plan).cost;
        if (out.plan.empty() || cost < out.cost) {
            out.plan = std::move(plan);
            out.cost = cost;
        }
    }

    [[nodiscard]] static auto proven(hierarchical_outcome const& out) -> bool
    {
        return !out.plan.empty() && out.cost <= out.bound;
    }

    block_graph const* g_;
    bytes_t budget_;
    hierarchical_options const* options_;
};

} // namespace detail

/// A cheapest plan of `g` under `budget` bytes, resident ones included, or the best found until `stop`.
///
/// Errors: `infeasible` when no plan of the class fits; `deadline` or `cancelled` when the search ended, also by `max_nodes` or
/// for numerical reasons, before any plan was found; `invalid_argument` for a known plan that does not fit, and when the
/// model is too large and no simple plan fits.
/// Complexity: exponential. Chains of ten parts with four options take seconds.
template <mip_backend B>
[[nodiscard]] auto solve_hierarchical(block_graph const& g,
                                      bytes_t budget,
                                      B const& backend,
                                      hierarchical_options const& options = {},
                                      stop_watch const& stop = {}) -> result<hierarchical_outcome>
{
    return detail::basic_hierarchical_run<>(g, budget, options).solve(backend, stop);
}

/// What the linear relaxation proves: no plan of the class costs less. Errors: as `solve_hierarchical`.
template <mip_backend B>
[[nodiscard]] auto hierarchical_relaxation(block_graph const& g,
                                           bytes_t budget,
                                           B const& backend,
                                           hierarchical_options const& options = {},
                                           stop_watch const& stop = {}) -> result<double>
{
    return detail::basic_hierarchical_run<>(g, budget, options).relax(backend, stop);
}

/// The integer program as a merger. Where it is too large, or stopped, a simple plan that fits comes back, if any does.
/// Without a deadline `max_nodes` bounds it.
template <class B>
struct hierarchical_ilp {
    B backend = {};
    hierarchical_options options = {.max_nodes = 200};

    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "hierarchical_ilp"; }
    [[nodiscard]] auto merge(block_graph const& g, bytes_t budget, stop_watch const& stop) const
        -> std::optional<block_plan>
    {
        require_mip_backend<B>();
        auto found = solve_hierarchical(g, budget, backend, options, stop);
        if (!found) {
            return {};
        }
        return std::move(found->plan);
    }
};

} // namespace strata
