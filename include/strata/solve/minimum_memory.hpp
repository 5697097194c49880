// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Orders that need few bytes, whatever they cost: for budgets near the least that a step can do with.
#pragma once

#include <strata/bound/last_run_limit.hpp>
#include <strata/bound/regression.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/budgeted_walk.hpp>
#include <strata/solve/concepts.hpp>
#include <strata/solve/fetching_walk.hpp>
#include <strata/solve/limits.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace strata {

/// A peak, resident bytes included, that some order has: at most `known`, at least `least`, as small as halving the interval
/// finds with walks under ever fewer bytes. Complexity: about ten `budgeted_walk`s for each of a few patiences.
template <class Lazy = void>
[[nodiscard]] auto least_walk_peak(problem const& p, bytes_t least, bytes_t known, stop_watch const& stop = {})
    -> bytes_t
{
    constexpr bytes_t fine = 200; // an interval of so small a share of its lower end is small enough
    auto const resident = p.resident_bytes();
    basic_budgeted_walk<Lazy> walk(p);
    auto no = std::max(resident, least) - 1;
    for (auto next = no + 1; known - no > 1 + no / fine && !stop.expired(); next = no + (known - no) / 2) {
        bool found = false;
        for (double patience : {1.0, 0.5, 0.0}) {
            if (auto const order = walk({.capacity = next - resident, .patience = patience}, stop)) {
                known = std::min(known, peak_of(p, *order));
                found = true;
                break;
            }
        }
        no = found ? no : next;
    }
    return known;
}

/// Proposes walks that drop what is used last; where none fits, ones that hold what must be held when the last op that needs
/// much runs (see `basic_last_run`); where none of these does, ones that fetch what later ops need while there is room
/// (see `fetching_walk`); and where none of these does, orders found from the end of the step backwards (see `regression`),
/// which go lower in short steps and lose their way in long ones. Does nothing when there is a plan.
struct minimum_memory {
    std::int64_t runs = 1'000'000; ///< of each search for fetches, see `fetch_options`
    std::int64_t states = 20'000;  ///< of each search backwards

    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "minimum_memory"; }
    template <class Lazy>
    void solve(basic_search<Lazy>& on) const
    {
        if (on.best() || on.done()) {
            return;
        }
        std::vector<proposal> seeds;
        for (double patience : {1.0, 0.5, 0.0, 0.75, 0.25}) {
            seeds.push_back(
                {.make = [&on,
                          patience] { return basic_budgeted_walk<Lazy>(on.subject())(under(on, patience), on.stop()); },
                 .name = "minimum_memory"});
        }
        on.propose(seeds);
        if (!on.best() && !on.done()) {
            hold(on);
        }
        for (double patience : {1.0, 0.5, 0.0}) {
            if (!on.best() && !on.done()) {
                on.propose({.make =
                                [this, &on, patience] {
                                    return basic_fetching_walk<Lazy>(
                                        on.subject(), under(on, patience), {.runs = runs}, on.stop())();
                                },
                            .name = "minimum_memory"});
            }
        }
        if (!on.best() && !on.done() && on.subject().op_count() <= short_step) {
            go_back(on);
        }
    }

private:
    static constexpr op_id short_step = 1000;

    /// Walks that hold what targets can be made from without the needy ops, rather than those or the targets.
    template <class Lazy>
    void hold(basic_search<Lazy>& on) const
    {
        constexpr double cheap = 0.01;
        auto const& p = on.subject();
        basic_last_run<Lazy> last_run(p);
        (void)last_run.limit({0, none}, on.stop());
        auto const& set = last_run.binding();
        if (set.empty()) {
            return;
        }
        (void)last_run.needed(set, *std::max_element(set.begin(), set.end()));
        auto const rather = last_run.held();
        if (rather.empty()) {
            return;
        }
        std::vector<char> held(static_cast<std::size_t>(p.tensor_count()), 0);
        for (auto t : rather) {
            held[static_cast<std::size_t>(t)] = 1;
        }
        std::vector<double> cheap_targets(held.size(), 1);
        for (auto t : p.targets()) {
            cheap_targets[static_cast<std::size_t>(t)] = cheap;
        }
        std::vector<proposal> seeds;
        for (auto const& worth : {std::span<double const>(), std::span<double const>(cheap_targets)}) {
            for (double patience : {0.5, 1.0, 0.0}) {
                auto how = under(on, patience);
                how.worth = worth;
                how.held = held;
                seeds.push_back({.make = [&on, how] { return basic_budgeted_walk<Lazy>(on.subject())(how, on.stop()); },
                                 .name = "minimum_memory"});
            }
        }
        on.propose(seeds);
    }

    /// Searches backwards, which differ in what they undo first.
    template <class Lazy>
    void go_back(basic_search<Lazy>& on) const
    {
        std::vector<proposal> seeds;
        for (double noise : {0.0, 0.1, 0.3, 1.0}) {
            for (double latest : {0.0, 1.0, 100.0}) {
                detail::regression_options const how{.window = on.subject().op_count(),
                                                     .most = states,
                                                     .latest = latest,
                                                     .noise = noise,
                                                     .seed = on.seed()};
                seeds.push_back(
                    {.make = [&on, how]() -> std::optional<run_order> {
                         auto const& p = on.subject();
                         detail::basic_regression<Lazy> back(p);
                         auto const end = back(p.op_count(), on.budget() - p.resident_bytes(), how, on.stop());
                         return end == detail::regressed::arrived ? std::optional(back.runs()) : std::nullopt;
                     },
                     .name = "minimum_memory"});
            }
        }
        on.propose(seeds);
    }

    template <class Lazy>
    [[nodiscard]] static auto under(basic_search<Lazy> const& on, double patience) -> walk_options
    {
        return {.capacity = on.budget() - on.subject().resident_bytes(), .patience = patience};
    }
};

} // namespace strata
