// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The independent judge of placements; shares no code with anything that places.
#pragma once

#include <strata/detail/lazy.hpp>
#include <strata/place/placement.hpp>
#include <strata/problem/problem.hpp>
#include <strata/result.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace strata {

namespace detail {

template <class = void>
[[nodiscard]] auto refuse_placement(std::string what) -> error
{
    return fail(errc::invalid_plan, "strata::check: " + std::move(what));
}

template <class = void>
[[nodiscard]] auto describe(placement const& x, std::size_t i) -> std::string
{
    auto const& l = x.lifetimes[i];
    return "lifetime " + std::to_string(i) + " (" +
           (l.tensor == none ? std::string("workspace") : "tensor " + std::to_string(l.tensor)) + ", steps " +
           std::to_string(l.begin) + " to " + std::to_string(l.end) + ", " + std::to_string(l.size) + " bytes at " +
           std::to_string(x.offsets[i]) + ")";
}

/// Looks at every lifetime by itself.
template <class = void>
[[nodiscard]] auto check_each_alone(placement const& x) -> std::optional<error>
{
    bytes_t end = 0;
    for (std::size_t i = 0; i < x.lifetimes.size(); ++i) {
        auto const& l = x.lifetimes[i];
        if (l.begin > l.end) {
            return refuse_placement(describe(x, i) + " ends before it begins");
        }
        if (l.size < 0 || x.offsets[i] < 0) {
            return refuse_placement(describe(x, i) + " has a negative size or offset");
        }
        if (x.offsets[i] % x.alignment != 0) {
            return refuse_placement(describe(x, i) + " is not aligned to " + std::to_string(x.alignment) + " bytes");
        }
        if (l.size > max_bytes - x.offsets[i]) {
            return refuse_placement(describe(x, i) + " ends beyond 64 bits");
        }
        end = std::max(end, x.offsets[i] + l.size);
    }
    if (end != x.arena) {
        return refuse_placement("the arena is said to have " + std::to_string(x.arena) +
                                " bytes, but the highest buffer ends at " + std::to_string(end));
    }
    return {};
}

} // namespace detail

/// Checks that no two buffers share a byte at any time, that offsets are aligned and not negative, and that the arena
/// is exactly the end of the highest buffer.
/// Returns: nothing, or an `invalid_plan` error that names the lifetimes at fault.
/// Complexity: O(n log n).
template <class Lazy = void>
[[nodiscard]] auto check(placement const& x) -> std::optional<error>
{
    if (x.lifetimes.size() != x.offsets.size()) {
        return detail::refuse_placement(std::to_string(x.lifetimes.size()) + " lifetimes have " +
                                        std::to_string(x.offsets.size()) + " offsets");
    }
    if (x.alignment < 1) {
        return detail::refuse_placement("alignment is " + std::to_string(x.alignment) + ", must be at least 1");
    }
    if (auto e = detail::check_each_alone(x)) {
        return e;
    }
    // Walk through time. Whatever lives at one instant is disjoint in address, so a newcomer can only meet the buffer
    // right below its offset or the one right above.
    using event = detail::lazy<std::tuple<std::size_t, bool, std::size_t>, Lazy>; // time, begins, lifetime
    std::vector<event> events;                                                    // at one time, ends come first
    for (std::size_t i = 0; i < x.lifetimes.size(); ++i) {
        auto const& l = x.lifetimes[i];
        if (l.size > 0 && l.begin < l.end) {
            events.emplace_back(l.begin, true, i);
            events.emplace_back(l.end, false, i);
        }
    }
    std::sort(events.begin(), events.end());
    detail::lazy<std::map<bytes_t, std::size_t>, Lazy> live; // offset -> lifetime
    for (auto const& [time, begins, i] : events) {
        if (!begins) {
            live.erase(x.offsets[i]);
            continue;
        }
        auto const above = live.lower_bound(x.offsets[i]);
        if (above != live.end() && above->first < x.offsets[i] + x.lifetimes[i].size) {
            return detail::refuse_placement(detail::describe(x, i) + " overlaps " + detail::describe(x, above->second));
        }
        if (above != live.begin()) {
            auto const below = std::prev(above);
            if (below->first + x.lifetimes[below->second].size > x.offsets[i]) {
                return detail::refuse_placement(detail::describe(x, i) + " overlaps " +
                                                detail::describe(x, below->second));
            }
        }
        live.emplace(x.offsets[i], i);
    }
    return {};
}

/// Checks `x` as above, and that its lifetimes are exactly the buffers that `s` needs, in any order.
/// Requires: `s` is a valid schedule of `p`.
/// Complexity: O(n log n) in lifetimes and steps.
template <class Lazy = void>
[[nodiscard]] auto check(problem const& p, schedule const& s, placement const& x) -> std::optional<error>
{
    if (auto e = check(x)) {
        return e;
    }
    // begin, end, tensor, size
    using buffer = detail::lazy<std::tuple<std::size_t, std::size_t, tensor_id, bytes_t>, Lazy>;
    auto const describe = [](buffer const& b) {
        auto const& [begin, end, tensor, size] = b;
        return (tensor == none ? std::string("workspace") : "tensor " + std::to_string(tensor)) + " of " +
               std::to_string(size) + " bytes in steps " + std::to_string(begin) + " to " + std::to_string(end);
    };
    // The runs since the last free of a tensor are one life, which begins at the first of them.
    std::vector<buffer> needed;
    // Step indices, ascending, since the last free.
    detail::lazy<std::map<tensor_id, std::vector<std::size_t>>, Lazy> produced;
    auto const close = [&](tensor_id t, std::size_t end) {
        if (auto const at = produced.find(t); at != produced.end()) {
            needed.emplace_back(at->second.front(), end, t, p.size(t));
            produced.erase(at);
        }
    };
    for (std::size_t k = 0; k < s.steps.size(); ++k) {
        auto const id = s.steps[k].id;
        if (s.steps[k].action == action::free) {
            close(id, k);
            continue;
        }
        for (auto t : p.outputs(id)) {
            produced[t].push_back(k);
        }
        if (p.workspace(id) != 0) {
            needed.emplace_back(k, k + 1, none, p.workspace(id));
        }
    }
    while (!produced.empty()) {
        close(produced.begin()->first, s.steps.size());
    }
    std::vector<buffer> given;
    given.reserve(x.lifetimes.size());
    for (auto const& l : x.lifetimes) {
        given.emplace_back(l.begin, l.end, l.tensor, l.size);
    }
    std::sort(needed.begin(), needed.end());
    std::sort(given.begin(), given.end());
    auto const [n, g] = std::mismatch(needed.begin(), needed.end(), given.begin(), given.end());
    if (n != needed.end() && (g == given.end() || *n < *g)) {
        return detail::refuse_placement("the schedule needs " + describe(*n) + ", which is not placed");
    }
    if (g != given.end()) {
        return detail::refuse_placement("the schedule does not need " + describe(*g) + ", which is placed");
    }
    return {};
}

} // namespace strata
