// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The integer program of rematerialization on the flat graph of a problem, and the way back to a run order.
///
/// Time is a sequence of passes. A pass replays some of the ops that have run, in ascending order, and the last pass of a
/// stage ends with the first run of one op:
///
///     stage t    pass        pass            replays 0 2 5 │ 1 2 │ first run of t        with `passes` = 2
///                0 1 2 … t-1 │ 0 1 2 … t-1 t
///
///     R[r,o]    whole         op o is replayed in pass r
///     S[r,v]    0 to 1        tensor v is live when pass r begins; whole whenever every R is
///     E[r,v,j]  0 to 1        v is live up to its j-th possible reader in pass r: at least R of that reader, and E[r,v,j+1]
///     Y[r,o]    0 to 1        o is replayed in pass r or later
///
///     minimise Σ cost R      E[r,v,1] <= S[r,v] + R[r,producer of v] <= 1      Σ over v live at (r,o) + workspace <= room
///     closure cuts           Y[r,o] <= Σ_{q>=r} R[q,o],  S[r,v] + Y[r,producer] >= 1 for v needed,  >= Y[r,o] for v read by o
///
/// Sources: Jain et al., "Checkmate: breaking the memory wall with optimal tensor rematerialization", 2020; E instead of
/// its variables for frees, and the closure cuts, are of this project: docs/design/0006-ilp.md.
#pragma once

#include <strata/detail/replay_stages.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/idle_replays.hpp>
#include <strata/solve/mip_backend.hpp>
#include <strata/solve/mip_writer.hpp>
#include <strata/units.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace strata {

/// The integer program of one problem under one budget.
template <class = void>
class basic_checkmate_model {
public:
    /// What to build. More passes admit more orders, and each costs as many columns as all stages have.
    struct plan {
        int passes = 1;                       ///< >= 1
        bool lazy = false;                    ///< replay only what is read in the same stage
        std::vector<op_id> closure = {};      ///< ops after whose first run closure cuts are added
        std::size_t max_entries = 20'000'000; ///< stop building beyond so many entries of the matrix
    };

    /// Requires: `p` outlives the model.
    /// Complexity: O(passes · ops² · tensors) at most.
    basic_checkmate_model(problem const& p, bytes_t budget, plan const& how)
        : p_(&p)
        , how_(&how)
        , room_(budget - p.resident_bytes())
        , max_entries_(how.max_entries)
        , stages_(p, room_, how.lazy)
    {
        choose_units();
        make_passes();
        make_columns();
        for (std::size_t r = 0; r < passes_.size() && !too_large(); ++r) {
            add_pass(r);
        }
        for (auto o : how.closure) {
            if (!too_large()) {
                add_closure(o);
            }
        }
        if (!too_large()) {
            model_ = std::move(w_).finish();
        }
        how_ = nullptr;
    }

    /// True when the model has more entries than allowed; then it is not there.
    [[nodiscard]] auto too_large() const noexcept -> bool { return w_.entries() > max_entries_; }
    [[nodiscard]] auto model() const noexcept -> mip_model const& { return model_; }
    /// What one unit of the objective costs.
    [[nodiscard]] auto cost_unit() const noexcept -> double { return cost_unit_; }
    /// All costs are multiples of it.
    [[nodiscard]] auto cost_grain() const noexcept -> cost_t { return cost_grain_; }

    /// The order that a solution stands for.
    [[nodiscard]] auto order_of(Eigen::VectorXd const& x) const -> run_order
    {
        run_order order;
        for (std::size_t r = 0; r < passes_.size(); ++r) {
            for (op_id o = 0; o < passes_[r].limit; ++o) {
                if (auto const c = replay(r, o); c >= 0 && x[c] > 0.5) {
                    order.push_back(o);
                }
            }
            if (passes_[r].first != none) {
                order.push_back(passes_[r].first);
            }
        }
        return without_idle_replays(*p_, order);
    }

    /// The solution that stands for `order`. Returns: nothing when some stage replays in more passes than there are.
    /// Whether the order fits the budget is not looked at.
    [[nodiscard]] auto solution_of(std::span<op_id const> order) const -> std::optional<Eigen::VectorXd>
    {
        auto const where = passes_of(order);
        if (where.empty()) {
            return {};
        }
        Eigen::VectorXd x = Eigen::VectorXd::Zero(model_.columns());
        std::vector<char> needed(at(p_->tensor_count()), 0);
        for (tensor_id t = 0; t < p_->tensor_count(); ++t) {
            needed[at(t)] = p_->is_target(t) ? 1 : 0;
        }
        // Backwards: what is needed when a pass begins is live there.
        auto k = order.size();
        for (auto r = passes_.size(); r-- > 0;) {
            for (; k > 0 && where[k - 1] == r; --k) {
                auto const o = order[k - 1];
                for (auto t : p_->outputs(o)) {
                    needed[at(t)] = 0;
                }
                for (auto t : p_->inputs(o)) {
                    needed[at(t)] = 1;
                }
                if (o != passes_[r].first) {
                    auto const c = replay(r, o);
                    if (c < 0) {
                        return {};
                    }
                    x[c] = 1;
                }
            }
            for (tensor_id t = 0; t < p_->tensor_count(); ++t) {
                if (auto const c = live(r, t); c >= 0) {
                    x[c] = needed[at(t)];
                }
            }
        }
        for (auto const& e : until_) {
            x[e.column] = std::max(detail::value_of(e.reader, x), detail::value_of(e.later, x));
        }
        for (auto const& y : again_) {
            for (auto r = y.from; r < passes_.size(); ++r) {
                x[y.column] = std::max(x[y.column], detail::value_of(replay(r, y.op), x));
            }
        }
        return x;
    }

private:
    using term = detail::mip_term;
    using stages = detail::replay_stages;
    static constexpr term zero = detail::zero;
    static constexpr term one = detail::one;

    struct pass {
        op_id limit = 0;    // ops below it have run, those from it on have not
        op_id first = none; // runs for the first time at the end
    };
    struct live_until {
        term column, reader, later;
    };
    struct run_again {
        term column;
        op_id op;
        std::size_t from;
    };

    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }

    void choose_units()
    {
        constexpr double most_room = 1e4; // so that tolerances of 1e-7 stay far below one byte where bytes are few
        constexpr double most_cost = 1e9; // of all replays once
        bytes_t grain = 0;
        for (tensor_id t = 0; t < p_->tensor_count(); ++t) {
            grain = p_->resident(t) ? grain : std::gcd(grain, p_->size(t));
        }
        for (op_id o = 0; o < p_->op_count(); ++o) {
            grain = std::gcd(grain, p_->workspace(o));
            cost_grain_ = std::gcd(cost_grain_, p_->cost(o));
        }
        cost_grain_ = std::max<cost_t>(1, cost_grain_);
        room_ = grain > 0 && room_ >= 0 ? room_ / grain * grain : room_;
        byte_unit_ = std::max({1.0, static_cast<double>(grain), static_cast<double>(room_) / most_room});
        cost_unit_ = std::max(static_cast<double>(cost_grain_), static_cast<double>(p_->base_cost()) / most_cost);
    }

    void make_passes()
    {
        auto const n = p_->op_count();
        for (op_id t = 0; t <= n; ++t) {
            bool const any = stages_.any_replay(t);
            for (int i = 1; i < how_->passes && any; ++i) {
                passes_.push_back({t, none});
            }
            if (t < n || any) {
                passes_.push_back({t, t < n ? t : none});
            }
        }
    }

    void make_columns()
    {
        replay_.resize(passes_.size());
        live_.resize(passes_.size() + 1);
        for (std::size_t r = 0; r < passes_.size(); ++r) {
            auto const limit = passes_[r].limit;
            replay_[r].assign(at(limit), zero);
            live_[r].assign(at(p_->tensor_count()), zero);
            for (op_id o = 0; o < limit; ++o) {
                if (stages_.may_replay(limit, o)) {
                    replay_[r][at(o)] = w_.add_column(static_cast<double>(p_->cost(o)) / cost_unit_, true);
                }
            }
            for (tensor_id t = 0; t < p_->tensor_count(); ++t) {
                auto const known = stages_.live_at(limit, t);
                live_[r][at(t)] = known == stages::life::open      ? w_.add_column(0, false)
                                  : known == stages::life::certain ? one
                                                                   : zero;
            }
        }
        live_.back().assign(at(p_->tensor_count()), zero);
        for (tensor_id t = 0; t < p_->tensor_count(); ++t) {
            live_.back()[at(t)] = p_->is_target(t) ? one : zero;
        }
    }

    [[nodiscard]] auto replay(std::size_t r, op_id o) const -> term
    {
        return o < passes_[r].limit ? replay_[r][at(o)] : zero;
    }
    [[nodiscard]] auto live(std::size_t r, tensor_id t) const -> term { return live_[r][at(t)]; }

    void add_pass(std::size_t r)
    {
        auto const& p = *p_;
        auto const [limit, first] = passes_[r];
        auto const last = first == none ? limit - 1 : first;
        // For each position and tensor, the term that says whether it is live there, beside what is there anyway.
        std::vector<std::vector<std::pair<tensor_id, term>>> held(at(last) + 1);
        auto const hold = [&](op_id from, op_id to, tensor_id t, term x) { // positions from … to
            for (auto i = std::max<op_id>(from, 0); x != zero && i <= to; ++i) {
                if (i == first || replay(r, i) != zero) {
                    held[at(i)].emplace_back(t, x);
                }
            }
        };
        for (tensor_id t = 0; t < p.tensor_count(); ++t) {
            auto const makers = p.producers(t);
            if (makers.empty() || makers.front() > last) {
                continue;
            }
            if (makers.back() >= limit) { // under way, or made by the first run itself
                hold(makers.front() < limit ? 0 : first, last, t, one);
                continue;
            }
            auto const maker = makers.back();
            auto const again = makers.size() == 1 ? replay(r, maker) : zero;
            hold(0, maker, t, live(r, t));
            hold(maker, maker, t, again);
            auto const readers = p.consumers(t);
            auto later = live(r + 1, t);
            auto from = last; // positions above it are accounted for
            for (auto i = readers.size(); i-- > 0;) {
                auto const reader = readers[i];
                auto const use = reader == first ? one : reader < limit ? replay(r, reader) : zero;
                if (use == zero) {
                    continue;
                }
                hold(reader + 1, from, t, later);
                from = reader;
                later = until(use, later);
            }
            hold(maker + 1, from, t, later);
            w_.at_most(later, live(r, t), again);
            if (again >= 0 && live(r, t) != zero) {
                w_.put(again, -1);
                w_.put(live(r, t), -1);
                w_.close(-1);
            }
        }
        if (how_->lazy) {
            read_what_is_made(r);
        }
        for (op_id i = 0; i <= last && !too_large(); ++i) {
            if (i == first || replay(r, i) != zero) {
                add_memory(i == first ? one : replay(r, i), p.workspace(i), held[at(i)]);
            }
        }
    }

    /// R <= Σ R of its readers in the stage.
    void read_what_is_made(std::size_t r)
    {
        auto const& p = *p_;
        auto const limit = passes_[r].limit;
        for (op_id o = 0; o < limit; ++o) {
            if (replay(r, o) == zero) {
                continue;
            }
            bool sure = false;
            std::vector<term> readers;
            for (auto t : p.outputs(o)) {
                sure = sure || (limit == p.op_count() && p.is_target(t));
                for (auto reader : p.consumers(t)) {
                    sure = sure || reader == limit;
                    for (auto q = r; q < passes_.size() && passes_[q].limit == limit; ++q) {
                        readers.push_back(replay(q, reader));
                    }
                }
            }
            if (!sure) {
                std::sort(readers.begin(), readers.end());
                readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
                for (auto x : readers) {
                    w_.put(x, 1);
                }
                w_.put(replay(r, o), -1);
                w_.close(0);
            }
        }
    }

    /// The term of "live up to a reader", given whether it reads and whether the tensor is live later.
    auto until(term use, term later) -> term
    {
        if (use == one || later == one) {
            return one;
        }
        if (later == zero) {
            return use;
        }
        auto const c = w_.add_column(0, false);
        until_.push_back({c, use, later});
        w_.at_most(use, c);
        w_.at_most(later, c);
        return c;
    }

    void add_memory(term runs, bytes_t workspace, std::vector<std::pair<tensor_id, term>> const& held)
    {
        bytes_t worst = workspace;
        tensor_id before = none;
        for (auto const& [t, x] : held) {
            worst += t == before ? 0 : p_->size(t); // twice: live from before, or made here; not both
            before = t;
        }
        if (worst <= room_) {
            return;
        }
        if (runs == one) {
            bytes_t sure = workspace;
            for (auto const& [t, x] : held) {
                sure += x == one ? p_->size(t) : 0;
            }
            for (auto const& [t, x] : held) {
                if (x >= 0 && sure + p_->size(t) > room_) {
                    w_.forbid(x); // does not fit beside what is there for sure
                }
            }
        }
        w_.put(runs, -static_cast<double>(workspace) / byte_unit_);
        for (auto const& [t, x] : held) {
            w_.put(x, -static_cast<double>(p_->size(t)) / byte_unit_);
        }
        w_.close(-static_cast<double>(room_) / byte_unit_);
    }

    /// Cuts at the start of the pass that follows the first run of `o`: what is needed from there on is live there or made
    /// again later, and then so is what its producer reads.
    void add_closure(op_id o)
    {
        auto const& p = *p_;
        auto const found = std::find_if(passes_.begin(), passes_.end(), [&](pass const& x) { return x.first == o; });
        auto const r = static_cast<std::size_t>(found - passes_.begin()) + 1;
        if (r >= passes_.size()) {
            return;
        }
        auto const limit = o + 1;
        std::vector<term> again(at(limit), zero);
        for (op_id a = 0; a < limit; ++a) {
            if (replay(r, a) == zero) {
                continue;
            }
            again[at(a)] = w_.add_column(0, false);
            again_.push_back({again[at(a)], a, r});
            for (auto q = r; q < passes_.size(); ++q) {
                w_.put(replay(q, a), 1);
            }
            w_.put(again[at(a)], -1);
            w_.close(0);
        }
        auto const made_again = [&](tensor_id t) {
            return p.accumulated(t) || p.producer(t) >= limit ? zero : again[at(p.producer(t))];
        };
        for (op_id a = 0; a < limit; ++a) {
            if (again[at(a)] == zero) {
                continue;
            }
            for (auto t : p.inputs(a)) {
                w_.at_most(again[at(a)], live(r, t), made_again(t));
            }
            for (auto t : p.outputs(a)) {
                auto const readers = p.consumers(t);
                if (p.is_target(t) || (!readers.empty() && readers.back() >= limit)) {
                    w_.at_most(one, live(r, t), again[at(a)]);
                }
            }
        }
    }

    /// The pass of each run of `order`, none too many; empty if that cannot be.
    [[nodiscard]] auto passes_of(std::span<op_id const> order) const -> std::vector<std::size_t>
    {
        std::vector<std::size_t> where;
        where.reserve(order.size());
        std::size_t r = 0;
        op_id next = 0;
        op_id before = none;
        for (auto o : order) {
            if (o == next) { // ends its stage
                for (; r < passes_.size() && passes_[r].first != o; ++r) {
                }
                where.push_back(r++);
                ++next;
                before = none;
                continue;
            }
            r += o <= before ? 1 : 0;
            before = o;
            if (r >= passes_.size() || passes_[r].limit != next) {
                return {};
            }
            where.push_back(r);
        }
        return where;
    }

    problem const* p_;
    plan const* how_; // while it is built
    bytes_t room_;
    double byte_unit_ = 1, cost_unit_ = 1;
    cost_t cost_grain_ = 0;
    std::size_t max_entries_ = 0;
    stages stages_;
    std::vector<pass> passes_;
    std::vector<std::vector<term>> replay_, live_; // R and S
    std::vector<live_until> until_;                // E, each after those it depends on
    std::vector<run_again> again_;                 // Y
    detail::mip_writer w_;
    mip_model model_;
};

using checkmate_model = basic_checkmate_model<>;

} // namespace strata
