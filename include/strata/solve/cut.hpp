// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Seeds from a minimum cut: what a cut at the hottest instant keeps is a nearly optimal set to keep.
#pragma once

#include <strata/bound/time_cut.hpp>
#include <strata/problem/problem.hpp>
#include <strata/solve/concepts.hpp>
#include <strata/solve/just_in_time.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

/// One way to turn a cut into a seed.
struct cut_seed {
    op_id at = 0;      ///< time point
    double tilt = 0.1; ///< how much dearer it is to keep a tensor the later its last use is
    double slack = 1;  ///< share of the room that the kept tensors may take
    friend auto operator==(cut_seed const&, cut_seed const&) -> bool = default;
};

/// The just-in-time order of the cheapest cut at `seed.at` that keeps no more than the room under `budget`.
///
/// The price of a byte is found on the lower hull of all cuts. Equal layers would all switch at the same price, so prices
/// are tilted: what is needed last is dropped first, which also leaves the crowded start of backward with fewer replays.
/// Returns: nothing when no cut fits. The order may still exceed `budget` elsewhere; `repair` sees to that.
/// Complexity: about ten max-flows.
template <class Lazy = void>
[[nodiscard]] auto cut_order(problem const& p, basic_time_cut<Lazy>& cut, bytes_t budget, cut_seed const& seed)
    -> std::optional<run_order>
{
    constexpr int steps = 26;
    auto const usable =
        seed.slack < 1 ? static_cast<bytes_t>(static_cast<long double>(budget) * static_cast<long double>(seed.slack))
                       : budget;
    auto const room = usable - cut.fixed();
    if (room < 0) {
        return {};
    }
    auto const at = [](std::int32_t i) { return static_cast<std::size_t>(i); };
    std::vector<double> factor(at(p.tensor_count()), 1);
    auto const span = static_cast<double>(std::max<op_id>(1, p.op_count() - seed.at));
    for (auto t : cut.needed()) {
        auto const readers = p.consumers(t);
        auto const last = p.is_target(t) || readers.empty() ? p.op_count() : readers.back();
        factor[at(t)] = 1 + seed.tilt * static_cast<double>(last - seed.at) / span;
    }
    std::vector<char> best;
    // A cut under tilted prices: what it keeps, weighed by the tilt, and what it recomputes.
    struct point {
        double kept = 0;
        double recomputed = 0;
    };
    auto const keeps = [&](cut_point const& c) {
        point x{0, static_cast<double>(c.recomputed)};
        for (tensor_id t = 0; t < p.tensor_count(); ++t) {
            x.kept += cut.kept(t) ? factor[at(t)] * static_cast<double>(p.size(t)) : 0;
        }
        return x;
    };
    auto const remember = [&] {
        best.resize(at(p.tensor_count()));
        for (tensor_id t = 0; t < p.tensor_count(); ++t) {
            best[at(t)] = cut.kept(t) ? 1 : 0;
        }
    };
    // A steep price: all costs over all bytes, and far more.
    bytes_t bytes = 1;
    for (auto t : cut.needed()) {
        bytes += p.size(t);
    }
    auto const steep = 1e6 * static_cast<double>(std::max<cost_t>(1, p.base_cost())) / static_cast<double>(bytes);
    auto c = cut.solve(steep, factor, room);
    if (!c || c->kept > room) {
        c = cut.solve_fewest_bytes(room);
    }
    if (!c || c->kept > room) {
        return {};
    }
    remember();
    auto dear = keeps(*c);
    c = cut.solve(0, factor, room);
    if (!c) {
        return {};
    }
    auto cheap = keeps(*c);
    if (c->kept <= room) {
        remember();
        cheap = dear; // nothing lies between
    }
    // Between two cuts, one that fits and one that does not: the price at which both cost the same shows a third one
    // below their line, or that there is none (Eisner and Severance 1976, see `time_cut::curve`).
    for (int i = 0; i < steps && cheap.kept > dear.kept; ++i) {
        auto const price = (dear.recomputed - cheap.recomputed) / (cheap.kept - dear.kept);
        c = price > 0 ? cut.solve(price, factor, room) : std::nullopt;
        if (!c) {
            break;
        }
        auto const now = keeps(*c);
        auto const line = dear.recomputed + price * dear.kept;
        bool const below = now.recomputed + price * now.kept < line * (1 - 1e-9);
        if (c->kept <= room) {
            if (now.kept > dear.kept) {
                remember();
            }
            dear = now;
            if (static_cast<double>(c->kept) > 0.998 * static_cast<double>(room)) {
                break;
            }
        } else {
            cheap = now;
        }
        if (!below) {
            break;
        }
    }
    return just_in_time(p, seed.at, [&](tensor_id t) { return best[at(t)] != 0; });
}

/// Proposes cuts at the search's time points with several tilts and slacks; the most telling one first.
struct cut {
    bool one_shot = false; ///< only the first seed
    int points = 3;        ///< time points used

    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "cut"; }
    template <class Lazy>
    void solve(basic_search<Lazy>& on) const
    {
        std::vector<proposal> seeds;
        auto const add = [&](cut_seed seed, double spread) {
            seeds.push_back({.make = [&on, seed]() -> std::optional<run_order> {
                                 basic_time_cut<Lazy> network(on.subject(), seed.at);
                                 return cut_order(on.subject(), network, on.budget(), seed);
                             },
                             .spread = spread,
                             .name = "cut@" + std::to_string(seed.at)});
        };
        auto const at = on.points().first(std::min(on.points().size(), static_cast<std::size_t>(points)));
        if (at.empty()) {
            return;
        }
        add({at.front(), 0.1, 1}, 0);
        // What the cut at one instant leaves out, the bytes of replays elsewhere, differs from graph to graph. A few large
        // tensors make it lumpy, so small graphs, where a seed costs nothing, are given more values to hit.
        constexpr op_id small = 2000;
        std::vector<double> slacks = {1.0, 0.97};
        if (on.subject().op_count() <= small) {
            slacks.insert(slacks.end(), {0.94, 0.9, 0.85});
        }
        for (double spread : {0.0, 1.0}) {
            for (auto o : at) {
                for (double tilt : {0.3, 0.03}) {
                    for (double slack : slacks) {
                        add({o, tilt, slack}, spread);
                    }
                }
            }
        }
        on.propose(one_shot ? std::span<proposal const>(seeds).first(1) : std::span<proposal const>(seeds));
    }
};

} // namespace strata
