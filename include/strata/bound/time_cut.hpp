// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What any schedule must pay at one instant: keep a tensor or run its producer again, as a minimum cut.
///
/// Stand at the start of the first run of op `at`. Every op before it has run, every op from it on is still to come.
/// A tensor made before and needed from now on is either live (kept) or made again later, and then the inputs of its
/// producer are kept or made again, and so on. Under a price `lambda` per byte kept, the cheapest such choice is a
/// minimum s-t cut:
///
///     source ──size·λ──► producer(v) ──cost──► sink        v needed: keep it, or its producer runs again
///     op ──∞──► u ──size·λ──► producer(u)                  u read by an op that runs again, itself not needed
///
/// By Lagrangian duality cut(λ) − λ·(budget − fixed) is at most the recomputation cost of every plan that fits.
/// An op that may not be replayed is the sink itself: its price is infinite.
#pragma once

#include <strata/bound/max_flow.hpp>
#include <strata/detail/lazy.hpp>
#include <strata/problem/problem.hpp>
#include <strata/solve/limits.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace strata {

/// Which orders of first runs a bound holds for.
enum class first_run_orders : std::uint8_t {
    given, ///< 0, 1, 2, …, the order in which a problem numbers its ops
    any,   ///< every order that `first_run_predecessors` allows
};

/// What is known of the first run of an op at the instant of another.
enum class first_run : std::uint8_t {
    past,
    to_come,
    either, ///< some orders have it before the instant, others after
};

/// The choice of a cut: bytes kept across the instant beyond `time_cut::fixed`, and cost of what runs again.
struct cut_point {
    bytes_t kept = 0;
    cost_t recomputed = 0;
    friend auto operator==(cut_point const&, cut_point const&) -> bool = default;
};

/// The minimum cuts of a problem at the first run of one op, for any price of a byte. Source: planning study of this
/// project, docs/design/0002-bounds.md; the closure is the one of Checkmate's constraints at one stage.
template <class Lazy = void>
class basic_time_cut {
    using cut_point = detail::lazy<strata::cut_point, Lazy>;
    using max_flow = basic_max_flow<Lazy>;
    using node = typename max_flow::node;
    using arc = typename max_flow::arc;
    using flow = typename max_flow::flow;

public:
    /// With `until`, an op after `at`, only a window of the step counts: what is read by first runs up to that of `until`,
    /// and what runs again before it.
    /// Requires: `at` is an op of `p`; `p` outlives the cut.
    /// Complexity: O(ops + tensors + reads and writes before `at`).
    basic_time_cut(problem const& p, op_id at, op_id until = none)
        : basic_time_cut(p, at, until, {})
    {
    }

    /// A cut that holds in more orders of first runs: those that agree with `runs`, which tells of each op whether its first
    /// run is past (not so `at`), and of all that must precede an op in the past that they are in the past too.
    basic_time_cut(problem const& p, op_id at, std::vector<first_run> runs)
        : basic_time_cut(p, at, none, std::move(runs))
    {
    }

    [[nodiscard]] auto at() const noexcept -> op_id { return at_; }

    /// Bytes that are live at the instant in every schedule: resident, inputs, outputs and workspace of `at`, gradients
    /// under way, and tensors that nothing can make again.
    [[nodiscard]] auto fixed() const noexcept -> bytes_t { return fixed_; }

    /// Tensors whose fate the cut decides: made before, needed from now on (and within the window).
    [[nodiscard]] auto needed() const noexcept -> std::span<tensor_id const> { return needed_; }

    /// Those, and the tensors from which they may be made again: all that a cut keeps or drops.
    [[nodiscard]] auto open() const noexcept -> std::span<tensor_id const> { return open_; }

    /// The ops that may run again for them.
    [[nodiscard]] auto ops() const noexcept -> std::span<op_id const> { return ops_; }

    /// Solves for prices that are whole numbers already: `keep` of each of `open()`, `again` of each of `ops()`, at most
    /// `unaffordable`. `kept` and `runs_again` then answer for this cut. Returns: its price; at least `unaffordable` when
    /// nothing else will do.
    auto solve_whole(std::span<flow const> keep, std::span<flow const> again) -> flow
    {
        for (std::size_t i = 0; i < keep_.size(); ++i) {
            flow_.set_capacity(keep_[i], keep[i]);
        }
        for (std::size_t i = 0; i < run_.size(); ++i) {
            flow_.set_capacity(run_[i], again[i]);
        }
        for (auto a : closure_) {
            flow_.set_capacity(a, max_flow::infinite);
        }
        return flow_.solve(source, sink);
    }
    static constexpr flow unaffordable = max_flow::infinite;

    /// Solves for price `lambda` (cost per byte) scaled per tensor by `factor` (empty: 1 for all). Tensors of more than
    /// `room` bytes cannot be kept. `kept` then answers for this cut.
    /// Returns: the point, or nothing when a tensor larger than `room` can be neither kept nor made again.
    auto solve(double lambda, std::span<double const> factor = {}, bytes_t room = max_bytes) -> std::optional<cut_point>
    {
        // Costs have 50 bits. A price so steep that all bytes together would near `infinite` has both made smaller: that
        // takes precision from the bound, whereas a sum taken for infinite would make it false.
        auto const dearest = factor.empty() ? 1.0 : std::max(1.0, *std::max_element(factor.begin(), factor.end()));
        scale_ = std::min(cost_scale_, 0x1p58 / std::max(1.0, lambda * dearest * bytes_sum_));
        set_prices(scale_ * a_little_less, lambda * scale_ * a_little_less, factor, room);
        return solved();
    }

    /// Solves for any prices in the problem's unit of cost, not negative: `keep` of each tensor, `again` of each op. No
    /// bound follows from them; `kept` then answers for this cut.
    auto solve_priced(std::span<double const> keep, std::span<double const> again) -> std::optional<cut_point>
    {
        double sum = 1;
        for (auto t : open_) {
            sum += keep[index(t)];
        }
        for (auto o : ops_) {
            sum += again[index(o)];
        }
        scale_ = 0x1p56 / sum;
        for (std::size_t i = 0; i < open_.size(); ++i) {
            flow_.set_capacity(keep_[i], static_cast<flow>(keep[index(open_[i])] * scale_));
        }
        for (std::size_t i = 0; i < ops_.size(); ++i) {
            flow_.set_capacity(run_[i], static_cast<flow>(again[index(ops_[i])] * scale_));
        }
        for (auto a : closure_) {
            flow_.set_capacity(a, max_flow::infinite);
        }
        return solved();
    }

    /// The cut that keeps the fewest bytes, at any cost. Of more than 2^53 bytes the point may count too few.
    auto solve_fewest_bytes(bytes_t room = max_bytes) -> std::optional<cut_point>
    {
        constexpr double exact = 0x1p53; // up to here a double counts every byte
        auto const scale = bytes_sum_ < exact ? 1.0 : exact / bytes_sum_ * a_little_less;
        set_prices(0, scale, {}, room);
        auto c = solved();
        if (c && scale != 1.0) { // no more than what is proven
            c->kept = std::min(c->kept, static_cast<bytes_t>(static_cast<double>(flow_value_) / scale * a_little_less));
        }
        return c;
    }

    /// After a solve: true when the cut keeps `t` across the instant.
    [[nodiscard]] auto kept(tensor_id t) const -> bool
    {
        switch (role_[index(t)]) {
        case role::absent: return false;
        case role::fixed: return true;
        case role::needed: return !again(p_->producer(t));
        case role::passed: return flow_.source_side(tensor_node_[index(t)]) && !again(p_->producer(t));
        }
        return false;
    }

    /// After a solve: true when the cut runs `o` again.
    [[nodiscard]] auto runs_again(op_id o) const -> bool { return again(o); }

    /// A proven lower bound of the recomputation cost under `budget`, by Newton's method on the dual (few solves). Once it
    /// is clear that it ends at `enough` or below, or when `stop` expires, what is proven by then will do.
    /// Returns: nothing when the instant alone proves the budget infeasible.
    [[nodiscard]] auto lower_bound(bytes_t budget, cost_t enough = 0, stop_watch const& stop = {})
        -> std::optional<cost_t>
    {
        if (budget < fixed_) {
            return {};
        }
        auto const room = budget - fixed_;
        auto cheap = cut_point{needed_bytes_, 0};
        if (needed_bytes_ <= room) {
            return 0; // every tensor fits, so none is larger than the room either
        }
        long double best = 0;
        if (largest_needed_ > room) {
            auto const c = solve(0, {}, room);
            if (!c) {
                return {};
            }
            cheap = *c;
            best = dual(0, room);
        }
        auto const small = solve_fewest_bytes(room);
        if (!small || small->kept > room) {
            return {};
        }
        if (cheap.kept <= room) {
            return round_up(best);
        }
        auto tight = *small;
        for (int i = 0; i < max_solves && cheap.kept > tight.kept && !stop.expired(); ++i) {
            auto const lambda =
                static_cast<double>(tight.recomputed - cheap.recomputed) / static_cast<double>(cheap.kept - tight.kept);
            if (lambda < 0) {
                break; // costs too large for 50 bits have hidden a difference; a negative price would prove nothing
            }
            auto const c = solve(lambda, {}, room);
            if (!c) {
                return {};
            }
            auto const value = dual(lambda, room);
            bool const better = value > best + 1e-9L * static_cast<long double>(p_->base_cost());
            best = std::max(best, value);
            auto const on_line =
                static_cast<long double>(c->recomputed) + static_cast<long double>(lambda) * c->kept >=
                static_cast<long double>(cheap.recomputed) + static_cast<long double>(lambda) * cheap.kept - 1e-6L;
            if (on_line || (!better && i > 3)) {
                break;
            }
            (c->kept > room ? cheap : tight) = *c;
            if (tight.recomputed <= enough) {
                break; // a cut that fits costs no less than the bound
            }
        }
        return round_up(best);
    }

    /// The lower convex hull of all cuts, from fewest to most bytes: the bound for every budget at once by
    /// interpolation at `budget - fixed()`, up to the rounding of prices. With `max_points` points the hull may be
    /// incomplete, and a line between two of them lies above the bound. Source: Eisner and Severance, "Mathematical
    /// techniques for efficient record segmentation in large shared databases", 1976. Complexity: at most two solves
    /// per point.
    [[nodiscard]] auto curve(int max_points = 64) -> std::vector<cut_point>
    {
        auto const small = solve_fewest_bytes();
        auto const large = cut_point{needed_bytes_, 0};
        std::vector<cut_point> hull;
        if (!small || small->kept >= large.kept) {
            return {large};
        }
        hull = {*small, large};
        std::vector<std::pair<cut_point, cut_point>> open = {{*small, large}};
        // Breadth first, so that a small allowance still covers the whole range.
        for (std::size_t i = 0; i < open.size() && static_cast<int>(hull.size()) < max_points; ++i) {
            auto const [a, b] = open[i];
            auto const lambda = static_cast<double>(a.recomputed - b.recomputed) / static_cast<double>(b.kept - a.kept);
            auto const c = solve(lambda);
            if (!c || c->kept <= a.kept || c->kept >= b.kept) {
                continue;
            }
            auto const line = static_cast<double>(a.recomputed) + lambda * static_cast<double>(a.kept);
            if (static_cast<double>(c->recomputed) + lambda * static_cast<double>(c->kept) >= line * (1 - 1e-12)) {
                continue;
            }
            hull.push_back(*c);
            open.emplace_back(a, *c);
            open.emplace_back(*c, b);
        }
        std::sort(hull.begin(), hull.end(), [](auto const& x, auto const& y) { return x.kept < y.kept; });
        return hull;
    }

private:
    basic_time_cut(problem const& p, op_id at, op_id until, std::vector<first_run> runs)
        : p_(&p)
        , at_(at)
        , until_(until)
        , runs_(std::move(runs))
        , role_(index(p.tensor_count()), role::absent)
    {
        account_for_instant();
        build_network();
    }

    enum class role : unsigned char { absent, fixed, needed, passed };
    static constexpr node source = 0;
    static constexpr node sink = 1;
    static constexpr int max_solves = 24;
    static constexpr double a_little_less = 1 - 0x1p-50; // so that a product of doubles rounds below the true one

    static auto index(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }

    [[nodiscard]] auto needed_later(tensor_id t) const -> bool
    {
        auto const readers = p_->consumers(t);
        if (runs_.empty()) {
            return p_->is_target(t) || (!readers.empty() && readers.back() >= at_);
        }
        return p_->is_target(t) || std::any_of(readers.begin(), readers.end(), [&](op_id o) { return to_come(o); });
    }

    [[nodiscard]] auto past(op_id o) const -> bool
    {
        return runs_.empty() ? o < at_ : runs_[index(o)] == first_run::past;
    }
    [[nodiscard]] auto to_come(op_id o) const -> bool
    {
        return runs_.empty() ? o >= at_ : runs_[index(o)] == first_run::to_come;
    }

    [[nodiscard]] auto needed_in_window(tensor_id t) const -> bool
    {
        if (until_ == none) {
            return needed_later(t);
        }
        auto const readers = p_->consumers(t);
        auto const next = std::lower_bound(readers.begin(), readers.end(), at_);
        return next != readers.end() && *next <= until_;
    }

    void account_for_instant()
    {
        auto const& p = *p_;
        fixed_ = p.resident_bytes() + p.workspace(at_);
        auto const take = [&](tensor_id t) {
            if (role_[index(t)] != role::fixed) {
                role_[index(t)] = role::fixed;
                fixed_ += p.size(t);
            }
        };
        std::for_each(p.inputs(at_).begin(), p.inputs(at_).end(), take);
        std::for_each(p.outputs(at_).begin(), p.outputs(at_).end(), take);
        for (tensor_id t = 0; t < p.tensor_count(); ++t) {
            auto const makers = p.producers(t);
            if (makers.empty() || !past(makers.front()) || role_[index(t)] == role::fixed) {
                continue;
            }
            if (makers.size() > 1) {
                if (to_come(makers.back()) || needed_later(t)) {
                    take(t); // begun and still wanted: it cannot be begun a second time
                }
            } else if (needed_later(t)) {
                if (!p.replayable(makers.front())) {
                    take(t);
                } else if (needed_in_window(t)) {
                    role_[index(t)] = role::needed;
                    needed_.push_back(t);
                    needed_bytes_ += p.size(t);
                    largest_needed_ = std::max(largest_needed_, p.size(t));
                }
            }
        }
    }

    void build_network()
    {
        auto const& p = *p_;
        op_node_.assign(index(at_), none);
        tensor_node_.assign(role_.size(), none);
        node nodes = 2;
        open_ = needed_;
        auto const reach = [&](op_id o) {
            if (op_node_[index(o)] == none) {
                op_node_[index(o)] = p.replayable(o) ? nodes++ : sink;
                if (p.replayable(o)) {
                    ops_.push_back(o);
                    cost_sum_ += static_cast<double>(p.cost(o));
                }
            }
        };
        for (auto t : needed_) {
            reach(p.producer(t));
        }
        for (std::size_t i = 0; i < ops_.size(); ++i) {
            for (auto u : p.inputs(ops_[i])) {
                if (role_[index(u)] != role::absent) {
                    continue;
                }
                role_[index(u)] = role::passed;
                tensor_node_[index(u)] = nodes++;
                open_.push_back(u);
                // Many producers means accumulated: no longer wanted, so it may be gone for good, and only keeping helps.
                if (p.accumulated(u)) {
                    continue;
                }
                reach(p.producer(u));
            }
        }
        flow_ = max_flow(nodes);
        for (auto t : open_) {
            auto const from = role_[index(t)] == role::needed ? source : tensor_node_[index(t)];
            auto const to = p.accumulated(t) ? sink : op_node_[index(p.producer(t))];
            keep_.push_back(flow_.add(from, to));
            bytes_sum_ += static_cast<double>(p.size(t));
        }
        for (auto o : ops_) {
            run_.push_back(flow_.add(op_node_[index(o)], sink));
            for (auto u : p.inputs(o)) {
                if (role_[index(u)] == role::passed) {
                    closure_.push_back(flow_.add(op_node_[index(o)], tensor_node_[index(u)]));
                }
            }
        }
        flow_.freeze();
        // Capacities use 50 bits: fine enough for any cost, coarse enough that no sum overflows.
        cost_scale_ = 0x1p50 / std::max(cost_sum_, 1.0);
    }

    void set_prices(double per_cost, double per_byte, std::span<double const> factor, bytes_t room)
    {
        constexpr double cap = 0x1p58;
        for (std::size_t i = 0; i < open_.size(); ++i) {
            auto const t = open_[i];
            // Rounded down: a smaller capacity can only lower the bound.
            auto const price = per_byte * static_cast<double>(p_->size(t)) * (factor.empty() ? 1.0 : factor[index(t)]);
            flow_.set_capacity(keep_[i],
                               p_->size(t) > room ? max_flow::infinite : static_cast<flow>(std::min(price, cap)));
        }
        for (std::size_t i = 0; i < ops_.size(); ++i) {
            flow_.set_capacity(run_[i], static_cast<flow>(per_cost * static_cast<double>(p_->cost(ops_[i]))));
        }
        for (auto a : closure_) {
            flow_.set_capacity(a, max_flow::infinite);
        }
    }

    auto solved() -> std::optional<cut_point>
    {
        flow_value_ = flow_.solve(source, sink);
        if (flow_value_ >= max_flow::infinite) {
            return {};
        }
        cut_point c;
        for (auto t : open_) {
            if (kept(t)) {
                c.kept += p_->size(t);
            }
        }
        for (auto o : ops_) {
            c.recomputed += again(o) ? p_->cost(o) : 0;
        }
        return c;
    }

    [[nodiscard]] auto again(op_id o) const -> bool
    {
        auto const n = op_node_[index(o)];
        return n != none && n != sink && flow_.source_side(n);
    }

    [[nodiscard]] auto dual(double lambda, bytes_t room) const -> long double
    {
        return static_cast<long double>(flow_value_) / static_cast<long double>(scale_) -
               static_cast<long double>(lambda) * static_cast<long double>(room);
    }

    /// Costs are whole numbers, so a bound may be rounded up; what rounding errors may have added is taken off first.
    [[nodiscard]] auto round_up(long double bound) const -> cost_t
    {
        auto const noise = 8 * std::numeric_limits<long double>::epsilon() * static_cast<long double>(cost_sum_);
        auto const safe = bound - 1e-12L * (bound < 0 ? -bound : bound) - 1e-6L - noise;
        if (safe <= 0) {
            return 0;
        }
        auto const below = static_cast<cost_t>(safe);
        return static_cast<long double>(below) < safe ? below + 1 : below;
    }

    problem const* p_;
    op_id at_;
    op_id until_;                 // none: to the end
    std::vector<first_run> runs_; // empty: the order given
    std::vector<role> role_;
    bytes_t fixed_ = 0;
    bytes_t needed_bytes_ = 0;
    bytes_t largest_needed_ = 0;
    std::vector<tensor_id> needed_, open_;
    std::vector<node> op_node_, tensor_node_;
    std::vector<op_id> ops_;
    std::vector<arc> keep_, run_; // of each open tensor, of each op
    std::vector<arc> closure_;
    max_flow flow_{2};
    flow flow_value_ = 0;
    double cost_sum_ = 0, bytes_sum_ = 0;
    double cost_scale_ = 1, scale_ = 1; // of costs in capacities: the finest, and that of the last solve
};

using time_cut = basic_time_cut<>;

} // namespace strata
