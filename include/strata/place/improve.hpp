// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Makes a placement smaller when first fit has missed the load: other orders, local and exhaustive search.
///
/// Work goes where it can help: time is cut wherever no buffer lives across, and only the groups that need more than the
/// goal are worked on, the worst first.
#pragma once

#include <strata/detail/mix.hpp>
#include <strata/place/capacity_search.hpp>
#include <strata/place/ejection_search.hpp>
#include <strata/place/first_fit.hpp>
#include <strata/place/lifetimes.hpp>
#include <strata/place/occupancy.hpp>
#include <strata/place/placement.hpp>
#include <strata/solve/limits.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace strata {

/// What `improve` may use.
struct improve_options {
    bytes_t goal = 0; ///< an arena of at most this many bytes is good enough; the load always is
    std::int64_t effort =
        1'000'000;          ///< units of work in all, about a microsecond or two each; see `basic_group_improver`
    std::uint64_t seed = 1; ///< of every random choice
    stop_watch stop{};      ///< the best placement so far is returned when it expires
};

namespace detail {

/// Works on buffers of which none can be moved without regard to the others.
///
/// A unit of work is a buffer placed by first fit, or put back by `ejection_search` with 32 others in the way, or 1/(1 + n/64)
/// of a node of `capacity_search`.
template <class Lazy = void>
class basic_group_improver {
    using occupancy = basic_occupancy<Lazy>;
    using packer = basic_packer<Lazy>;
    using ejection_search = basic_ejection_search<Lazy>;
    using capacity_search = basic_capacity_search<Lazy>;

public:
    /// `offsets` is a valid placement of `lifetimes`.
    basic_group_improver(std::vector<lifetime> lifetimes,
                         std::vector<bytes_t> offsets,
                         bytes_t alignment,
                         improve_options const& how)
        : lifetimes_(std::move(lifetimes))
        , offsets_(std::move(offsets))
        , alignment_(alignment)
        , how_(how)
        , packer_(lifetimes_, alignment)
        , low_(how.goal)
    {
        arena_ = end_of(offsets_);
    }

    /// Uses up to `effort`, or less if the goal is reached or proven out of reach.
    void run(std::int64_t effort)
    {
        effort_ = effort;
        remember(offsets_);
        using fit = occupancy::fit;
        constexpr std::array<std::pair<packing_order, fit>, 10> ways{{{packing_order::crowd, fit::tightest},
                                                                      {packing_order::crowd, fit::lowest},
                                                                      {packing_order::size, fit::tightest},
                                                                      {packing_order::crowd_area, fit::tightest},
                                                                      {packing_order::crowd_size, fit::tightest},
                                                                      {packing_order::begin, fit::lowest},
                                                                      {packing_order::crowd_area, fit::lowest},
                                                                      {packing_order::crowd_size, fit::lowest},
                                                                      {packing_order::duration, fit::lowest},
                                                                      {packing_order::area, fit::lowest}}};
        for (auto const& [by, how] : ways) {
            try_order(by, how);
        }
        if (going()) {
            search();
        }
    }

    [[nodiscard]] auto offsets() const noexcept -> std::vector<bytes_t> const& { return offsets_; }
    [[nodiscard]] auto arena() const noexcept -> bytes_t { return arena_; }

private:
    struct start {
        std::size_t above; // buffers that end above what is wanted
        std::vector<bytes_t> offsets;
    };
    static constexpr std::size_t searchable = 2000; // buffers; the search needs their square in memory
    static constexpr std::size_t most_starts = 3;
    static constexpr bytes_t finest = 64;

    [[nodiscard]] auto going() const -> bool { return arena_ > low_ && spent_ < effort_ && !how_.stop.expired(); }

    [[nodiscard]] auto end_of(std::vector<bytes_t> const& offsets) const -> bytes_t
    {
        bytes_t end = 0;
        for (std::size_t i = 0; i < offsets.size(); ++i) {
            end = std::max(end, offsets[i] + packer_.size(i));
        }
        return end;
    }

    void keep(std::vector<bytes_t> const& offsets)
    {
        offsets_ = offsets;
        arena_ = end_of(offsets);
    }

    void try_order(packing_order by, occupancy::fit fit)
    {
        if (!going()) {
            return;
        }
        spent_ += static_cast<std::int64_t>(lifetimes_.size());
        auto const arena = packer_.pack(order_of(lifetimes_, by), fit, max_bytes - 1, how_.stop);
        if (arena == max_bytes) {
            return; // time is up
        }
        remember(packer_.offsets());
        if (arena < arena_) {
            keep(packer_.offsets());
        }
    }

    /// Keeps the few placements of which the fewest buffers end above what is wanted.
    void remember(std::vector<bytes_t> const& offsets)
    {
        std::size_t above = 0;
        for (std::size_t i = 0; i < offsets.size(); ++i) {
            above += offsets[i] + packer_.size(i) > low_ ? 1U : 0U;
        }
        auto const at = std::find_if(starts_.begin(), starts_.end(), [&](start const& x) { return x.above > above; });
        starts_.insert(at, {above, offsets});
        if (starts_.size() > most_starts) {
            starts_.pop_back();
        }
    }

    /// Tries the goal, then capacities a little below the best arena, in rounds with more work each.
    void search()
    {
        bool const small = lifetimes_.size() <= searchable;
        ejection_search repair(lifetimes_, alignment_, how_.seed);
        std::optional<capacity_search> for_goal;
        std::optional<capacity_search> between;
        if (small) {
            for_goal.emplace(lifetimes_, alignment_, how_.seed);
            between.emplace(lifetimes_, alignment_, how_.seed);
        }
        std::int64_t work = 16'000;
        auto const every_rule = small ? std::min(between->once() * node_work(), effort_ / 2) : 0;
        bytes_t parts = 8; // of what is wasted: one of them is to be saved next
        for (std::size_t round = 0; going(); ++round, work *= 2) {
            if (mend(repair, starts_[round % starts_.size()].offsets, low_, small ? work / 2 : work) ||
                (small && round > 0 && attempt(*for_goal, low_, 2 * work))) {
                return;
            }
            while (going()) {
                auto const next = arena_ - std::max<bytes_t>(1, (arena_ - low_) / parts);
                if (!mend(repair, offsets_, next, small ? work / 2 : work) &&
                    !(small && attempt(*between, next, std::max(work, every_rule)))) {
                    break;
                }
            }
            parts += parts < finest ? parts / 2 : 0;
        }
    }

    /// What one node of an exhaustive search takes.
    [[nodiscard]] auto node_work() const -> std::int64_t
    {
        return 1 + static_cast<std::int64_t>(lifetimes_.size() / 64);
    }

    auto mend(ejection_search& s, std::vector<bytes_t> const& from, bytes_t capacity, std::int64_t work) -> bool
    {
        if (!going()) {
            return false;
        }
        auto const before = s.work();
        bool const found = s.run(from, capacity, std::min(work, effort_ - spent_), how_.stop);
        spent_ += s.work() - before;
        if (found) {
            keep(s.offsets());
        }
        return found;
    }

    auto attempt(capacity_search& s, bytes_t capacity, std::int64_t work) -> bool
    {
        if (!going()) {
            return false;
        }
        auto const each = node_work();
        auto const before = s.nodes();
        auto const answer =
            s.run(capacity, std::max<std::int64_t>(1, std::min(work, effort_ - spent_) / each), how_.stop);
        spent_ += (s.nodes() - before) * each;
        if (answer == capacity_search::answer::found) {
            keep(s.offsets());
        } else if (answer == capacity_search::answer::impossible) {
            low_ = std::max(low_, capacity + 1);
        }
        return answer == capacity_search::answer::found;
    }

    std::vector<lifetime> lifetimes_;
    std::vector<bytes_t> offsets_; // of the best placement
    bytes_t alignment_;
    improve_options const& how_;
    packer packer_;
    std::vector<start> starts_;
    bytes_t arena_ = 0; // of the best placement, its last buffer rounded up
    bytes_t low_;       // nothing below is wanted, or possible
    std::int64_t effort_ = 0;
    std::int64_t spent_ = 0;
};

using group_improver = basic_group_improver<>;

/// Groups of lifetimes such that no two of different groups live at the same time; empty ones are left out.
template <class = void>
[[nodiscard]] auto groups_in_time(std::span<lifetime const> lifetimes) -> std::vector<std::vector<std::size_t>>
{
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < lifetimes.size(); ++i) {
        if (lifetimes[i].size > 0 && lifetimes[i].begin < lifetimes[i].end) {
            order.push_back(i);
        }
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return lifetimes[a].begin < lifetimes[b].begin;
    });
    std::vector<std::vector<std::size_t>> groups;
    std::size_t end = 0;
    for (auto i : order) {
        if (groups.empty() || lifetimes[i].begin >= end) {
            groups.emplace_back();
        }
        groups.back().push_back(i);
        end = std::max(end, lifetimes[i].end);
    }
    return groups;
}

} // namespace detail

/// A placement of the same lifetimes whose arena is at most that of `x`; stops at the goal or at the largest load.
///
/// With the same options except `stop`, and a `stop` that does not expire, the answer is the same.
/// Requires: `x` is valid (see `check`); twice the sum of its sizes, rounded up, fits 64 bits.
template <class Lazy = void>
[[nodiscard]] auto improve(placement x, improve_options const& how = {}) -> placement
{
    auto const load = max_load(x.lifetimes, x.alignment);
    auto options = how;
    options.goal = std::max(how.goal, load.value_or(max_bytes));
    if (x.arena <= options.goal || how.stop.expired()) {
        return x;
    }
    struct group {
        std::vector<std::size_t> members;
        bytes_t arena = 0;
    };
    std::vector<group> groups;
    for (auto& members : detail::groups_in_time(x.lifetimes)) {
        group g{std::move(members)};
        for (auto i : g.members) {
            g.arena = std::max(g.arena, x.offsets[i] + align_up(x.lifetimes[i].size, x.alignment));
        }
        if (g.arena > options.goal) {
            groups.push_back(std::move(g));
        }
    }
    std::stable_sort(groups.begin(), groups.end(), [](group const& a, group const& b) { return a.arena > b.arena; });
    for (auto const& g : groups) {
        if (g.arena <= options.goal) {
            break; // and so do all that follow
        }
        std::vector<lifetime> lifetimes;
        std::vector<bytes_t> offsets;
        for (auto i : g.members) {
            lifetimes.push_back(x.lifetimes[i]);
            offsets.push_back(x.offsets[i]);
        }
        detail::basic_group_improver<Lazy> job(std::move(lifetimes), std::move(offsets), x.alignment, options);
        job.run(how.effort / static_cast<std::int64_t>(groups.size()));
        for (std::size_t k = 0; k < g.members.size(); ++k) {
            x.offsets[g.members[k]] = job.offsets()[k];
        }
        options.goal = std::max(options.goal, job.arena()); // the arena will be at least that
    }
    return detail::make_placement(std::move(x.lifetimes), std::move(x.offsets), x.alignment);
}

} // namespace strata
