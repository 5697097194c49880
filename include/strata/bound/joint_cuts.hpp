// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What any schedule must pay at several instants together: cuts of the windows between them, which share prices.
///
/// Take instants p0 < p1 < … (first runs of ops) and every window from one of them up to a later one, or to the end. What
/// is read within a window and was made before it is kept across the window's begin or made again inside it, whatever the
/// plan: a cut of `time_cut(p, p_i, p_j)`. A replay is paid once, but lies in all windows that span it; a tensor kept
/// across p_i takes its room once, but serves all windows from p_i. So windows divide prices among them. With
///
///     a_w(o) >= 0, summing to at most cost(o) over the windows that span a stretch between neighbouring instants,
///     b_w(t) >= 0, summing to at most λ_i · size(t) over the windows from p_i,
///
/// the sum of the cuts of all windows under their prices, less Σ λ_i · room at p_i, is at most the recomputation cost of
/// every plan that fits. With one instant that is the bound of `time_cut`. With several it counts what one instant cannot
/// see: replays before it, and ops that run again in more than one window. Any shares prove something; good ones are found
/// by subgradient steps. The limit is the linear relaxation of Checkmate's closures over all windows; `branch_and_bound`
/// goes beyond it by deciding, tensor by tensor, what is kept where.
///
/// Sources: Polyak, "Minimization of unsmooth functionals", 1969, for the length of a step; Camerini, Fratta and Maffioli,
/// "On improving relaxation methods by modified gradient techniques", 1975, for its direction; Land and Doig, "An automatic
/// method of solving discrete programming problems", 1960; the windows are of this project: docs/design/0015-bounds.md.
#pragma once

#include <strata/bound/lower_bound.hpp>
#include <strata/bound/time_cut.hpp>
#include <strata/detail/lazy.hpp>
#include <strata/problem/problem.hpp>
#include <strata/solve/limits.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace strata {

/// That a tensor is live, or is not, at one of several instants.
struct keep_decision {
    op_id instant = none; ///< at whose first run
    tensor_id tensor = none;
    bool keep = true;
    friend auto operator==(keep_decision const&, keep_decision const&) -> bool = default;
};

/// The windows between some instants of a problem, under one budget.
template <class Lazy = void>
class basic_joint_cuts {
    using time_cut = basic_time_cut<Lazy>;
    using flow = std::int64_t;

public:
    /// How windows divide prices (shares from 0 to 1), and the price of a byte at each instant, in units of its own.
    using prices = std::vector<double>;
    /// The bound of what cannot be.
    static constexpr long double impossible = std::numeric_limits<long double>::infinity();

    /// Requires: `instants` are ops of `p`, ascending and not empty; `p` outlives the cuts.
    /// Complexity: one `time_cut` per pair of instants.
    basic_joint_cuts(problem const& p, bytes_t budget, std::vector<op_id> instants)
        : p_(&p)
        , instants_(std::move(instants))
        , stretch_(instants_.size())
    {
        auto const n = instants_.size();
        for (std::size_t i = 0; i < n; ++i) {
            for (auto j = i + 1; j <= n; ++j) {
                add_window(i, j);
            }
            auto& s = stretch_[i];
            s.budget = budget - windows_[s.leaf].cut.fixed();
            s.unit = price_of_a_byte(instants_[i], budget);
            s.spent.resize(index(p.op_count()));
            s.again.resize(index(p.op_count()));
            s.taken.resize(index(p.tensor_count()));
            s.kept.resize(index(p.tensor_count()));
            s.kept_by_any.resize(index(p.tensor_count()));
            s.often.resize(index(p.tensor_count()));
            s.decided.resize(index(p.tensor_count()));
            size_ += 1;
        }
        for (op_id o = 0; o < p.op_count(); ++o) {
            all_cost_ += static_cast<double>(p.cost(o));
        }
        for (tensor_id t = 0; t < p.tensor_count(); ++t) {
            all_bytes_ += static_cast<double>(p.size(t));
        }
        decide({});
    }

    [[nodiscard]] auto instants() const noexcept -> std::span<op_id const> { return instants_; }

    /// Arcs that one evaluation looks at, at least: a measure of its work.
    [[nodiscard]] auto work() const noexcept -> std::int64_t { return work_; }

    /// Prices to begin with: each window has its part, and a byte the price at which its instant alone is tight.
    [[nodiscard]] auto first_prices() const -> prices
    {
        auto const n = static_cast<double>(instants_.size());
        prices x(size_, n > 2 ? 1 / (n * (n - 1)) : 0.5);
        std::fill(x.end() - static_cast<std::ptrdiff_t>(instants_.size()), x.end(), 1.0);
        return x;
    }

    /// Prices that carry over from `from`, prices of `fewer`, whose instants are some of these.
    [[nodiscard]] auto first_prices(basic_joint_cuts const& fewer, prices const& from) const -> prices
    {
        auto x = first_prices();
        for (auto const& w : windows_) {
            for (auto const& v : fewer.windows_) {
                if (w.leaf || instants_[w.from] != fewer.instants_[v.from] || end_of(w) != fewer.end_of(v)) {
                    continue;
                }
                for (std::size_t k = 0; k < w.cut.ops().size(); ++k) {
                    x[w.first + k] = v.leaf ? 0.5 : from[v.first + k];
                }
                for (std::size_t k = 0; k < w.cut.open().size(); ++k) {
                    x[w.first_keep() + k] = v.leaf ? 0.5 : from[v.first_keep() + k];
                }
            }
        }
        for (std::size_t i = 0; i < instants_.size(); ++i) {
            auto const was = std::find(fewer.instants_.begin(), fewer.instants_.end(), instants_[i]);
            x[price(i)] = was == fewer.instants_.end()
                              ? 0.5
                              : from[fewer.price(static_cast<std::size_t>(was - fewer.instants_.begin()))];
        }
        return x;
    }

    /// From now on bounds hold for plans that agree with `decisions`. Requires: they speak of these instants.
    void decide(std::span<keep_decision const> decisions)
    {
        for (auto& s : stretch_) {
            std::fill(s.decided.begin(), s.decided.end(), fate::open);
            s.room = s.budget;
        }
        for (auto const& d : decisions) {
            auto const where = std::lower_bound(instants_.begin(), instants_.end(), d.instant);
            auto& s = stretch_[static_cast<std::size_t>(where - instants_.begin())];
            s.decided[index(d.tensor)] = d.keep ? fate::kept : fate::dropped;
            s.room -= d.keep ? p_->size(d.tensor) : 0;
        }
    }

    /// Improves `x` by at most `steps` subgradient steps towards a bound of `target`, the first as long as `boldness` says
    /// (at most 1). Returns: the best bound met, at `x`; `impossible` when no plan that agrees with the decisions fits.
    auto climb(prices& x, long double target, int steps, double boldness, stop_watch const& stop) -> long double
    {
        constexpr int patience = 20;
        constexpr double least_boldness = 1e-3;
        constexpr long double beyond = 1.1L; // who aims at the target itself slows down before it
        restrict_to_shares(x);
        auto best = -impossible;
        auto at = x;
        prices direction(size_, 0.0);
        int since = 0;
        for (int i = 0; i < steps && boldness > least_boldness && !stop.expired(); ++i) {
            auto const value = evaluate(at);
            if (value > best) {
                since = value > best + 1e-4L * (best < 0 ? -best : best) ? 0 : since + 1;
                best = value;
                x = at;
            } else if (++since > patience) {
                since = 0;
                boldness *= 0.7;
                at = x;
                restrict_to_shares(at);
                continue;
            }
            if (best >= target || !step(at, direction, static_cast<double>(beyond * target - value) * boldness)) {
                break;
            }
        }
        return best;
    }

    /// After a climb: the tensor about which cuts agree least, as far as bytes and prices give it weight. Returns: nothing
    /// when every tensor is decided.
    [[nodiscard]] auto least_agreed(prices const& x) const -> std::optional<keep_decision>
    {
        std::optional<keep_decision> d;
        double most = 0;
        for (std::size_t i = 0; i < instants_.size(); ++i) {
            auto const& s = stretch_[i];
            for (auto t : s.open) {
                auto const often = s.often[index(t)];
                auto const weight = static_cast<double>(p_->size(t)) * s.unit * (1e-3 + x[price(i)]);
                auto const doubt = weight * (often * (1 - often) + 1e-3 * often);
                if (s.decided[index(t)] == fate::open && p_->size(t) <= s.room && doubt > most) {
                    most = doubt;
                    d = keep_decision{instants_[i], t, often > 0.5};
                }
            }
        }
        return d;
    }

private:
    enum class fate : unsigned char { open, kept, dropped };
    struct window {
        std::size_t from, to; // stretches [from, to)
        time_cut cut;
        bool leaf = false;     // one stretch: has what the others leave
        std::size_t first = 0; // of its shares of costs in `prices`; those of bytes follow
        std::vector<flow> again, keep;

        [[nodiscard]] auto first_keep() const -> std::size_t { return first + cut.ops().size(); }
    };
    /// From one instant to the next.
    struct stretch {
        std::size_t leaf = 0;
        bytes_t budget = 0, room = 0; // of the instant, without and with what is decided to be kept
        double unit = 0;              // price of a byte that stands for 1
        std::vector<double> spent;    // per op: the part of its cost that longer windows have
        std::vector<double> taken;    // per tensor: the part of its bytes that they have
        std::vector<char> again, kept, kept_by_any;
        std::vector<double> often; // per tensor: how often cuts kept it of late
        std::vector<fate> decided;
        std::vector<tensor_id> open; // of any window from here
    };
    static auto index(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }

    [[nodiscard]] auto price(std::size_t i) const -> std::size_t { return size_ - instants_.size() + i; }
    [[nodiscard]] auto end_of(window const& w) const -> op_id
    {
        return w.to < instants_.size() ? instants_[w.to] : none;
    }

    void add_window(std::size_t i, std::size_t j)
    {
        window w{
            i, j, time_cut(*p_, instants_[i], j < instants_.size() ? instants_[j] : none), j == i + 1, size_, {}, {}};
        w.again.resize(w.cut.ops().size());
        w.keep.resize(w.cut.open().size());
        size_ += w.leaf ? 0 : w.again.size() + w.keep.size();
        work_ += static_cast<std::int64_t>(w.again.size() + w.keep.size());
        if (w.leaf) {
            stretch_[i].leaf = windows_.size();
        }
        auto& open = stretch_[i].open;
        open.insert(open.end(), w.cut.open().begin(), w.cut.open().end());
        std::sort(open.begin(), open.end());
        open.erase(std::unique(open.begin(), open.end()), open.end());
        windows_.push_back(std::move(w));
    }

    /// The slope of the hull of the cuts at instant `at` alone, where the budget meets it.
    [[nodiscard]] auto price_of_a_byte(op_id at, bytes_t budget) const -> double
    {
        constexpr int points = 16;
        time_cut cut(*p_, at);
        auto const hull = cut.curve(points);
        double slope = 0;
        for (std::size_t i = 0; i + 1 < hull.size() && hull[i].kept <= std::max<bytes_t>(0, budget - cut.fixed());
             ++i) {
            slope = static_cast<double>(hull[i].recomputed - hull[i + 1].recomputed) /
                    static_cast<double>(hull[i + 1].kept - hull[i].kept);
        }
        auto const any = static_cast<double>(p_->base_cost()) / std::max(1.0, static_cast<double>(budget));
        return slope > 0 ? slope : any;
    }

    /// Brings shares down to sums of at most 1, and gives what is left to the windows of one stretch.
    void restrict_to_shares(prices& x)
    {
        for (auto again : {true, false}) {
            for (auto& s : stretch_) {
                std::fill(s.spent.begin(), s.spent.end(), 0.0);
                std::fill(s.taken.begin(), s.taken.end(), 0.0);
            }
            for (auto const& w : windows_) {
                for (std::size_t k = 0; !w.leaf && k < w.again.size(); ++k) {
                    for (auto l = w.from; l < w.to; ++l) {
                        stretch_[l].spent[index(w.cut.ops()[k])] += x[w.first + k];
                    }
                }
                for (std::size_t k = 0; !w.leaf && k < w.keep.size(); ++k) {
                    stretch_[w.from].taken[index(w.cut.open()[k])] += x[w.first_keep() + k];
                }
            }
            for (auto const& w : windows_) {
                for (std::size_t k = 0; again && !w.leaf && k < w.again.size(); ++k) {
                    auto sum = 1.0;
                    for (auto l = w.from; l < w.to; ++l) {
                        sum = std::max(sum, stretch_[l].spent[index(w.cut.ops()[k])]);
                    }
                    x[w.first + k] /= sum;
                }
                for (std::size_t k = 0; again && !w.leaf && k < w.keep.size(); ++k) {
                    x[w.first_keep() + k] /= std::max(1.0, stretch_[w.from].taken[index(w.cut.open()[k])]);
                }
            }
        }
    }

    /// The bound at `x`, whose shares are restricted. Fills in what the cuts do.
    auto evaluate(prices const& x) -> long double
    {
        long double const impossible_now = impossible;
        double dearest = 0;
        for (std::size_t i = 0; i < instants_.size(); ++i) {
            auto& s = stretch_[i];
            if (s.room < 0) {
                return impossible_now;
            }
            dearest = std::max(dearest, x[price(i)] * s.unit);
            std::fill(s.again.begin(), s.again.end(), 0);
            std::fill(s.kept.begin(), s.kept.end(), 0);
            std::fill(s.kept_by_any.begin(), s.kept_by_any.end(), 0);
        }
        // Costs have 48 bits, and all bytes together stay below what stands for infinite.
        auto const scale = std::min(0x1p48 / std::max(1.0, all_cost_), 0x1p57 / std::max(1.0, dearest * all_bytes_));
        long double sum = 0;
        for (auto& w : windows_) {
            auto const& s = stretch_[w.from];
            for (std::size_t k = 0; k < w.again.size(); ++k) {
                auto const o = w.cut.ops()[k];
                auto const share = w.leaf ? std::max(0.0, 1 - s.spent[index(o)]) : x[w.first + k];
                w.again[k] = static_cast<flow>(share * (static_cast<double>(p_->cost(o)) * scale));
            }
            for (std::size_t k = 0; k < w.keep.size(); ++k) {
                auto const t = w.cut.open()[k];
                auto const share = w.leaf ? std::max(0.0, 1 - s.taken[index(t)]) : x[w.first_keep() + k];
                w.keep[k] =
                    keep_price(s, t, share * (x[price(w.from)] * s.unit * static_cast<double>(p_->size(t)) * scale));
            }
            auto const value = w.cut.solve_whole(w.keep, w.again);
            if (value >= time_cut::unaffordable) {
                return impossible_now;
            }
            // Each price may have been rounded up by a unit, in sums of shares.
            sum += static_cast<long double>(value) - static_cast<long double>(w.again.size() + w.keep.size());
            note(w);
        }
        sum /= static_cast<long double>(scale);
        auto rounding = sum < 0 ? -sum : sum;
        for (std::size_t i = 0; i < instants_.size(); ++i) {
            auto& s = stretch_[i];
            auto const rent = static_cast<long double>(x[price(i)] * s.unit) * static_cast<long double>(s.room);
            sum -= rent;
            rounding += rent;
            for (auto t : s.open) {
                s.often[index(t)] += 0.1 * (static_cast<double>(s.kept_by_any[index(t)]) - s.often[index(t)]);
            }
        }
        return sum - 1e-12L * rounding;
    }

    [[nodiscard]] auto keep_price(stretch const& s, tensor_id t, double price) const -> flow
    {
        switch (s.decided[index(t)]) {
        case fate::kept: return 0;
        case fate::dropped: return time_cut::unaffordable;
        case fate::open: break;
        }
        return p_->size(t) > s.room ? time_cut::unaffordable : static_cast<flow>(price);
    }

    /// What the cut of `w` runs again and keeps: of windows of one stretch op by op, of all tensor by tensor.
    void note(window const& w)
    {
        auto& s = stretch_[w.from];
        for (std::size_t k = 0; w.leaf && k < w.again.size(); ++k) {
            auto const o = w.cut.ops()[k];
            s.again[index(o)] = w.cut.runs_again(o) ? 1 : 0;
        }
        for (auto t : w.cut.open()) {
            if (w.cut.kept(t)) {
                s.kept_by_any[index(t)] = 1;
                s.kept[index(t)] = w.leaf ? 1 : s.kept[index(t)];
            }
        }
    }

    /// Moves `x` along a subgradient that remembers the last ones, as far as promises `gain`.
    /// Returns: false when there is none.
    auto step(prices& x, prices& direction, double gain) -> bool
    {
        constexpr double memory = 0.5;
        double norm = 0;
        auto const turn = [&](std::size_t i, double slope) {
            auto& d = direction[i];
            d = slope + memory * d;
            d = x[i] <= 0 && d < 0 ? 0 : d;
            norm += d * d;
        };
        for (std::size_t i = 0; i < instants_.size(); ++i) {
            turn(price(i), (bytes_kept(i, x) - static_cast<double>(stretch_[i].room)) * stretch_[i].unit);
        }
        for (auto const& w : windows_) {
            for (std::size_t k = 0; !w.leaf && k < w.again.size(); ++k) {
                auto const o = w.cut.ops()[k];
                double times = w.cut.runs_again(o) ? 1 : 0;
                for (auto l = w.from; l < w.to; ++l) {
                    times -= static_cast<double>(stretch_[l].again[index(o)]);
                }
                turn(w.first + k, times * static_cast<double>(p_->cost(o)));
            }
            auto const& s = stretch_[w.from];
            auto const a_byte = x[price(w.from)] * s.unit;
            for (std::size_t k = 0; !w.leaf && k < w.keep.size(); ++k) {
                auto const t = w.cut.open()[k];
                auto const more = (w.cut.kept(t) ? 1.0 : 0.0) - static_cast<double>(s.kept[index(t)]);
                turn(w.first_keep() + k,
                     s.decided[index(t)] == fate::open ? more * a_byte * static_cast<double>(p_->size(t)) : 0);
            }
        }
        if (norm <= 0 || gain <= 0) {
            return false;
        }
        for (std::size_t i = 0; i < size_; ++i) {
            x[i] = std::max(0.0, x[i] + gain / norm * direction[i]);
            x[i] = i < price(0) ? std::min(1.0, x[i]) : x[i];
        }
        restrict_to_shares(x);
        return true;
    }

    /// Bytes that cuts keep across instant `i`, each window its share.
    [[nodiscard]] auto bytes_kept(std::size_t i, prices const& x) const -> double
    {
        double sum = 0;
        auto const& s = stretch_[i];
        for (auto const& w : windows_) {
            for (std::size_t k = 0; w.from == i && k < w.keep.size(); ++k) {
                auto const t = w.cut.open()[k];
                if (s.decided[index(t)] == fate::open && w.cut.kept(t)) {
                    sum += static_cast<double>(p_->size(t)) *
                           (w.leaf ? std::max(0.0, 1 - s.taken[index(t)]) : x[w.first_keep() + k]);
                }
            }
        }
        return sum;
    }

    problem const* p_;
    std::vector<op_id> instants_;
    std::vector<detail::lazy<window, Lazy>> windows_;
    std::vector<stretch> stretch_;
    std::size_t size_ = 0; // of `prices`
    std::int64_t work_ = 0;
    double all_cost_ = 0, all_bytes_ = 0;
};

using joint_cuts = basic_joint_cuts<>;

} // namespace strata
