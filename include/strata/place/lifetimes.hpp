// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief From a schedule to the buffers it needs: when each one is there, and how many bytes are there at once.
///
/// Time is the index of a step, and lifetimes are half-open:
///
///     step      0     1     2       3     4
///               run a run b free x  run c free y
///     x         |-----------|                       written by a: [0, 2)
///     y               |---------------------|       written by b: [1, 4)
///     scratch                       |-----|         workspace of c: [3, 4)
#pragma once

#include <strata/place/placement.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace strata {

/// The buffers that `s` needs: one per production of each non-resident tensor, from the step that runs its producer to
/// the step that frees it (or to the end), and one per run of an op with workspace, during that step alone.
///
/// A gradient that several ops add into has one lifetime, from its first producer on. A tensor of zero bytes keeps its
/// lifetime, so that lifetimes and productions match one to one. Ordered by begin; within a step outputs ascending, then
/// workspace.
/// Requires: `s` is a valid schedule of `p`.
/// Complexity: O(steps + writes).
template <class = void>
[[nodiscard]] auto lifetimes_of(problem const& p, schedule const& s) -> std::vector<lifetime>
{
    auto const at = [](auto i) { return static_cast<std::size_t>(i); };
    constexpr auto dead = static_cast<std::size_t>(-1);
    std::vector<lifetime> r;
    std::vector<std::size_t> live(at(p.tensor_count()), dead); // index in r of the life that is open
    for (std::size_t k = 0; k < s.steps.size(); ++k) {
        auto const& x = s.steps[k];
        if (x.action == action::free) {
            if (!p.resident(x.id) && live[at(x.id)] != dead) {
                r[std::exchange(live[at(x.id)], dead)].end = k;
            }
            continue;
        }
        for (auto t : p.outputs(x.id)) {
            if (live[at(t)] == dead) {
                live[at(t)] = r.size();
                r.push_back({k, s.steps.size(), p.size(t), t});
            }
        }
        if (p.workspace(x.id) > 0) {
            r.push_back({k, k + 1, p.workspace(x.id), none});
        }
    }
    return r;
}

/// Most bytes that are there at one instant, sizes rounded up to `alignment`: no arena can be smaller.
/// Returns: nothing when a sum of sizes leaves the 64-bit range.
/// Complexity: O(n log n).
template <class = void>
[[nodiscard]] auto max_load(std::span<lifetime const> lifetimes, bytes_t alignment = 1) -> std::optional<bytes_t>
{
    struct change {
        std::size_t time;
        bool begins; // ends come first: half-open lifetimes that touch do not meet
        bytes_t size;
    };
    std::vector<change> changes;
    changes.reserve(2 * lifetimes.size());
    for (auto const& x : lifetimes) {
        if (x.size > 0 && x.begin < x.end) {
            auto const size = align_up(x.size, alignment);
            changes.push_back({x.begin, true, size});
            changes.push_back({x.end, false, size});
        }
    }
    std::sort(changes.begin(), changes.end(), [](change const& a, change const& b) {
        return std::pair(a.time, a.begins) < std::pair(b.time, b.begins);
    });
    bytes_t load = 0;
    bytes_t most = 0;
    for (auto const& c : changes) {
        if (!c.begins) {
            load -= c.size;
        } else if (!checked_add(load, c.size)) {
            return std::nullopt;
        }
        most = std::max(most, load);
    }
    return most;
}

} // namespace strata
