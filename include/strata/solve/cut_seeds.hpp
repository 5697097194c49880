// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Orders from the minimum cuts at one instant, for any number of budgets.
#pragma once

#include <strata/bound/time_cut.hpp>
#include <strata/problem/problem.hpp>
#include <strata/solve/just_in_time.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace strata {

/// The cuts at one time point whose just-in-time orders are good seeds: for each budget the cheapest that fits there.
///
/// The price of a byte is found on the lower hull of all cuts. Equal layers would all switch at the same price, so prices
/// are tilted: what is needed last is dropped first, which also leaves the crowded start of backward with fewer replays.
/// The hull is that of the instant, not of a budget, so what was found for one budget serves the next.
template <class = void>
class basic_cut_seeds {
public:
    /// `tilt`: how much dearer it is to keep a tensor the later its last use is. `p` outlives the seeds.
    basic_cut_seeds(problem const& p, op_id at, double tilt)
        : p_(&p)
        , cut_(p, at)
        , factor_(index(p.tensor_count()), 1)
    {
        auto const span = static_cast<double>(std::max<op_id>(1, p.op_count() - at));
        bytes_t bytes = 1;
        for (auto t : cut_.needed()) {
            auto const readers = p.consumers(t);
            auto const last = p.is_target(t) || readers.empty() ? p.op_count() : readers.back();
            factor_[index(t)] = 1 + tilt * static_cast<double>(last - at) / span;
            bytes += p.size(t);
        }
        for (auto t : cut_.open()) {
            largest_ = std::max(largest_, p.size(t));
        }
        // All costs over all bytes, and far more.
        steep_ = 1e6 * static_cast<double>(std::max<cost_t>(1, p.base_cost())) / static_cast<double>(bytes);
    }

    /// The cheapest cut that keeps no more than there is room for under `budget`, by a number that stands for it: budgets
    /// with the same number have the same order.
    /// Returns: nothing when no cut fits. Complexity: about ten max-flows for the first budget, a few for one near others.
    [[nodiscard]] auto choose(bytes_t budget) -> std::optional<std::size_t>
    {
        auto const room = budget - cut_.fixed();
        if (room < 0) {
            return {};
        }
        auto dear = known(room, true);
        if (!dear) {
            dear = find(room, steep_);
            if (!dear || points_[*dear].kept > room) {
                dear = fewest_bytes(room);
            }
            if (!dear) {
                return {};
            }
        }
        auto cheap = known(room, false);
        if (!cheap) {
            cheap = find(room, 0);
            if (!cheap || points_[*cheap].kept <= room) {
                return cheap;
            }
        }
        // Between two cuts, one that fits and one that does not: the price at which both cost the same shows a third one
        // below their line, or that there is none (Eisner and Severance 1976, see `time_cut::curve`).
        for (int i = 0; i < steps && !nearly_full(*dear, room); ++i) {
            auto const a = points_[*dear];
            auto const b = points_[*cheap];
            if (b.weight <= a.weight) {
                break;
            }
            auto const price = (a.recomputed - b.recomputed) / (b.weight - a.weight);
            auto const c = price > 0 ? find(room, price) : std::nullopt;
            if (!c) {
                break;
            }
            auto const& now = points_[*c];
            auto const line = a.recomputed + price * a.weight;
            bool const below = now.recomputed + price * now.weight < line * (1 - 1e-9);
            if (now.kept > room) {
                cheap = c;
            } else if (now.weight > a.weight) {
                dear = c;
            }
            if (!below) {
                break;
            }
        }
        return dear;
    }

    /// What a choice drops: by tensor, 1 or 0.
    [[nodiscard]] auto dropped(std::size_t choice) const -> std::vector<char>
    {
        std::vector<char> marks(index(p_->tensor_count()), 0);
        for (auto t : points_[choice].dropped) {
            marks[index(t)] = 1;
        }
        return marks;
    }

    /// The just-in-time order of a choice. It may exceed the budget elsewhere; `repair` sees to that.
    [[nodiscard]] auto order(std::size_t choice) const -> run_order
    {
        auto const gone = dropped(choice);
        return just_in_time(*p_, cut_.at(), [&](tensor_id t) { return gone[index(t)] == 0; });
    }

private:
    /// A cut: what it keeps, in bytes and weighed by the tilt, and what it recomputes.
    struct point {
        bytes_t kept = 0;
        double weight = 0;
        double recomputed = 0;
        bytes_t largest = 0; // of the tensors kept
        bytes_t room = 0;    // that it was solved for: larger tensors could not be kept
        std::vector<tensor_id> dropped;
    };
    static constexpr int steps = 26;

    static auto index(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }

    [[nodiscard]] auto nearly_full(std::size_t i, bytes_t room) const -> bool
    {
        return static_cast<double>(points_[i].kept) > 0.9999 * static_cast<double>(room);
    }

    /// Of the cuts found that are cuts for `room` too, the one nearest to it from the side asked for.
    [[nodiscard]] auto known(bytes_t room, bool fits) const -> std::optional<std::size_t>
    {
        std::optional<std::size_t> best;
        for (std::size_t i = 0; i < points_.size(); ++i) {
            auto const& x = points_[i];
            if (x.room < room || x.largest > room || (x.kept <= room) != fits) {
                continue;
            }
            if (!best || (fits ? x.weight > points_[*best].weight : x.weight < points_[*best].weight)) {
                best = i;
            }
        }
        return best;
    }

    auto find(bytes_t room, double price) -> std::optional<std::size_t>
    {
        return remember(cut_.solve(price, factor_, room), room);
    }

    auto fewest_bytes(bytes_t room) -> std::optional<std::size_t>
    {
        auto const found = remember(cut_.solve_fewest_bytes(room), room);
        return found && points_[*found].kept <= room ? found : std::nullopt;
    }

    auto remember(std::optional<cut_point> const& c, bytes_t room) -> std::optional<std::size_t>
    {
        if (!c) {
            return {};
        }
        point x{c->kept, 0, static_cast<double>(c->recomputed), 0, largest_ <= room ? max_bytes : room, {}};
        for (auto t : cut_.open()) {
            if (cut_.kept(t)) {
                x.weight += factor_[index(t)] * static_cast<double>(p_->size(t));
                x.largest = std::max(x.largest, p_->size(t));
            } else {
                x.dropped.push_back(t);
            }
        }
        for (std::size_t i = 0; i < points_.size(); ++i) {
            if (points_[i].dropped == x.dropped) {
                points_[i].room = std::max(points_[i].room, x.room);
                return i;
            }
        }
        points_.push_back(std::move(x));
        return points_.size() - 1;
    }

    problem const* p_;
    time_cut cut_;
    std::vector<double> factor_; // by tensor
    double steep_ = 0;           // a price at which nothing is kept that need not be
    bytes_t largest_ = 0;
    std::vector<point> points_;
};

using cut_seeds = basic_cut_seeds<>;

} // namespace strata
