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
#include <cstdint>
#include <memory>
#include <optional>
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

/// A plan with one pass per stage: between two first runs, forward halves again in the order of the items.
inline auto random_one_pass_plan(block_graph const& g, dice& d) -> block_plan
{
    block_plan r;
    std::vector<int> served(g.size(), fast_forward);
    int const often = static_cast<int>(d.between(0, 40));
    for (std::size_t t = 0; t < g.items().size(); ++t) {
        for (std::size_t x = 0; x <= t; ++x) {
            auto const [part, which] = g.items()[x];
            if (x < t && (which == half::backward || !g.replayable(part) || !d.chance(often))) {
                continue;
            }
            auto const any = static_cast<int>(d.below(static_cast<std::int64_t>(g.options(part).size())));
            bool const follows = which == half::backward && !g.part(part).forward.empty();
            r.push_back({part, which, follows ? served[part] : any});
            served[part] = any;
        }
    }
    return without_vain_keeping(g, std::move(r));
}

/// A random step cut into parts with random options.
struct random_level {
    std::unique_ptr<problem> step;
    std::optional<block_graph> level; ///< none when the parts wait for each other
};
inline auto make_random_level(std::uint64_t seed, int max_ops) -> random_level
{
    dice d(seed * 7919);
    random_options o;
    o.ops = static_cast<int>(d.between(2, max_ops));
    o.training = d.chance(80);
    o.effects = d.chance(50) ? 0 : 15;
    o.state = d.chance(50) ? 0 : 15;
    o.workspace = d.chance(50) ? 0 : 25;
    random_level r{std::make_unique<problem>(random_problem(d.next(), o)), {}};
    auto parts = random_parts(*r.step, d);
    std::vector<std::vector<option>> options;
    for (auto const& b : parts) {
        options.push_back(random_options_of(*r.step, b, d));
    }
    if (auto g = block_graph::make(*r.step, std::move(parts), std::move(options))) {
        r.level = *std::move(g);
    }
    return r;
}

} // namespace strata::test
