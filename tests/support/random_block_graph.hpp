// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Random levels of random training steps, and random plans of them that obey the rules.
#pragma once

#include <strata/merge/block_graph.hpp>
#include <strata/merge/option.hpp>
#include <strata/partition/block.hpp>
#include <strata/problem/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "tests/support/random_problem.hpp"

namespace strata::test {

/// Stretches of one to four forward ops, with their backward ops; other ops by themselves.
inline auto random_parts(problem const& p, dice& d) -> std::vector<block>
{
    auto const turn = turn_of(p);
    std::vector<block> parts;
    std::vector<std::size_t> part_of(static_cast<std::size_t>(turn));
    for (op_id o = 0; o < turn;) {
        auto const end = std::min<op_id>(turn, o + static_cast<op_id>(d.between(1, 4)));
        parts.emplace_back();
        for (; o < end; ++o) {
            parts.back().forward.push_back(o);
            part_of[static_cast<std::size_t>(o)] = parts.size() - 1;
        }
    }
    for (op_id o = turn; o < p.op_count(); ++o) {
        auto const owner = p.op(o).backward_of;
        if (owner == none || owner >= turn) {
            parts.push_back({{}, {o}});
        } else {
            parts[part_of[static_cast<std::size_t>(owner)]].backward.push_back(o);
        }
    }
    return parts;
}

/// Some ways to run `b`: keep all, and random replays in either half.
inline auto random_options_of(problem const& p, block const& b, dice& d) -> std::vector<option>
{
    std::vector<option> r{describe(p, b, b.forward, b.backward)};
    for (auto n = d.below(3); n > 0 && !b.backward.empty(); --n) {
        auto forward = b.forward;
        auto backward = b.backward;
        for (auto k = d.below(5); k > 0 && !b.forward.empty(); --k) {
            auto const i = d.below(static_cast<std::int64_t>(b.forward.size()));
            auto const o = b.forward[static_cast<std::size_t>(i)];
            if (!p.replayable(o)) {
                continue;
            }
            if (d.chance(30)) {
                auto const first = std::find(forward.begin(), forward.end(), o) - forward.begin();
                forward.insert(forward.begin() + d.between(first + 1, static_cast<std::int64_t>(forward.size())), o);
            } else {
                backward.insert(backward.begin() + d.below(static_cast<std::int64_t>(backward.size())), o);
            }
        }
        r.push_back(describe(p, b, std::move(forward), std::move(backward)));
    }
    return r;
}

/// Each half in order, forward halves again where they may, with random options.
inline auto random_plan(block_graph const& g, dice& d) -> block_plan
{
    block_plan r;
    std::vector<char> ran(g.size(), 0);
    std::vector<std::size_t> again;
    auto const any_option = [&](std::size_t part) {
        return static_cast<int>(d.below(static_cast<std::int64_t>(g.options(part).size())));
    };
    for (auto const& x : g.items()) {
        for (auto k = d.below(3); k > 0 && !again.empty(); --k) {
            auto const part = d.pick(again);
            bool const keeps = d.chance(50) && !g.part(part).backward.empty();
            r.push_back({part, half::forward, keeps ? any_option(part) : fast_forward});
        }
        r.push_back({x.part, x.which, any_option(x.part)});
        if (x.which == half::forward && g.replayable(x.part)) {
            again.push_back(x.part);
        }
    }
    return r;
}

} // namespace strata::test
