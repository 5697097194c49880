// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The table that solvers put their orders on: it repairs, fills, compares and keeps the best.
///
/// A solver proposes; what it proposes need not fit. Proposals are worked on in rounds of fixed size, side by side on
/// as many threads as allowed, and compared in the order they were made: the outcome does not depend on threads.
#pragma once

#include <strata/bound/lower_bound.hpp>
#include <strata/detail/lazy.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/fill.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/order_editor.hpp>
#include <strata/solve/repair.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace strata {

/// A seed that a solver proposes: how to make the order, how to bring it under the budget, what to call it.
struct proposal {
    std::function<std::optional<run_order>()> make =
        {};             ///< nothing when the seed does not apply; called on any thread;
                        ///< what is no `is_run_order` is passed over
    double spread = 0;  ///< see `repair_options::spread`
    bool as_is = false; ///< neither repair nor fill: a reference point
    std::string name = {};
};

/// An order that fits, what it costs and who proposed it.
struct candidate {
    run_order order;
    cost_t cost = max_cost;
    std::string name;
};

/// True when `order` is one that a solver may propose: it runs every op, first runs in index order, repeats only ops
/// that may be replayed, and not too many of them (see `order_editor::most_runs`). Inputs are then produced before they
/// are read, since a problem's ops stand in topological order.
/// Complexity: O(length of the order + ops).
template <class Lazy = void>
[[nodiscard]] auto is_run_order(problem const& p, std::span<op_id const> order) -> bool
{
    op_id next = 0;
    for (auto o : order) {
        if (o == next && o < p.op_count()) {
            ++next;
        } else if (o < 0 || o >= next || !p.replayable(o)) {
            return false;
        }
    }
    return next == p.op_count() && static_cast<std::int64_t>(order.size()) <= basic_order_editor<Lazy>::most_runs(p);
}

/// One run of the solvers on one problem under one budget.
template <class Lazy = void>
class basic_search {
    using candidate = detail::lazy<strata::candidate, Lazy>;
    using order_editor = basic_order_editor<Lazy>;
    using repair = basic_repair<Lazy>;

public:
    /// `points`: time points worth cutting at, best first; `bound`: what is proven already. All must outlive the search.
    basic_search(problem const& p,
                 bytes_t budget,
                 std::span<op_id const> points,
                 cost_bound bound,
                 limits const& lim,
                 stop_watch stop)
        : p_(&p)
        , budget_(budget)
        , points_(points.begin(), points.end())
        , bound_(bound)
        , lim_(&lim)
        , stop_(std::move(stop))
        , repair_(p)
    {
    }

    [[nodiscard]] auto subject() const noexcept -> problem const& { return *p_; }
    [[nodiscard]] auto budget() const noexcept -> bytes_t { return budget_; }
    /// Ops at whose first run memory is tightest, the most telling first.
    [[nodiscard]] auto points() const noexcept -> std::span<op_id const> { return points_; }
    [[nodiscard]] auto seed() const noexcept -> std::uint64_t { return lim_->seed; }
    [[nodiscard]] auto stop() const noexcept -> stop_watch const& { return stop_; }
    [[nodiscard]] auto best() const noexcept -> std::optional<candidate> const& { return best_; }
    /// Smallest peak of any valid order met, resident bytes included.
    [[nodiscard]] auto lowest_peak() const noexcept -> bytes_t { return lowest_peak_; }

    /// True when there is nothing left to gain, or no time left.
    [[nodiscard]] auto done() const noexcept -> bool { return good_enough() || stop_.expired(); }

    /// What is proven of every plan under the budget. Its cost is `max_cost` when none fits.
    [[nodiscard]] auto bound() const noexcept -> cost_bound const& { return bound_; }

    /// A solver's proof that no plan under the budget costs less than `cost`; `max_cost`: that none fits.
    void prove(cost_t cost) noexcept { bound_.cost = std::max(bound_.cost, cost); }

    /// Works on all `seeds`, unless `done` comes true between rounds.
    /// Throws: what the first of them that throws has thrown, also from another thread.
    void propose(std::span<proposal const> seeds)
    {
        // The first seed alone, since it may settle the matter; then rounds that keep a few threads busy.
        std::size_t round = 1;
        for (std::size_t from = 0; from < seeds.size() && !done(); from += round, round = round_size) {
            round = from == 0 ? 1 : round;
            work_on(seeds.subspan(from, std::min(round, seeds.size() - from)));
        }
    }

    void propose(proposal seed) { propose(std::span<proposal const>(&seed, 1)); }

private:
    struct outcome {
        candidate found;
        bytes_t peak = max_bytes; // the lowest of the orders on the way, whether one fits or not
        bool fits = false;
        std::exception_ptr thrown; // by a user's maker
    };
    static constexpr std::size_t round_size = 8;
    static constexpr double tolerance = 1e-4; // a hundredth of a percentage point

    [[nodiscard]] auto good_enough() const noexcept -> bool
    {
        return best_ && static_cast<double>(best_->cost - std::max(bound_.cost, p_->base_cost())) <=
                            tolerance * static_cast<double>(p_->base_cost());
    }

    void work_on(std::span<proposal const> seeds)
    {
        std::vector<outcome> outcomes(seeds.size());
        std::atomic<std::size_t> next{0};
        auto const give_up_at = too_costly();
        auto const work = [&] {
            for (auto i = next++; i < seeds.size(); i = next++) {
                try {
                    outcomes[i] = try_out(seeds[i], give_up_at);
                } catch (...) { // must not leave a helper's thread
                    outcomes[i].thrown = std::current_exception();
                }
            }
        };
        {
            std::vector<detail::lazy<std::jthread, Lazy>> helpers;
            for (std::size_t i = 1; i < std::min<std::size_t>(std::max(1U, lim_->threads), seeds.size()); ++i) {
                helpers.emplace_back(work);
            }
            work();
        }
        for (auto& x : outcomes) {
            if (x.thrown) {
                std::rethrow_exception(x.thrown);
            }
            lowest_peak_ = std::min(lowest_peak_, x.peak);
            if (x.fits && (!best_ || x.found.cost < best_->cost)) {
                best_ = std::move(x.found);
            }
        }
        ++rounds_;
        report();
    }

    /// A seed much costlier than the best before it is filled will not win after.
    [[nodiscard]] auto too_costly() const -> cost_t
    {
        if (!best_) {
            return max_cost;
        }
        auto const base = static_cast<double>(p_->base_cost());
        auto const limit = base * 1.02 + 2 * static_cast<double>(best_->cost - p_->base_cost());
        return limit < static_cast<double>(max_cost) ? static_cast<cost_t>(limit) : max_cost;
    }

    [[nodiscard]] auto try_out(proposal const& seed, cost_t give_up_at) const -> outcome
    {
        outcome x;
        auto order = stop_.expired() ? std::nullopt : seed.make();
        if (!order || !is_run_order(*p_, *order)) {
            return x;
        }
        x.found.name = seed.name;
        if (seed.as_is) {
            x.peak = peak_of(*p_, *order);
            x.fits = x.peak <= budget_;
            x.found.cost = cost_of(*p_, *order);
            x.found.order = *std::move(order);
            return x;
        }
        order_editor edit(*p_, *order);
        auto const capacity = budget_ - p_->resident_bytes();
        auto mend = repair_; // it has scratch space of its own
        x.fits = mend(edit, capacity, {.spread = seed.spread, .give_up_at = give_up_at}, stop_);
        if (x.fits) {
            fill(edit, capacity, stop_);
        }
        x.peak = mend.lowest_peak() + p_->resident_bytes();
        x.found.cost = edit.cost();
        x.found.order = edit.order();
        return x;
    }

    void report() const
    {
        if (lim_->on_progress) {
            auto const base = static_cast<double>(std::max<cost_t>(1, p_->base_cost()));
            lim_->on_progress(
                {.done = done() ? 1.0 : 1.0 - 1.0 / static_cast<double>(rounds_ + 1), // how many will come nobody knows
                 .stage = "search",
                 .best_overhead = best_ ? static_cast<double>(best_->cost - p_->base_cost()) / base : -1});
        }
    }

    problem const* p_;
    bytes_t budget_;
    std::vector<op_id> points_;
    cost_bound bound_;
    limits const* lim_;
    stop_watch stop_;
    repair repair_;
    std::optional<candidate> best_;
    bytes_t lowest_peak_ = max_bytes;
    std::size_t rounds_ = 0;
};

using search = basic_search<>;

} // namespace strata
