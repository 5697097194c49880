// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What a search over placements needs to know about its buffers: who meets whom, and when it is crowded.
#pragma once

#include <strata/detail/lazy.hpp>
#include <strata/place/placement.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace strata::detail {

/// Sections [begin, end).
struct section_range {
    std::int32_t begin;
    std::int32_t end;
};

/// Buffers of more than zero bytes, and the *sections* of time. Only instants matter at which some buffer has begun and
/// one is about to end; at any other, a subset of the same buffers lives.
///
///     time      0  1  2  3  4  5
///     a         |-----|
///     b            |-----------|
///     c                     |--|
///     sections     0        1           instants 1 and 4
struct packing_instance {
    using index = std::int32_t; ///< of a buffer or of a section

    std::vector<std::size_t> source;            ///< buffer -> index in the lifetimes it was made from
    std::vector<bytes_t> size;                  ///< of each buffer, rounded up
    std::vector<double> duration;               ///< of each buffer, in steps
    std::vector<double> crowd;                  ///< of each buffer: the largest load during its life
    std::vector<section_range> sections;        ///< of each buffer; never empty
    std::vector<index> by_begin;                ///< buffers by first section
    std::vector<std::size_t> first;             ///< section -> position in by_begin; one more than there are sections
    std::vector<std::vector<index>> members;    ///< of each section
    std::vector<bytes_t> load;                  ///< of each section
    std::vector<std::vector<index>> neighbours; ///< of each buffer: those that share a section with it, smallest first
    std::vector<std::vector<index>> twins;      ///< of each buffer: others with the same sections
};

/// Requires: sizes are not negative, their sum (rounded up to `alignment`) fits 64 bits.
/// Complexity: O(n²) for `n` lifetimes.
template <class Lazy = void>
[[nodiscard]] auto make_instance(std::span<lifetime const> lifetimes, bytes_t alignment) -> packing_instance
{
    using index = packing_instance::index;
    auto const at = [](index i) { return static_cast<std::size_t>(i); };
    packing_instance r;
    std::vector<lazy<std::pair<std::size_t, bool>, Lazy>> events; // time, begins (ends come first)
    for (std::size_t i = 0; i < lifetimes.size(); ++i) {
        if (auto const& x = lifetimes[i]; x.size > 0 && x.begin < x.end) {
            r.source.push_back(i);
            r.size.push_back(align_up(x.size, alignment));
            r.duration.push_back(static_cast<double>(x.end - x.begin));
            events.emplace_back(x.begin, true);
            events.emplace_back(x.end, false);
        }
    }
    std::sort(events.begin(), events.end());
    std::vector<std::size_t> instants;
    for (std::size_t k = 0; k + 1 < events.size(); ++k) {
        if (events[k].second && !events[k + 1].second) {
            instants.push_back(events[k].first);
        }
    }
    auto const section = [&](std::size_t t) {
        return static_cast<index>(std::lower_bound(instants.begin(), instants.end(), t) - instants.begin());
    };
    auto const n = r.size.size();
    r.members.resize(instants.size());
    r.load.assign(instants.size(), 0);
    for (std::size_t b = 0; b < n; ++b) {
        auto const& x = lifetimes[r.source[b]];
        r.sections.push_back({section(x.begin), section(x.end)});
        for (auto s = r.sections[b].begin; s < r.sections[b].end; ++s) {
            r.members[at(s)].push_back(static_cast<index>(b));
            r.load[at(s)] += r.size[b];
        }
    }
    std::vector<index> by_size(n);
    std::iota(by_size.begin(), by_size.end(), 0);
    r.by_begin = by_size;
    std::stable_sort(by_size.begin(), by_size.end(), [&](index x, index y) { return r.size[at(x)] < r.size[at(y)]; });
    std::stable_sort(r.by_begin.begin(), r.by_begin.end(), [&](index x, index y) {
        return r.sections[at(x)].begin < r.sections[at(y)].begin;
    });
    r.neighbours.resize(n);
    r.twins.resize(n);
    for (std::size_t b = 0; b < n; ++b) {
        auto const [begin, end] = r.sections[b];
        for (auto c : by_size) {
            if (at(c) != b && r.sections[at(c)].begin < end && begin < r.sections[at(c)].end) {
                r.neighbours[b].push_back(c);
                if (r.sections[at(c)].begin == begin && r.sections[at(c)].end == end) {
                    r.twins[b].push_back(c);
                }
            }
        }
        auto const most = *std::max_element(r.load.begin() + begin, r.load.begin() + end);
        r.crowd.push_back(static_cast<double>(most));
    }
    for (std::size_t s = 0, k = 0; s <= r.members.size(); ++s) {
        while (k < n && at(r.sections[at(r.by_begin[k])].begin) < s) {
            ++k;
        }
        r.first.push_back(k);
    }
    return r;
}

} // namespace strata::detail
