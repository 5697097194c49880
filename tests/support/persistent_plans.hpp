// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Every plan of a row of parts in which what is kept stays until its backward half, told one by one; random rows.
#pragma once

#include <strata/merge/block_graph.hpp>
#include <strata/merge/promise.hpp>
#include <strata/problem/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace strata::test {

/// A row of forward ops, each reading what the one before made, and its backward. What a backward op reads of the input,
/// the output and a tensor saved beside differs from op to op.
inline auto random_row_spec(dice& d, int n) -> problem_spec
{
    problem_spec s;
    s.name = "row";
    std::vector<tensor_id> y;
    std::vector<std::vector<tensor_id>> needed(static_cast<std::size_t>(n));
    auto const size = [&] { return d.chance(10) ? 0 : d.between(1, 6); };
    for (int i = 0; i < n; ++i) {
        auto& reads = needed[static_cast<std::size_t>(i)];
        auto const input = y.empty() ? std::vector<tensor_id>{} : std::vector<tensor_id>{y.back()};
        std::vector<tensor_id> made{add_tensor(s, size())};
        if (d.chance(30)) {
            made.push_back(add_tensor(s, size(), tensor_kind::saved));
            reads.push_back(made.back());
        }
        if (d.chance(60) && !input.empty()) {
            reads.push_back(input.front());
        }
        if (d.chance(30)) {
            reads.push_back(made.front());
        }
        y.push_back(made.front());
        auto const o =
            add_op(s, d.chance(15) ? 0 : d.between(1, 9), input, made, {}, d.chance(20) ? d.between(1, 5) : 0);
        s.ops[static_cast<std::size_t>(o)].phase = phase::forward;
    }
    tensor_id gradient = none;
    for (int i = n; i-- > 0;) {
        auto& reads = needed[static_cast<std::size_t>(i)];
        reads.push_back(gradient == none ? y.back() : gradient);
        std::sort(reads.begin(), reads.end());
        reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
        gradient = add_tensor(s, size(), tensor_kind::gradient);
        auto const o = add_op(s, d.between(0, 9), reads, {gradient}, {}, d.chance(20) ? d.between(1, 5) : 0);
        s.ops[static_cast<std::size_t>(o)].phase = phase::backward;
        s.ops[static_cast<std::size_t>(o)].backward_of = i;
    }
    s.targets = {gradient};
    return s;
}

/// Each `length` forward ops with their backward ops; requires that every backward op names its forward op.
inline auto parts_of_row(problem const& p, int length) -> std::vector<block>
{
    std::vector<block> parts;
    for (op_id o = 0; o < p.op_count(); ++o) {
        auto const owner = o < turn_of(p) ? o : p.op(o).backward_of;
        auto const i = static_cast<std::size_t>(owner / length);
        parts.resize(std::max(parts.size(), i + 1));
        (o < turn_of(p) ? parts[i].forward : parts[i].backward).push_back(o);
    }
    return parts;
}

/// All persistent plans of the parts `a` to `b` of a row; `again`: their forward halves have run before.
inline auto persistent_plans(block_graph const& g, std::size_t a, std::size_t b, bool again) -> std::vector<block_plan>
{
    std::vector<block_plan> all;
    auto const add = [&](block_plan front, block_plan const& middle, block_plan const& end) {
        front.insert(front.end(), middle.begin(), middle.end());
        front.insert(front.end(), end.begin(), end.end());
        all.push_back(std::move(front));
    };
    for (int o = 0; o < static_cast<int>(g.options(a).size()); ++o) {
        block_run const ahead{a, half::forward, o};
        block_run const back{a, half::backward, o};
        auto const& x = g.options(a)[static_cast<std::size_t>(o)];
        if (a < b) {
            for (auto const& rest : persistent_plans(g, a + 1, b, again)) {
                add({ahead}, rest, {back});
            }
            continue;
        }
        all.push_back({ahead, back});
        auto const& made = g.part(a).forward;
        bool const from_outside = std::none_of(x.required.begin(), x.required.end(), [&](tensor_id t) {
            return std::find(made.begin(), made.end(), g.subject().producers(t).front()) != made.end();
        });
        if (again && x.kept == 0 && from_outside && x.forward.order == made) {
            all.push_back({back});
        }
    }
    block_plan ahead;
    for (auto j = a + 1; j <= b && g.replayable(j - 1); ++j) {
        ahead.push_back({j - 1, half::forward, fast_forward});
        auto const left = persistent_plans(g, a, j - 1, true);
        for (auto const& right : persistent_plans(g, j, b, again)) {
            for (auto const& x : left) {
                add(ahead, right, x);
            }
        }
    }
    return all;
}

} // namespace strata::test
