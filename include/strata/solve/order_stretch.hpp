// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A stretch of an order as a small problem of its own: what must be live where it ends, what is there where it begins.
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/disturb.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace strata {

/// A set of up to 256 tensors, or ops, of a stretch.
struct stretch_set {
    static constexpr std::size_t most = 256;
    std::array<std::uint64_t, most / 64> words = {};

    [[nodiscard]] auto has(std::size_t i) const noexcept -> bool { return (words[i / 64] >> (i % 64) & 1U) != 0; }
    void put(std::size_t i) noexcept { words[i / 64] |= std::uint64_t{1} << (i % 64); }
    friend auto operator|(stretch_set a, stretch_set const& b) noexcept -> stretch_set
    {
        for (std::size_t w = 0; w < a.words.size(); ++w) {
            a.words[w] |= b.words[w];
        }
        return a;
    }
    friend auto operator&(stretch_set a, stretch_set const& b) noexcept -> stretch_set
    {
        for (std::size_t w = 0; w < a.words.size(); ++w) {
            a.words[w] &= b.words[w];
        }
        return a;
    }
    /// What is in `a` and not in `b`.
    friend auto operator-(stretch_set a, stretch_set const& b) noexcept -> stretch_set
    {
        for (std::size_t w = 0; w < a.words.size(); ++w) {
            a.words[w] &= ~b.words[w];
        }
        return a;
    }
    friend auto operator==(stretch_set const&, stretch_set const&) -> bool = default;
    /// Calls `f` for each member, ascending.
    template <class F>
    void each(F const& f) const
    {
        for (std::size_t w = 0; w < words.size(); ++w) {
            for (auto left = words[w]; left != 0; left &= left - 1) {
                f(64 * w + static_cast<std::size_t>(std::countr_zero(left)));
            }
        }
    }
};

/// An op of a stretch, with its tensors numbered as there.
struct stretch_op {
    op_id op = none;
    stretch_set reads, writes;
    cost_t cost = 0;
    bytes_t workspace = 0;
};

/// The runs of an order from the first run of one op to that of another, between sets of live tensors that stay as they are.
///
/// Tensors that are live throughout and that no run of the stretch touches are bytes and no more, but for a few drawn at
/// random, which may be dropped. Tensors so small that all of them together take a three hundredth of the capacity are taken to live from
/// their first run to their last use. Others have a number from 0.
template <class Lazy = void>
class basic_order_stretch {
public:
    /// `p` outlives it.
    explicit basic_order_stretch(problem const& p, bytes_t capacity)
        : p_(&p)
        , capacity_(capacity)
        , counted_(at(p.tensor_count()), 0)
        , number_(at(p.tensor_count()), none)
        , at_begin_(at(p.tensor_count()), 0)
        , at_end_(at(p.tensor_count()), 0)
        , first_run_(at(p.op_count()) + 1, 0)
        , small_(at(p.op_count()) + 2, 0)
    {
        std::vector<std::pair<bytes_t, tensor_id>> by_size;
        for (tensor_id t = 0; t < p.tensor_count(); ++t) {
            if (!p.resident(t)) {
                by_size.emplace_back(p.size(t), t);
            }
        }
        std::sort(by_size.begin(), by_size.end());
        bytes_t sum = 0;
        for (auto const& [size, t] : by_size) {
            sum += size;
            counted_[at(t)] = sum > capacity / small_share ? 1 : 0;
            if (counted_[at(t)] == 0) {
                auto const readers = p.consumers(t);
                auto const last = p.is_target(t)
                                      ? p.op_count()
                                      : std::max(p.producers(t).back(), readers.empty() ? 0 : readers.back());
                small_[at(p.producers(t).front())] += size;
                small_[at(last) + 1] -= size;
            }
        }
        for (std::size_t o = 1; o < small_.size(); ++o) {
            small_[o] += small_[o - 1];
        }
    }

    /// Takes the stretch of `order` from the first run of `from` to right before that of `to`, or to the end where `to` is the
    /// number of ops. Draws what of that lives throughout may be dropped. `to` > `from`.
    /// Returns: false if it touches too many tensors.
    /// Complexity: O(length of the order + tensors).
    auto take(std::span<op_id const> order, op_id from, op_id to, random_draws& draw) -> bool
    {
        from_ = from;
        to_ = to;
        for (auto t : tensors_) {
            number_[at(t)] = none;
        }
        tensors_.clear();
        look_back(order);
        bool fits = true;
        for (auto k = first_run_[at(from)]; k < first_run_[at(to)]; ++k) {
            for (auto const tensors : {p_->inputs(order[k]), p_->outputs(order[k])}) {
                for (auto t : tensors) {
                    fits = fits && number(t);
                }
            }
        }
        if (!fits) {
            return false;
        }
        number_some(draw);
        number_sources();
        list_ops();
        find_begin(order);
        find_remakes();
        return true;
    }

    [[nodiscard]] auto from() const noexcept -> op_id { return from_; }
    [[nodiscard]] auto to() const noexcept -> op_id { return to_; }
    /// Where the first run of `o` stands in the order; its length for the number of ops.
    [[nodiscard]] auto first_run(op_id o) const noexcept -> std::size_t { return first_run_[at(o)]; }
    /// What must be live where the stretch ends.
    [[nodiscard]] auto needed() const noexcept -> stretch_set const& { return needed_; }
    /// Bytes that numbered tensors, and workspace, may take around the first run of `o`.
    [[nodiscard]] auto room(op_id o) const noexcept -> bytes_t
    {
        return capacity_ - fixed_ - std::max(small_[at(o)], small_[at(o) + 1]);
    }
    [[nodiscard]] auto bytes(stretch_set const& s) const -> bytes_t
    {
        bytes_t sum = 0;
        s.each([&](std::size_t i) { sum += p_->size(tensors_[i]); });
        return sum;
    }
    [[nodiscard]] auto ops() const noexcept -> std::span<stretch_op const> { return ops_; }
    /// The op, by its place in `ops`, whose replay makes tensor `i`; `none` if there is no such replay.
    [[nodiscard]] auto maker(std::size_t i) const noexcept -> std::int32_t { return maker_[i]; }
    /// The first run of `o`, from <= o < to.
    [[nodiscard]] auto first(op_id o) const noexcept -> stretch_op const& { return firsts_[at(o - from_)]; }
    /// What replays must run at least, within the stretch, for `live` to be there at a moment of it: those that make what is
    /// not there at the begin from what is. `max_cost`: no replays do.
    [[nodiscard]] auto least_cost(stretch_set const& live) const -> cost_t
    {
        if ((live & impossible_) != stretch_set{}) {
            return max_cost;
        }
        stretch_set again;
        (live & made_again_).each([&](std::size_t i) { again = again | remakes_[i]; });
        cost_t sum = 0;
        again.each([&](std::size_t i) { sum += ops_[i].cost; });
        return sum;
    }

private:
    static constexpr bytes_t small_share = 300;
    static constexpr std::size_t some = 12; // tensors that live throughout and may be dropped

    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }

    /// Finds the first runs, and what is needed at both ends of the stretch.
    void look_back(std::span<op_id const> order)
    {
        op_id begun = 0;
        for (std::size_t k = 0; k < order.size(); ++k) {
            if (order[k] == begun) {
                first_run_[at(begun++)] = k;
            }
        }
        first_run_[at(begun)] = order.size();
        std::fill(at_begin_.begin(), at_begin_.end(), 0);
        for (auto t : p_->targets()) {
            at_begin_[at(t)] = p_->resident(t) ? 0 : 1;
        }
        for (auto k = order.size(); k-- > first_run_[at(from_)];) {
            if (k + 1 == first_run_[at(to_)]) {
                at_end_ = at_begin_;
            }
            auto const o = order[k];
            for (auto t : p_->outputs(o)) {
                at_begin_[at(t)] = p_->producers(t).front() == o ? 0 : 1;
            }
            for (auto t : p_->inputs(o)) {
                at_begin_[at(t)] = 1;
            }
        }
    }

    /// Numbers `t` and all that its producer makes with it. Returns: false when there is no number left.
    auto number(tensor_id t) -> bool
    {
        if (counted_[at(t)] == 0 || number_[at(t)] != none) {
            return true;
        }
        for (auto twin : p_->outputs(p_->producers(t).front())) {
            if (counted_[at(twin)] != 0 && number_[at(twin)] == none) {
                if (tensors_.size() == stretch_set::most) {
                    return false;
                }
                number_[at(twin)] = static_cast<std::int32_t>(tensors_.size());
                tensors_.push_back(twin);
            }
        }
        return true;
    }

    [[nodiscard]] auto lives_throughout(tensor_id t) const -> bool
    {
        return counted_[at(t)] != 0 && at_begin_[at(t)] != 0 && at_end_[at(t)] != 0 && number_[at(t)] == none;
    }

    void number_some(random_draws& draw)
    {
        std::vector<tensor_id> still;
        for (tensor_id t = 0; t < p_->tensor_count(); ++t) {
            if (lives_throughout(t) && p_->remakeable(t)) {
                still.push_back(t);
            }
        }
        for (std::size_t i = 0; i < std::min(some, still.size()); ++i) {
            std::swap(still[i], still[i + draw.below(still.size() - i)]);
            (void)number(still[i]);
        }
    }

    /// Numbers what numbered tensors are made from, as long as there are numbers.
    void number_sources()
    {
        for (std::size_t i = 0; i < tensors_.size(); ++i) {
            auto const t = tensors_[i];
            if (p_->remakeable(t) && p_->producer(t) < to_) {
                for (auto w : p_->inputs(p_->producer(t))) {
                    if (!lives_throughout(w) && !number(w)) {
                        return;
                    }
                }
            }
        }
    }

    /// What `o` reads and writes. Returns: false if that has tensors without a number that need not be there.
    auto link(op_id o, stretch_op& x) const -> bool
    {
        x = {o, {}, {}, p_->cost(o), p_->workspace(o)};
        bool whole = true;
        auto const put = [&](tensor_id t, stretch_set& to) {
            if (number_[at(t)] != none) {
                to.put(at(number_[at(t)]));
            } else if (counted_[at(t)] != 0 && !lives_throughout(t)) {
                whole = false;
            }
        };
        for (auto t : p_->inputs(o)) {
            put(t, x.reads);
        }
        for (auto t : p_->outputs(o)) {
            put(t, x.writes);
            if (p_->producers(t).front() != o) {
                put(t, x.reads); // it adds into what is there
            }
        }
        return whole;
    }

    void list_ops()
    {
        ops_.clear();
        maker_.assign(tensors_.size(), none);
        fixed_ = 0;
        needed_ = {};
        for (tensor_id t = 0; t < p_->tensor_count(); ++t) {
            if (lives_throughout(t)) {
                fixed_ += p_->size(t);
            } else if (number_[at(t)] != none && at_end_[at(t)] != 0) {
                needed_.put(at(number_[at(t)]));
            }
        }
        for (std::size_t i = 0; i < tensors_.size(); ++i) {
            auto const t = tensors_[i];
            if (maker_[i] != none || !p_->remakeable(t) || p_->producer(t) >= to_) {
                continue;
            }
            stretch_op x;
            if (link(p_->producer(t), x)) {
                x.writes.each([&](std::size_t w) { maker_[w] = static_cast<std::int32_t>(ops_.size()); });
                ops_.push_back(x);
            }
        }
        firsts_.resize(at(to_ - from_));
        for (auto o = from_; o < to_; ++o) {
            (void)link(o, firsts_[at(o - from_)]);
        }
    }

    /// What is there at the begin, or could be, since there is room to hold it from its last use on.
    void find_begin(std::span<op_id const> order)
    {
        begin_ = {};
        auto const before = order.first(first_run_[at(from_)]);
        auto hottest = live_bytes(*p_, order);
        for (auto k = before.size(); k-- > 1;) {
            hottest[k - 1] = std::max(hottest[k - 1], hottest[k]);
        }
        std::vector<std::size_t> last(tensors_.size(), order.size());
        for (std::size_t k = 0; k < before.size(); ++k) {
            for (auto const tensors : {p_->inputs(before[k]), p_->outputs(before[k])}) {
                for (auto t : tensors) {
                    if (number_[at(t)] != none) {
                        last[at(number_[at(t)])] = k;
                    }
                }
            }
        }
        for (std::size_t i = 0; i < tensors_.size(); ++i) {
            auto const t = tensors_[i];
            bool const there = at_begin_[at(t)] != 0;
            auto const next = last[i] + 1; // from here on it would be held
            bool const can_be =
                last[i] < before.size() && !p_->accumulated(t) &&
                (next == before.size() || hottest[next] + p_->size(t) <= capacity_ + p_->resident_bytes());
            if (there || can_be) {
                begin_.put(i);
            }
        }
    }

    void find_remakes()
    {
        remakes_.assign(tensors_.size(), {});
        made_again_ = {};
        impossible_ = {};
        std::vector<std::pair<op_id, std::size_t>> in_order;
        for (std::size_t i = 0; i < tensors_.size(); ++i) {
            auto const o = p_->producers(tensors_[i]).front();
            if (!begin_.has(i) && o < from_) {
                in_order.emplace_back(o, i);
            }
        }
        std::sort(in_order.begin(), in_order.end());
        for (auto const& [o, i] : in_order) {
            if (maker_[i] == none || (ops_[at(maker_[i])].reads & impossible_) != stretch_set{}) {
                impossible_.put(i);
                continue;
            }
            made_again_.put(i);
            auto& all = remakes_[i];
            all.put(at(maker_[i]));
            (ops_[at(maker_[i])].reads & made_again_).each([&](std::size_t w) { all = all | remakes_[w]; });
        }
    }

    problem const* p_;
    bytes_t capacity_;
    std::vector<char> counted_;           // by tensor: not a small one
    std::vector<std::int32_t> number_;    // by tensor
    std::vector<char> at_begin_, at_end_; // by tensor: live there
    std::vector<std::size_t> first_run_;  // by op
    std::vector<bytes_t> small_;          // by op: bytes of small tensors around its first run
    op_id from_ = 0, to_ = 0;
    bytes_t fixed_ = 0;
    std::vector<tensor_id> tensors_;   // by number
    std::vector<std::int32_t> maker_;  // by number
    std::vector<stretch_set> remakes_; // by number: replays without which it cannot be there
    std::vector<stretch_op> ops_;      // that may be replayed
    std::vector<stretch_op> firsts_;
    stretch_set needed_, begin_, made_again_, impossible_;
};

using order_stretch = basic_order_stretch<>;

} // namespace strata
