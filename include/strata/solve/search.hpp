// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The table that solvers put their orders on: it repairs, fills, compares and keeps the best.
///
/// A solver proposes; what it proposes need not fit. Proposals are worked on in rounds of fixed size, side by side on
/// as many threads as allowed, and compared in the order they were made: the outcome does not depend on threads.
#pragma once

#include <strata/bound/lower_bound.hpp>
#include <strata/detail/lazy.hpp>
#include <strata/detail/mix.hpp>
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
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
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
    [[nodiscard]] auto how() const noexcept -> limits const& { return *lim_; }
    [[nodiscard]] auto best() const noexcept -> std::optional<candidate> const& { return best_; }
    /// Smallest peak of any valid order met, resident bytes included.
    [[nodiscard]] auto lowest_peak() const noexcept -> bytes_t { return lowest_peak_; }

    /// What the best order costs above the bound, as a share of the step's cost; infinite when there is no order.
    [[nodiscard]] auto above_bound() const noexcept -> double
    {
        auto const base = static_cast<double>(std::max<cost_t>(1, p_->base_cost()));
        return best_ ? static_cast<double>(best_->cost - std::max(bound_.cost, p_->base_cost())) / base
                     : std::numeric_limits<double>::infinity();
    }

    /// True when there is nothing left to gain, be it that nothing fits, or no time left.
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

    /// An order that is known to fit, with its cost: the best so far if it is cheaper, also when time is up.
    void take(candidate known)
    {
        if (!best_ || known.cost < best_->cost) {
            best_ = std::move(known);
        }
        ++rounds_;
        report();
    }

    /// A copy to go on with by itself, on any one thread: it reports nothing.
    [[nodiscard]] auto fork() const -> basic_search
    {
        auto r = *this;
        r.alone_ = true;
        return r;
    }

    /// Takes over what a fork of this search found. Ties go to what is here.
    void absorb(basic_search&& other)
    {
        if (other.best_ && (!best_ || other.best_->cost < best_->cost)) {
            best_ = std::move(other.best_);
        }
        lowest_peak_ = std::min(lowest_peak_, other.lowest_peak_);
        prove(other.bound_.cost);
        ++rounds_;
        report();
    }

    /// Calls `job(0)` … `job(count - 1)`, on as many threads as the limits allow.
    /// Throws: what the first of them that throws has thrown, after all have ended.
    template <class Job>
    void side_by_side(std::size_t count, Job const& job) const
    {
        std::vector<std::exception_ptr> thrown(count);
        std::atomic<std::size_t> next{0};
        auto const work = [&] {
            for (auto i = next++; i < count; i = next++) {
                try {
                    job(i);
                } catch (...) { // must not leave a helper's thread
                    thrown[i] = std::current_exception();
                }
            }
        };
        {
            std::vector<detail::lazy<std::jthread, Lazy>> helpers;
            for (std::size_t i = 1; i < std::min<std::size_t>(alone_ ? 1U : std::max(1U, lim_->threads), count); ++i) {
                helpers.emplace_back(work);
            }
            work();
        }
        for (auto const& x : thrown) {
            if (x) {
                std::rethrow_exception(x);
            }
        }
    }

private:
    /// A seed on its way: made, mended, filled.
    struct attempt {
        candidate found;
        bytes_t peak = max_bytes; // the lowest of the orders on the way, whether one fits or not
        bool fits = false;
        bool open = false;      // there is more to be done
        std::uint64_t kind = 0; // of what is to be done next; 0: not to be compared
        std::optional<order_editor> edit;
    };
    static constexpr std::size_t round_size = 8;
    static constexpr double tolerance = 1e-4; // a hundredth of a percentage point

    [[nodiscard]] auto good_enough() const noexcept -> bool
    {
        return bound_.cost == max_cost || above_bound() <= tolerance;
    }

    /// The seeds of one round. Different seeds often lead to the same order, and so do repairs: only the first is worked on.
    void work_on(std::span<proposal const> seeds)
    {
        std::vector<attempt> round(seeds.size());
        auto const each = [&](auto const& step) {
            side_by_side(seeds.size(), [&](std::size_t i) { step(seeds[i], round[i]); });
        };
        auto const drop_twins = [&] {
            for (auto& x : round) {
                x.open = x.open && first_of_its_kind(x.kind);
            }
        };
        each([&](auto const& seed, auto& x) { make(seed, x); });
        drop_twins();
        each([&, give_up_at = too_costly()](auto const& seed, auto& x) { mend(seed, x, give_up_at); });
        drop_twins();
        each([&](auto const& /*seed*/, auto& x) { finish(x); });
        for (auto& x : round) {
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

    /// Makes the order; sees whether it fits as it is.
    void make(proposal const& seed, attempt& x) const
    {
        auto order = stop_.expired() ? std::nullopt : seed.make();
        if (!order || !is_run_order(*p_, *order)) {
            return;
        }
        x.found = {*std::move(order), 0, seed.name};
        x.peak = peak_of(*p_, x.found.order);
        bool const fits = x.peak <= budget_;
        if (seed.as_is) {
            x.fits = fits;
            x.found.cost = cost_of(*p_, x.found.order);
            return;
        }
        x.open = true;
        x.kind = kind_of(x.found.order, fits ? 0 : 1 + seed.spread); // what fits is not repaired
    }

    /// Brings an order under the budget.
    void mend(proposal const& seed, attempt& x, cost_t give_up_at) const
    {
        if (!x.open || x.peak <= budget_) {
            x.kind = 0;
            return;
        }
        x.edit.emplace(*p_, x.found.order);
        auto mender = repair_; // it has scratch space of its own
        x.open = mender(*x.edit, capacity(), {.spread = seed.spread, .give_up_at = give_up_at}, stop_);
        x.peak = mender.lowest_peak() + p_->resident_bytes();
        if (x.open) {
            x.found.order = x.edit->order();
            x.kind = kind_of(x.found.order, 0);
        }
    }

    /// Uses the room that is left.
    void finish(attempt& x) const
    {
        if (x.open) {
            if (!x.edit) {
                x.edit.emplace(*p_, x.found.order);
            }
            fill(*x.edit, capacity(), stop_);
            x.fits = true;
            x.found.cost = x.edit->cost();
            x.found.order = x.edit->order();
        }
        x.edit.reset();
    }

    [[nodiscard]] auto capacity() const noexcept -> bytes_t { return budget_ - p_->resident_bytes(); }

    /// The same for the same order and the same treatment; not 0.
    static auto kind_of(run_order const& order, double treatment) -> std::uint64_t
    {
        auto h = detail::mix(std::bit_cast<std::uint64_t>(treatment));
        for (auto o : order) {
            h = detail::mix(h ^ static_cast<std::uint32_t>(o));
        }
        return h == 0 ? 1 : h;
    }

    /// True the first time that `kind` is met; always for 0.
    auto first_of_its_kind(std::uint64_t kind) -> bool
    {
        auto const where = std::lower_bound(kinds_.begin(), kinds_.end(), kind);
        if (kind != 0 && where != kinds_.end() && *where == kind) {
            return false;
        }
        if (kind != 0) {
            kinds_.insert(where, kind);
        }
        return true;
    }

    void report() const
    {
        if (lim_->on_progress && !alone_) {
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
    std::vector<std::uint64_t> kinds_; // met so far, ascending
    bytes_t lowest_peak_ = max_bytes;
    std::size_t rounds_ = 0;
    bool alone_ = false; // on one thread, quietly
};

using search = basic_search<>;

} // namespace strata
