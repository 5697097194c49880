// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Orders made within the budget from the start, with everything known that an eviction on line has to guess.
#pragma once

#include <strata/detail/math.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/budgeted_walk.hpp>
#include <strata/solve/concepts.hpp>
#include <strata/solve/cut_seeds.hpp>
#include <strata/solve/disturb.hpp>
#include <strata/solve/fill.hpp>
#include <strata/solve/order_editor.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

/// Proposes the orders of `budgeted_walk`s: plain ones, ones led by what a cut keeps, and a search among ones whose scores
/// are disturbed.
///
/// The search is one of random keys (Bean, "Genetic algorithms and random keys for sequencing and optimization", 1994): a
/// factor of the score by tensor stands for a walk, and the walk with a stretch of the best one's factors drawn anew is the
/// next to try. What a walk ends with fits always, so no step of the search is spent on mending.
struct budgeted {
    std::int64_t runs = 50'000; ///< about so many ops are run on paper; at least the plain walks
    /// Share of the step's cost that a plan must be above its bound for a search to be worth its time.
    double worth_it = 0.003;
    bool random_keys = true; ///< search after the plain walks and those led by cuts

    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "budgeted"; }
    template <class Lazy>
    void solve(basic_search<Lazy>& on) const
    {
        if (!wanted(on)) {
            return;
        }
        auto walks = runs / on.subject().op_count();
        walks -= plain(on);
        if (walks > 0 && wanted(on)) {
            walks -= led_by_cuts(on, walks);
        }
        if (random_keys && walks > 0 && wanted(on)) {
            search_keys(on, walks);
        }
    }

private:
    using keys = std::vector<double>; // by tensor, factors of the score
    struct found {
        run_order order;
        cost_t cost = max_cost;
    };
    static constexpr std::size_t at_once = 8; // proposals of a round

    template <class Lazy>
    [[nodiscard]] auto wanted(basic_search<Lazy> const& on) const -> bool
    {
        return !on.done() && on.above_bound() > worth_it;
    }

    /// A walk costlier than this will not win after what it makes again needlessly is taken out of it.
    template <class Lazy>
    [[nodiscard]] static auto hopeless(basic_search<Lazy> const& on) -> cost_t
    {
        if (!on.best()) {
            return max_cost;
        }
        auto const base = static_cast<double>(on.subject().base_cost());
        auto const over = static_cast<double>(on.best()->cost) - base;
        auto const limit = base * 1.02 + 1.5 * over;
        return limit < static_cast<double>(max_cost) ? static_cast<cost_t>(limit) : max_cost;
    }

    template <class Lazy>
    [[nodiscard]] static auto room(basic_search<Lazy> const& on) -> bytes_t
    {
        return on.budget() - on.subject().resident_bytes();
    }

    template <class Lazy>
    static auto plain(basic_search<Lazy>& on) -> std::int64_t
    {
        std::vector<proposal> seeds;
        for (double patience : {0.6, 0.3, 0.0, 1.0}) {
            seeds.push_back({.make =
                                 [&on, patience, most = hopeless(on)] {
                                     basic_budgeted_walk<Lazy> walk(on.subject());
                                     return walk({.capacity = room(on), .patience = patience, .give_up_at = most},
                                                 on.stop());
                                 },
                             .name = "budgeted"});
        }
        on.propose(seeds);
        return static_cast<std::int64_t>(seeds.size());
    }

    template <class Lazy>
    [[nodiscard]] auto led_by_cuts(basic_search<Lazy>& on, std::int64_t walks) const -> std::int64_t
    {
        constexpr std::size_t most_points = 3;
        static constexpr std::array tilts = {0.3, 0.03};
        static constexpr std::array shares = {1.0, 0.95};
        auto const& p = on.subject();
        std::int64_t made = 0;
        for (auto at : on.points().first(std::min(on.points().size(), most_points))) {
            if (made >= walks || !wanted(on)) {
                break;
            }
            std::vector<std::vector<char>> kept;
            for (auto tilt : tilts) {
                basic_cut_seeds<Lazy> cuts(p, at, tilt);
                for (auto share : shares) {
                    auto const bytes = static_cast<bytes_t>(static_cast<long double>(on.budget()) * share);
                    auto const c = on.done() ? std::nullopt : cuts.choose(bytes);
                    if (!c) {
                        continue;
                    }
                    auto marks = cuts.dropped(*c);
                    std::transform(
                        marks.begin(), marks.end(), marks.begin(), [](char gone) { return gone == 0 ? 1 : 0; });
                    if (std::find(kept.begin(), kept.end(), marks) == kept.end()) {
                        kept.push_back(std::move(marks));
                    }
                }
            }
            std::vector<proposal> seeds;
            for (auto const& marks : kept) {
                for (double patience : {1.0, 0.0}) {
                    seeds.push_back({.make =
                                         [&on, &marks, at, patience, most = hopeless(on)] {
                                             basic_budgeted_walk<Lazy> walk(on.subject());
                                             return walk({.capacity = room(on),
                                                          .patience = patience,
                                                          .kept = marks,
                                                          .at = at,
                                                          .give_up_at = most},
                                                         on.stop());
                                         },
                                     .name = "budgeted+cut"});
                }
            }
            on.propose(seeds);
            made += static_cast<std::int64_t>(seeds.size());
        }
        return made;
    }

    template <class Lazy>
    void search_keys(basic_search<Lazy>& on, std::int64_t walks) const
    {
        struct state {
            keys factors;
            double patience = 0.5;
        };
        auto const& p = on.subject();
        random_draws draw(on.seed());
        auto const first = walks / 4; // of all anew; then stretches
        state best{keys(static_cast<std::size_t>(p.tensor_count()), 1.0)};
        cost_t best_cost = max_cost;
        for (std::int64_t made = 0; made < walks && wanted(on);) {
            auto const count =
                static_cast<std::size_t>(std::min<std::int64_t>(static_cast<std::int64_t>(at_once), walks - made));
            std::vector<state> states(count, best);
            std::vector<found> ends(count);
            std::vector<proposal> seeds;
            for (std::size_t i = 0; i < count; ++i, ++made) {
                auto& x = states[i];
                auto const n = x.factors.size();
                auto const share = draw.share();
                auto const length =
                    made < first ? n : 2 + static_cast<std::size_t>(0.5 * share * share * static_cast<double>(n));
                auto const from = made < first ? 0 : draw.below(n);
                auto const noise = 0.1 + 1.2 * draw.share();
                for (auto t = from; t < std::min(n, from + length); ++t) {
                    x.factors[t] = detail::math::exp(noise * (2 * draw.share() - 1));
                }
                if (made < first) {
                    x.patience = draw.share();
                } else if (draw.below(4) == 0) {
                    x.patience = std::clamp(x.patience + 0.2 * (2 * draw.share() - 1), 0.0, 1.0);
                }
                seeds.push_back({.make =
                                     [&on, &x, &end = ends[i], most = hopeless(on)] {
                                         return walk_and_fill(on, x.factors, x.patience, most, end);
                                     },
                                 .as_is = true,
                                 .name = "budgeted+noise"});
            }
            on.propose(seeds);
            for (std::size_t i = 0; i < count; ++i) {
                if (ends[i].cost <= best_cost) {
                    best_cost = ends[i].cost;
                    best = std::move(states[i]);
                }
            }
        }
    }

    template <class Lazy>
    static auto
    walk_and_fill(basic_search<Lazy> const& on, keys const& factors, double patience, cost_t most, found& end)
        -> std::optional<run_order>
    {
        basic_budgeted_walk<Lazy> walk(on.subject());
        auto order =
            walk({.capacity = room(on), .patience = patience, .worth = factors, .give_up_at = most}, on.stop());
        if (order) {
            basic_order_editor<Lazy> edit(on.subject(), *order);
            fill(edit, room(on), on.stop());
            end.cost = edit.cost();
            order = edit.order();
        }
        return order;
    }
};

} // namespace strata
