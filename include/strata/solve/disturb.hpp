// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The moves of a search that undoes a part of a plan: drop tensors, or keep what was made again, here or in a stretch.
#pragma once

#include <strata/detail/mix.hpp>
#include <strata/problem/problem.hpp>
#include <strata/solve/alike_ops.hpp>
#include <strata/solve/order_editor.hpp>
#include <strata/solve/repair.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace strata {

/// Random numbers drawn one after the other; the seed decides all.
class random_draws {
public:
    explicit random_draws(std::uint64_t seed) noexcept
        : seed_(seed)
    {
    }
    [[nodiscard]] auto next() noexcept -> std::uint64_t { return detail::mix(seed_ + ++drawn_); }
    /// Less than `n`, which is not 0.
    [[nodiscard]] auto below(std::size_t n) noexcept -> std::size_t { return static_cast<std::size_t>(next() % n); }
    /// At least 0, less than 1.
    [[nodiscard]] auto share() noexcept -> double { return static_cast<double>(next() >> 11U) * 0x1p-53; }
    /// Mean 0, variance 1, near enough to a normal distribution: the sum of twelve uniform ones.
    [[nodiscard]] auto normal() noexcept -> double
    {
        double sum = -6;
        for (int i = 0; i < 12; ++i) {
            sum += share();
        }
        return sum;
    }

private:
    std::uint64_t seed_;
    std::uint64_t drawn_ = 0;
};

/// Random edits of an order, around one of its hot places. They ask neither for room nor for cost: `repair` and `fill` do.
template <class Lazy = void>
class basic_disturb {
    using order_editor = basic_order_editor<Lazy>;

public:
    static constexpr std::size_t window = 1200; ///< slots to each side that count as around a place

    /// `p` outlives it.
    explicit basic_disturb(problem const& p)
        : p_(&p)
        , repair_(p)
        , alike_(p)
        , dropped_(static_cast<std::size_t>(p.op_count()), 0)
    {
    }

    /// Tensors that may be dropped at all. Requires of what follows: there is one.
    [[nodiscard]] auto droppable() const noexcept -> std::size_t { return repair_.droppable(); }

    /// Ops whose outputs were dropped since `forget`, marked, for `fill_options::frozen`; empty when there are none. To take
    /// their replays out again is what fill would do first.
    [[nodiscard]] auto dropped() const noexcept -> std::span<char const>
    {
        return dropped_ops_.empty() ? std::span<char const>() : dropped_;
    }
    void forget()
    {
        for (auto o : dropped_ops_) {
            dropped_[static_cast<std::size_t>(o)] = 0;
        }
        dropped_ops_.clear();
    }

    /// Drops one to four tensors.
    void drop_some(order_editor& e, bytes_t capacity, random_draws& draw)
    {
        auto const hot = hot_slot(e, draw);
        auto const wanted = dropped_ops_.size() + 1 + draw.below(4);
        for (int tries = 0; tries < 60 && dropped_ops_.size() < wanted; ++tries) {
            drop(e, repair_.droppable(draw.below(droppable())), hot, capacity);
        }
    }

    /// Drops the same tensor of several equal layers: that may pay where dropping that of one does not.
    void drop_alike(order_editor& e, bytes_t capacity, random_draws& draw)
    {
        auto const hot = hot_slot(e, draw);
        auto const before = dropped_ops_.size();
        for (int tries = 0; tries < 20 && dropped_ops_.size() == before; ++tries) {
            auto const t = repair_.droppable(draw.below(droppable()));
            auto const made = p_->outputs(p_->producer(t));
            auto const output = static_cast<std::size_t>(std::find(made.begin(), made.end(), t) - made.begin());
            auto all = alike_.like(p_->producer(t));
            all = all.subspan(draw.below(all.size()));
            auto const count = 1 + static_cast<std::size_t>(static_cast<double>(all.size()) * draw.share());
            for (auto o : all.first(std::min(count, all.size()))) {
                drop(e, p_->outputs(o)[output], hot, capacity);
            }
        }
    }

    /// Keeps one to four tensors that were made again.
    void keep_some(order_editor& e, random_draws& draw)
    {
        auto const hot = hot_slot(e, draw);
        auto const near = e.replays(hot > window ? hot - window : 0, hot + window);
        for (auto wanted = 1 + draw.below(4); wanted > 0 && !near.empty(); --wanted) {
            keep(e, near[draw.below(near.size())]);
        }
    }

    /// Keeps all that was made again in a stretch of the order.
    void keep_stretch(order_editor& e, random_draws& draw)
    {
        auto const hot = hot_slot(e, draw);
        auto const reach = static_cast<std::size_t>(static_cast<double>(window) * draw.share() * draw.share());
        for (auto r : e.replays(hot > reach ? hot - reach : 0, hot + reach)) {
            keep(e, r);
        }
    }

private:
    /// A slot with a run, the hottest of a few.
    static auto hot_slot(order_editor const& e, random_draws& draw) -> std::size_t
    {
        std::size_t hot = 0;
        bytes_t most = -1;
        for (int i = 0; i < 3; ++i) {
            auto s = draw.below(e.slots());
            while (e.run_at(s) == none) {
                s = s + 1 == e.slots() ? 0 : s + 1;
            }
            if (e.bytes_at(s) > most) {
                most = e.bytes_at(s);
                hot = s;
            }
        }
        return hot;
    }

    void drop(order_editor& e, tensor_id t, std::size_t hot, bytes_t capacity)
    {
        if (repair_.drop(e, t, hot, capacity)) {
            auto const o = p_->producer(t);
            dropped_[static_cast<std::size_t>(o)] = 1;
            dropped_ops_.push_back(o);
        }
    }

    /// The replay may be gone already, together with one that it served.
    static void keep(order_editor& e, typename order_editor::run_id r)
    {
        if (e.is_at(r, e.slot_of(r))) {
            (void)e.keep_instead(r, max_bytes);
        }
    }

    problem const* p_;
    basic_repair<Lazy> repair_;
    basic_alike_ops<Lazy> alike_;
    std::vector<char> dropped_;      // by op
    std::vector<op_id> dropped_ops_; // those marked
};

using disturb = basic_disturb<>;

} // namespace strata
