// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A proven limit of the budget that also counts what making the inputs of an op takes, going back from it.
///
///     now:        op 285 runs, a gradient and two activations are there        4 tensors
///     before:     one of the two was made last: the other is there already,
///                 the gradient is, and what the first is made from             5 tensors, whichever it was
///
#pragma once

#include <strata/bound/minimum_budget.hpp>
#include <strata/detail/lazy.hpp>
#include <strata/detail/mix.hpp>
#include <strata/problem/problem.hpp>
#include <strata/solve/limits.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <unordered_set>
#include <utility>
#include <vector>

namespace strata {

/// How far `regressed_limit` looks.
struct regression_effort {
    std::int64_t states = 3'000'000;    ///< in all; about a million a second
    std::int64_t states_of_op = 20'000; ///< of the search from one op; one that needs more shows nothing
    op_id window = 30;                  ///< ops back at which a search has got past what was in the way
    double small = 0.02;                ///< tensors of a smaller share of the limit's bytes are taken for nothing
};

namespace detail {

/// Whether an op can be reached at all within some bytes, by a search backwards over what must be live.
///
/// A state is how many ops have had their first run, and the tensors that must be live then. Whatever order a plan has, the
/// run before that state was a replay, or the first run of the latest op: before it, the tensors it made need not be there,
/// those it read must, and while it ran both were. Runs that made nothing of the state are passed over. If every way back
/// from the state in which an op finds its inputs exceeds the capacity, no plan has it (regression in the sense of planning;
/// the states are positions of a pebble game: Sethi, "Complete register allocation problems", 1975).
template <class Lazy = void>
class basic_regression {
public:
    /// Tensors of `small` bytes or less are left out. `p` outlives it.
    basic_regression(problem const& p, bytes_t small)
        : p_(&p)
        , counted_(at(p.tensor_count()), 0)
    {
        for (tensor_id t = 0; t < p.tensor_count(); ++t) {
            counted_[at(t)] = !p.resident(t) && !p.producers(t).empty() && p.size(t) > small ? 1 : 0;
            auto const makers = p.producers(t);
            if (counted_[at(t)] == 0 || (makers.size() == 1 && p.replayable(makers.front()))) {
                continue;
            }
            auto const readers = p.consumers(t);
            auto const last =
                p.is_target(t) ? p.op_count() : std::max(makers.back(), readers.empty() ? 0 : readers.back());
            stays_.push_back({t, makers.front(), last});
        }
    }

    /// True when no order of runs reaches the first run of `o`, or the end where `o` is the number of ops, within `capacity`
    /// bytes (without resident ones). False when
    /// there is a way back over `window` ops, after `most` states, or when `stop` expires.
    /// Complexity: O(states × tensors live × their inputs).
    [[nodiscard]] auto
    unreachable(op_id o, bytes_t capacity, op_id window, std::int64_t most, stop_watch const& stop = {}) -> bool
    {
        live start;
        bool const at_end = o == p_->op_count();
        for (auto t : at_end ? p_->targets() : p_->inputs(o)) {
            put(start, t);
        }
        for (auto const& x : stays_) {
            if (x.from < o && x.last >= o) {
                put(start, x.tensor);
            }
        }
        auto const goal = std::max<op_id>(0, o - window);
        met_.clear();
        open_.clear();
        if (live all; !at_end && while_running(start, o, all) > capacity) {
            return true;
        }
        open_.push_back({o, std::move(start)});
        for (std::int64_t looked = 0; !open_.empty(); ++looked) {
            auto now = std::move(open_.back());
            open_.pop_back();
            if (now.begun <= goal || looked >= most || (looked % 256 == 0 && stop.expired())) {
                states_ += looked;
                return false;
            }
            if (!met_.insert(now).second) {
                continue;
            }
            go_back(now, capacity);
        }
        states_ += static_cast<std::int64_t>(met_.size());
        return true;
    }

    /// States looked at so far.
    [[nodiscard]] auto states() const noexcept -> std::int64_t { return states_; }

private:
    using live = std::vector<tensor_id>; // ascending
    struct state {
        op_id begun = 0; // ops 0 to begun - 1 have had their first run
        live tensors;
        friend auto operator==(state const&, state const&) -> bool = default;
    };
    struct hash {
        auto operator()(state const& s) const noexcept -> std::size_t
        {
            auto h = mix(static_cast<std::uint32_t>(s.begun));
            for (auto t : s.tensors) {
                h = mix(h ^ static_cast<std::uint32_t>(t));
            }
            return static_cast<std::size_t>(h);
        }
    };
    struct lasting { // cannot be made again
        tensor_id tensor = none;
        op_id from = 0; // its first producer
        op_id last = 0; // the last op that needs it
    };

    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }

    void put(live& s, tensor_id t) const
    {
        if (counted_[at(t)] != 0) {
            if (auto const i = std::lower_bound(s.begin(), s.end(), t); i == s.end() || *i != t) {
                s.insert(i, t);
            }
        }
    }

    /// Bytes live while `o` runs and `s` is to be there afterwards; `all`: which tensors.
    auto while_running(live const& s, op_id o, live& all) const -> bytes_t
    {
        all = s;
        for (auto const tensors : {p_->outputs(o), p_->inputs(o)}) {
            for (auto t : tensors) {
                put(all, t);
            }
        }
        auto bytes = p_->workspace(o);
        for (auto t : all) {
            bytes += p_->size(t);
        }
        return bytes;
    }

    /// Opens the states before `now`, so that first runs are undone first, and replays that leave the fewest bytes.
    void go_back(state const& now, bytes_t capacity)
    {
        makers_.clear();
        for (auto t : now.tensors) {
            auto const o = p_->producer(t);
            if (!p_->accumulated(t) && p_->replayable(o)) {
                makers_.push_back(o);
            }
        }
        std::sort(makers_.begin(), makers_.end());
        makers_.erase(std::unique(makers_.begin(), makers_.end()), makers_.end());
        before_.clear();
        for (auto o : makers_) {
            if (while_running(now.tensors, o, all_) <= capacity) {
                before_.push_back({now.begun, without_outputs(o)});
            }
        }
        auto const bytes = [&](state const& s) {
            bytes_t sum = 0;
            for (auto t : s.tensors) {
                sum += p_->size(t);
            }
            return sum;
        };
        std::stable_sort(
            before_.begin(), before_.end(), [&](auto const& a, auto const& b) { return bytes(a) > bytes(b); });
        std::move(before_.begin(), before_.end(), std::back_inserter(open_));
        if (auto const latest = now.begun - 1; while_running(now.tensors, latest, all_) <= capacity) {
            open_.push_back({latest, without_outputs(latest)});
        }
    }

    /// `all_` before `o` made its outputs; a sum that others began is there before.
    [[nodiscard]] auto without_outputs(op_id o) const -> live
    {
        auto s = all_;
        std::erase_if(s, [&](tensor_id t) {
            auto const outputs = p_->outputs(o);
            return p_->producer(t) == o && std::find(outputs.begin(), outputs.end(), t) != outputs.end();
        });
        return s;
    }

    problem const* p_;
    std::vector<char> counted_;
    std::vector<lasting> stays_;
    std::vector<lazy<state, Lazy>> open_, before_;
    std::unordered_set<lazy<state, Lazy>, hash> met_;
    std::vector<op_id> makers_;
    live all_;
    std::int64_t states_ = 0;
};

using regression = basic_regression<>;

} // namespace detail

/// A proven limit at least as high as `known` (see `minimum_budget`), and no higher than `feasible`, the peak of an order of
/// `p`: no plan has fewer bytes. Halves the interval between them, to half a percent.
/// Near the limit of one op's footprint, what brings its inputs there often takes more than the op.
/// Complexity: `effort.states`, for each interval halved at most the ops times `effort.states_of_op`.
template <class Lazy = void>
[[nodiscard]] auto regressed_limit(problem const& p,
                                   byte_limit known,
                                   bytes_t feasible,
                                   regression_effort const& effort = {},
                                   stop_watch const& stop = {}) -> byte_limit
{
    constexpr bytes_t fine = 200; // an interval of so small a share of its lower end is small enough
    auto const resident = p.resident_bytes();
    auto const at = [](op_id o) { return static_cast<std::size_t>(o); };
    auto const small = static_cast<bytes_t>(effort.small * static_cast<double>(known.bytes - resident));
    detail::basic_regression<Lazy> search(p, small);
    auto const need = fixed_bytes(p);
    std::vector<op_id> ops(need.size()); // the most needy first, then the end
    std::iota(ops.begin(), ops.end(), 0);
    std::sort(ops.begin(), ops.end(), [&](op_id a, op_id b) {
        return need[at(a)] != need[at(b)] ? need[at(a)] > need[at(b)] : a < b;
    });
    ops.push_back(p.op_count());
    auto const left = [&] { return effort.states - search.states(); };
    for (auto yes = feasible; yes - known.bytes > known.bytes / fine && left() > 0 && !stop.expired();) {
        auto const bytes = known.bytes + (yes - known.bytes) / 2;
        auto const in_the_way = std::find_if(ops.begin(), ops.end(), [&](op_id o) {
            return left() > 0 &&
                   search.unreachable(o, bytes - resident, effort.window, std::min(effort.states_of_op, left()), stop);
        });
        if (in_the_way == ops.end()) {
            yes = bytes;
            continue;
        }
        known = {bytes + 1, std::min(*in_the_way, p.op_count() - 1)};
        std::rotate(ops.begin(), in_the_way, in_the_way + 1); // most likely in the way of more bytes, too
    }
    return known;
}

} // namespace strata
