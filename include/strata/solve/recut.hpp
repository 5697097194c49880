// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A large move of a search: another cut near the one that an order keeps, and the order that follows from it.
#pragma once

#include <strata/bound/time_cut.hpp>
#include <strata/detail/lazy.hpp>
#include <strata/detail/math.hpp>
#include <strata/problem/problem.hpp>
#include <strata/solve/disturb.hpp>
#include <strata/solve/just_in_time.hpp>
#include <strata/solve/order_editor.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace strata {

/// Cuts at telling time points, under prices disturbed at random around those that an order seems to pay.
///
/// Small moves change what is kept tensor by tensor; from one good set of kept tensors to the next may be a change of a
/// dozen of them in all layers together, each of which alone is worse. A minimum cut makes such a change, since what is
/// dropped together shares what it is made from. Source: planning study of this project, large-neighbourhood search (d).
template <class Lazy = void>
class basic_recut {
    using order_editor = basic_order_editor<Lazy>;

public:
    /// Uses the first few of `points`, the most telling one first. `p` outlives it.
    basic_recut(problem const& p, std::span<op_id const> points)
        : p_(&p)
        , points_(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(std::min(most_points, points.size())))
        , cuts_(points_.size())
        , keep_(static_cast<std::size_t>(p.tensor_count()), 0)
        , again_(static_cast<std::size_t>(p.op_count()), 0)
    {
        for (op_id o = 0; o < p.op_count(); ++o) {
            again_[static_cast<std::size_t>(o)] = static_cast<double>(p.cost(o));
        }
    }

    /// True when there is no time point to cut at.
    [[nodiscard]] auto empty() const noexcept -> bool { return points_.empty(); }

    /// The just-in-time order of a cut near what `e` keeps at one of the points. It need not fit.
    /// Returns: nothing when no cut can be made there. Complexity: one max-flow and a pass over the order.
    [[nodiscard]] auto operator()(order_editor const& e, random_draws& draw) -> std::optional<run_order>
    {
        auto const i = draw.below(points_.size());
        auto& cut = cuts_[i];
        if (!cut) {
            cut.emplace(*p_, points_[i]);
        }
        auto const slot = e.slot_of(e.first_run(points_[i]));
        auto const kept = [&](tensor_id t) {
            auto const l = e.life_before(t, slot);
            return l != none && e.slot_of(e.end_of(l)) >= slot;
        };
        // What it pays for a byte dropped; where nothing is, all that could be paid for all bytes.
        bytes_t dropped = 0;
        bytes_t all = 1;
        for (auto t : cut->needed()) {
            dropped += kept(t) ? 0 : p_->size(t);
            all += p_->size(t);
        }
        auto const paid = dropped > 0 ? static_cast<double>(e.cost() - p_->base_cost()) / static_cast<double>(dropped)
                                      : static_cast<double>(p_->base_cost()) / static_cast<double>(all);
        auto const price = paid * detail::math::exp(0.7 * draw.normal());
        auto const spread = 0.5 * draw.share();
        for (auto t : cut->open()) {
            keep_[static_cast<std::size_t>(t)] = price * static_cast<double>(p_->size(t)) * (kept(t) ? 0.6 : 1.0) *
                                                 detail::math::exp(spread * draw.normal());
        }
        if (!cut->solve_priced(keep_, again_)) {
            return {};
        }
        return just_in_time(*p_, points_[i], [&](tensor_id t) { return cut->kept(t); });
    }

private:
    static constexpr std::size_t most_points = 3;

    problem const* p_;
    std::vector<op_id> points_;
    std::vector<std::optional<detail::lazy<time_cut, Lazy>>> cuts_; // by point, made when first used
    std::vector<double> keep_;                                      // by tensor
    std::vector<double> again_;                                     // by op
};

using recut = basic_recut<>;

} // namespace strata
