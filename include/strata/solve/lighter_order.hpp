// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief An order of first runs that exceeds a budget by as little as possible: what is left is for replays to mend.
///
/// Simulated annealing (Kirkpatrick, Gelatt and Vecchi, "Optimization by simulated annealing", 1983) over topological
/// orders: an op moves to another place between those that must run before and after it. What must be recomputed to fit a
/// budget grows with how far, and for how long, memory exceeds it, so the sum of the excess over all ops is the energy; the
/// peak alone would not say how much is left to mend.
#pragma once

#include <strata/detail/id_lists.hpp>
#include <strata/detail/math.hpp>
#include <strata/detail/mix.hpp>
#include <strata/problem/precedence.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/disturb.hpp>
#include <strata/solve/limits.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace strata {

/// The search from one order. Deterministic for a seed and a number of moves.
template <class Lazy = void>
class basic_order_annealer {
public:
    /// `start` is one of first runs (see `is_first_run_order`). Bytes with resident ones. `p` outlives the annealer.
    basic_order_annealer(problem const& p, run_order start, bytes_t budget, std::uint64_t seed)
        : p_(&p)
        , budget_(budget)
        , draw_(seed)
        , order_(std::move(start))
        , place_(order_.size())
        , before_(first_run_predecessors(p))
        , after_(order_.size())
        , live_(live_bytes(p, order_))
    {
        for (std::size_t k = 0; k < order_.size(); ++k) {
            place_[at(order_[k])] = k;
        }
        for (op_id o = 0; o < p.op_count(); ++o) {
            for (auto b : before_[at(o)]) {
                after_[at(b)].push_back(o);
            }
        }
        for (auto b : live_) {
            excess_ += over(b);
        }
        best_ = order_;
        least_ = excess_;
    }

    /// The best order so far, and by how many bytes its runs exceed the budget in sum.
    [[nodiscard]] auto best() const noexcept -> run_order const& { return best_; }
    [[nodiscard]] auto least_excess() const noexcept -> double { return least_; }

    /// Makes `moves` moves while it cools down, unless nothing exceeds the budget before.
    /// Complexity: O(moves × distance moved × tensors of an op and ops of a tensor).
    void run(std::int64_t moves, stop_watch const& stop)
    {
        // In units of what the mean tensor exceeds the budget by at one run: from freely about to hardly ever uphill.
        constexpr double hot = 100;
        constexpr double cooled = 1e-4; // at the end, of the heat at the start
        double bytes = 1;
        for (tensor_id t = 0; t < p_->tensor_count(); ++t) {
            bytes += static_cast<double>(p_->resident(t) ? 0 : p_->size(t));
        }
        auto const mean = bytes / static_cast<double>(std::max<tensor_id>(1, p_->tensor_count()));
        for (std::int64_t i = 0; i < moves && least_ > 0 && order_.size() > 1; ++i) {
            if (i % 256 == 0 && stop.expired()) {
                return;
            }
            heat_ = hot * mean * detail::math::pow(cooled, static_cast<double>(i) / static_cast<double>(moves));
            move();
        }
    }

private:
    static constexpr std::size_t near = 20; // places; most moves go no further
    static constexpr std::size_t far = 500;

    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }
    [[nodiscard]] auto over(bytes_t live) const noexcept -> double
    {
        return live > budget_ ? static_cast<double>(live - budget_) : 0.0;
    }

    void move()
    {
        auto const n = order_.size();
        auto const from = draw_.below(n);
        auto const o = order_[from];
        std::size_t lo = 0;
        std::size_t hi = n - 1;
        for (auto b : before_[at(o)]) {
            lo = std::max(lo, place_[at(b)] + 1);
        }
        for (auto a : after_[at(o)]) {
            hi = std::min(hi, place_[at(a)] - 1);
        }
        if (lo == hi) {
            return;
        }
        auto const reach = draw_.below(4) == 0 ? far : near;
        lo = std::max(lo, from > reach ? from - reach : 0);
        hi = std::min(hi, from + reach);
        auto const to = lo + draw_.below(hi - lo + 1);
        if (to == from) {
            return;
        }
        auto const [a, b] = std::minmax(from, to);
        old_.assign(live_.begin() + static_cast<std::ptrdiff_t>(a), live_.begin() + static_cast<std::ptrdiff_t>(b) + 1);
        shift(from, to);
        measure(a, b);
        double delta = 0;
        for (std::size_t k = a; k <= b; ++k) {
            delta += over(live_[k]) - over(old_[k - a]);
        }
        if (delta > 0 && delta > -heat_ * detail::math::log(1 - draw_.share())) {
            shift(to, from);
            std::copy(old_.begin(), old_.end(), live_.begin() + static_cast<std::ptrdiff_t>(a));
            return;
        }
        excess_ += delta;
        if (excess_ < least_) {
            least_ = excess_;
            best_ = order_;
        }
    }

    void shift(std::size_t from, std::size_t to)
    {
        auto const i = [&](std::size_t k) { return order_.begin() + static_cast<std::ptrdiff_t>(k); };
        if (from < to) {
            std::rotate(i(from), i(from + 1), i(to + 1));
        } else {
            std::rotate(i(to), i(from), i(from + 1));
        }
        for (auto k = std::min(from, to); k <= std::max(from, to); ++k) {
            place_[at(order_[k])] = k;
        }
    }

    /// Live bytes at the places [a, b], from what is live before `a`, which does not change when ops move inside.
    void measure(std::size_t a, std::size_t b)
    {
        bytes_t now = a == 0 ? p_->resident_bytes() : passing(a - 1);
        for (auto k = a; k <= b; ++k) {
            auto const o = order_[k];
            for (auto t : p_->outputs(o)) {
                now += first(t) == k ? p_->size(t) : 0;
            }
            live_[k] = now + p_->workspace(o);
            now -= ending(k);
        }
    }

    /// Bytes whose last use is the run at place `k`.
    [[nodiscard]] auto ending(std::size_t k) const -> bytes_t
    {
        bytes_t bytes = 0;
        for (auto const tensors : {p_->outputs(order_[k]), p_->inputs(order_[k])}) {
            for (auto t : tensors) {
                bytes += last(t) == k ? p_->size(t) : 0;
            }
        }
        return bytes;
    }

    /// Bytes that outlive the run at place `k`.
    [[nodiscard]] auto passing(std::size_t k) const -> bytes_t
    {
        return live_[k] - p_->workspace(order_[k]) - ending(k);
    }

    [[nodiscard]] auto first(tensor_id t) const -> std::size_t
    {
        auto place = order_.size();
        for (auto o : p_->producers(t)) {
            place = std::min(place, place_[at(o)]);
        }
        return place;
    }
    [[nodiscard]] auto last(tensor_id t) const -> std::size_t
    {
        if (p_->is_target(t)) {
            return order_.size() - 1;
        }
        std::size_t place = 0;
        for (auto const ops : {p_->producers(t), p_->consumers(t)}) {
            for (auto o : ops) {
                place = std::max(place, place_[at(o)]);
            }
        }
        return place;
    }

    problem const* p_;
    bytes_t budget_;
    random_draws draw_;
    run_order order_, best_;
    std::vector<std::size_t> place_; // by op
    detail::id_lists before_;
    std::vector<std::vector<op_id>> after_; // by op
    std::vector<bytes_t> live_, old_;
    double excess_ = 0, least_ = 0, heat_ = 0;
};

using order_annealer = basic_order_annealer<>;

/// Moves of one search of `lighter_order` if nothing else is said: a second for five hundred ops.
inline constexpr std::int64_t lighter_moves = 300'000;

/// An order of first runs of `p` whose runs exceed `budget` by few bytes in sum, resident bytes included: the least of a few
/// searches of `moves` moves each, from the order given, which is the answer when nothing is better.
/// The same problem, moves and seed give the same answer unless `stop` expires.
template <class Lazy = void>
[[nodiscard]] auto lighter_order(problem const& p,
                                 bytes_t budget,
                                 std::int64_t moves = lighter_moves,
                                 std::uint64_t seed = 1,
                                 stop_watch const& stop = {}) -> run_order
{
    constexpr int searches = 3;
    run_order best(static_cast<std::size_t>(p.op_count()));
    std::iota(best.begin(), best.end(), 0);
    auto least = std::numeric_limits<double>::infinity();
    auto const given = best;
    for (int i = 0; i < searches && least > 0 && !stop.expired(); ++i) {
        basic_order_annealer<Lazy> job(p, given, budget, detail::mix(seed + static_cast<std::uint64_t>(i)));
        job.run(moves, stop);
        if (job.least_excess() < least) {
            least = job.least_excess();
            best = job.best();
        }
    }
    return best;
}

} // namespace strata
