// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Which first runs are done, what is live then, and what may run next.
///
/// A state is a downset: with an op it has all that must run before it. When tensors are freed early, the bytes that are
/// live depend on the set alone, not on the order in which its ops ran.
#pragma once

#include <strata/detail/id_lists.hpp>
#include <strata/problem/precedence.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace strata::detail {

/// Ops as bits, 64 a word.
using op_bits = std::vector<std::uint64_t>;

/// A problem as a search over downsets sees it: each op makes tensors live, and has uses of tensors behind it.
///
/// Seen from the end, it is a problem of the same kind: what was the last use of a tensor makes it live, and it is gone
/// when its producers have run. An order turned around has the same bytes live while each op runs.
struct order_net {
    id_lists before;                   ///< per op: ops that must run first
    id_lists makes;                    ///< per op: tensors that are live from its run on, if they were not before
    id_lists uses;                     ///< per op: tensors of which a use is over when it has run
    std::vector<bytes_t> workspace;    ///< per op
    std::vector<bytes_t> size;         ///< per tensor
    std::vector<std::int32_t> made;    ///< per tensor: 1 if it is live at the beginning
    std::vector<std::int32_t> uses_of; ///< per tensor: all of them, and one more if it stays
    bytes_t live = 0;                  ///< at the beginning
};

/// The net of `p`; `backward`: from the end, op `o` being number ops - 1 - o.
template <class = void>
[[nodiscard]] auto order_net_of(problem const& p, bool backward) -> order_net
{
    auto const at = [](std::int32_t i) { return static_cast<std::size_t>(i); };
    auto const predecessors = first_run_predecessors(p);
    auto const successors = predecessors.transposed(predecessors.size());
    auto const last = p.op_count() - 1;
    order_net net;
    std::vector<std::int32_t> ids;
    for (op_id i = 0; i <= last; ++i) {
        auto const o = backward ? last - i : i;
        auto const wait_for = backward ? successors[at(o)] : predecessors[at(o)];
        ids.assign(wait_for.begin(), wait_for.end());
        if (backward) {
            std::reverse(ids.begin(), ids.end());
            std::transform(ids.begin(), ids.end(), ids.begin(), [&](op_id x) { return last - x; });
        }
        net.before.push_back(ids);
        auto const out = p.outputs(o);
        ids.assign(out.begin(), out.end());
        ids.insert(ids.end(), p.inputs(o).begin(), p.inputs(o).end());
        (backward ? net.makes : net.uses).push_back(ids);
        (backward ? net.uses : net.makes).push_back(out);
        net.workspace.push_back(p.workspace(o));
    }
    net.live = p.resident_bytes();
    for (tensor_id t = 0; t < p.tensor_count(); ++t) {
        bool const stays = p.is_target(t);
        auto const uses = p.producers(t).size() + (backward ? 0 : p.consumers(t).size() + (stays ? 1 : 0));
        net.size.push_back(p.size(t));
        net.made.push_back(backward && stays ? 1 : 0);
        net.uses_of.push_back(static_cast<std::int32_t>(uses));
        net.live += backward && stays ? p.size(t) : 0;
    }
    return net;
}

/// One downset of a net, which goes from one to the next op by op.
template <class = void>
class basic_downset {
public:
    explicit basic_downset(order_net net)
        : net_(std::move(net))
        , after_(net_.before.transposed(net_.before.size()))
        , done_((net_.before.size() + 63) / 64, 0)
        , made_(net_.made)
        , uses_(net_.uses_of)
        , live_(net_.live)
    {
        for (op_id o = 0; o < op_count(); ++o) {
            waits_.push_back(static_cast<std::int32_t>(net_.before[at(o)].size()));
            if (waits_.back() == 0) {
                ready_.push_back(o);
            }
        }
    }

    [[nodiscard]] auto op_count() const noexcept -> op_id { return static_cast<op_id>(net_.before.size()); }
    [[nodiscard]] auto bits() const noexcept -> op_bits const& { return done_; }
    [[nodiscard]] auto size() const noexcept -> op_id { return size_; }
    [[nodiscard]] auto full() const noexcept -> bool { return size() == op_count(); }
    /// Bytes live now, resident ones included.
    [[nodiscard]] auto live() const noexcept -> bytes_t { return live_; }
    /// How often an op was run, taken back or looked at: what the work so far is measured in.
    [[nodiscard]] auto moves() const noexcept -> std::int64_t { return moves_; }
    /// Ops that may run now, ascending.
    [[nodiscard]] auto ready() const noexcept -> std::vector<op_id> const& { return ready_; }

    /// Bytes live while `o` runs next. Requires: it is ready.
    [[nodiscard]] auto need(op_id o) const -> bytes_t
    {
        auto sum = live_ + net_.workspace[at(o)];
        for (auto t : net_.makes[at(o)]) {
            sum += made_[at(t)] == 0 ? net_.size[at(t)] : 0;
        }
        return sum;
    }

    /// Bytes live after `o` has run next. Requires: it is ready.
    [[nodiscard]] auto live_after(op_id o) const -> bytes_t
    {
        auto sum = need(o) - net_.workspace[at(o)];
        for (auto t : net_.uses[at(o)]) {
            sum -= uses_[at(t)] == 1 ? net_.size[at(t)] : 0;
        }
        return sum;
    }

    /// Requires: `o` is ready.
    void run(op_id o)
    {
        for (auto t : net_.makes[at(o)]) {
            live_ += made_[at(t)]++ == 0 ? net_.size[at(t)] : 0;
        }
        for (auto t : net_.uses[at(o)]) {
            live_ -= --uses_[at(t)] == 0 ? net_.size[at(t)] : 0;
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
        for (auto t : net_.uses[at(o)]) {
            live_ += uses_[at(t)]++ == 0 ? net_.size[at(t)] : 0;
        }
        for (auto t : net_.makes[at(o)]) {
            live_ -= --made_[at(t)] == 0 ? net_.size[at(t)] : 0;
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
        moves_ += 1 + static_cast<std::int64_t>(other.size() / 4);
        for (auto o = op_count(); o-- > 0;) {
            auto const extra = done_[at(o) / 64] & ~other[at(o) / 64];
            if (extra == 0) {
                o -= o % 64;
            } else if ((extra & bit(o)) != 0) {
                undo(o);
            }
        }
        for (op_id o = 0; o < op_count(); ++o) {
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
    /// No order is lost by that. The bytes live after a downset S are submodular in S: a tensor is live once one of its
    /// makers has run (a covered set) until all its uses are over (minus a contained one). So a chain that adds nothing
    /// to S, nor to what its beginnings have made of S, adds nothing to a larger set: moved to the front of any order that
    /// goes on from S, it makes nothing that follows need more.
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
        ++moves_;
        while (o != none && ran.size() - length < longest_chain && need(o) <= most) {
            bool const settled = live_after(o) <= start;
            auto const next = after_[at(o)];
            auto const free = std::find_if(next.begin(), next.end(), [&](op_id x) { return waits_[at(x)] == 1; });
            if (settled || free != next.end()) {
                run(o);
                ran.push_back(o);
            }
            if (settled) {
                return true;
            }
            o = free == next.end() ? none : *free;
        }
        for (; ran.size() > length; ran.pop_back()) {
            undo(ran.back());
        }
        return false;
    }

    order_net net_;
    id_lists after_;
    op_bits done_;
    std::vector<op_id> ready_;
    std::vector<std::int32_t> waits_; // per op: predecessors to come
    std::vector<std::int32_t> made_;  // per tensor: ops that have made it
    std::vector<std::int32_t> uses_;  // per tensor: uses to come
    bytes_t live_;
    op_id size_ = 0;
    std::int64_t moves_ = 0;
};

} // namespace strata::detail
