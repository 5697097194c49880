// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Which first runs are done, what is live then, and what may run next; many such states, each kept once.
///
/// A state is a downset: with an op it has all that must run before it. When tensors are freed early, the bytes that are
/// live depend on the set alone, not on the order in which its ops ran.
#pragma once

#include <strata/detail/id_lists.hpp>
#include <strata/detail/mix.hpp>
#include <strata/problem/precedence.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata::detail {

/// Ops as bits, 64 a word.
using op_bits = std::vector<std::uint64_t>;

/// One downset of a problem that outlives it, which goes from one to the next op by op.
template <class = void>
class basic_downset {
public:
    explicit basic_downset(problem const& p)
        : p_(&p)
        , before_(first_run_predecessors(p))
        , after_(before_.transposed(before_.size()))
        , done_((before_.size() + 63) / 64, 0)
        , made_(at(p.tensor_count()), 0)
        , uses_(at(p.tensor_count()), 0)
        , live_(p.resident_bytes())
    {
        for (tensor_id t = 0; t < p.tensor_count(); ++t) {
            auto const uses = p.producers(t).size() + p.consumers(t).size() + (p.is_target(t) ? 1 : 0);
            uses_[at(t)] = static_cast<std::int32_t>(uses);
        }
        for (op_id o = 0; o < p.op_count(); ++o) {
            waits_.push_back(static_cast<std::int32_t>(before_[at(o)].size()));
            if (waits_.back() == 0) {
                ready_.push_back(o);
            }
        }
    }

    [[nodiscard]] auto predecessors() const noexcept -> id_lists const& { return before_; }
    [[nodiscard]] auto bits() const noexcept -> op_bits const& { return done_; }
    [[nodiscard]] auto size() const noexcept -> op_id { return size_; }
    /// Bytes live now, resident ones included.
    [[nodiscard]] auto live() const noexcept -> bytes_t { return live_; }
    /// How often an op was run or taken back: what the work so far is measured in.
    [[nodiscard]] auto moves() const noexcept -> std::int64_t { return moves_; }
    /// Ops that may run now, ascending.
    [[nodiscard]] auto ready() const noexcept -> std::vector<op_id> const& { return ready_; }

    /// Bytes live while `o` runs next. Requires: it is ready.
    [[nodiscard]] auto need(op_id o) const -> bytes_t
    {
        auto sum = live_ + p_->workspace(o);
        for (auto t : p_->outputs(o)) {
            sum += made_[at(t)] == 0 ? p_->size(t) : 0;
        }
        return sum;
    }

    /// Requires: `o` is ready.
    void run(op_id o)
    {
        for (auto t : p_->outputs(o)) {
            live_ += made_[at(t)]++ == 0 ? p_->size(t) : 0;
            live_ -= --uses_[at(t)] == 0 ? p_->size(t) : 0;
        }
        for (auto t : p_->inputs(o)) {
            live_ -= --uses_[at(t)] == 0 ? p_->size(t) : 0;
        }
        leave(o);
        for (auto x : after_[at(o)]) {
            if (--waits_[at(x)] == 0) {
                enter(x);
            }
        }
        done_[at(o) / 64] |= bit(o);
        ++size_;
        ++moves_;
    }

    /// Takes a run back. Requires: nothing that must run behind `o` is done.
    void undo(op_id o)
    {
        for (auto t : p_->inputs(o)) {
            live_ += uses_[at(t)]++ == 0 ? p_->size(t) : 0;
        }
        for (auto t : p_->outputs(o)) {
            live_ += uses_[at(t)]++ == 0 ? p_->size(t) : 0;
            live_ -= --made_[at(t)] == 0 ? p_->size(t) : 0;
        }
        for (auto x : after_[at(o)]) {
            if (waits_[at(x)]++ == 0) {
                leave(x);
            }
        }
        enter(o);
        done_[at(o) / 64] &= ~bit(o);
        --size_;
        ++moves_;
    }

    /// Goes to another downset. Complexity: linear in where the two differ, and ops / 64.
    void go_to(std::span<std::uint64_t const> other)
    {
        for (auto o = p_->op_count(); o-- > 0;) {
            auto const extra = done_[at(o) / 64] & ~other[at(o) / 64];
            if (extra == 0) {
                o -= o % 64;
            } else if ((extra & bit(o)) != 0) {
                undo(o);
            }
        }
        for (op_id o = 0; o < p_->op_count(); ++o) {
            auto const missing = other[at(o) / 64] & ~done_[at(o) / 64];
            if (missing == 0) {
                o += 63 - o % 64;
            } else if ((missing & bit(o)) != 0) {
                run(o);
            }
        }
    }

    /// Runs what may as well run at once if up to `most` bytes are allowed, and appends it to `ran`: every chain of ops,
    /// each waiting for the one before, that needs no more than that and ends with no more bytes live than before it.
    ///
    /// No order is lost by that. Bytes live after a downset S, and bytes live while an op runs next, are submodular in S
    /// (a tensor lives from its first producer: a covered set; until all its users have run: minus a contained one). So
    /// what a chain adds to S, and to what any of its beginnings adds, it adds at most to a larger set: moved to the
    /// front of any order that goes on from S, it makes nothing that follows need more.
    void settle(bytes_t most, run_order& ran)
    {
        for (std::size_t k = 0; k < ready_.size();) {
            k = dive(ready_[k], most, ran) ? 0 : k + 1;
        }
    }

private:
    static constexpr std::size_t longest_chain = 32;
    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }
    static auto bit(op_id o) noexcept -> std::uint64_t { return std::uint64_t{1} << (at(o) % 64); }

    void enter(op_id o) { ready_.insert(std::lower_bound(ready_.begin(), ready_.end(), o), o); }
    void leave(op_id o) { ready_.erase(std::lower_bound(ready_.begin(), ready_.end(), o)); }

    /// Runs a chain that begins with `o`. Returns: false, with nothing run, if none may run at once.
    auto dive(op_id o, bytes_t most, run_order& ran) -> bool
    {
        auto const start = live_;
        auto const length = ran.size();
        while (o != none && ran.size() - length < longest_chain && need(o) <= most) {
            run(o);
            ran.push_back(o);
            if (live_ <= start) {
                return true;
            }
            auto const next = after_[at(o)];
            auto const free = std::find_if(next.begin(), next.end(), [&](op_id x) { return waits_[at(x)] == 0; });
            o = free == next.end() ? none : *free;
        }
        for (; ran.size() > length; ran.pop_back()) {
            undo(ran.back());
        }
        return false;
    }

    problem const* p_;
    id_lists before_, after_;
    op_bits done_;
    std::vector<op_id> ready_;
    std::vector<std::int32_t> waits_; // per op: predecessors to come
    std::vector<std::int32_t> made_;  // per tensor: producers that have run
    std::vector<std::int32_t> uses_;  // per tensor: producers and readers to come, and being a target
    bytes_t live_;
    op_id size_ = 0;
    std::int64_t moves_ = 0;
};

/// Downsets that were reached, each once, and how.
template <class = void>
class basic_downset_pool {
public:
    static constexpr auto nowhere = static_cast<std::size_t>(-1);

    explicit basic_downset_pool(std::size_t words)
        : words_(words)
        , table_(1024, nowhere)
    {
    }

    struct entry {
        std::size_t parent = nowhere;
        std::size_t first = 0; // of the ops that lead here from there
        std::size_t last = 0;
        bytes_t peak = 0; // of the way here
        bytes_t live = 0;
        op_id size = 0;
    };

    [[nodiscard]] auto size() const noexcept -> std::size_t { return entries_.size(); }
    [[nodiscard]] auto operator[](std::size_t i) const noexcept -> entry const& { return entries_[i]; }
    [[nodiscard]] auto bits(std::size_t i) const noexcept -> std::span<std::uint64_t const>
    {
        return {sets_.data() + i * words_, words_};
    }

    /// Notes that `set` is reached from `parent` by `ops`, unless it was reached with as low a peak before.
    /// Returns: its number, or `nowhere` if there is nothing new.
    template <class Lazy>
    auto add(basic_downset<Lazy> const& set, std::size_t parent, run_order const& ops, bytes_t peak) -> std::size_t
    {
        auto& slot = find(set.bits());
        if (slot != nowhere && entries_[slot].peak <= peak) {
            return nowhere;
        }
        entry e{parent, ops_.size(), ops_.size() + ops.size(), peak, set.live(), set.size()};
        ops_.insert(ops_.end(), ops.begin(), ops.end());
        if (slot != nowhere) {
            entries_[slot] = e;
            return slot;
        }
        auto const i = slot = entries_.size();
        entries_.push_back(e);
        sets_.insert(sets_.end(), set.bits().begin(), set.bits().end());
        if (2 * entries_.size() > table_.size()) {
            grow();
        }
        return i;
    }

    /// The ops that lead to `i` from the beginning.
    [[nodiscard]] auto way_to(std::size_t i) const -> run_order
    {
        run_order r;
        for (; i != nowhere; i = entries_[i].parent) {
            for (auto k = entries_[i].last; k-- > entries_[i].first;) {
                r.push_back(ops_[k]);
            }
        }
        std::reverse(r.begin(), r.end());
        return r;
    }

private:
    [[nodiscard]] auto find(std::span<std::uint64_t const> set) -> std::size_t&
    {
        std::uint64_t h = 0;
        for (auto w : set) {
            h = mix(h ^ w);
        }
        for (auto k = static_cast<std::size_t>(h);; ++k) {
            auto& slot = table_[k & (table_.size() - 1)];
            if (slot == nowhere || std::equal(set.begin(), set.end(), bits(slot).begin())) {
                return slot;
            }
        }
    }
    void grow()
    {
        table_.assign(2 * table_.size(), nowhere);
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            find(bits(i)) = i;
        }
    }

    std::size_t words_;
    std::vector<entry> entries_;
    std::vector<std::uint64_t> sets_;
    std::vector<op_id> ops_;
    std::vector<std::size_t> table_; // of numbers, by hash; its size is a power of two
};

} // namespace strata::detail
