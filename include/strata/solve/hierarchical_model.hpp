// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The integer program of one level: runs of halves with options, and the way back to a plan of blocks.
///
/// Stage t is what happens up to the first run of item t: forward halves that ran before may run again, each at most once
/// and in the order of the items, then t runs. A forward half runs as a fast-forward or serves its backward half with
/// one of the options; it serves once, and from there to the backward half its saved set is held and it does not run.
///
///     F[t,x]    whole         item x runs as a fast-forward in stage t
///     K[t,j,o]  whole         the forward half of part j serves with option o in stage t: any stage up to the backward half
///     P[t,j,o]  0 to 1        the saved set of option o of part j is held when stage t begins: P[t+1] >= P[t] + K[t]
///     S[t,v]    0 to 1        tensor v, between parts, is live when stage t begins; whole whenever F and K are
///     E[t,x,v]  0 to 1        v is live before item x in stage t, for x that may read or make it:
///                             E >= runs of x that read v,  E >= E of the next - runs of x that make v
///     Y[t,x]    0 to 1        x runs again in stage t or later
///
///     minimise Σ cost F + Σ cost of both halves K        Σ_{t,o} K[t,j,o] = 1
///     bytes      for each record of each way to run x in stage t:
///                Σ over ways: least bytes there × run + Σ size × E of what it is done with or does not touch
///                + Σ kept × P of other parts  <= room
///     closure cuts    as in checkmate_model.hpp, and Σ_o P[t,j,o] + Y[t,forward half of j] >= 1 until the backward half
///
/// A row of bytes holds for every way to run x at once: for a way other than the one whose record it is, as many bytes are
/// counted as are there beside the tensors that the row counts for sure. No large constants are needed, since what is
/// live between two runs is live in the second.
///
/// The class of plans is stated in hierarchical_ilp.hpp. Source: H-ILP of HiRemate; where this departs from it, and
/// why: docs/design/0006-ilp.md.
#pragma once

#include <strata/merge/block_graph.hpp>
#include <strata/merge/option.hpp>
#include <strata/solve/level_columns.hpp>
#include <strata/solve/mip_backend.hpp>
#include <strata/solve/mip_writer.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace strata {

/// The integer program of one level under one budget.
template <class = void>
class basic_hierarchical_model : public detail::level_columns {
public:
    /// What to build.
    struct plan {
        int closure_every = 0;               ///< closure cuts after the first run of every k-th item; 0: none
        std::size_t max_entries = 1'000'000; ///< stop building beyond so many entries of the matrix
    };

    /// `budget`: resident bytes included. Requires: `g` outlives the model.
    /// Complexity: O(items² · ways · (tensors + records · ways)).
    basic_hierarchical_model(block_graph const& g, bytes_t budget, plan const& how)
        : detail::level_columns(g, budget, how.max_entries)
    {
        for (auto t = n_ + 1; t-- > 0 && !too_large();) { // later ones first: see `lives_`
            add_stage(t);
        }
        for (std::size_t t = 1; how.closure_every > 0 && t <= n_ && !too_large();
             t += static_cast<std::size_t>(how.closure_every)) {
            add_closure(t);
        }
        if (!too_large()) {
            model_ = std::move(w_).finish();
        }
    }

private:
    static constexpr term zero = detail::zero;
    static constexpr term one = detail::one;
    static constexpr term undecided = -3; // a column to be made

    void add_stage(std::size_t t)
    {
        // For each item that may run and each tensor, whether it is live after, or would be if the item did not run.
        std::vector<terms> after(runs_[t].size(), terms(stages_.border().size(), zero));
        for (std::size_t v = 0; v < stages_.border().size(); ++v) {
            add_lives(t, v, after);
        }
        for (std::size_t x = 0; x < runs_[t].size() && !too_large(); ++x) {
            if (!runs_[t][x].empty()) {
                add_bytes(t, x, after[x]);
            }
        }
    }

    void add_lives(std::size_t t, std::size_t v, std::vector<terms>& after)
    {
        auto const& b = stages_.border()[v];
        auto const hold = [&](std::size_t from, std::size_t to, term x) { // items from … to-1
            for (auto i = from; i < to && i < after.size(); ++i) {
                after[i][v] = x;
            }
        };
        if (b.first > t) {
            return;
        }
        auto later = live_[t + 1][v];
        if (b.last >= t) { // under way, or made by the first run itself
            hold(0, t, b.first < t ? one : zero);
            hold(t, t + 1, b.last > t ? one : later);
            return;
        }
        struct event {
            std::size_t item;
            terms reads, makes;
        };
        std::vector<event> events;
        for (std::size_t x = 0; x < runs_[t].size(); ++x) {
            event e{x, with(runs_[t][x], &way::reads, v), with(runs_[t][x], &way::makes, v)};
            if (!e.reads.empty() || !e.makes.empty()) {
                events.push_back(std::move(e));
            }
        }
        auto from = after.size();
        while (!events.empty()) {
            auto e = std::move(events.back());
            events.pop_back();
            hold(e.item, from, later);
            from = e.item;
            bool const sure = e.item == t && e.reads.size() == runs_[t][t].size();
            later =
                before(events.empty() ? live_[t][v] : undecided, sure, std::move(e.reads), std::move(e.makes), later);
        }
        if (from == after.size()) {
            later = before(live_[t][v], false, {}, {}, later);
        }
        hold(0, from, later);
    }

    /// The term of "live before an event", `given` or a new one.
    auto before(term given, bool sure, terms reads, terms makes, term later) -> term
    {
        auto x = given;
        if (given == undecided) {
            if (sure || (makes.empty() && later == one)) {
                return one;
            }
            if (later == zero && reads.size() <= 1) {
                return reads.empty() ? zero : reads.front();
            }
            x = w_.add_column(0, false);
        }
        if (sure) {
            w_.at_most(one, x);
        } else {
            w_.at_least({x}, reads);
        }
        auto have = makes;
        have.push_back(x);
        w_.at_least(have, {later});
        if (detail::is_column(x)) {
            lives_.push_back({x, sure, std::move(reads), std::move(makes), later});
        }
        return x;
    }

    /// Whether option `o` of part `j` is held by another part's run of item `x` in stage `t`.
    [[nodiscard]] auto held_at(std::size_t t, std::size_t x, std::size_t j, std::size_t o) const -> term
    {
        auto const f = stages_.item_of(j, half::forward);
        auto const b = stages_.item_of(j, half::backward);
        if (f == nowhere || b == nowhere || f >= t || b < t || b == x) {
            return zero;
        }
        // Having served in this stage counts from there on.
        return f >= x ? held_[t][j][o] : t < b ? held_[t + 1][j][o] : served_with(j, o);
    }
    [[nodiscard]] auto served_with(std::size_t j, std::size_t o) const -> term
    {
        auto const b = stages_.item_of(j, half::backward);
        for (auto const& r : runs_[b][b]) {
            if (static_cast<std::size_t>(r.how->option) == o) {
                return r.column;
            }
        }
        return zero;
    }

    struct byte_row {
        std::vector<std::size_t> counted; // tensors counted by their own columns, ascending
        std::vector<bytes_t> runs;        // bytes of each way
        [[nodiscard]] auto covers(byte_row const& r) const -> bool
        {
            return std::includes(counted.begin(), counted.end(), r.counted.begin(), r.counted.end()) &&
                   std::equal(runs.begin(), runs.end(), r.runs.begin(), [](auto a, auto b) { return a >= b; });
        }
    };

    void add_bytes(std::size_t t, std::size_t x, terms const& after)
    {
        auto const& runs = runs_[t][x];
        std::vector<byte_row> rows;
        for (auto const& r : runs) {
            for (auto const& k : r.how->records) {
                byte_row row;
                for (std::size_t v = 0; v < after.size(); ++v) {
                    if (after[v] != zero && size(v) > 0 && (!way::has(r.how->touched, v) || way::has(k.after, v))) {
                        row.counted.push_back(v);
                    }
                }
                for (auto const& other : runs) {
                    row.runs.push_back(&other == &r ? k.bytes : 0);
                    for (auto const& at : other.how->records) {
                        row.runs.back() = std::max(row.runs.back(), beside(row.counted, *other.how, at));
                    }
                }
                if (std::none_of(rows.begin(), rows.end(), [&](auto const& a) { return a.covers(row); })) {
                    std::erase_if(rows, [&](auto const& a) { return row.covers(a); });
                    rows.push_back(std::move(row));
                }
            }
        }
        std::vector<std::pair<term, bytes_t>> kept;
        bytes_t most_kept = 0;
        for (std::size_t j = 0; j < g_->size(); ++j) {
            bytes_t most = 0;
            for (std::size_t o = 0; o < g_->options(j).size(); ++o) {
                if (auto const h = kept_by(j, o) > 0 ? held_at(t, x, j, o) : zero; h != zero) {
                    kept.emplace_back(h, kept_by(j, o));
                    most = std::max(most, kept_by(j, o));
                }
            }
            most_kept += most;
        }
        for (auto const& row : rows) {
            write(row, runs, after, kept, most_kept, x == t);
        }
    }

    /// Bytes that record `k` of `w` has beside `counted`, whether or not those are live after.
    [[nodiscard]] auto beside(std::vector<std::size_t> const& counted, way const& w, way::record const& k) const
        -> bytes_t
    {
        auto bytes = k.bytes;
        for (auto v : counted) {
            bytes -= way::has(w.touched, v) && !way::has(k.after, v) ? size(v) : 0;
        }
        return bytes;
    }

    void write(byte_row const& row,
               std::vector<run_term> const& runs,
               terms const& after,
               std::vector<std::pair<term, bytes_t>> const& kept,
               bytes_t most_kept,
               bool first_run)
    {
        auto worst = most_kept + *std::max_element(row.runs.begin(), row.runs.end());
        auto sure = first_run ? *std::min_element(row.runs.begin(), row.runs.end()) : 0;
        auto const least = sure;
        for (auto v : row.counted) {
            worst += size(v);
            sure += after[v] == one ? size(v) : 0;
        }
        if (worst <= room_) {
            return;
        }
        auto const put = [&](term x, bytes_t bytes, bytes_t beside) {
            w_.put(x, -scaled(bytes));
            if (detail::is_column(x) && beside + bytes > room_) {
                w_.forbid(x); // does not fit beside what is there for sure
            }
        };
        for (std::size_t i = 0; i < runs.size(); ++i) {
            put(runs[i].column, row.runs[i], sure - least);
        }
        for (auto v : row.counted) {
            put(after[v], size(v), sure);
        }
        for (auto const& [x, bytes] : kept) {
            put(x, bytes, sure);
        }
        w_.close(-scaled(room_));
    }

    /// Cuts at the start of stage `t`: what is needed from there on is live there or made again later, and then so is what
    /// its producer reads; a saved set is held or made again.
    void add_closure(std::size_t t)
    {
        terms again(t, zero);
        for (std::size_t x = 0; x < t; ++x) {
            terms runs;
            for (auto s = t; s <= n_; ++s) {
                for (auto const& r : runs_[s][x]) {
                    runs.push_back(r.column);
                }
            }
            if (!runs.empty()) {
                again[x] = w_.add_column(0, false);
                again_.push_back({again[x], x, t});
                w_.at_least(runs, {again[x]});
            }
        }
        // What can bring `v` to a run of item `reader`, or to the end.
        auto const sources = [&](std::size_t v, std::size_t reader) {
            auto const& b = stages_.border()[v];
            terms r{live_[t][v]};
            if (b.first == b.last) {
                r.push_back(again[b.first]);
                auto const [part, which] = g_->items()[b.first];
                auto const back = stages_.item_of(part, half::backward);
                if (which == half::forward && back != nowhere && back >= t && (back < reader || reader < t)) {
                    auto const makes = with(runs_[back][back], &way::makes, v);
                    r.insert(r.end(), makes.begin(), makes.end());
                }
            }
            return r;
        };
        for (std::size_t x = 0; x < t; ++x) {
            for (std::size_t v = 0; v < stages_.border().size() && again[x] != zero; ++v) {
                if (stages_.always_reads(x, v)) {
                    w_.at_least(sources(v, x), {again[x]});
                }
            }
        }
        for (std::size_t v = 0; v < stages_.border().size(); ++v) {
            auto const& b = stages_.border()[v];
            if (b.last >= t) {
                continue;
            }
            if (b.target) {
                w_.at_least(sources(v, n_), {one});
            }
            for (auto x = t; x < n_; ++x) {
                auto const reads = with(runs_[x][x], &way::reads, v);
                bool const sure = !reads.empty() && reads.size() == runs_[x][x].size();
                if (!reads.empty()) {
                    w_.at_least(sources(v, x), sure ? terms{one} : reads);
                }
            }
        }
        for (std::size_t j = 0; j < g_->size(); ++j) {
            auto const f = stages_.item_of(j, half::forward);
            auto const b = stages_.item_of(j, half::backward);
            if (f < t && b != nowhere && t <= b) {
                auto have = held_[t][j];
                have.push_back(again[f]);
                w_.at_least(have, {one});
            }
        }
    }
};

using hierarchical_model = basic_hierarchical_model<>;

} // namespace strata
