// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What a plan of a graph of blocks costs and needs, told by the options alone.
#pragma once

#include <strata/merge/block_graph.hpp>
#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace strata {

/// What the options of a plan promise. `expand` keeps it to the byte.
struct block_promise {
    cost_t cost = 0;
    bytes_t peak = 0;                ///< resident tensors included
    std::vector<bytes_t> peaks = {}; ///< of each run
};

/// Requires: `plan` obeys the rules of `block_plan`.
/// Complexity: O(runs · (records · touches of a run) + tensors).
template <class = void>
[[nodiscard]] auto promise_of(block_graph const& g, block_plan const& given) -> block_promise
{
    auto const& p = g.subject();
    auto const at = [](auto i) { return static_cast<std::size_t>(i); };
    auto const plan = without_vain_keeping(g, given);
    block_promise r;
    r.peaks.assign(plan.size(), 0);
    // The first run that adds into an accumulated gradient: before it there is nothing to hold.
    std::vector<std::size_t> begun(at(p.tensor_count()), plan.size());
    for (auto i = plan.size(); i-- > 0;) {
        for (auto const& x : g.run(plan[i]).touches) {
            begun[at(x.tensor)] = x.made ? i : begun[at(x.tensor)];
        }
    }
    std::vector<char> live(at(p.tensor_count()), 0); // after the run looked at
    bytes_t held = p.resident_bytes();               // by what is live, and by what other parts keep
    for (auto t : p.targets()) {
        if (!p.resident(t) && live[at(t)] == 0) {
            live[at(t)] = 1;
            held += p.size(t);
        }
    }
    struct border_tensor {
        tensor_id tensor;
        bool before, after;
    };
    std::vector<border_tensor> border;
    std::vector<char> seen(at(p.tensor_count()), 0);
    for (auto i = plan.size(); i-- > 0;) {
        auto const& now = plan[i];
        auto const& run = g.run(now);
        bytes_t const kept = now.option == fast_forward ? 0 : g.options(now.part)[at(now.option)].kept;
        held -= now.which == half::forward ? kept : 0; // counted by the run itself from here to its first op
        border.clear();
        for (auto const& x : run.touches) { // by first run, so the first stretch of a tensor comes first
            if (seen[at(x.tensor)] == 0) {
                seen[at(x.tensor)] = 1;
                bool const before = p.accumulated(x.tensor) ? begun[at(x.tensor)] < i : !x.made;
                border.push_back({x.tensor, before, live[at(x.tensor)] != 0});
                held -= live[at(x.tensor)] != 0 ? p.size(x.tensor) : 0;
            }
        }
        for (auto const& rec : run.records) {
            auto bytes = held + rec.bytes;
            for (auto const& b : border) {
                bool there = false;
                bool first = true;
                auto end = std::size_t{0};
                for (auto const& x : run.touches) {
                    if (x.tensor == b.tensor) {
                        there = there || (x.first <= rec.step && rec.step <= x.last) ||
                                (first && b.before && rec.step < x.first);
                        first = false;
                        end = x.last;
                    }
                }
                bytes += there || (b.after && rec.step > end) ? p.size(b.tensor) : 0;
            }
            r.peaks[i] = std::max(r.peaks[i], bytes);
        }
        for (auto const& b : border) {
            seen[at(b.tensor)] = 0;
            live[at(b.tensor)] = b.before ? 1 : 0;
            held += b.before ? p.size(b.tensor) : 0;
        }
        held += now.which == half::backward ? kept : 0;
        r.cost += run.cost;
        r.peak = std::max(r.peak, r.peaks[i]);
    }
    return r;
}

} // namespace strata
