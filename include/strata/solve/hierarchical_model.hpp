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

#include <strata/detail/level_stages.hpp>
#include <strata/merge/block_graph.hpp>
#include <strata/merge/option.hpp>
#include <strata/solve/mip_backend.hpp>
#include <strata/solve/mip_writer.hpp>
#include <strata/units.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace strata {

/// The integer program of one level under one budget.
template <class = void>
class basic_hierarchical_model {
public:
    /// What to build.
    struct plan {
        int closure_every = 0;               ///< closure cuts after the first run of every k-th item; 0: none
        std::size_t max_entries = 1'000'000; ///< stop building beyond so many entries of the matrix
    };

    /// `budget`: resident bytes included. Requires: `g` outlives the model.
    /// Complexity: O(items² · ways · (tensors + records · ways)).
    basic_hierarchical_model(block_graph const& g, bytes_t budget, plan const& how)
        : g_(&g)
        , room_(budget - g.subject().resident_bytes())
        , max_entries_(how.max_entries)
        , stages_(g, room_)
        , n_(stages_.items())
    {
        choose_units();
        make_columns();
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

    /// True when the model has more entries than allowed; then it is not there.
    [[nodiscard]] auto too_large() const noexcept -> bool
    {
        return std::max(w_.entries(), w_.columns()) > max_entries_;
    }
    [[nodiscard]] auto model() const noexcept -> mip_model const& { return model_; }
    /// Cost of the plans whose objective is 0.
    [[nodiscard]] auto base_cost() const noexcept -> cost_t { return base_cost_; }
    /// What one unit of the objective costs.
    [[nodiscard]] auto cost_unit() const noexcept -> double { return cost_unit_; }
    /// All costs are `base_cost` and a multiple of it.
    [[nodiscard]] auto cost_grain() const noexcept -> cost_t { return cost_grain_; }

    /// The plan that a solution stands for. Only whole columns are looked at.
    [[nodiscard]] auto plan_of(Eigen::VectorXd const& x) const -> block_plan
    {
        block_plan r;
        std::vector<int> served(g_->size(), fast_forward);
        for (std::size_t t = 0; t <= n_; ++t) {
            for (std::size_t i = 0; i < n_; ++i) {
                auto const [part, which] = g_->items()[i];
                if (i == t && follows(i)) {
                    r.push_back({part, which, served[part]});
                    continue;
                }
                for (auto const& run : runs_[t][i]) {
                    if (detail::value_of(run.column, x) > 0.5) {
                        served[part] = run.how->option;
                        r.push_back({part, which, run.how->option});
                    }
                }
            }
        }
        return r;
    }

    /// The solution that stands for `given`. Returns: nothing when it is not of the class, or does what is left out
    /// because it cannot be of use. Whether it fits the budget is not looked at.
    /// Requires: `given` obeys the rules of `block_plan`.
    [[nodiscard]] auto solution_of(block_plan const& given) const -> std::optional<Eigen::VectorXd>
    {
        Eigen::VectorXd x = Eigen::VectorXd::Zero(model_.columns());
        std::size_t t = 0;    // stage
        std::size_t next = 0; // item that may run
        for (auto const& run : without_vain_keeping(*g_, given)) {
            auto const i = stages_.item_of(run.part, run.which);
            if (i < next || i > t || t >= runs_.size()) {
                return {};
            }
            auto const& ways = runs_[t][i];
            auto const same = [&](run_term const& r) {
                return g_->run({run.part, run.which, r.how->option}) == g_->run(run);
            };
            auto const exact = [&](run_term const& r) { return r.how->option == run.option; };
            auto found = std::find_if(ways.begin(), ways.end(), exact);
            if (found == ways.end() && !both(i)) {
                found = std::find_if(ways.begin(), ways.end(), same);
            }
            if (found == ways.end()) {
                return {};
            }
            if (detail::is_column(found->column)) {
                x[found->column] = 1;
            }
            next = i == t ? 0 : i + 1;
            t += i == t ? 1 : 0;
        }
        for (auto const& h : holds_) {
            x[h.column] = detail::value_of(h.before, x) + detail::value_of(h.served, x);
        }
        for (auto const& e : lives_) {
            auto made = detail::value_of(e.later, x);
            for (auto m : e.makes) {
                made -= detail::value_of(m, x);
            }
            auto read = e.sure ? 1.0 : 0.0;
            for (auto r : e.reads) {
                read += e.sure ? 0.0 : detail::value_of(r, x);
            }
            x[e.column] = std::max({0.0, read, made});
        }
        for (auto const& y : again_) {
            for (auto s = y.from; s <= n_; ++s) {
                for (auto const& run : runs_[s][y.item]) {
                    x[y.column] = std::max(x[y.column], detail::value_of(run.column, x));
                }
            }
        }
        return x;
    }

private:
    using term = detail::mip_term;
    using stages_t = detail::level_stages;
    using way = detail::level_way;
    using terms = std::vector<term>;
    static constexpr auto nowhere = stages_t::nowhere;
    static constexpr term zero = detail::zero;
    static constexpr term one = detail::one;

    struct run_term {
        term column;
        way const* how;
    };
    struct saved { // P[t+1] of P[t] and K[t]
        term column, before, served;
    };
    struct life { // E or S, of what reads and makes there, and what is live after
        term column;
        bool sure;
        terms reads, makes;
        term later;
    };
    struct run_again {
        term column;
        std::size_t item, from;
    };

    [[nodiscard]] auto size(std::size_t v) const -> bytes_t { return stages_.border()[v].size; }
    [[nodiscard]] auto kept_by(std::size_t part, std::size_t o) const -> bytes_t { return g_->options(part)[o].kept; }
    /// Bytes over the unit of the model.
    [[nodiscard]] auto scaled(bytes_t b) const -> double { return static_cast<double>(b) / byte_unit_; }

    /// True when the part of item `x` has both halves: then the options of its forward half are those it serves with.
    [[nodiscard]] auto both(std::size_t x) const -> bool
    {
        auto const j = g_->items()[x].part;
        return stages_.item_of(j, half::forward) != nowhere && stages_.item_of(j, half::backward) != nowhere;
    }
    /// What of the cost of a run is decided: fast-forwards count in full, options with both halves and beyond the cheapest.
    [[nodiscard]] auto extra(std::size_t x, way const& w, bool first_run) const -> cost_t
    {
        if (both(x) && w.option == fast_forward) {
            return w.cost;
        }
        return full(x, w) - (both(x) || first_run ? cheapest(x) : 0);
    }
    [[nodiscard]] auto full(std::size_t x, way const& w) const -> cost_t
    {
        return both(x) ? g_->options(g_->items()[x].part)[static_cast<std::size_t>(w.option)].cost() : w.cost;
    }
    [[nodiscard]] auto cheapest(std::size_t x) const -> cost_t
    {
        std::optional<cost_t> least;
        for (auto const& w : stages_.ways(x)) {
            if (!both(x) || w.option != fast_forward) {
                least = std::min(least.value_or(full(x, w)), full(x, w));
            }
        }
        return least.value_or(0);
    }
    /// True when the ways of item `x` follow from how its forward half served.
    [[nodiscard]] auto follows(std::size_t x) const -> bool
    {
        return both(x) && g_->items()[x].which == half::backward;
    }

    void choose_units()
    {
        constexpr double most_room = 1e4; // so that tolerances of 1e-7 stay far below one byte where bytes are few
        constexpr double most_cost = 1e9; // of everything once more
        bytes_t grain = 0;
        for (auto const& b : stages_.border()) {
            grain = std::gcd(grain, b.size);
        }
        double all = 0;
        for (std::size_t x = 0; x < n_; ++x) {
            base_cost_ += follows(x) ? 0 : cheapest(x);
            cost_t most = 0;
            for (auto const& w : stages_.ways(x)) {
                for (auto const& k : w.records) {
                    grain = std::gcd(grain, k.bytes);
                }
                if (w.option != fast_forward) {
                    grain = std::gcd(grain, kept_by(g_->items()[x].part, static_cast<std::size_t>(w.option)));
                }
                for (bool first_run : {true, false}) {
                    cost_grain_ = follows(x) ? cost_grain_ : std::gcd(cost_grain_, extra(x, w, first_run));
                }
                most = std::max(most, w.cost);
            }
            all += static_cast<double>(most);
        }
        cost_grain_ = std::max<cost_t>(1, cost_grain_);
        room_ = grain > 0 && room_ >= 0 ? room_ / grain * grain : room_;
        byte_unit_ = std::max({1.0, static_cast<double>(grain), static_cast<double>(room_) / most_room});
        cost_unit_ = std::max(static_cast<double>(cost_grain_), all / most_cost);
    }

    void make_columns()
    {
        runs_.resize(n_ + 1);
        held_.assign(n_ + 1, std::vector<terms>(g_->size()));
        for (std::size_t t = 0; t <= n_; ++t) {
            runs_[t].resize(n_);
            for (std::size_t x = 0; x <= t && x < n_ && !too_large(); ++x) {
                add_runs(t, x);
            }
        }
        live_.assign(n_ + 2, terms(stages_.border().size(), zero));
        for (std::size_t v = 0; v < stages_.border().size(); ++v) {
            for (std::size_t t = 0; t <= n_; ++t) {
                auto const known = stages_.live_at(t, v);
                live_[t][v] = known == stages_t::life::open      ? w_.add_column(0, false)
                              : known == stages_t::life::certain ? one
                                                                 : zero;
            }
            live_[n_ + 1][v] = stages_.border()[v].target ? one : zero;
        }
        for (std::size_t j = 0; j < g_->size(); ++j) {
            if (stages_.item_of(j, half::forward) != nowhere && stages_.item_of(j, half::backward) != nowhere) {
                add_saved_set(j);
            }
        }
        for (std::size_t x = 0; x < n_; ++x) { // first runs: in one way
            if (!follows(x)) {
                exactly_one(runs_[x][x]);
            }
        }
    }

    void add_runs(std::size_t t, std::size_t x)
    {
        if (follows(x) || (g_->items()[x].which == half::backward && x != t)) {
            return; // see `add_saved_set`
        }
        auto& to = runs_[t][x];
        for (auto const& w : stages_.ways(x)) {
            bool const serves = both(x) && w.option != fast_forward;
            if (x == t || (serves ? stages_.may_serve(t, x) : stages_.may_forward(t, x))) {
                to.push_back({w_.add_column(static_cast<double>(extra(x, w, x == t)) / cost_unit_, true), &w});
            }
        }
        if (!both(x) && x != t && to.size() > 1) {
            for (auto const& r : to) {
                w_.put(r.column, -1);
            }
            w_.close(-1);
        }
    }

    void exactly_one(std::vector<run_term> const& runs)
    {
        for (auto sign : {1, -1}) {
            for (auto const& r : runs) {
                w_.put(r.column, sign);
            }
            w_.close(sign);
        }
    }

    /// P of part `j`, and that it serves once and does not run while its saved set is held.
    void add_saved_set(std::size_t j)
    {
        auto const f = stages_.item_of(j, half::forward);
        auto const b = stages_.item_of(j, half::backward);
        terms now(g_->options(j).size(), zero);
        for (auto t = f; t <= b; ++t) {
            auto const& runs = runs_[t][f];
            if (t > f && !runs.empty()) {
                for (auto const& r : runs) {
                    w_.put(r.column, -1);
                }
                for (auto p : now) {
                    w_.put(p, -1);
                }
                w_.close(-1);
            }
            held_[t][j] = now;
            for (auto const& r : runs) {
                if (r.how->option == fast_forward) {
                    continue;
                }
                auto& p = now[static_cast<std::size_t>(r.how->option)];
                if (p == zero) {
                    p = r.column;
                    continue;
                }
                auto const c = w_.add_column(0, false);
                w_.at_least({c}, {p, r.column});
                holds_.push_back({c, p, r.column});
                p = c;
            }
        }
        for (auto const& w : stages_.ways(b)) {
            runs_[b][b].push_back({now[static_cast<std::size_t>(w.option)], &w});
        }
        exactly_one(runs_[b][b]);
        for (auto t = f; t <= b; ++t) {
            for (auto const& r : runs_[t][f]) {
                w_.put(r.how->option == fast_forward ? zero : r.column, 1);
            }
        }
        w_.close(1);
    }

    /// Those of `runs` whose way has `v` in `list`.
    [[nodiscard]] static auto
    with(std::vector<run_term> const& runs, std::vector<std::size_t> way::*list, std::size_t v) -> terms
    {
        terms r;
        for (auto const& x : runs) {
            if (way::has(x.how->*list, v)) {
                r.push_back(x.column);
            }
        }
        return r;
    }

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

    static constexpr term undecided = -3;

    block_graph const* g_;
    bytes_t room_;
    std::size_t max_entries_;
    stages_t stages_;
    std::size_t n_; // items
    double byte_unit_ = 1, cost_unit_ = 1;
    cost_t cost_grain_ = 0, base_cost_ = 0;
    std::vector<std::vector<std::vector<run_term>>> runs_; // by stage and item: F and K
    std::vector<std::vector<terms>> held_;                 // by stage and part: P of each option
    std::vector<terms> live_;                              // by stage: S
    std::vector<saved> holds_;                             // P, each after those it depends on
    std::vector<life> lives_;                              // S and E, each after those it depends on
    std::vector<run_again> again_;                         // Y
    detail::mip_writer w_;
    mip_model model_;
};

using hierarchical_model = basic_hierarchical_model<>;

} // namespace strata
