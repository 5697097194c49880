// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The simplest merger: one option for every part, each half run once.
#pragma once

#include <strata/merge/block_graph.hpp>
#include <strata/merge/promise.hpp>
#include <strata/problem/problem.hpp>
#include <strata/solve/limits.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

/// Chooses one option per part: under a price of a byte, that of least cost plus price times bytes held between the halves,
/// with the price found by bisection. Twins would all change at one price, so a byte is a little dearer in parts that run
/// earlier, which hold it longer.
/// Complexity: O(log · (options + `promise_of`)) per tilt.
struct one_option_each {
    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "one_option_each"; }

    /// Returns: the cheapest plan found that fits; else the one that needs the fewest bytes.
    template <class = void>
    [[nodiscard]] auto merge(block_graph const& g, bytes_t budget, stop_watch const& stop) const
        -> std::optional<block_plan>
    {
        constexpr int steps = 40;
        struct found {
            block_plan plan;
            block_promise promise;
        };
        std::optional<found> best;
        auto const consider = [&](double price, double tilt) {
            auto plan = once_each(g, std::span<int const>(choice(g, price, tilt)));
            auto promise = promise_of(g, plan);
            bool const fits = promise.peak <= budget;
            auto const better = [&] {
                bool const best_fits = best->promise.peak <= budget;
                return fits != best_fits ? fits
                       : fits            ? promise.cost < best->promise.cost
                                         : promise.peak < best->promise.peak;
            };
            if (!best || better()) {
                best = found{std::move(plan), std::move(promise)};
            }
            return fits;
        };
        if (consider(0, 0)) {
            return std::move(best->plan);
        }
        for (double tilt : {0.1, 0.5, 2.0}) {
            if (stop.expired()) {
                break;
            }
            auto low = 0.0; // does not fit
            auto high = static_cast<double>(g.subject().base_cost() + 1);
            (void)consider(high, tilt);
            for (int i = 0; i < steps && !stop.expired(); ++i) {
                auto const price = i < steps / 2 ? high / 8 : (low + high) / 2;
                (consider(price, tilt) ? high : low) = price;
                if (i < steps / 2 && low > 0) {
                    i = steps / 2;
                }
            }
        }
        return std::move(best->plan);
    }

private:
    template <class = void>
    [[nodiscard]] static auto choice(block_graph const& g, double price, double tilt) -> std::vector<int>
    {
        auto const turn = turn_of(g.subject());
        std::vector<int> r(g.size(), 0);
        for (std::size_t i = 0; i < g.size(); ++i) {
            auto const earlier = 1 - static_cast<double>(i) / static_cast<double>(g.size());
            auto const here = price * (1 + tilt * earlier);
            auto least = 0.0;
            for (std::size_t k = 0; k < g.options(i).size(); ++k) {
                auto const& o = g.options(i)[k];
                auto const all =
                    static_cast<double>(o.cost()) + here * static_cast<double>(held_bytes(g.subject(), o, turn));
                if (k == 0 || all < least) {
                    least = all;
                    r[i] = static_cast<int>(k);
                }
            }
        }
        return r;
    }
};

} // namespace strata
