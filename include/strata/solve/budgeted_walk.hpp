// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Run a step on paper within a budget: what is missing is made again when it is read, what is worth least goes.
///
///     first runs   0   1   2   3   4              the ops of the step, once each, in their order
///     stack                    └─ 1               op 3 reads what 1 made and what has gone since: 1 runs again first,
///                                 └─ 0            and before it 0; what ops on the stack read stays until they have run
///
/// What DTR does online (Kirisame et al., "Dynamic tensor rematerialization", 2021), with the whole step in view: the
/// next use of every tensor is known.
#pragma once

#include <strata/detail/lazy.hpp>
#include <strata/detail/math.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/live_tensors.hpp>
#include <strata/solve/order_editor.hpp>
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

/// How a `budgeted_walk` chooses what goes, and when it gives up.
struct walk_options {
    bytes_t capacity = max_bytes;       ///< bytes to stay within, without resident ones
    double patience = 0.5;              ///< exponent of the time until the next use
    std::span<double const> worth = {}; ///< by tensor, a factor of its score; empty: 1
    std::span<char const> held = {};    ///< by tensor: what stays, once made, up to the last first run
    std::span<char const> kept = {};    ///< by tensor: what a cut at `at` keeps; empty: no cut
    op_id at = none;                    ///< of the cut
    cost_t give_up_at = max_cost;       ///< stop once the order will cost this much
};

/// Walks through the first runs of a problem under a budget; see the picture above.
///
/// When an op does not fit, the tensor goes whose score is least:
///
///     (cost of making it again, with what is gone of what that needs) / (bytes × (ops until the next use)^patience)
///
/// A tensor that only makes others again is used next when the first of those is. What no op to come needs goes first;
/// what cannot be made again stays as long as anything that needs it is gone and to be used.
template <class Lazy = void>
class basic_budgeted_walk {
public:
    /// `p` outlives the walk. Complexity: O(ops + tensors).
    explicit basic_budgeted_walk(problem const& p)
        : p_(&p)
        , longest_(static_cast<std::size_t>(basic_order_editor<Lazy>::most_runs(p)))
        , tensors_(at(p.tensor_count()))
        , live_(p)
    {
    }

    /// One walk. Returns: nothing when an op does not fit with all that must stay, when the order would cost
    /// `give_up_at`, grow beyond `order_editor::most_runs`, or time is up.
    /// Complexity: O(tensors dropped × live tensors), and O(tensors gone) whenever one goes or is made again.
    [[nodiscard]] auto operator()(walk_options const& how, stop_watch const& stop = {}) -> std::optional<run_order>
    {
        begin(how);
        while (live_.now() < p_->op_count()) {
            if (!step(stop)) {
                return {};
            }
        }
        return finish(stop);
    }

    /// Starts anew. What `how` views outlives the walk.
    void begin(walk_options const& how);
    /// Runs the op whose turn it is, and what it needs. Returns: false if that fails; the walk is then over.
    [[nodiscard]] auto step(stop_watch const& stop) -> bool
    {
        if (live_.now() == how_.at) {
            drop_what_a_cut_drops();
        }
        if ((live_.now() % 64 == 0 && stop.expired()) || !run_with_inputs(live_.now(), stop)) {
            return false;
        }
        std::erase_if(fetched_, [&](auto const& x) {
            if (x.second <= live_.now()) {
                unpin(x.first);
                return true;
            }
            return false;
        });
        live_.advance();
        return true;
    }
    /// After the last step: makes the targets that are gone. Returns: nothing if that fails.
    [[nodiscard]] auto finish(stop_watch const& stop) -> std::optional<run_order>
    {
        for (auto t : p_->targets()) {
            if (!p_->resident(t)) {
                if (!live_.live(t) && !run_with_inputs(p_->producer(t), stop)) {
                    return {};
                }
                ++tensors_[at(t)].pins;
            }
        }
        return std::move(runs_);
    }

    /// Fails once it has run so many ops more; `allow_all` takes that back.
    void allow(std::size_t runs) { longest_ = std::min(longest_, runs_.size() + runs); }
    void allow_all() { longest_ = static_cast<std::size_t>(basic_order_editor<Lazy>::most_runs(*p_)); }
    /// The op whose turn it is.
    [[nodiscard]] auto now() const noexcept -> op_id { return live_.now(); }
    /// Makes `t` now, if it is gone, and holds it until op `until` has run. Returns: false if that fails.
    [[nodiscard]] auto fetch(tensor_id t, op_id until, stop_watch const& stop) -> bool
    {
        if (!live_.live(t) && !run_with_inputs(p_->producer(t), stop)) {
            return false;
        }
        ++tensors_[at(t)].pins;
        fetched_.emplace_back(t, until);
        return true;
    }
    /// What is gone and must be made again to run `o`.
    [[nodiscard]] auto missing(op_id o) -> std::vector<tensor_id> { return live_.missing(o); }

    [[nodiscard]] auto runs() const noexcept -> std::size_t { return runs_.size(); }
    [[nodiscard]] auto cost() const noexcept -> cost_t { return cost_; }
    [[nodiscard]] auto drops() const noexcept -> std::int64_t { return drops_; }

private:
    struct tensor_state {
        bool listed = false;   // in `list_`
        std::int32_t pins = 0; // by ops that wait for their inputs
        double density = 0;    // worth over bytes
    };
    static constexpr auto never = basic_live_tensors<Lazy>::never;

    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }

    [[nodiscard]] auto score(tensor_id t) -> double
    {
        auto const next = live_.next_use(t);
        if (next == never) {
            return -1;
        }
        if (!live_.again(t)) {
            return std::numeric_limits<double>::infinity();
        }
        auto s = live_.remake_cost(t) * tensors_[at(t)].density * nearness_[at(std::max<op_id>(0, next - live_.now()))];
        if (!how_.kept.empty()) {
            constexpr double dear = 30;
            constexpr double cheap = 1e-3;
            s *= how_.kept[at(t)] != 0 ? dear : live_.now() < how_.at && next >= how_.at ? cheap : 1;
        }
        return s;
    }

    /// Drops tensors until `bytes` more fit. Returns: false if they cannot.
    ///
    /// Only a short list of those worth least is looked at each time, with what came or was let go of since it was made:
    /// what is not on it was worth more than `listed_up_to_`.
    auto make_room(bytes_t bytes) -> bool
    {
        while (live_.bytes() + bytes > how_.capacity) {
            auto best = least_listed();
            if (best.second == none || best.first > listed_up_to_) {
                list_anew();
                best = least_listed();
            }
            if (best.second == none) {
                return false;
            }
            live_.drop(best.second);
            ++drops_;
        }
        return true;
    }

    [[nodiscard]] auto least_listed() -> std::pair<double, tensor_id>
    {
        std::pair<double, tensor_id> least{std::numeric_limits<double>::infinity(), none};
        std::size_t left = 0;
        for (auto t : list_) {
            auto& x = tensors_[at(t)];
            if (!live_.live(t) || x.pins > 0) { // comes again when it is made or let go
                x.listed = false;
                continue;
            }
            list_[left++] = t;
            if (auto const s = score(t); s < least.first || (s == least.first && t < least.second)) {
                least = {s, t};
            }
        }
        list_.resize(left);
        return least;
    }

    void list_anew()
    {
        constexpr std::size_t few = 16;
        scores_.clear();
        for (auto t : list_) {
            tensors_[at(t)].listed = false;
        }
        list_.clear();
        for (auto t : live_.all()) {
            if (tensors_[at(t)].pins == 0 && p_->size(t) > 0) {
                if (auto const s = score(t); s < std::numeric_limits<double>::infinity()) {
                    scores_.emplace_back(s, t);
                }
            }
        }
        listed_up_to_ = std::numeric_limits<double>::infinity();
        if (scores_.size() > few) {
            std::nth_element(scores_.begin(), scores_.begin() + few, scores_.end());
            listed_up_to_ = scores_[few].first;
            scores_.resize(few);
        }
        for (auto const& x : scores_) {
            list(x.second);
        }
    }

    void list(tensor_id t)
    {
        constexpr std::size_t most = 48;
        auto& x = tensors_[at(t)];
        if (!x.listed && p_->size(t) > 0 && list_.size() < most) {
            x.listed = true;
            list_.push_back(t);
        } else if (!x.listed && p_->size(t) > 0) {
            listed_up_to_ = -2; // too many to look at
        }
    }

    void unpin(tensor_id t)
    {
        if (--tensors_[at(t)].pins == 0 && live_.live(t)) {
            list(t);
        }
    }

    void drop_what_a_cut_drops()
    {
        std::vector<tensor_id> const before(live_.all().begin(), live_.all().end());
        for (auto t : before) {
            if (how_.kept[at(t)] == 0 && live_.again(t) && p_->size(t) > 0 &&
                live_.remake_cost(t) < std::numeric_limits<double>::infinity()) {
                live_.drop(t);
                ++drops_;
            }
        }
    }

    auto run(op_id o) -> bool
    {
        bytes_t fresh = p_->workspace(o);
        auto const outputs = p_->outputs(o);
        for (auto t : outputs) {
            fresh += live_.live(t) ? 0 : p_->size(t);
            ++tensors_[at(t)].pins;
        }
        bool const fits = make_room(fresh);
        for (auto t : outputs) {
            if (!live_.live(t)) {
                live_.add(t);
            }
            if (!how_.held.empty() && how_.held[at(t)] != 0 && o == live_.now()) {
                ++tensors_[at(t)].pins;
                fetched_.emplace_back(t, p_->op_count() - 1);
            }
            unpin(t);
        }
        runs_.push_back(o);
        cost_ += p_->cost(o);
        return fits;
    }

    /// Runs `first`, and before it what its missing inputs need. Depth first on an explicit stack.
    auto run_with_inputs(op_id first, stop_watch const& stop) -> bool
    {
        auto const wait_for_inputs = [&](op_id o) {
            stack_.emplace_back(o, 0);
            for (auto t : p_->inputs(o)) {
                ++tensors_[at(t)].pins;
            }
        };
        wait_for_inputs(first);
        while (!stack_.empty()) {
            if (runs_.size() > longest_ || cost_ + first_left_ >= how_.give_up_at ||
                (runs_.size() % 64 == 0 && stop.expired())) {
                return false;
            }
            auto& [o, next] = stack_.back();
            auto const inputs = p_->inputs(o);
            while (next < inputs.size() && live_.live(inputs[next])) {
                ++next;
            }
            if (next < inputs.size()) {
                auto const t = inputs[next];
                if (!live_.again(t)) {
                    return false;
                }
                wait_for_inputs(p_->producer(t));
                continue;
            }
            auto const done = o;
            if (done == live_.now()) {
                first_left_ -= p_->cost(done);
            }
            if (!run(done)) {
                return false;
            }
            stack_.pop_back();
            for (auto t : inputs) {
                unpin(t);
            }
        }
        return true;
    }

    problem const* p_;
    walk_options how_;
    std::size_t longest_; // order
    std::vector<tensor_state> tensors_;
    basic_live_tensors<Lazy> live_;
    std::vector<detail::lazy<std::pair<tensor_id, op_id>, Lazy>> fetched_; // what is held, and until which op
    std::vector<double> nearness_;                                         // by ops until the next use
    std::vector<tensor_id> list_;                                          // those worth least, and what came since
    std::vector<detail::lazy<std::pair<double, tensor_id>, Lazy>> scores_;
    double listed_up_to_ = -2;
    double nearness_of_ = 0;                           // the patience it is for
    std::vector<std::pair<op_id, std::size_t>> stack_; // an op and how many of its inputs are there
    run_order runs_;
    cost_t cost_ = 0, first_left_ = 0; // spent; of first runs to come
    std::int64_t drops_ = 0;
};

template <class Lazy>
void basic_budgeted_walk<Lazy>::begin(walk_options const& how)
{
    how_ = how;
    fetched_.clear();
    live_ = basic_live_tensors<Lazy>(*p_);
    cost_ = 0;
    drops_ = 0;
    runs_.clear();
    stack_.clear();
    list_.clear();
    listed_up_to_ = -2;
    first_left_ = p_->base_cost();
    for (tensor_id t = 0; t < p_->tensor_count(); ++t) {
        auto& x = tensors_[at(t)];
        x = {};
        x.density =
            (how.worth.empty() ? 1.0 : how.worth[at(t)]) / static_cast<double>(std::max<bytes_t>(1, p_->size(t)));
    }
    if (nearness_.empty() || nearness_of_ != how.patience) {
        nearness_of_ = how.patience;
        nearness_.resize(at(p_->op_count()) + 2);
        for (std::size_t d = 0; d < nearness_.size(); ++d) {
            nearness_[d] = 1 / detail::math::pow(static_cast<double>(d + 1), how.patience);
        }
    }
}

using budgeted_walk = basic_budgeted_walk<>;

} // namespace strata
