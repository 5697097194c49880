// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Bring an order under a budget: at the hottest run, drop the tensor that is cheapest to make again.
#pragma once

#include <strata/detail/math.hpp>
#include <strata/detail/mix.hpp>
#include <strata/problem/problem.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/order_editor.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace strata {

/// How `repair` chooses and when it gives up.
struct repair_options {
    double spread = 0;            ///< exponent of "share of the too hot runs that the gap covers"; 0 ignores it
    cost_t give_up_at = max_cost; ///< stop once the order costs this much
    int patience = 400;           ///< stop after so many drops without a new lowest peak
    double noise = 0;             ///< how much chance weighs beside the score; 0 not at all
    std::uint64_t seed = 1;
};

/// Drops tensors from an order until its peak fits.
///
/// At the hottest run p, a life that covers p without being used there is a candidate: it is cut at p's gap and its
/// producer runs again right before the next use, with whatever inputs are gone by then. The score to minimise is
/// cost per byte freed, a little lower for long gaps. Inputs whose life can be stretched instead are stretched.
template <class Lazy = void>
class basic_repair {
    using order_editor = basic_order_editor<Lazy>;

public:
    explicit basic_repair(problem const& p)
        : p_(&p)
    {
        for (tensor_id t = 0; t < p.tensor_count(); ++t) {
            auto const makers = p.producers(t);
            if (p.remakeable(t) && p.size(t) > 0 && !p.consumers(t).empty()) {
                by_ratio_.push_back(
                    {static_cast<double>(p.cost(makers.front())) / static_cast<double>(p.size(t)), t, makers.front()});
            }
        }
        std::sort(by_ratio_.begin(), by_ratio_.end());
        rank_.assign(static_cast<std::size_t>(p.tensor_count()), none);
        for (std::size_t i = 0; i < by_ratio_.size(); ++i) {
            rank_[at(by_ratio_[i].tensor)] = static_cast<std::int32_t>(i);
        }
        gone_.resize(by_ratio_.size());
        in_chain_.assign(static_cast<std::size_t>(p.op_count()), 0);
    }

    /// Edits `e` until its peak is at most `capacity` bytes (without resident ones).
    /// Returns: false if that failed; `e` is then valid still, with the lowest peak not guaranteed.
    /// Complexity: O(drops × (candidates tried × chain length × log n)).
    auto operator()(order_editor& e, bytes_t capacity, repair_options const& how, stop_watch const& stop) -> bool
    {
        auto const longest = std::min(e.run_count() + 2 * static_cast<std::size_t>(p_->op_count()) + 64,
                                      static_cast<std::size_t>(order_editor::most_runs(*p_)));
        lowest_ = e.peak();
        forget();
        int since = 0;
        while (e.peak() > capacity) {
            if (e.run_count() > longest || e.cost() >= how.give_up_at || stop.expired() ||
                !drop_hottest(e, capacity, how)) {
                return false;
            }
            if (e.peak() < lowest_) {
                lowest_ = e.peak();
                since = 0;
            } else if (++since > how.patience) {
                return false;
            }
        }
        return true;
    }

    /// Drops `t` over the gap around slot `at_slot`, whatever that costs; what its producer needs is stretched where
    /// `capacity` allows. Returns: false, with nothing changed, if `t` is not there, is used there, or cannot be made again.
    auto drop(order_editor& e, tensor_id t, std::size_t at_slot, bytes_t capacity) -> bool
    {
        auto const g = gap_at(e, t, at_slot);
        if (g.life == none || !chain_for(e, t, g, at_slot, capacity, std::numeric_limits<double>::infinity())) {
            return false;
        }
        e.replay_before(g.next, chain_);
        return true;
    }

    /// Tensors that may be dropped at all.
    [[nodiscard]] auto droppable() const noexcept -> std::size_t { return by_ratio_.size(); }
    [[nodiscard]] auto droppable(std::size_t i) const -> tensor_id { return by_ratio_[i].tensor; }

    /// Lowest peak of any order met by the last call, without resident bytes: that many are enough.
    [[nodiscard]] auto lowest_peak() const noexcept -> bytes_t { return lowest_; }

private:
    struct candidate {
        double ratio;
        tensor_id tensor;
        op_id producer;
        auto operator<(candidate const& o) const noexcept -> bool
        {
            return ratio != o.ratio ? ratio < o.ratio : tensor < o.tensor;
        }
    };
    struct gap {
        order_editor::life_id life = none;
        order_editor::run_id next = none; // the use before which the tensor is made again
        std::size_t from = 0, to = 0;     // slots of the uses around the gap
    };
    /// A stretch in which a tensor is not live: of the first run of op `from` to that of op `to`, both left out. In ops begun,
    /// since these stay when slots are spread anew; an order under repair drops more and more, which only makes it longer.
    struct absence {
        op_id from = 0, to = 0;
        [[nodiscard]] auto covers(op_id begun) const noexcept -> bool { return from < begun && begun < to; }
    };
    static constexpr int tries = 60;

    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }

    /// The gap of `t` that covers slot `hot`, if its life there can be cut.
    static auto gap_at(order_editor const& e, tensor_id t, std::size_t hot) -> gap
    {
        gap g;
        auto const l = e.life_before(t, hot);
        if (l == none) {
            return g;
        }
        auto const& uses = e.at_life(l).uses;
        auto const next = std::upper_bound(
            uses.begin(), uses.end(), hot, [&](std::size_t s, order_editor::run_id r) { return s < e.slot_of(r); });
        if (next == uses.end() || (next != uses.begin() && e.slot_of(*(next - 1)) == hot)) {
            return g;
        }
        auto const last = next == uses.begin() ? e.at_life(l).start : *(next - 1);
        return {l, *next, e.slot_of(last), e.slot_of(*next)};
    }

    /// Appends to `chain_` what must run before `g.next` to have `t` there; adds to `cost`.
    /// Returns: false when that costs more than `most` or is impossible.
    auto chain_for(order_editor const& e, tensor_id t, gap const& g, std::size_t hot, bytes_t capacity, double most)
        -> bool
    {
        chain_.clear();
        chain_cost_ = 0;
        freed_ = p_->size(t);
        auto const ok = extend_chain(e, t, g, hot, capacity, most, 0);
        for (auto o : touched_) {
            in_chain_[at(o)] = 0;
        }
        touched_.clear();
        return ok;
    }

    auto extend_chain(
        order_editor const& e, tensor_id t, gap const& g, std::size_t hot, bytes_t capacity, double most, int depth)
        -> bool
    {
        constexpr int deepest = 400;
        if (depth > deepest || !p_->remakeable(t)) {
            return false;
        }
        auto const o = p_->producer(t);
        if (in_chain_[at(o)] != 0) {
            return true;
        }
        chain_cost_ += static_cast<double>(p_->cost(o));
        if (chain_cost_ > most) {
            return false;
        }
        in_chain_[at(o)] = 1;
        touched_.push_back(o);
        for (auto w : p_->inputs(o)) {
            auto const l = e.life_before(w, g.to);
            auto const end = e.slot_of(e.end_of(l));
            if (end >= g.to || can_stretch(e, w, end, g, hot, capacity)) {
                continue;
            }
            if (!extend_chain(e, w, g, hot, capacity, most, depth + 1)) {
                return false;
            }
        }
        chain_.push_back(o);
        return true;
    }

    /// True when `w`, last used at slot `end`, may stay until the gap's end: it fits, or replaces more than it takes.
    auto
    can_stretch(order_editor const& e, tensor_id w, std::size_t end, gap const& g, std::size_t hot, bytes_t capacity)
        -> bool
    {
        auto const size = p_->size(w);
        if (end >= hot) {
            return e.most_between(end, g.to) + size <= capacity;
        }
        if (size >= freed_) {
            return false;
        }
        // Inside the gap the dropped tensor makes room; before the gap there must be room.
        if (end < g.from && e.most_between(end, g.from + 1) + size > capacity) {
            return false;
        }
        freed_ -= size;
        return true;
    }

    auto drop_hottest(order_editor& e, bytes_t capacity, repair_options const& how) -> bool
    {
        auto const hot = e.slot_of(e.hottest());
        if (how.spread > 0) {
            probe(e, capacity, hot);
        }
        auto const begun = ops_begun_before(e, hot);
        auto const latest = begun == 0 ? 0 : e.slot_of(e.first_run(begun - 1));
        auto best = std::numeric_limits<double>::infinity();
        gap best_gap;
        int tried = 0;
        for (std::size_t i = 0; i < by_ratio_.size(); ++i) {
            auto const& c = by_ratio_[i];
            if (c.ratio > best || tried >= tries) {
                break;
            }
            if (c.producer >= begun || gone_[i].covers(begun)) {
                continue; // not there; what is looked up below lies far apart in memory
            }
            auto const g = gap_at(e, c.tensor, hot);
            if (g.life == none) {
                remember(i, absence_at(e, c.tensor, hot, latest));
                continue;
            }
            ++tried;
            auto const by_cost = score_of_cost(e, c.tensor, g, how);
            auto const most = best / by_cost * rounding; // what costs more scores no better
            if (!chain_for(e, c.tensor, g, hot, capacity, most)) {
                continue;
            }
            auto const score = (chain_cost_ + free_op_cost) * by_cost;
            if (score < best) {
                best = score;
                best_gap = g;
                std::swap(best_chain_, chain_);
            }
        }
        if (best_gap.life == none) {
            return false;
        }
        e.replay_before(best_gap.next, best_chain_);
        for (auto o : best_chain_) {
            for (auto const tensors : {p_->inputs(o), p_->outputs(o)}) {
                for (auto t : tensors) {
                    if (rank_[at(t)] != none) {
                        gone_[at(rank_[at(t)])] = {};
                    }
                }
            }
        }
        return true;
    }

    void remember(std::size_t rank, absence const& x)
    {
        if (x.to != 0 && gone_[rank].to == 0) {
            remembered_.push_back(rank);
        }
        gone_[rank] = x;
    }
    /// Takes no longer than remembering did: `polish` repairs orders of any length in a few drops.
    void forget()
    {
        for (auto rank : remembered_) {
            gone_[rank] = {};
        }
        remembered_.clear();
    }

    /// The stretch around slot `hot`, where `t` has no gap, in which it is not live at all; none if it is there or was since
    /// slot `latest`, that of the latest first run.
    [[nodiscard]] auto absence_at(order_editor const& e, tensor_id t, std::size_t hot, std::size_t latest) const
        -> absence
    {
        auto const l = e.life_before(t, hot);
        if (l == none || e.slot_of(e.end_of(l)) >= latest) {
            return {};
        }
        auto const next = e.at_life(l).next;
        return {ops_begun_before(e, e.slot_of(e.end_of(l))),
                next == none ? std::numeric_limits<op_id>::max()
                             : ops_begun_before(e, e.slot_of(e.at_life(next).start))};
    }

    /// How many ops have their first run before slot `hot`.
    [[nodiscard]] auto ops_begun_before(order_editor const& e, std::size_t hot) const -> op_id
    {
        op_id from = 0;
        for (auto to = p_->op_count(); from < to;) {
            auto const middle = from + (to - from) / 2;
            (e.slot_of(e.first_run(middle)) < hot ? from : to) =
                e.slot_of(e.first_run(middle)) < hot ? middle + 1 : middle;
        }
        return from;
    }

    /// The score of a drop over what its replays cost.
    [[nodiscard]] auto score_of_cost(order_editor const& e, tensor_id t, gap const& g, repair_options const& how) const
        -> double
    {
        auto const length = static_cast<double>(g.to - g.from) / static_cast<double>(e.slots());
        auto score = (1.3 - 0.3 * length) / static_cast<double>(p_->size(t));
        if (how.spread > 0) {
            score /= detail::math::pow(share_of_hot(g), how.spread);
        }
        if (how.noise > 0) {
            score *= detail::math::exp(how.noise * detail::chance(how.seed + at(t)));
        }
        return score;
    }

    void probe(order_editor const& e, bytes_t capacity, std::size_t hot)
    {
        constexpr std::size_t probes = 128;
        hot_slots_.clear();
        auto const stride = std::max<std::size_t>(1, e.slots() / probes);
        for (std::size_t s = stride / 2; s < e.slots(); s += stride) {
            if (e.bytes_at(s) > capacity) {
                hot_slots_.push_back(s);
            }
        }
        hot_slots_.insert(std::lower_bound(hot_slots_.begin(), hot_slots_.end(), hot), hot);
    }

    [[nodiscard]] auto share_of_hot(gap const& g) const -> double
    {
        auto const first = std::upper_bound(hot_slots_.begin(), hot_slots_.end(), g.from);
        auto const last = std::lower_bound(hot_slots_.begin(), hot_slots_.end(), g.to);
        return static_cast<double>(std::max<std::ptrdiff_t>(1, last - first)) / static_cast<double>(hot_slots_.size());
    }

    // A replay of no cost still takes a step: with nothing else to choose by, the largest tensor goes first.
    static constexpr double free_op_cost = 1e-3;
    static constexpr double rounding = 1 + 1e-9;

    problem const* p_;
    std::vector<candidate> by_ratio_;
    std::vector<std::int32_t> rank_; // by tensor, there
    std::vector<absence> gone_;      // by rank, as far as it has been looked up
    std::vector<std::size_t> remembered_;
    std::vector<char> in_chain_;
    std::vector<op_id> touched_;
    run_order chain_, best_chain_;
    double chain_cost_ = 0;
    bytes_t freed_ = 0;
    bytes_t lowest_ = max_bytes;
    std::vector<std::size_t> hot_slots_;
};

using repair = basic_repair<>;

} // namespace strata
