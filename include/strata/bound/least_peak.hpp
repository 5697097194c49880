// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The fewest bytes that any order of first runs needs when nothing is recomputed, as far as a look at each op proves it.
#pragma once

#include <strata/problem/precedence.hpp>
#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata {

/// A lower limit of the peak of every order in which each op runs once: while an op runs, its own tensors are live, and
/// so is every tensor made by what must come before and used by what must come after.
/// Complexity: O(ops · (tensors + ops / 64)); beyond 4096 ops only an op's own tensors are counted, in linear time.
template <class = void>
[[nodiscard]] auto least_peak(problem const& p) -> bytes_t
{
    constexpr op_id most_related = 4096;
    auto const at = [](std::int32_t i) { return static_cast<std::size_t>(i); };
    auto const n = at(p.op_count());
    auto const words = p.op_count() <= most_related ? (n + 63) / 64 : 0;
    std::vector<std::uint64_t> above(n * words, 0); // per op: itself and all that must come before it
    auto const has = [&](op_id o, op_id b) { return (above[at(o) * words + at(b) / 64] >> (at(b) % 64) & 1U) != 0; };
    auto const before = first_run_predecessors(p);
    std::vector<bytes_t> live(n);
    for (op_id o = 0; o < p.op_count(); ++o) {
        live[at(o)] = p.resident_bytes() + p.workspace(o);
        if (words > 0) {
            above[at(o) * words + at(o) / 64] |= std::uint64_t{1} << (at(o) % 64);
            for (auto b : before[at(o)]) {
                for (std::size_t w = 0; w < words; ++w) {
                    above[at(o) * words + w] |= above[at(b) * words + w];
                }
            }
        }
    }
    std::vector<std::uint64_t> until(words); // what must come before some user of a tensor
    for (tensor_id t = 0; t < p.tensor_count(); ++t) {
        if (p.resident(t)) {
            continue;
        }
        if (words == 0) {
            for (auto const users : {p.producers(t), p.consumers(t)}) {
                for (auto o : users) {
                    live[at(o)] += p.size(t);
                }
            }
            continue;
        }
        std::fill(until.begin(), until.end(), p.is_target(t) ? ~std::uint64_t{0} : 0);
        for (auto const users : {p.producers(t), p.consumers(t)}) {
            for (auto u : users) {
                for (std::size_t w = 0; w < words; ++w) {
                    until[w] |= above[at(u) * words + w];
                }
            }
        }
        auto const first = p.producers(t).front();
        for (auto o = first; o < p.op_count(); ++o) {
            bool const before_some_use = (until[at(o) / 64] >> (at(o) % 64) & 1U) != 0;
            live[at(o)] += before_some_use && has(o, first) ? p.size(t) : 0;
        }
    }
    return *std::max_element(live.begin(), live.end());
}

} // namespace strata
