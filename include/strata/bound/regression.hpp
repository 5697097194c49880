// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A search backwards over what must be live: which bytes an op, or the whole step, can be reached in at all.
///
///     now:        op 285 runs, a gradient and two activations are there        4 tensors
///     before:     one of the two was made last: the other is there already,
///                 the gradient is, and what the first is made from             5 tensors, whichever it was
///
#pragma once

#include <strata/detail/lazy.hpp>
#include <strata/detail/math.hpp>
#include <strata/detail/mix.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/limits.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace strata::detail {

/// How a `regression` searches.
struct regression_options {
    op_id window = 30;          ///< ops back at which it has arrived; all of them: at an empty step
    std::int64_t most = 20'000; ///< states looked at
    double latest = 0; ///< how much it weighs that a replay to be undone is of a late op, beside the bytes it leaves
    double noise = 0;  ///< how much chance weighs in that choice; 0 not at all
    std::uint64_t seed = 1;
};

/// How a `regression` ended.
enum class regressed : char {
    arrived,     ///< there is a way back, see `basic_regression::runs`
    unreachable, ///< there is none: no order of runs comes here within the capacity
    gave_up      ///< too many states, or no time
};

/// A search from an op, or from the end of the step, back to where it has not begun.
///
/// A state is how many ops have had their first run, and the tensors that must be live then. Whatever order a plan has, the
/// run before that state was a replay, or the first run of the latest op: before it, the tensors it made need not be there,
/// those it read must, and while it ran both were. Runs that made nothing of the state are passed over. If every way back
/// from the state in which an op finds its inputs exceeds the capacity, no plan has it; a way from the end to the beginning is
/// an order (regression in the sense of planning; the states are positions of a pebble game: Sethi, "Complete register
/// allocation problems", 1975). First runs are undone first, then replays that leave the fewest bytes, depth first; a state
/// that needs all that another of the same time did is not looked at.
template <class Lazy = void>
class basic_regression {
public:
    /// Tensors of `small` bytes or less are left out, as if they took none. `p` outlives it.
    explicit basic_regression(problem const& p, bytes_t small = 0)
        : p_(&p)
        , counted_(at(p.tensor_count()), 0)
    {
        for (tensor_id t = 0; t < p.tensor_count(); ++t) {
            auto const makers = p.producers(t);
            counted_[at(t)] = !p.resident(t) && !makers.empty() && (small == 0 || p.size(t) > small) ? 1 : 0;
            if (counted_[at(t)] == 0 || p.remakeable(t)) {
                continue;
            }
            auto const readers = p.consumers(t);
            auto const last =
                p.is_target(t) ? p.op_count() : std::max(makers.back(), readers.empty() ? 0 : readers.back());
            stays_.push_back({t, makers.front(), last});
        }
    }

    /// From the first run of `o`, or the end where `o` is the number of ops, within `capacity` bytes (without resident ones).
    /// Complexity: O(states × (tensors live × their inputs + states of the same time)).
    auto operator()(op_id o, bytes_t capacity, regression_options const& how, stop_watch const& stop = {}) -> regressed
    {
        nodes_.clear();
        open_.clear();
        met_.assign(at(p_->op_count()) + 1, {});
        arrived_at_ = none;
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
        if (!at_end && while_running(start, o) > capacity) {
            return regressed::unreachable;
        }
        auto const goal = std::max<op_id>(0, o - how.window);
        open({o, std::move(start)}, none, none);
        for (std::int64_t looked = 0, steps = 0; !open_.empty(); ++steps) {
            auto const i = open_.back();
            open_.pop_back();
            if (nodes_[at(i)].now.begun <= goal) {
                arrived_at_ = i;
                return regressed::arrived;
            }
            if (looked >= how.most || (steps % 64 == 0 && stop.expired())) {
                return regressed::gave_up;
            }
            auto const effort =
                1 + static_cast<std::int64_t>(met_[at(nodes_[at(i)].now.begun)].size() / compared_at_once);
            looked += effort;
            states_ += effort;
            if (!covered(nodes_[at(i)].now)) {
                go_back(i, capacity, how);
            }
        }
        return regressed::unreachable;
    }

    /// After it has arrived: the runs from there to where it began.
    [[nodiscard]] auto runs() const -> run_order
    {
        run_order r;
        for (auto i = arrived_at_; i != none && nodes_[at(i)].op != none; i = nodes_[at(i)].after) {
            r.push_back(nodes_[at(i)].op);
        }
        return r;
    }

    /// States looked at so far, by all searches; one that is compared with many others counts for more.
    [[nodiscard]] auto states() const noexcept -> std::int64_t { return states_; }

private:
    using live = std::vector<tensor_id>; // ascending
    struct state {
        op_id begun = 0; // ops 0 to begun - 1 have had their first run
        live tensors;
    };
    struct met_state {
        std::uint64_t signature = 0; // a bit for each tensor, some share one
        live tensors;
    };
    struct node {
        state now;
        std::int32_t after = none; // the node that it leads to
        op_id op = none;           // by this run
    };
    struct lasting { // cannot be made again
        tensor_id tensor = none;
        op_id from = 0; // its first producer
        op_id last = 0; // the last op that needs it
    };

    static constexpr std::size_t compared_at_once = 64; // that many states take about as long as making one

    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }

    static auto within(live const& a, live const& b) -> bool
    {
        return a.size() <= b.size() && std::includes(b.begin(), b.end(), a.begin(), a.end());
    }

    /// Whether a state that needs no more has been looked at: what has a way back from `s` has one from there. If not, `s`
    /// has been now.
    auto covered(state const& s) -> bool
    {
        std::uint64_t signature = 0;
        for (auto t : s.tensors) {
            signature |= std::uint64_t(1) << (mix(static_cast<std::uint32_t>(t)) % 64);
        }
        auto& met = met_[at(s.begun)];
        auto const needs_no_more = [&](auto const& m) {
            return (m.signature & ~signature) == 0 && within(m.tensors, s.tensors);
        };
        if (std::any_of(met.begin(), met.end(), needs_no_more)) {
            return true;
        }
        std::erase_if(met,
                      [&](auto const& m) { return (signature & ~m.signature) == 0 && within(s.tensors, m.tensors); });
        met.push_back({signature, s.tensors});
        return false;
    }

    void put(live& s, tensor_id t) const
    {
        if (counted_[at(t)] != 0) {
            if (auto const i = std::lower_bound(s.begin(), s.end(), t); i == s.end() || *i != t) {
                s.insert(i, t);
            }
        }
    }

    [[nodiscard]] auto bytes_of(live const& s) const -> bytes_t
    {
        bytes_t sum = 0;
        for (auto t : s) {
            sum += p_->size(t);
        }
        return sum;
    }

    /// Bytes live while `o` runs and `s` is to be there afterwards; `all_` is then which tensors.
    auto while_running(live const& s, op_id o) -> bytes_t
    {
        all_ = s;
        for (auto const tensors : {p_->outputs(o), p_->inputs(o)}) {
            for (auto t : tensors) {
                put(all_, t);
            }
        }
        return p_->workspace(o) + bytes_of(all_);
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

    void open(state s, std::int32_t after, op_id op)
    {
        open_.push_back(static_cast<std::int32_t>(nodes_.size()));
        nodes_.push_back({std::move(s), after, op});
    }

    void go_back(std::int32_t from, bytes_t capacity, regression_options const& how)
    {
        auto const now = nodes_[at(from)].now; // a copy: nodes move as their number grows
        makers_.clear();
        for (auto t : now.tensors) {
            if (p_->remakeable(t)) {
                makers_.push_back(p_->producer(t));
            }
        }
        std::sort(makers_.begin(), makers_.end());
        makers_.erase(std::unique(makers_.begin(), makers_.end()), makers_.end());
        choices_.clear();
        for (auto o : makers_) {
            if (while_running(now.tensors, o) <= capacity) {
                auto before = without_outputs(o);
                if (within(before, now.tensors)) { // undone, it leaves less to do: whatever has a way back has one so
                    open({now.begun, std::move(before)}, from, o);
                    return;
                }
                auto score =
                    static_cast<double>(bytes_of(before)) / static_cast<double>(std::max<bytes_t>(1, capacity)) -
                    how.latest * static_cast<double>(o) / static_cast<double>(p_->op_count());
                if (how.noise > 0) {
                    score += how.noise * chance(how.seed + static_cast<std::uint64_t>(nodes_.size() + choices_.size()));
                }
                choices_.push_back({score, o, std::move(before)});
            }
        }
        std::stable_sort(
            choices_.begin(), choices_.end(), [](auto const& a, auto const& b) { return a.score > b.score; });
        for (auto& x : choices_) { // the last is looked at first
            open({now.begun, std::move(x.before)}, from, x.op);
        }
        if (auto const latest = now.begun - 1; while_running(now.tensors, latest) <= capacity) {
            open({latest, without_outputs(latest)}, from, latest);
        }
    }

    struct choice {
        double score = 0; // the least first
        op_id op = none;
        live before;
    };

    problem const* p_;
    std::vector<char> counted_;
    std::vector<lasting> stays_;
    std::vector<lazy<node, Lazy>> nodes_;
    std::vector<std::int32_t> open_;                      // nodes
    std::vector<std::vector<lazy<met_state, Lazy>>> met_; // by ops begun; none needs all that another does
    std::vector<op_id> makers_;
    std::vector<lazy<choice, Lazy>> choices_;
    live all_;
    std::int32_t arrived_at_ = none;
    std::int64_t states_ = 0;
};

using regression = basic_regression<>;

} // namespace strata::detail
