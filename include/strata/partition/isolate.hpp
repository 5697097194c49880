// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A block as a problem of its own, so that whatever plans a step can plan a block.
#pragma once

#include <strata/partition/block.hpp>
#include <strata/problem/problem.hpp>
#include <strata/result.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace strata {

/// A block cut out of a step. What the rest of the step does is told by two ops that never run again: `enter` makes what the
/// forward half reads from outside, `gap` stands between the halves, reads what others read of the forward half, and makes
/// (or begins to add up) what the backward half reads from outside. What others read of the backward half is a target.
struct isolated_block {
    problem subject;
    std::vector<op_id> ops; ///< of the step, by op of `subject`; `none` for `enter` and `gap`
    op_id gap = none;       ///< op of `subject`; `none` when the block has no backward half

    /// `order`, of ops of `subject`, in ops of the step, without `enter` and `gap`.
    [[nodiscard]] auto in_step(std::span<op_id const> order) const -> std::vector<op_id>
    {
        std::vector<op_id> r;
        for (auto o : order) {
            if (auto const x = ops[static_cast<std::size_t>(o)]; x != none) {
                r.push_back(x);
            }
        }
        return r;
    }
    /// `order`, of ops of the block in the step, in ops of `subject`. Complexity: O(length · log ops).
    [[nodiscard]] auto in_block(std::span<op_id const> order) const -> std::vector<op_id>
    {
        std::vector<std::pair<op_id, op_id>> mine;
        for (std::size_t i = 0; i < ops.size(); ++i) {
            mine.emplace_back(ops[i], static_cast<op_id>(i));
        }
        std::sort(mine.begin(), mine.end());
        std::vector<op_id> r;
        for (auto o : order) {
            r.push_back(std::lower_bound(mine.begin(), mine.end(), std::pair(o, op_id{0}))->second);
        }
        return r;
    }
};

/// Who holds what a block reads of the forward halves before it.
enum class border : std::uint8_t {
    counted, ///< whoever needs it: it may be dropped, and takes room where it is kept
    held     ///< the rest of the step, all the time: a constant, as a resident tensor
};

/// `b` of `p` as a problem. `gap_bytes`: workspace of `gap`; so many bytes fewer than the budget are left for what is kept
/// between the halves.
/// Errors: `overflow`.
/// Complexity: O(ops and tensors of the block · log).
template <class = void>
[[nodiscard]] auto isolate(problem const& p, block const& b, bytes_t gap_bytes = 0, border inputs = border::counted)
    -> result<isolated_block>
{
    auto const turn = turn_of(p);
    std::vector<op_id> ops = b.forward;
    ops.insert(ops.end(), b.backward.begin(), b.backward.end());
    std::vector<tensor_id> tensors;
    for (auto o : ops) {
        tensors.insert(tensors.end(), p.op(o).inputs.begin(), p.op(o).inputs.end());
        tensors.insert(tensors.end(), p.op(o).outputs.begin(), p.op(o).outputs.end());
    }
    std::sort(tensors.begin(), tensors.end());
    tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());

    problem_spec s;
    s.alignment = p.alignment();
    op_spec enter{.name = "enter", .phase = phase::forward, .effects = effect::once};
    op_spec gap{.name = "gap", .phase = phase::backward, .workspace = gap_bytes, .effects = effect::once};
    auto const mine = [&](op_id o) { return detail::contains(b, o); };
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        auto const t = tensors[i];
        auto const local = static_cast<tensor_id>(i);
        s.tensors.push_back(p.tensor(t));
        if (p.resident(t)) {
            continue;
        }
        auto const makers = p.producers(t);
        auto const readers = p.consumers(t);
        auto const is_mine = [&](op_id o) { return mine(o); };
        bool const mine_made = std::any_of(makers.begin(), makers.end(), is_mine);
        bool const made_outside = !std::all_of(makers.begin(), makers.end(), is_mine);
        bool const read_outside = p.is_target(t) || !std::all_of(readers.begin(), readers.end(), is_mine);
        bool const forward = makers.front() < turn;
        if (made_outside && forward && !mine_made && inputs == border::held) {
            s.tensors.back().kind = tensor_kind::input;
        } else if (made_outside) {
            (forward && !b.forward.empty() ? enter : gap).outputs.push_back(local);
        }
        if (mine_made && read_outside) {
            if (forward && !made_outside && !b.backward.empty()) {
                gap.inputs.push_back(local);
            } else {
                s.targets.push_back(local);
            }
        }
    }
    isolated_block r{problem::make({.ops = {op_spec{}}}).value(), {}, none};
    auto const add = [&](op_spec o, op_id from) {
        s.ops.push_back(std::move(o));
        r.ops.push_back(from);
    };
    auto const local = [&](std::vector<tensor_id>& ids) {
        for (auto& t : ids) {
            t = static_cast<tensor_id>(std::lower_bound(tensors.begin(), tensors.end(), t) - tensors.begin());
        }
    };
    if (!enter.outputs.empty()) {
        add(std::move(enter), none);
    }
    auto const first = static_cast<op_id>(s.ops.size()); // forward ops stand from here on
    for (auto o : b.forward) {
        add(p.op(o), o);
    }
    if (!b.backward.empty()) {
        r.gap = static_cast<op_id>(s.ops.size());
        add(std::move(gap), none);
    }
    for (auto o : b.backward) {
        add(p.op(o), o);
    }
    for (std::size_t i = 0; i < s.ops.size(); ++i) {
        auto& o = s.ops[i];
        if (r.ops[i] == none) {
            continue;
        }
        local(o.inputs);
        local(o.outputs);
        auto const owner = std::lower_bound(b.forward.begin(), b.forward.end(), o.backward_of);
        o.backward_of = o.backward_of != none && owner != b.forward.end() && *owner == o.backward_of
                            ? first + static_cast<op_id>(owner - b.forward.begin())
                            : none;
        if (!p.replayable(r.ops[i])) {
            o.effects = o.effects | effect::once; // what forbids it may lie outside
        }
    }
    auto made = problem::make(std::move(s));
    if (!made) {
        return std::move(made).error();
    }
    r.subject = *std::move(made);
    return r;
}

} // namespace strata
