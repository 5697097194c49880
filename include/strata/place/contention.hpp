// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief How crowded it gets during each buffer's life: what decides which buffers have no choice where to lie.
#pragma once

#include <strata/detail/lazy.hpp>
#include <strata/place/placement.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace strata {

/// The largest load during the life of each lifetime, as a share of the largest of all: 0 for empty ones, 1 for those that
/// live when most bytes do.
///
/// A plan that fills its budget does so for a small part of the time only. Buffers that live then must fit each other
/// without a gap; the others have room to give way.
/// Requires: sizes are not negative, their sum fits 64 bits.
/// Complexity: O(n log n) time and memory.
template <class Lazy = void>
[[nodiscard]] auto contention_of(std::span<lifetime const> lifetimes) -> std::vector<double>
{
    std::vector<detail::lazy<std::pair<std::size_t, bytes_t>, Lazy>> changes;
    changes.reserve(2 * lifetimes.size());
    for (auto const& x : lifetimes) {
        if (x.size > 0 && x.begin < x.end) {
            changes.emplace_back(x.begin, x.size);
            changes.emplace_back(x.end, -x.size);
        }
    }
    std::sort(changes.begin(), changes.end()); // at one instant, ends come first
    std::vector<std::size_t> times;
    std::vector<std::vector<bytes_t>> most(1); // most[k][i]: largest load from times[i] over 2^k instants
    bytes_t load = 0;
    for (auto const& [time, bytes] : changes) {
        load += bytes;
        if (times.empty() || times.back() != time) {
            times.push_back(time);
            most[0].push_back(load);
        } else {
            most[0].back() = load; // of its end: larger than on the way
        }
    }
    for (std::size_t half = 1; 2 * half <= times.size(); half *= 2) {
        auto const& below = most.back();
        std::vector<bytes_t> level(below.size() - half);
        for (std::size_t i = 0; i < level.size(); ++i) {
            level[i] = std::max(below[i], below[i + half]);
        }
        most.push_back(std::move(level));
    }
    auto const largest = static_cast<double>(times.empty() ? 1 : *std::max_element(most[0].begin(), most[0].end()));
    auto const index = [&](std::size_t t) {
        return static_cast<std::size_t>(std::lower_bound(times.begin(), times.end(), t) - times.begin());
    };
    std::vector<double> r;
    r.reserve(lifetimes.size());
    for (auto const& x : lifetimes) {
        if (x.size == 0 || x.begin >= x.end) {
            r.push_back(0);
            continue;
        }
        auto const begin = index(x.begin);
        auto const end = index(x.end);
        std::size_t k = 0;
        while (std::size_t{2} << k <= end - begin) {
            ++k;
        }
        r.push_back(static_cast<double>(std::max(most[k][begin], most[k][end - (std::size_t{1} << k)])) / largest);
    }
    return r;
}

} // namespace strata
