// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Which replays can be of any use between two first runs, and which tensors can still be wanted: what an exact
/// solver need not look at is left out before it begins, without loss.
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata::detail {

/// What the stages of one problem may hold, given the bytes there are beside the resident ones. Stage t is what happens
/// between the first runs of ops t-1 and t; the last one, stage `op_count()`, comes after all first runs.
template <class = void>
class basic_replay_stages {
public:
    /// `lazy`: an op is replayed only in a stage that reads what it makes.
    /// Requires: `p` outlives the stages. Complexity: O(ops · (ops + tensors + reads and writes)).
    basic_replay_stages(problem const& p, bytes_t room, bool lazy)
        : p_(&p)
        , room_(room)
    {
        for (op_id t = 0; t <= p.op_count(); ++t) {
            stages_.push_back(look_ahead(t));
        }
        carefree_ = carefree();
        for (op_id t = 0; t <= p.op_count(); ++t) {
            replayed_.push_back(stages_[at(t)].replayed);
            if (t < carefree_) {
                replayed_.back().assign(replayed_.back().size(), 0);
            } else if (lazy) {
                keep_what_is_read(t, replayed_.back());
            }
        }
    }

    /// True when a replay of `o` in stage `t` can be of use.
    [[nodiscard]] auto may_replay(op_id t, op_id o) const noexcept -> bool { return replayed_[at(t)][at(o)] != 0; }
    /// True when anything may be replayed in stage `t`.
    [[nodiscard]] auto any_replay(op_id t) const -> bool
    {
        auto const& all = replayed_[at(t)];
        return std::any_of(all.begin(), all.end(), [](char c) { return c != 0; });
    }

    enum class life : unsigned char { impossible, certain, open };
    /// Whether `v` is live when stage `t` begins, as far as that is known.
    [[nodiscard]] auto live_at(op_id t, tensor_id v) const -> life
    {
        auto const makers = p_->producers(v);
        if (makers.empty() || makers.front() >= t) {
            return life::impossible;
        }
        if (makers.back() >= t) {
            return life::certain; // begun and not complete
        }
        if (stages_[at(t)].wanted[at(v)] == 0) {
            return life::impossible;
        }
        if (t < carefree_) {
            return life::certain;
        }
        auto const readers = p_->consumers(v);
        bool const needed = p_->is_target(v) || (!readers.empty() && readers.back() >= t);
        bool const again = makers.size() == 1 && stages_[at(t)].replayed[at(makers.front())] != 0;
        return needed && !again ? life::certain : life::open;
    }

private:
    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }

    /// Tensors that may still be wanted once `limit` ops have run, and the ops that may be replayed for them.
    struct outlook {
        std::vector<char> wanted, replayed;
    };
    [[nodiscard]] auto look_ahead(op_id limit) const -> outlook
    {
        auto const& p = *p_;
        outlook r{std::vector<char>(at(p.tensor_count()), 0), std::vector<char>(at(p.op_count()), 0)};
        for (tensor_id t = 0; t < p.tensor_count(); ++t) {
            r.wanted[at(t)] = p.is_target(t) ? 1 : 0;
        }
        for (op_id o = p.op_count(); o-- > 0;) {
            auto const outputs = p.outputs(o);
            bool const wanted =
                std::any_of(outputs.begin(), outputs.end(), [&](tensor_id t) { return r.wanted[at(t)] != 0; });
            if (o < limit) {
                r.replayed[at(o)] = wanted && p.replayable(o) && fits_alone(o) ? 1 : 0;
            }
            if (o >= limit || r.replayed[at(o)] != 0) {
                for (auto t : p.inputs(o)) {
                    r.wanted[at(t)] = 1;
                }
            }
        }
        return r;
    }

    [[nodiscard]] auto fits_alone(op_id o) const -> bool
    {
        auto sum = p_->workspace(o);
        for (auto list : {p_->inputs(o), p_->outputs(o)}) {
            for (auto t : list) {
                sum += p_->size(t);
            }
        }
        return sum <= room_;
    }

    /// How many ops can run with everything kept that may ever be wanted. Until then nothing need be dropped: whatever an
    /// order has live there is a part of what is live when nothing is dropped, at no cost.
    [[nodiscard]] auto carefree() const -> op_id
    {
        auto const& p = *p_;
        for (op_id o = 0; o < p.op_count(); ++o) {
            auto sum = p.workspace(o);
            for (auto t : p.outputs(o)) {
                sum += p.producers(t).front() == o ? p.size(t) : 0;
            }
            for (tensor_id t = 0; t < p.tensor_count(); ++t) {
                auto const makers = p.producers(t);
                bool const there = !makers.empty() && makers.front() < o;
                sum += there && (makers.back() >= o || stages_[at(o)].wanted[at(t)] != 0) ? p.size(t) : 0;
            }
            if (sum > room_) {
                return o;
            }
        }
        return p.op_count();
    }

    /// Leaves only the replays of stage `limit` that its first run reads, or another of its replays, or the end.
    void keep_what_is_read(op_id limit, std::vector<char>& replayed) const
    {
        auto const& p = *p_;
        for (op_id o = limit; o-- > 0;) {
            bool read = false;
            for (auto t : p.outputs(o)) {
                read = read || (limit == p.op_count() && p.is_target(t));
                for (auto reader : p.consumers(t)) {
                    read = read || reader == limit || (reader < limit && replayed[at(reader)] != 0);
                }
            }
            replayed[at(o)] = read ? replayed[at(o)] : 0;
        }
    }

    problem const* p_;
    bytes_t room_;
    std::vector<outlook> stages_;
    std::vector<std::vector<char>> replayed_;
    op_id carefree_ = 0;
};

using replay_stages = basic_replay_stages<>;

} // namespace strata::detail
