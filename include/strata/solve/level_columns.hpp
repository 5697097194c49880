// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The columns of the integer program of one level: what may run when, which saved sets are held; from a plan to a
/// solution and back. What the columns mean, and the rows: strata/solve/hierarchical_model.hpp.
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

namespace strata::detail {

/// What `hierarchical_model` is built on.
template <class = void>
class basic_level_columns {
public:
    basic_level_columns(basic_level_columns const&) = delete; // runs point into the stages
    auto operator=(basic_level_columns const&) -> basic_level_columns& = delete;

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
                    if (value_of(run.column, x) > 0.5) {
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
            if (is_column(found->column)) {
                x[found->column] = 1;
            }
            next = i == t ? 0 : i + 1;
            t += i == t ? 1 : 0;
        }
        for (auto const& h : holds_) {
            x[h.column] = value_of(h.before, x) + value_of(h.served, x);
        }
        for (auto const& e : lives_) {
            auto made = value_of(e.later, x);
            for (auto m : e.makes) {
                made -= value_of(m, x);
            }
            auto read = e.sure ? 1.0 : 0.0;
            for (auto r : e.reads) {
                read += e.sure ? 0.0 : value_of(r, x);
            }
            x[e.column] = std::max({0.0, read, made});
        }
        for (auto const& y : again_) {
            for (auto s = y.from; s <= n_; ++s) {
                for (auto const& run : runs_[s][y.item]) {
                    x[y.column] = std::max(x[y.column], value_of(run.column, x));
                }
            }
        }
        return x;
    }

protected:
    basic_level_columns(block_graph const& g, bytes_t budget, std::size_t max_entries)
        : g_(&g)
        , room_(budget - g.subject().resident_bytes())
        , max_entries_(max_entries)
        , stages_(g, room_)
        , n_(stages_.items())
    {
        choose_units();
        make_columns();
    }
    ~basic_level_columns() = default;

    using term = mip_term;
    using stages_t = level_stages;
    using way = level_way;
    using terms = std::vector<term>;
    static constexpr auto nowhere = stages_t::nowhere;

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
    mip_writer w_;
    mip_model model_;
};

using level_columns = basic_level_columns<>;

} // namespace strata::detail
