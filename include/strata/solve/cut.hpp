// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Seeds from a minimum cut: what a cut at the hottest instant keeps is a nearly optimal set to keep.
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/solve/concepts.hpp>
#include <strata/solve/cut_seeds.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

/// Proposes the just-in-time orders of cuts at the search's time points, with several tilts and for several shares of the
/// budget; the most telling one first.
struct cut {
    bool one_shot = false; ///< only the first seed
    int points = 3;        ///< time points used
    bool fine = false;     ///< instead, more shares at time points that lie apart: see `solve_finely`

    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "cut"; }
    template <class Lazy>
    void solve(basic_search<Lazy>& on) const
    {
        auto const at = on.points().first(std::min(on.points().size(), static_cast<std::size_t>(points)));
        if (at.empty()) {
            return;
        }
        if (fine) {
            solve_finely(on, at);
            return;
        }
        propose(on, at.front(), orders(on, at.front(), 0.1, std::array{1.0}), 0);
        if (one_shot) {
            return;
        }
        // What the cut at one instant leaves out, the bytes of replays elsewhere, differs from graph to graph. A few large
        // tensors make it lumpy, so small graphs, where a seed costs nothing, are given more values to hit.
        constexpr op_id small = 2000;
        static constexpr std::array shares = {1.0, 0.97, 0.94, 0.9, 0.85};
        auto const used = std::span(shares).first(on.subject().op_count() <= small ? shares.size() : 2);
        static constexpr std::array tilts = {0.3, 0.03};
        std::vector<std::vector<run_order>> found(at.size() * tilts.size());
        for (double spread : {0.0, 1.0}) {
            for (std::size_t i = 0; i < at.size() && !on.done(); ++i) {
                auto* const here = &found[i * tilts.size()];
                if (spread == 0) {
                    on.side_by_side(tilts.size(), [&](std::size_t k) { here[k] = orders(on, at[i], tilts[k], used); });
                }
                for (std::size_t k = 0; k < tilts.size(); ++k) {
                    propose(on, at[i], here[k], spread);
                }
            }
        }
    }

private:
    /// Where equal layers make cuts lumpy, which share fills the room best is luck, and so is whether it is better to drop
    /// what is needed last or first. A layer before or after the hottest instant cuts come out differently; right beside it
    /// they are the same.
    template <class = void>
    static void solve_finely(search& on, std::span<op_id const> points)
    {
        constexpr op_id near = 10; // ops
        constexpr op_id long_step = 4000;
        constexpr std::size_t few = 3; // shares of long steps
        static constexpr std::array shares = {0.88, 0.91, 0.93, 0.97, 0.95, 0.85};
        auto const used = std::span(shares).first(on.subject().op_count() < long_step ? shares.size() : few);
        std::vector<op_id> apart;
        for (auto o : points) {
            if (std::none_of(apart.begin(), apart.end(), [&](op_id other) { return std::abs(o - other) < near; })) {
                apart.push_back(o);
            }
        }
        for (auto o : apart) {
            for (double tilt : {0.02, -0.1}) {
                if (!on.done()) {
                    propose(on, o, orders(on, o, tilt, used), 0);
                }
            }
        }
    }

    /// The different orders of cuts at `at` for so many shares of the budget.
    template <class = void>
    static auto orders(search const& on, op_id at, double tilt, std::span<double const> shares)
        -> std::vector<run_order>
    {
        cut_seeds seeds(on.subject(), at, tilt);
        std::vector<std::size_t> chosen;
        std::vector<run_order> all;
        for (auto share : shares) {
            if (on.stop().expired()) {
                break;
            }
            auto const budget =
                share < 1
                    ? static_cast<bytes_t>(static_cast<long double>(on.budget()) * static_cast<long double>(share))
                    : on.budget();
            auto const c = seeds.choose(budget);
            if (c && std::find(chosen.begin(), chosen.end(), *c) == chosen.end()) {
                chosen.push_back(*c);
                all.push_back(seeds.order(*c));
            }
        }
        return all;
    }

    template <class = void>
    static void propose(search& on, op_id at, std::vector<run_order> const& orders, double spread)
    {
        std::vector<proposal> seeds;
        for (auto const& order : orders) {
            seeds.push_back(
                {.make = [&order] { return order; }, .spread = spread, .name = "cut@" + std::to_string(at)});
        }
        on.propose(seeds);
    }
};

} // namespace strata
