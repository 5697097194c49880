// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The options of parts that run as one stage.
#pragma once

#include <strata/merge/block_graph.hpp>
#include <strata/merge/option.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace strata {

namespace detail {

/// Those of `options` on the lower hull of cost over bytes kept, by bytes; appends the slopes between them to `prices`.
/// Complexity: O(options · log options).
template <class = void>
[[nodiscard]] auto hull_of(std::vector<option> const& options, std::vector<double>& prices) -> std::vector<int>
{
    auto const at = [&](int i) -> option const& { return options[static_cast<std::size_t>(i)]; };
    std::vector<int> order(options.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        return at(a).kept != at(b).kept ? at(a).kept < at(b).kept : at(a).cost() < at(b).cost();
    });
    auto const slope = [&](int a, int b) {
        return static_cast<double>(at(a).cost() - at(b).cost()) / static_cast<double>(at(b).kept - at(a).kept);
    };
    std::vector<int> hull;
    for (auto i : order) {
        if (!hull.empty() && at(i).cost() >= at(hull.back()).cost()) {
            continue;
        }
        while (hull.size() > 1 && slope(hull[hull.size() - 2], hull.back()) <= slope(hull.back(), i)) {
            hull.pop_back();
        }
        hull.push_back(i);
    }
    for (std::size_t i = 1; i < hull.size(); ++i) {
        prices.push_back(slope(hull[i - 1], hull[i]));
    }
    return hull;
}

} // namespace detail

/// For each option of the stage that `parts` of `g` make up, the option of each part: of one part all of them, of several
/// what costs least at some price of a byte kept, at most 24.
/// Complexity: O(options · log options + 24 · options on hulls).
template <class = void>
[[nodiscard]] auto combined_options(block_graph const& g, std::vector<std::size_t> const& parts)
    -> std::vector<std::vector<int>>
{
    constexpr std::size_t most = 24;
    std::vector<std::vector<int>> r;
    if (parts.size() < 2) {
        for (int i = 0; i < (parts.empty() ? 1 : static_cast<int>(g.options(parts.front()).size())); ++i) {
            r.push_back(std::vector<int>(parts.size(), i));
        }
        return r;
    }
    std::vector<std::vector<int>> hulls;
    std::vector<double> prices{0}; // at which some choice changes
    for (auto part : parts) {
        hulls.push_back(detail::hull_of(g.options(part), prices));
    }
    std::sort(prices.begin(), prices.end());
    prices.erase(std::unique(prices.begin(), prices.end()), prices.end());
    auto const count = std::min(prices.size(), most);
    for (std::size_t k = 0; k < count; ++k) {
        auto const price = prices[count == 1 ? 0 : k * (prices.size() - 1) / (count - 1)] * (1 + 1e-9);
        std::vector<int> choice;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            auto const total = [&](int o) {
                auto const& x = g.options(parts[i])[static_cast<std::size_t>(o)];
                return static_cast<double>(x.cost()) + price * static_cast<double>(x.kept);
            };
            choice.push_back(
                *std::min_element(hulls[i].begin(), hulls[i].end(), [&](int a, int b) { return total(a) < total(b); }));
        }
        if (r.empty() || r.back() != choice) {
            r.push_back(std::move(choice));
        }
    }
    return r;
}

} // namespace strata
