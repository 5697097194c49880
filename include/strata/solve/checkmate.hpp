// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Optimal orders of small graphs by integer programming, on any `mip_backend`.
///
/// Exact within a class of orders: between two first runs, replays come in at most `passes` sequences of ascending ops, and
/// if `lazy`, only in the stage that reads them. One pass is the stage of Checkmate. How often a class misses the optimum
/// of all orders is measured in docs/design/0006-ilp.md: in a few of a hundred small problems next to the smallest budget
/// with one lazy pass, in one of thousands with two that are not.
#pragma once

#include <strata/bound/lower_bound.hpp>
#include <strata/bound/minimum_budget.hpp>
#include <strata/detail/mip_run.hpp>
#include <strata/error.hpp>
#include <strata/problem/problem.hpp>
#include <strata/result.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/checkmate_model.hpp>
#include <strata/solve/concepts.hpp>
#include <strata/solve/keep_all.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/mip_backend.hpp>
#include <strata/solve/search.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

/// How to build and solve the integer program.
struct checkmate_options {
    int passes = 0;                ///< see above; 0: three up to 12 ops, two up to 24, else one
    std::optional<bool> lazy = {}; ///< replay only in the stage that reads; unset: beyond 24 ops
    int closure_every = 1;         ///< closure cuts after the first run of every k-th op, and of the hottest; 0: none
    std::int64_t max_nodes = 0;    ///< of the backend's search; 0: no limit
    std::optional<run_order> known = {}; ///< an order that fits: only what is cheaper is looked for
};

/// The answer of the integer program.
struct checkmate_outcome {
    run_order order;      ///< fits the budget; the known one if nothing cheaper was found
    cost_t cost = 0;      ///< of `order`, all runs
    cost_t bound = 0;     ///< no order of the class costs less
    bool optimal = false; ///< proven: none of the class is cheaper by more than a millionth of the replays' cost
    bool optimal_anywhere = false; ///< proven for every plan that keeps the first-run order, by a minimum cut
    int passes = 1;                ///< of the class
    bool lazy = false;             ///< of the class
    std::int64_t nodes = 0;        ///< subproblems looked at
};

/// Models beyond this size are refused: more entries than any backend solves in hours.
inline constexpr std::size_t checkmate_max_entries = 1'000'000;

namespace detail {

/// One problem under one budget, made ready for a backend.
template <class = void>
class basic_checkmate_run {
public:
    basic_checkmate_run(problem const& p, bytes_t budget, checkmate_options const& options)
        : p_(&p)
        , budget_(budget)
        , options_(&options)
        , keep_all_(keep_all_order(p))
    {
        plan_.passes = options.passes > 0 ? options.passes : p.op_count() <= 12 ? 3 : p.op_count() <= 24 ? 2 : 1;
        plan_.max_entries = checkmate_max_entries;
        plan_.lazy = options.lazy.value_or(p.op_count() > 24);
        hottest_ = time_points(p, keep_all_, 3, 2);
        if (options.closure_every > 0) {
            for (op_id o = 0; o < p.op_count(); o += options.closure_every) {
                plan_.closure.push_back(o);
            }
            plan_.closure.insert(plan_.closure.end(), hottest_.begin(), hottest_.end());
            std::sort(plan_.closure.begin(), plan_.closure.end());
            plan_.closure.erase(std::unique(plan_.closure.begin(), plan_.closure.end()), plan_.closure.end());
        }
    }

    template <class B>
    [[nodiscard]] auto solve(B const& backend, stop_watch const& stop) -> result<checkmate_outcome>
    {
        checkmate_outcome out;
        out.passes = plan_.passes;
        out.lazy = plan_.lazy;
        if (auto const& known = options_->known) {
            if (!is_run_order(*p_, *known) || peak_of(*p_, *known) > budget_) {
                return fail(errc::invalid_argument,
                            "strata::solve_checkmate: the known order is none, or does not fit");
            }
            take(out, without_idle_replays(*p_, *known));
        }
        if (peak_of(*p_, keep_all_) <= budget_) {
            take(out, keep_all_);
        }
        auto const cut = lower_bound(*p_, budget_, hottest_);
        if (cut.infeasible) {
            return infeasible();
        }
        out.bound = cut.cost;
        auto slack = bytes_t{0}; // by which rounding in the backend let an order exceed the budget
        for (int i = 0; i < attempts && !proven(out); ++i) {
            checkmate_model const m(*p_, budget_ - slack, plan_);
            if (m.too_large()) {
                return fail(errc::invalid_argument,
                            "strata::solve_checkmate: the model of " + std::to_string(p_->op_count()) +
                                " ops has more than " + std::to_string(checkmate_max_entries) +
                                " entries; solve it in blocks");
            }
            bool const known = !out.order.empty();
            auto const extra = out.cost - p_->base_cost();
            auto const answer = backend.solve(
                m.model(), detail::request_below(m, known ? &out.order : nullptr, extra, options_->max_nodes, stop));
            if (!answer) {
                return answer.error();
            }
            out.nodes += answer->nodes;
            if (slack == 0) {
                out.optimal = answer->status == mip_status::infeasible || answer->status == mip_status::optimal;
                out.bound =
                    std::max(out.bound, p_->base_cost() + detail::proven_extra(m, *answer, known ? &extra : nullptr));
            }
            if (answer->status == mip_status::infeasible && out.order.empty() && slack == 0) {
                return infeasible();
            }
            if (answer->solution.size() == 0) {
                break;
            }
            auto order = m.order_of(answer->solution);
            auto const peak = peak_of(*p_, order);
            if (peak <= budget_) {
                take(out, std::move(order));
                break;
            }
            slack += peak - budget_;
        }
        if (out.order.empty()) {
            return fail(stop.expired() ? stop.why() : errc::deadline,
                        "strata::solve_checkmate: stopped after " + std::to_string(out.nodes) +
                            " subproblems, before any order that fits was found; allow more");
        }
        out.optimal = out.optimal || proven(out);
        out.bound = std::min(out.bound, out.cost);
        out.optimal_anywhere = out.cost <= cut.cost;
        return out;
    }

    /// Extra cost that the linear program proves, in the problem's unit.
    template <class B>
    [[nodiscard]] auto relax(B const& backend, stop_watch const& stop) -> result<double>
    {
        checkmate_model const m(*p_, budget_, plan_);
        if (m.too_large()) {
            return fail(errc::invalid_argument, "strata::checkmate_relaxation: the model is too large");
        }
        auto extra = detail::relaxed_extra(m, backend, stop, "strata::checkmate_relaxation");
        return extra && *extra == infinite ? result<double>(infeasible()) : extra;
    }

private:
    static constexpr int attempts = 4;

    void take(checkmate_outcome& out, run_order order) const
    {
        auto const cost = cost_of(*p_, order);
        if (out.order.empty() || cost < out.cost) {
            out.order = std::move(order);
            out.cost = cost;
        }
    }

    [[nodiscard]] static auto proven(checkmate_outcome const& out) -> bool
    {
        return !out.order.empty() && out.cost <= out.bound;
    }

    [[nodiscard]] auto infeasible() const -> error
    {
        auto const least = minimum_budget(*p_);
        auto e = fail(errc::infeasible,
                      "strata::solve_checkmate: no order of " + std::to_string(plan_.passes) +
                          " passes per stage fits " + std::to_string(budget_) + " bytes");
        e.limit = feasibility{least.bytes, least.pinned_by, p_->op(least.pinned_by).name, peak_of(*p_, keep_all_)};
        return e;
    }

    problem const* p_;
    bytes_t budget_;
    checkmate_options const* options_;
    run_order keep_all_;
    std::vector<op_id> hottest_;
    checkmate_model::plan plan_;
};

} // namespace detail

/// A cheapest order of `p` under `budget` bytes, resident ones included, or the best found until `stop`.
///
/// Errors: `infeasible` when no order of the class fits (then, with few passes, one outside of it still may); `deadline` or
/// `cancelled` when the search ended, also by `max_nodes` or for numerical reasons, before any order was found;
/// `invalid_argument` for a known order that does not fit, and for a model of more than `checkmate_max_entries`.
/// Complexity: exponential. Training steps of some 60 ops take seconds, of 90 minutes and more.
template <mip_backend B>
[[nodiscard]] auto solve_checkmate(problem const& p,
                                   bytes_t budget,
                                   B const& backend,
                                   checkmate_options const& options = {},
                                   stop_watch const& stop = {}) -> result<checkmate_outcome>
{
    return detail::basic_checkmate_run<>(p, budget, options).solve(backend, stop);
}

/// What the linear relaxation proves: no order of the class costs less beyond the base cost, in the problem's unit.
/// Errors: as `solve_checkmate`.
template <mip_backend B>
[[nodiscard]] auto checkmate_relaxation(problem const& p,
                                        bytes_t budget,
                                        B const& backend,
                                        checkmate_options const& options = {},
                                        stop_watch const& stop = {}) -> result<double>
{
    return detail::basic_checkmate_run<>(p, budget, options).relax(backend, stop);
}

/// The integer program as a solver: starts from the best plan found so far and proposes what is cheaper, if anything is.
/// Put it last in a `portfolio`. Graphs whose model is too large are passed over. Without a deadline `max_nodes` bounds it.
template <class B>
struct checkmate {
    static constexpr bool refines = true;
    B backend;
    checkmate_options options = {.max_nodes = 2000};

    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "checkmate"; }
    void solve(search& on) const
    {
        require_mip_backend<B>();
        if (on.done()) {
            return;
        }
        auto how = options;
        how.known = on.best() ? std::optional(on.best()->order) : std::nullopt;
        auto found = solve_checkmate(on.subject(), on.budget(), backend, how, on.stop());
        if (found && (!on.best() || found->cost < on.best()->cost)) {
            on.propose({.make = [&order = found->order] { return order; },
                        .as_is = found->optimal,
                        .name = std::string(name())});
        }
    }
};

} // namespace strata
