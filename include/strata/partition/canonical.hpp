// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Which blocks are alike: isomorphic in everything that planning looks at, however their ops are listed.
#pragma once

#include <strata/partition/block.hpp>
#include <strata/partition/refinement.hpp>
#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace strata {

/// A block without names: `code` says everything that planning looks at about the ops `ops`, in that order, and about the
/// tensors they touch. Blocks with equal codes are isomorphic, their i-th ops correspond.
///
/// Of an op: half, cost, workspace, effects, whether it may be replayed. Of a tensor: bytes, whether the block adds into it,
/// whether it is a target, whether ops outside make it or read it, and in which half. And who reads and writes what.
/// Names, types and resident tensors do not matter.
struct canonical_form {
    std::vector<op_id> ops = {};
    std::vector<std::int64_t> code = {};
    std::vector<std::uint64_t> trace = {}; ///< equal codes have equal ones; the first does not depend on choices
};

namespace detail {

/// A block as two graphs, reading and writing, over its ops and the tensors they touch.
template <class = void>
class basic_block_shape {
public:
    /// Requires: `turn` is that of `p`.
    /// Complexity: O(ops, reads and writes of the block and uses of its tensors · log).
    basic_block_shape(problem const& p, block const& b, op_id turn)
        : p_(&p)
        , ops_(b.forward)
    {
        ops_.insert(ops_.end(), b.backward.begin(), b.backward.end());
        for (auto o : ops_) {
            tensors_.insert(tensors_.end(), p.inputs(o).begin(), p.inputs(o).end());
            tensors_.insert(tensors_.end(), p.outputs(o).begin(), p.outputs(o).end());
        }
        std::sort(tensors_.begin(), tensors_.end());
        tensors_.erase(std::unique(tensors_.begin(), tensors_.end()), tensors_.end());
        auto const n = ops_.size() + tensors_.size();
        for (auto& edges : edges_) {
            edges.resize(n);
        }
        for (std::size_t i = 0; i < ops_.size(); ++i) {
            join(0, i, p.inputs(ops_[i]));
            join(1, i, p.outputs(ops_[i]));
            facts_.push_back(facts_of_op(ops_[i], i >= b.forward.size()));
        }
        for (auto t : tensors_) {
            facts_.push_back(facts_of_tensor(b, t, turn));
        }
    }

    /// Vertices told apart as far as that goes without choosing.
    [[nodiscard]] auto refined() const -> refinement
    {
        std::vector<std::size_t> first(facts_.size());
        for (std::size_t i = 0; i < first.size(); ++i) {
            first[i] = i;
        }
        std::sort(first.begin(), first.end(), [&](std::size_t a, std::size_t b) {
            return facts_[a] != facts_[b] ? facts_[a] < facts_[b] : a < b;
        });
        std::vector<std::size_t> begins;
        for (std::size_t i = 0; i < first.size(); ++i) {
            if (i == 0 || facts_[first[i]] != facts_[first[i - 1]]) {
                begins.push_back(i);
            }
        }
        return refinement(edges_, std::move(first), begins);
    }

    /// Writes ops and code in the order of `r`. Requires: `r` is discrete. Complexity: O(reads and writes · log).
    void write(refinement const& r, canonical_form& to) const
    {
        to.ops.clear();
        to.code.clear();
        std::vector<std::size_t> place(facts_.size());
        for (std::size_t i = 0; i < place.size(); ++i) {
            place[r.order()[i]] = i;
        }
        std::vector<std::size_t> near;
        for (auto v : r.order()) {
            to.code.insert(to.code.end(), facts_[v].begin(), facts_[v].end());
            if (v >= ops_.size()) {
                continue;
            }
            to.ops.push_back(ops_[v]);
            for (auto const& edges : edges_) {
                near.clear();
                for (auto u : edges[v]) {
                    near.push_back(place[u]);
                }
                std::sort(near.begin(), near.end());
                to.code.push_back(static_cast<std::int64_t>(near.size()));
                to.code.insert(to.code.end(), near.begin(), near.end());
            }
        }
    }

private:
    using facts = std::array<std::int64_t, 3>; // ops come before tensors

    void join(std::size_t sort, std::size_t op, std::span<tensor_id const> ids)
    {
        for (auto t : ids) {
            auto const i = ops_.size() + static_cast<std::size_t>(
                                             std::lower_bound(tensors_.begin(), tensors_.end(), t) - tensors_.begin());
            edges_[sort][op].push_back(i);
            edges_[sort][i].push_back(op);
        }
    }
    [[nodiscard]] auto facts_of_op(op_id o, bool backward) const -> facts
    {
        std::int64_t flags = backward ? 1 : 0;
        for (auto e : {effect::random, effect::stateful, effect::nondeterministic, effect::collective, effect::once}) {
            flags = flags * 2 + (p_->op(o).effects.has(e) ? 1 : 0);
        }
        return {flags * 2 + (p_->replayable(o) ? 1 : 0), p_->cost(o), p_->workspace(o)};
    }
    [[nodiscard]] auto facts_of_tensor(block const& b, tensor_id t, op_id turn) const -> facts
    {
        constexpr std::int64_t tensor = 1 << 10;
        auto const makers = p_->producers(t);
        bool const made = std::any_of(makers.begin(), makers.end(), [&](op_id o) { return contains(b, o); });
        std::int64_t flags = tensor + (made && p_->accumulated(t) ? 1 : 0) + (p_->is_target(t) ? 2 : 0);
        std::int64_t bit = 4;
        for (auto const users : {makers, p_->consumers(t)}) {
            for (auto o : users) {
                flags |= contains(b, o) ? 0 : o < turn ? bit : 2 * bit;
            }
            bit *= 4;
        }
        return {flags, p_->size(t), 0};
    }

    problem const* p_;
    std::vector<op_id> ops_;
    std::vector<tensor_id> tensors_;
    two_graphs edges_;
    std::vector<facts> facts_; // by vertex
};

using block_shape = basic_block_shape<>;

/// See `strata::form_of`.
template <class = void>
[[nodiscard]] auto form_of(block_shape const& shape) -> canonical_form
{
    auto r = shape.refined();
    canonical_form f;
    f.trace.push_back(r.trace());
    while (!r.discrete()) {
        auto const tie = r.first_tie();
        r.single_out(*std::min_element(tie.begin(), tie.end()));
        f.trace.push_back(r.trace());
    }
    shape.write(r, f);
    return f;
}

/// The ops of a block in the order that makes its code that of `like`, if there is one.
/// Complexity: at most `tries` refinements for each way to choose first; beyond that the answer is no.
template <class = void>
[[nodiscard]] auto ops_like(canonical_form const& like, block_shape const& shape, int tries = 1000)
    -> std::optional<std::vector<op_id>>
{
    canonical_form f;
    std::vector<std::pair<refinement, std::size_t>> open; // states, and how many choices each has behind it
    open.emplace_back(shape.refined(), 0);
    while (!open.empty() && tries-- > 0) {
        auto [r, depth] = std::move(open.back());
        open.pop_back();
        if (depth >= like.trace.size() || r.trace() != like.trace[depth]) {
            continue;
        }
        if (!r.discrete()) {
            for (auto v : r.first_tie()) {
                open.emplace_back(r, depth + 1).first.single_out(v);
            }
            continue;
        }
        shape.write(r, f);
        if (f.code == like.code) {
            return std::move(f.ops);
        }
    }
    return {};
}

} // namespace detail

/// A form of `b`. Where refinement leaves ops that look alike it takes the one listed first; mostly that one is as good as
/// the others, and isomorphic blocks have equal codes.
/// Complexity: O(reads and writes · log) for blocks with few such ops.
template <class = void>
[[nodiscard]] auto form_of(problem const& p, block const& b) -> canonical_form
{
    return detail::form_of(detail::block_shape(p, b, turn_of(p)));
}

/// Blocks sorted into kinds.
struct kinds_of_blocks {
    std::vector<std::size_t> kind = {};             ///< by block
    std::vector<std::size_t> first = {};            ///< by kind: its first block
    std::vector<std::vector<op_id>> canonical = {}; ///< by block: its ops; those of blocks of one kind correspond
};

/// Sorts `blocks` into kinds. Isomorphic blocks are of one kind, unless they hold so many ops that only look alike that a
/// thousand tries do not find the correspondence; blocks of one kind are isomorphic always.
/// Complexity: O(ops) for a block whose number of ops and cost no other has, that of `form_of` for others.
template <class = void>
[[nodiscard]] auto sort_into_kinds(problem const& p, std::span<block const> blocks) -> kinds_of_blocks
{
    auto const turn = turn_of(p);
    kinds_of_blocks r;
    using sums = std::array<std::int64_t, 4>;
    std::vector<sums> sum;
    for (auto const& b : blocks) {
        sum.push_back(
            {static_cast<std::int64_t>(b.forward.size()), static_cast<std::int64_t>(b.backward.size()), 0, 0});
        for (auto h : {half::forward, half::backward}) {
            for (auto o : b.ops(h)) {
                sum.back()[2 + static_cast<std::size_t>(h)] += p.cost(o);
            }
        }
    }
    std::map<sums, std::size_t> count;
    for (auto const& s : sum) {
        ++count[s];
    }
    struct known {
        std::size_t kind;
        canonical_form form;
    };
    std::map<std::pair<sums, std::uint64_t>, std::vector<known>> all;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        auto const& b = blocks[i];
        auto kind = r.first.size();
        std::vector<op_id> ops = b.forward;
        ops.insert(ops.end(), b.backward.begin(), b.backward.end());
        if (count[sum[i]] > 1) {
            detail::block_shape const shape(p, b, turn);
            auto form = detail::form_of(shape);
            ops = form.ops;
            auto& same = all[{sum[i], form.trace.front()}];
            auto const equal = [&](known const& k) { return k.form.code == form.code; };
            if (auto const k = std::find_if(same.begin(), same.end(), equal); k != same.end()) {
                kind = k->kind;
            }
            for (std::size_t k = 0; k < same.size() && kind == r.first.size(); ++k) {
                if (auto found = detail::ops_like(same[k].form, shape)) {
                    kind = same[k].kind;
                    ops = *std::move(found);
                }
            }
            if (kind == r.first.size()) {
                same.push_back({kind, std::move(form)});
            }
        }
        if (kind == r.first.size()) {
            r.first.push_back(i);
        }
        r.kind.push_back(kind);
        r.canonical.push_back(std::move(ops));
    }
    return r;
}

} // namespace strata
