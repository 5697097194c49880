// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What blocks of one kind must have in common, checked inside a test case.
#pragma once

#include <strata/merge/option.hpp>
#include <strata/partition/block.hpp>
#include <strata/partition/hierarchy.hpp>
#include <strata/problem/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/random_block_graph.hpp"
#include "tests/support/random_problem.hpp"

namespace strata::test {

/// True when every op of `b` runs in its half or, a replay, later, and what ops of `b` make is complete before it is read.
inline auto runs_in_order(problem const& p, block const& b, run_order const& forward, run_order const& backward) -> bool
{
    std::vector<char> ran(static_cast<std::size_t>(p.op_count()), 0);
    for (auto const* order : {&forward, &backward}) {
        for (auto o : *order) {
            for (auto t : p.inputs(o)) {
                for (auto maker : p.producers(t)) {
                    if (strata::detail::contains(b, maker) && ran[static_cast<std::size_t>(maker)] == 0) {
                        return false;
                    }
                }
            }
            ran[static_cast<std::size_t>(o)] = 1;
        }
        auto const done = [&](op_id o) { return ran[static_cast<std::size_t>(o)] != 0; };
        if (!std::all_of(b.forward.begin(), b.forward.end(), done) ||
            (order == &backward && !std::all_of(b.backward.begin(), b.backward.end(), done))) {
            return false;
        }
    }
    return true;
}

/// Everything about a half but names: stretches by size, sorted, and records.
inline auto nameless(problem const& p, half_run const& h)
{
    std::vector<std::tuple<std::size_t, std::size_t, bool, bytes_t>> touches;
    for (auto const& x : h.touches) {
        touches.emplace_back(x.first, x.last, x.made, p.size(x.tensor));
    }
    std::sort(touches.begin(), touches.end());
    return std::tuple(h.cost, h.records, touches);
}

/// Requires that ways to run the first block of each kind are, translated, such ways for the others of that kind.
/// Returns: how many blocks had a twin before them.
inline auto require_true_twins(hierarchy const& h, dice& d) -> std::size_t
{
    auto const& p = h.subject();
    std::size_t twins = 0;
    for (std::size_t i = 0; i < h.size(); ++i) {
        auto const first = h.representative(h[i].kind);
        REQUIRE(first <= i);
        REQUIRE(h[first].kind == h[i].kind);
        if (first == i) {
            continue;
        }
        ++twins;
        for (auto const& x : random_options_of(p, h[first].ops, d)) {
            auto forward = h.translate(x.forward.order, first, i);
            auto backward = h.translate(x.backward.order, first, i);
            REQUIRE(h.translate(forward, i, first) == x.forward.order);
            REQUIRE(runs_in_order(p, h[i].ops, forward, backward));
            auto const y = describe(p, h[i].ops, std::move(forward), std::move(backward));
            REQUIRE(y.cost() == x.cost());
            REQUIRE(y.kept == x.kept);
            REQUIRE(y.kept_tensors.size() == x.kept_tensors.size());
            REQUIRE(y.required.size() == x.required.size());
            REQUIRE(own_peak(p, y.forward) == own_peak(p, x.forward));
            REQUIRE(own_peak(p, y.backward) == own_peak(p, x.backward));
            REQUIRE(nameless(p, y.forward) == nameless(p, x.forward));
            REQUIRE(nameless(p, y.backward) == nameless(p, x.backward));
        }
    }
    return twins;
}

} // namespace strata::test
