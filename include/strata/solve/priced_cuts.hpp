// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Seeds from cuts that know when memory is short: a byte has a price at each time, and prices follow the need.
#pragma once

#include <strata/bound/time_cut.hpp>
#include <strata/detail/lazy.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/solve/concepts.hpp>
#include <strata/solve/just_in_time.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

/// The just-in-time orders of cuts under prices that change from one to the next.
///
/// The rest of the step is divided into cells of time, each with a price of a byte. Keeping a tensor costs its bytes at the
/// price of every cell up to its last use; running an op again costs its time and, weighed by `weight`, its outputs' bytes
/// from where it ran again last time. Where an order exceeds the budget prices rise, elsewhere they fall: a multiplicative
/// update of the multipliers of the memory rows. Source: planning study of this project.
template <class Lazy = void>
class basic_priced_cuts_at {
public:
    /// `p` outlives it.
    basic_priced_cuts_at(problem const& p, op_id at, bytes_t budget, double weight)
        : p_(&p)
        , cut_(p, at)
        , budget_(budget)
        , weight_(weight)
        , last_(index(p.tensor_count()), 0)
        , stage_(index(p.op_count()), 0)
        , price_(cells, 0)
    {
        for (tensor_id t = 0; t < p.tensor_count(); ++t) {
            auto const readers = p.consumers(t);
            auto const last = p.is_target(t) ? p.op_count() - 1 : readers.empty() ? at : std::max(at, readers.back());
            last_[index(t)] = cell(last);
        }
        for (op_id o = 0; o < at; ++o) {
            auto first = p.op_count() - 1;
            for (auto t : p.outputs(o)) {
                auto const readers = p.consumers(t);
                auto const next = std::lower_bound(readers.begin(), readers.end(), at);
                first = next != readers.end() ? std::min(first, *next) : first;
            }
            stage_[index(o)] = cell(first);
        }
    }

    /// The next order. Returns: nothing when no cut at this time fits at all.
    /// Complexity: one max-flow and a pass over the order; about a dozen max-flows the first time.
    [[nodiscard]] auto next() -> std::optional<run_order>
    {
        if (step_ == 0 && !find_first_price()) {
            return {};
        }
        auto const up_to = sums();
        std::vector<double> keep(index(p_->tensor_count()), 0);
        std::vector<double> again(index(p_->op_count()), 0);
        for (auto t : cut_.open()) {
            keep[index(t)] = static_cast<double>(p_->size(t)) * up_to[last_[index(t)]];
        }
        for (op_id o = 0; o < cut_.at(); ++o) {
            auto const from = stage_[index(o)];
            auto bytes = 0.0;
            for (auto t : p_->outputs(o)) {
                auto const before = from == 0 ? 0.0 : up_to[from - 1];
                bytes += static_cast<double>(p_->size(t)) * std::max(0.0, up_to[last_[index(t)]] - before);
            }
            again[index(o)] = static_cast<double>(p_->cost(o)) + weight_ * bytes;
        }
        if (!cut_.solve_priced(keep, again)) {
            return {};
        }
        auto order = just_in_time(*p_, cut_.at(), [&](tensor_id t) { return cut_.kept(t); });
        learn(order);
        ++step_;
        return order;
    }

private:
    static constexpr std::size_t cells = 256;

    static auto index(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }
    [[nodiscard]] auto cell(op_id o) const -> std::size_t
    {
        auto const span = index(p_->op_count() - cut_.at());
        return index(o - cut_.at()) * cells / std::max<std::size_t>(1, span);
    }
    /// Of each cell, the prices up to it.
    [[nodiscard]] auto sums() const -> std::vector<double>
    {
        auto r = price_;
        for (std::size_t c = 1; c < cells; ++c) {
            r[c] += r[c - 1];
        }
        return r;
    }

    /// All of the price at the instant of the cut: about the lowest at which what is kept fits there.
    auto find_first_price() -> bool
    {
        auto const room = budget_ - cut_.fixed();
        double bytes = 1;
        for (auto t : cut_.open()) {
            bytes += static_cast<double>(p_->size(t));
        }
        auto price = 1e4 * static_cast<double>(p_->base_cost() + 1) / bytes;
        auto const fits = [&](double x) {
            auto const c = cut_.solve(x);
            return c && c->kept <= room;
        };
        if (room < 0 || !fits(price)) {
            return false;
        }
        for (double factor : {0x1p16, 0x1p8, 0x1p4, 4.0, 2.0, 1.4, 1.2, 1.1, 1.05}) {
            price /= fits(price / factor) ? factor : 1;
        }
        price_[0] = first_price_ = price;
        return true;
    }

    /// Moves prices by how full cells were, and remembers where ops ran again.
    void learn(run_order const& order)
    {
        auto const live = live_bytes(*p_, order);
        std::vector<bytes_t> most(cells, 0);
        std::size_t now = 0;
        op_id first = 0; // next op to run for the first time
        std::vector<char> met(index(p_->op_count()), 0);
        for (std::size_t k = 0; k < order.size(); ++k) {
            auto const o = order[k];
            first = o == first ? first + 1 : first;
            if (first <= cut_.at()) {
                continue;
            }
            now = std::min(cells - 1, cell(first - 1));
            most[now] = std::max(most[now], live[k]);
            if (o < cut_.at() && met[index(o)] == 0) {
                met[index(o)] = 1;
                stage_[index(o)] = now;
            }
        }
        auto const rate = 0.3 / (1 + 0.05 * static_cast<double>(step_));
        for (std::size_t c = 0; c < cells; ++c) {
            if (most[c] == 0) {
                continue; // more cells than ops
            }
            auto const excess =
                static_cast<double>(most[c] - budget_) / static_cast<double>(std::max<bytes_t>(1, budget_));
            if (excess > 0) {
                price_[c] = price_[c] * (1 + rate * std::min(1.0, 4 * excess)) +
                            first_price_ * 0.02 * std::min(1.0, 4 * excess);
            } else {
                price_[c] *= 1 - rate * std::min(1.0, -4 * excess);
            }
        }
    }

    problem const* p_;
    basic_time_cut<Lazy> cut_;
    bytes_t budget_;
    double weight_;
    std::vector<std::size_t> last_;  // cell of the last use, by tensor
    std::vector<std::size_t> stage_; // cell in which an op ran again, by op
    std::vector<double> price_;
    double first_price_ = 0;
    int step_ = 0;
};

using priced_cuts_at = basic_priced_cuts_at<>;

/// Proposes the orders of priced cuts at the search's most telling time points, with two weights of the bytes of replays.
struct priced_cuts {
    int points = 6;  ///< time points used
    int rounds = 80; ///< most orders per point and weight
    /// Orders take longer the longer they are, and longer to mend: beyond so many squared ops in all orders together there
    /// are fewer orders, but at least four per point and weight.
    double effort = 3e9;
    int patience = 16; ///< orders that may pass without a better plan

    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "priced_cuts"; }
    template <class Lazy>
    void solve(basic_search<Lazy>& on) const
    {
        auto const at = on.points().first(std::min(on.points().size(), static_cast<std::size_t>(points)));
        auto const ops = static_cast<double>(std::max<op_id>(1, on.subject().op_count()));
        auto const orders = static_cast<int>(std::clamp<double>(effort / (2 * ops * ops * points), 4, rounds));
        int vain = 0; // points at which no order could be mended
        for (auto o : at) {
            for (double weight : {1.0, 0.3}) {
                basic_priced_cuts_at<Lazy> cuts(on.subject(), o, on.budget(), weight);
                auto before = max_cost;
                bool more = true;
                for (int i = 0; i < orders && more;) {
                    std::vector<detail::lazy<proposal, Lazy>> seeds;
                    for (auto const end = std::min(orders, i + patience); i < end && more; ++i) {
                        auto order = on.stop().expired() ? std::nullopt : cuts.next();
                        more = order.has_value();
                        if (order) {
                            seeds.push_back({.make = [order = *std::move(order)] { return order; },
                                             .spread = 0.5 * (i % 3),
                                             .name = "priced_cuts@" + std::to_string(o)});
                        }
                    }
                    on.propose(seeds);
                    more = more && !on.done() && on.best() && on.best()->cost < before;
                    before = on.best() ? on.best()->cost : before;
                }
            }
            vain += on.best() ? 0 : 1;
            if (on.done() || vain == 2) {
                return;
            }
        }
    }
};

} // namespace strata
