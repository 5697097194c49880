// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What every plan of a problem begins with: its numbers, where to cut, the search, errors that say what would do.
#pragma once

#include <strata/bound/joint_bound.hpp>
#include <strata/bound/last_run_limit.hpp>
#include <strata/bound/lower_bound.hpp>
#include <strata/bound/minimum_budget.hpp>
#include <strata/bound/regressed_limit.hpp>
#include <strata/bound/time_cut.hpp>
#include <strata/detail/lazy.hpp>
#include <strata/problem/problem.hpp>
#include <strata/result.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/concepts.hpp>
#include <strata/solve/cut.hpp>
#include <strata/solve/keep_all.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/minimum_memory.hpp>
#include <strata/solve/order_editor.hpp>
#include <strata/solve/recompute_all.hpp>
#include <strata/solve/repair.hpp>
#include <strata/solve/search.hpp>
#include <strata/solve/sqrt_checkpoint.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace strata::detail {

/// Everything about a problem that does not depend on the budget, made once for many plans.
template <class Lazy = void>
class basic_planner {
    using order_editor = basic_order_editor<Lazy>;
    using repair = basic_repair<Lazy>;
    using search = basic_search<Lazy>;

public:
    explicit basic_planner(problem const& p)
        : p_(&p)
        , keep_all_(keep_all_order(p))
        , keep_all_peak_(peak_of(p, keep_all_))
        , least_(minimum_budget(p))
    {
    }

    [[nodiscard]] auto subject() const noexcept -> problem const& { return *p_; }
    [[nodiscard]] auto keep_all() const noexcept -> run_order const& { return keep_all_; }
    [[nodiscard]] auto keep_all_peak() const noexcept -> bytes_t { return keep_all_peak_; }
    [[nodiscard]] auto least() const noexcept -> byte_limit const& { return least_; }

    /// An error when sums over a plan with many replays might leave the 64-bit range; solvers add without checks.
    [[nodiscard]] auto check_sums() const -> std::optional<error>
    {
        cost_t dearest = 0;
        bytes_t bytes = 0;
        for (op_id o = 0; o < p_->op_count(); ++o) {
            dearest = std::max(dearest, p_->cost(o));
            bytes = std::max(bytes, p_->workspace(o));
        }
        for (tensor_id t = 0; t < p_->tensor_count(); ++t) {
            bytes += p_->size(t); // `problem::make` has seen to it that this fits
        }
        if (dearest > (max_cost - p_->base_cost()) / order_editor::most_runs(*p_)) {
            return fail(errc::overflow,
                        "strata::plan: with replays, costs of " + std::to_string(dearest) +
                            " do not fit 64 bits; give costs in a coarser unit");
        }
        if (bytes > max_bytes / 4) {
            return fail(errc::overflow,
                        "strata::plan: " + std::to_string(bytes) + " bytes of tensors do not fit 64 bits with replays");
        }
        return {};
    }

    /// Bytes that `b` allows, checked.
    [[nodiscard]] auto resolve(budget const& b) const -> result<bytes_t>
    {
        if (b.is_fraction() && !(b.share() >= 0 && b.share() <= std::numeric_limits<double>::max())) {
            return fail(errc::invalid_argument, "strata::plan: the budget's share must be a number of at least 0");
        }
        if (!b.is_fraction() && b.resolve(0, 0) < 0) {
            return fail(errc::invalid_argument, "strata::plan: the budget must not be negative");
        }
        return b.resolve(p_->resident_bytes(), keep_all_peak_ - p_->resident_bytes());
    }

    /// Where to cut, the most telling time point first, and what that proves for `bytes`.
    struct analysis {
        std::vector<op_id> points;
        cost_bound bound;
    };
    /// Errors: `infeasible` when that is proven; `deadline` or `cancelled` when there is no time for anything but keep-all,
    /// and that does not fit.
    [[nodiscard]] auto analyse(bytes_t bytes, stop_watch const& stop) const -> result<analysis>
    {
        if (bytes < least_.bytes) {
            return infeasible(bytes, least_, lowest_known(stop));
        }
        if (stop.expired() && bytes < keep_all_peak_) {
            return stopped(stop);
        }
        analysis a{time_points(*p_, keep_all_, hot_points, footprint_points), {p_->base_cost(), none, false}};
        std::vector<lazy<std::pair<cost_t, op_id>, Lazy>> telling;
        for (auto o : a.points) {
            auto const b = lower_bound(*p_, bytes, std::span<op_id const>(&o, 1), first_run_orders::given, stop);
            if (b.infeasible) {
                return infeasible(bytes, {bytes + 1, o}, lowest_known(stop));
            }
            telling.emplace_back(-b.cost, o);
            a.bound = b.cost > a.bound.cost ? b : a.bound;
        }
        std::stable_sort(
            telling.begin(), telling.end(), [](auto const& x, auto const& y) { return x.first < y.first; });
        std::transform(telling.begin(), telling.end(), a.points.begin(), [](auto const& x) { return x.second; });
        return a;
    }

    /// The best order under `bytes` that `s` finds, with `known` (if any) as its first seed; not yet judged or placed.
    /// `proven`, if given, becomes what is known of every plan under `bytes`.
    template <solver S>
    [[nodiscard]] auto best_order(bytes_t bytes,
                                  analysis const& a,
                                  limits const& lim,
                                  stop_watch const& stop,
                                  S const& s,
                                  candidate const* known,
                                  cost_bound* proven = nullptr) const -> result<candidate>
    {
        search on(*p_, bytes, a.points, a.bound, lim, stop);
        if (keep_all_peak_ <= bytes) {
            on.take({keep_all_, p_->base_cost(), "keep_all"});
        }
        if (known != nullptr) {
            on.propose({.make = [known] { return known->order; }, .name = known->name});
        }
        s.solve(on);
        if (proven != nullptr) {
            *proven = on.bound();
        }
        if (on.best()) {
            return *on.best();
        }
        if (stop.expired()) {
            return stopped(stop);
        }
        bool const proven_none = on.bound().cost == max_cost; // most solvers have not been asked then
        auto const lowest = std::min({on.lowest_peak(), keep_all_peak_, proven_none ? lowest_known(stop) : max_bytes});
        auto const held = last_run_limit<Lazy>(*p_, least_, stop);
        auto const limit = regressed_limit<Lazy>(*p_, held, lowest, {.states = 300'000}, stop);
        return proven_none && limit.bytes <= bytes
                   ? infeasible(bytes, {bytes + 1, least_.pinned_by}, lowest, "every order was tried; ")
                   : infeasible(bytes, limit, lowest);
    }

    /// Looks for a stronger bound where the plan itself is hot, until nothing is left to gain; then at several instants
    /// together, as far as `effort` allows.
    [[nodiscard]] auto tighten(bytes_t bytes,
                               candidate const& best,
                               cost_bound bound,
                               stop_watch const& stop,
                               joint_effort const& effort = {}) const -> joint_proof
    {
        constexpr op_id small = 400;
        constexpr op_id large = 3000;
        constexpr std::size_t footprints = 10;
        constexpr double hundredth = 1e-4; // of a percentage point
        auto const hot = static_cast<std::size_t>(p_->op_count() > large ? 12 : 30);
        auto const open = [&] {
            auto const slack = static_cast<double>(best.cost - bound.cost);
            return slack > hundredth * static_cast<double>(p_->base_cost()) && !stop.expired();
        };
        std::vector<lazy<cost_bound, Lazy>> single;
        for (auto o : open() ? time_points(*p_, best.order, hot, footprints, small) : std::vector<op_id>()) {
            if (!open()) {
                break;
            }
            basic_time_cut<Lazy> cut(*p_, o);
            if (auto const extra = cut.lower_bound(bytes, 0, stop); extra && *extra > 0) {
                single.push_back({p_->base_cost() + *extra, o, false});
                bound = single.back().cost > bound.cost ? single.back() : bound;
            }
        }
        auto const points = open() ? telling_points(std::move(single)) : std::vector<op_id>();
        return basic_joint_bound<Lazy>(*p_, bytes, best.cost, effort, stop)(bound, points);
    }

private:
    static constexpr std::size_t hot_points = 3;
    static constexpr std::size_t footprint_points = 2;

    /// A budget that works, as small as a quick look finds: an infeasible one should be answered with what would do.
    [[nodiscard]] auto lowest_known(stop_watch const& stop) const -> bytes_t
    {
        constexpr op_id quick = 20'000;
        auto const tightest = time_points(*p_, keep_all_, 1, 0).front();
        auto const checkpointed = sqrt_checkpoint_order(*p_, tightest);
        auto lowest = std::min(peak_of(*p_, checkpointed), peak_of(*p_, recompute_all_order(*p_, tightest)));
        for (auto const* from : {&keep_all_, &checkpointed}) {
            if (p_->op_count() <= quick && !stop.expired()) {
                order_editor edit(*p_, *from);
                repair mend(*p_);
                (void)mend(edit, least_.bytes - p_->resident_bytes(), {}, stop);
                lowest = std::min(lowest, mend.lowest_peak() + p_->resident_bytes());
            }
        }
        if (p_->op_count() <= quick && !stop.expired()) {
            limits const lim;
            search on(*p_, least_.bytes, std::span(&tightest, 1), {p_->base_cost(), none, false}, lim, stop);
            cut{.one_shot = true}.solve(on);
            lowest = std::min(lowest, on.lowest_peak());
        }
        return p_->op_count() <= quick ? least_walk_peak<Lazy>(*p_, least_.bytes, lowest, stop) : lowest;
    }

    [[nodiscard]] static auto stopped(stop_watch const& stop) -> error
    {
        return fail(stop.why(), "strata::plan: stopped before any plan that fits was found; allow more time");
    }

    /// `how`: how `least` was proven, if not by the need of one op.
    [[nodiscard]] auto
    infeasible(bytes_t bytes, byte_limit const& least, bytes_t lowest_peak, std::string const& how = {}) const -> error
    {
        feasibility f;
        f.lower_limit = std::max(least.bytes, least_.bytes);
        f.pinned_by = least.pinned_by;
        f.pinned_by_name = p_->op(least.pinned_by).name;
        f.known_feasible = std::min(lowest_peak, keep_all_peak_);
        auto const op =
            "op " + std::to_string(f.pinned_by) + (f.pinned_by_name.empty() ? "" : " (" + f.pinned_by_name + ")");
        auto const proven = bytes < f.lower_limit;
        bool const alone = !how.empty() || f.lower_limit == least_.bytes;
        auto e = fail(errc::infeasible,
                      "strata::plan: " + std::string(proven ? "no plan fits " : "no plan was found that fits ") +
                          std::to_string(bytes) + " bytes: " + how + op +
                          (alone ? " alone needs " : " and what has to be held with it need ") +
                          std::to_string(how.empty() ? f.lower_limit : least_.bytes) + " bytes, resident tensors (" +
                          std::to_string(p_->resident_bytes()) + ") included; a plan of " +
                          std::to_string(*f.known_feasible) + " bytes is known");
        e.limit = std::move(f);
        return e;
    }

    problem const* p_;
    run_order keep_all_;
    bytes_t keep_all_peak_;
    byte_limit least_;
};

using planner = basic_planner<>;

} // namespace strata::detail
