// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Seeds from cuts near what the best order so far keeps.
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/concepts.hpp>
#include <strata/solve/disturb.hpp>
#include <strata/solve/order_editor.hpp>
#include <strata/solve/recut.hpp>
#include <strata/solve/search.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

/// Proposes the orders of whole cuts under disturbed prices around the best order (see `recut`), and from each better one
/// goes on. Does nothing when there is no plan.
///
/// `polish` makes the same moves beside small ones; of seeds that are far from their bound these alone take out most of what
/// can be taken out, in a small part of the time.
struct near_cuts {
    std::int64_t runs = 100'000; ///< about so many ops are run on paper, over all orders; none where a round takes more
    double worth_it =
        0.003;        ///< share of the step's cost that a plan must be above its bound for this to be worth its time
    int patience = 4; ///< rounds of eight orders without a better one
    std::uint64_t salt = 0; ///< added to the seed, so that a second search does not make the same cuts

    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "near_cuts"; }
    template <class Lazy>
    void solve(basic_search<Lazy>& on) const
    {
        auto const& p = on.subject();
        basic_recut<Lazy> cut_near(p, on.points());
        if (cut_near.empty()) {
            return;
        }
        random_draws draw(on.seed() + salt);
        auto left = runs;
        auto const round = static_cast<std::int64_t>(at_once) * p.op_count();
        for (int idle = 0; idle < patience && left >= round && wanted(on);) {
            auto const before = on.best()->cost;
            basic_order_editor<Lazy> const best(p, on.best()->order);
            std::vector<proposal> seeds;
            for (std::size_t i = 0; i < at_once; ++i) {
                auto const spread = 0.5 * static_cast<double>(draw.below(3));
                if (auto order = cut_near(best, draw)) {
                    left -= static_cast<std::int64_t>(order->size());
                    seeds.push_back({.make = [made = *std::move(order)] { return made; },
                                     .spread = spread,
                                     .name = std::string(name())});
                }
            }
            on.propose(seeds);
            idle = on.best()->cost < before ? 0 : idle + 1;
        }
    }

private:
    static constexpr std::size_t at_once = 8; // orders of a round

    template <class Lazy>
    [[nodiscard]] auto wanted(basic_search<Lazy> const& on) const -> bool
    {
        return on.best() && !on.done() && on.above_bound() > worth_it;
    }
};

} // namespace strata
