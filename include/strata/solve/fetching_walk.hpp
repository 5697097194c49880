// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A walk within a budget that looks ahead: what an op will need is made while there is still room to make it.
///
///     ops          340   341   342        353      353 reads what takes much room to make, and by then a gradient fills
///     gradient      ·     ┌─────────────────       it: made before 341 and held until 353 has run, both fit
///     fetched    ┌──┴────────────────────┤
///
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/budgeted_walk.hpp>
#include <strata/solve/limits.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace strata {

/// How hard a `fetching_walk` tries to get past an op.
struct fetch_options {
    op_id window = 24;             ///< ops before the one that does not fit at which a fetch is tried
    int depth = 1;                 ///< a fetch that makes an earlier op fail is kept if so many more fetches mend that
    std::int64_t runs = 1'000'000; ///< about so many ops are run on paper to try fetches
};

/// A `budgeted_walk` that goes back where it fails: of the tensors that the op lacks, one is fetched before an earlier op
/// and held until this one has run.
///
/// A walk makes a tensor right before its use. That is wrong near the least memory a step needs: the transient room of
/// making it and the tensors that live then, gradients above all, may not fit together where either does.
template <class Lazy = void>
class basic_fetching_walk {
public:
    /// `p` outlives it.
    basic_fetching_walk(problem const& p, walk_options const& how, fetch_options const& fetching, stop_watch stop = {})
        : p_(&p)
        , how_(how)
        , fetching_(fetching)
        , runs_left_(fetching.runs)
        , stop_(std::move(stop))
        , now_(p)
    {
    }

    /// The order, if there is a way. Complexity: that of a walk, and per fetch tried one through the window.
    [[nodiscard]] auto operator()() -> std::optional<run_order>
    {
        now_.begin(how_);
        auto before = now_; // at least a window back, unless at the start
        auto later = now_;
        while (now_.now() < p_->op_count()) {
            if (now_.now() - later.now() >= fetching_.window) {
                before = std::exchange(later, now_);
            }
            auto const op = now_.now();
            auto const& from = op - later.now() >= fetching_.window ? later : before;
            if (!advance(now_) && !get_past(from, op, fetching_.depth)) {
                return {};
            }
            if (now_.now() <= op) {
                return {};
            }
            // A state that a new fetch comes before is of the past.
            if (!fetches_.empty() && fetches_.front().at <= later.now()) {
                later = before;
            }
        }
        return now_.finish(stop_);
    }

    /// Fetches that the order has.
    [[nodiscard]] auto fetches() const noexcept -> std::size_t { return fetches_.size(); }

private:
    using walk = basic_budgeted_walk<Lazy>;
    struct fetch {
        op_id at = 0; // before this op
        tensor_id tensor = none;
        op_id until = 0; // this one has run
    };

    /// One op further, with what is to be fetched before it.
    auto advance(walk& w) -> bool
    {
        auto const before = w.runs();
        auto const fetched = [&](fetch const& x) { return x.at != w.now() || w.fetch(x.tensor, x.until, stop_); };
        bool const done = std::all_of(fetches_.begin(), fetches_.end(), fetched) && w.step(stop_);
        runs_left_ -= static_cast<std::int64_t>(w.runs() - before);
        return done;
    }

    /// Beyond `op`. Returns: false where it stopped.
    auto advance_past(walk& w, op_id op) -> bool
    {
        while (w.now() <= op) {
            if (!advance(w)) {
                return false;
            }
        }
        return true;
    }

    /// Finds fetches with which the walk from `from` gets past `op`; `now_` is then there. Else leaves all as it was.
    auto get_past(walk const& from, op_id op, int depth) -> bool
    {
        std::vector<walk> states{from}; // before each op of the window
        while (states.back().now() < op) {
            auto next = states.back();
            runs_left_ -= p_->tensor_count() / 16;
            if (!advance(next)) {
                return false;
            }
            states.push_back(std::move(next));
        }
        if (states.size() > static_cast<std::size_t>(fetching_.window) + 1) {
            states.erase(states.begin(), states.end() - fetching_.window - 1);
        }
        auto const missing = states.back().missing(op);
        return with_one(states, missing, op) || (depth > 0 && with_more(from, states, missing, op, depth));
    }

    /// One fetch that is enough, as late as possible, and then the cheapest.
    auto with_one(std::vector<walk> const& states, std::vector<tensor_id> const& missing, op_id op) -> bool
    {
        fetch best;
        std::optional<walk> end;
        for (auto state = states.rbegin(); state != states.rend() && !end; ++state) {
            for (auto t : missing) {
                if (!more()) {
                    return false;
                }
                fetches_.insert(fetches_.begin(), {state->now(), t, op});
                auto w = copy_of(*state, missing);
                if (advance_past(w, op) && (!end || w.cost() < end->cost())) {
                    best = fetches_.front();
                    end = std::move(w);
                }
                fetches_.erase(fetches_.begin());
            }
        }
        if (!end) {
            return false;
        }
        fetches_.insert(fetches_.begin(), best);
        now_ = *std::move(end);
        now_.allow_all();
        return true;
    }

    /// A fetch of what `op` itself reads, and others that mend what it breaks.
    auto with_more(walk const& from,
                   std::vector<walk> const& states,
                   std::vector<tensor_id> const& missing,
                   op_id op,
                   int depth) -> bool
    {
        constexpr int mends = 4;
        auto const before = fetches_;
        auto const reads = p_->inputs(op);
        for (auto state = states.rbegin(); state != states.rend(); ++state) {
            for (auto t : missing) {
                if (std::find(reads.begin(), reads.end(), t) == reads.end()) {
                    continue;
                }
                if (!more()) {
                    return false;
                }
                fetches_.insert(fetches_.begin(), {state->now(), t, op});
                auto w = copy_of(*state, missing);
                bool there = advance_past(w, op);
                for (int i = 0; i < mends && !there && w.now() < op && w.now() > state->now(); ++i) {
                    auto const failed = w.now();
                    if (!get_past(from, failed, depth - 1)) {
                        break;
                    }
                    w = copy_of(now_, missing);
                    there = advance_past(w, op);
                }
                if (there) {
                    now_ = std::move(w);
                    now_.allow_all();
                    return true;
                }
                fetches_ = before;
            }
        }
        return false;
    }

    [[nodiscard]] auto more() const -> bool { return runs_left_ > 0 && !stop_.expired(); }

    /// To try something with. To make what is missing takes few runs more than there are tensors, or it leads nowhere.
    auto copy_of(walk const& w, std::vector<tensor_id> const& missing) -> walk
    {
        constexpr std::int64_t per_run = 16; // tensors copied in the time of a run
        runs_left_ -= p_->tensor_count() / per_run;
        auto r = w;
        r.allow(60 + 3 * missing.size());
        return r;
    }

    problem const* p_;
    walk_options how_;
    fetch_options fetching_;
    std::int64_t runs_left_;
    stop_watch stop_;
    walk now_;
    std::vector<fetch> fetches_; // the latest found first
};

using fetching_walk = basic_fetching_walk<>;

} // namespace strata
