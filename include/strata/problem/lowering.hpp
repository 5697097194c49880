// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A graph turned into a `problem`, and the way back: schedules of one become schedules of the other.
#pragma once

#include <strata/problem/aliased_spec.hpp>
#include <strata/problem/fold.hpp>
#include <strata/problem/problem.hpp>
#include <strata/result.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace strata {

/// A `problem` and where its ops and tensors come from.
///
/// Each op of the problem is a group of graph ops that run one after the other; each tensor of the problem is a buffer
/// of the graph, under the id of the tensor that owns it. A buffer that only one group of several ops touches is a
/// temporary of that group: it is no tensor of the problem and counts in the group's workspace instead.
///
/// A group of several ops has: the sum of their costs; the union of their effects, and `once` where a replay of the
/// whole could not tell old values from new (it adds into a gradient several times, or reads a resident tensor that it
/// also overwrites); the phase of its first op; as workspace one piece of memory in which its temporaries and the
/// workspaces of its ops have their places, a temporary being live from the op that makes it to the last that touches
/// it. That is seldom more than
///   max over its ops k of (workspace of k + temporaries live at k),
/// and since inputs and outputs of the group count for the whole run, an upper bound of what the ops need one after the
/// other.
class lowering {
public:
    /// Folds views and in-place ops of `spec` away.
    /// Requires: `table` is what `check_aliases(spec)` answered; costs are not negative.
    /// Errors: `overflow` and `malformed_graph`, see `problem::make`.
    /// Complexity: see `fuse`.
    template <class = void>
    [[nodiscard]] static auto make(aliased_spec spec, buffer_table const& table) -> result<lowering>;

    [[nodiscard]] auto problem() const noexcept -> strata::problem const& { return problem_; }

    [[nodiscard]] auto graph_op_count() const noexcept -> op_id { return static_cast<op_id>(group_of_.size()); }
    [[nodiscard]] auto graph_tensor_count() const noexcept -> tensor_id
    {
        return static_cast<tensor_id>(tensor_of_.size());
    }
    /// Graph ops that op `p` of the problem stands for, in the order they run.
    [[nodiscard]] auto members(op_id p) const noexcept -> std::span<op_id const> { return groups_[at(p)]; }
    /// The op of the problem that graph op `o` is part of.
    [[nodiscard]] auto group_of(op_id o) const noexcept -> op_id { return group_of_[at(o)]; }
    /// The graph tensor that owns the buffer of tensor `p` of the problem.
    [[nodiscard]] auto owner(tensor_id p) const noexcept -> tensor_id { return owner_[at(p)]; }
    /// The tensor of the problem that holds graph tensor `t`, or `none` for a temporary of a group.
    [[nodiscard]] auto tensor_of(tensor_id t) const noexcept -> tensor_id { return tensor_of_[at(t)]; }
    /// True when ops and tensors of graph and problem are the same under the same ids.
    [[nodiscard]] auto identity() const noexcept -> bool { return identity_; }

    /// The temporaries that begin with graph op `o`, and those that end with it.
    [[nodiscard]] auto temporaries_from(op_id o) const noexcept -> std::span<tensor_id const>
    {
        return made_by_[at(o)];
    }
    [[nodiscard]] auto temporaries_until(op_id o) const noexcept -> std::span<tensor_id const>
    {
        return freed_after_[at(o)];
    }
    /// Where in the workspace of its group the workspace of graph op `o` is.
    [[nodiscard]] auto workspace_offset(op_id o) const noexcept -> bytes_t { return workspace_offset_[at(o)]; }
    /// Where in the workspace of its group temporary `t`, a graph tensor, is.
    [[nodiscard]] auto temporary_offset(tensor_id t) const noexcept -> bytes_t { return temporary_offset_[at(t)]; }
    /// The graph tensor that owns the buffer of graph tensor `t`: `t` itself, unless it is a view.
    [[nodiscard]] auto buffer_of(tensor_id t) const noexcept -> tensor_id { return buffer_of_[at(t)]; }
    /// What the graph says about its tensor `t` and its op `o`, before anything was folded.
    [[nodiscard]] auto graph_tensor(tensor_id t) const noexcept -> tensor_spec const&
    {
        return spec_.plain.tensors[at(t)];
    }
    [[nodiscard]] auto graph_op(op_id o) const noexcept -> op_spec const& { return spec_.plain.ops[at(o)]; }
    [[nodiscard]] auto mutates(op_id o) const noexcept -> std::span<tensor_id const> { return spec_.mutates[at(o)]; }

    /// `s` in terms of the graph. Views are never freed: they end with the buffer that they view. Temporaries of a
    /// group are freed after the last op that touches them.
    /// Requires: every id in `s` exists in the problem.
    /// Complexity: linear in the answer.
    template <class = void>
    [[nodiscard]] auto expand(schedule const& s) const -> schedule;

    /// The schedule of the problem that a schedule of the graph amounts to; `collapse(expand(s))` is `s`. Frees of
    /// temporaries are dropped, and a tensor freed between the ops of a group is freed after the group.
    /// Errors: `invalid_plan` naming the step if the ops of a group do not run one after the other, a free names a view,
    /// a tensor is freed that the running group still touches, or an id does not exist.
    /// `step_of`, if given, becomes where each step of `s` has gone, and after the last the number of steps in all; a step
    /// that was dropped has the place of the next one.
    /// Complexity: linear in `s`.
    template <class = void>
    [[nodiscard]] auto collapse(schedule const& s, std::vector<std::size_t>* step_of = nullptr) const
        -> result<schedule>;

private:
    explicit lowering(strata::problem p)
        : problem_(std::move(p))
    {
    }
    template <class I>
    static auto at(I i) noexcept -> std::size_t
    {
        return static_cast<std::size_t>(i);
    }

    strata::problem problem_;
    std::vector<std::vector<op_id>> groups_;
    std::vector<op_id> group_of_;
    std::vector<tensor_id> owner_;
    std::vector<tensor_id> tensor_of_;
    std::vector<std::vector<tensor_id>> touches_;     // per graph op
    std::vector<std::vector<tensor_id>> made_by_;     // per graph op: temporaries that begin with it
    std::vector<std::vector<tensor_id>> freed_after_; // per graph op: temporaries that end with it
    std::vector<bytes_t> workspace_offset_;           // per graph op
    std::vector<bytes_t> temporary_offset_;           // per graph tensor
    std::vector<tensor_id> buffer_of_;                // per graph tensor
    aliased_spec spec_;                               // the graph
    bool identity_ = true;
};

template <class>
auto lowering::expand(schedule const& s) const -> schedule
{
    schedule r;
    for (auto const& x : s.steps) {
        if (x.action == action::free) {
            r.steps.push_back(free(owner(x.id)));
            continue;
        }
        for (auto o : members(x.id)) {
            r.steps.push_back(run(o));
            for (auto t : freed_after_[at(o)]) {
                r.steps.push_back(free(t));
            }
        }
    }
    return r;
}

template <class>
auto lowering::collapse(schedule const& s, std::vector<std::size_t>* step_of) const -> result<schedule>
{
    schedule r;
    op_id group = none;       // that has begun and not ended
    std::size_t position = 0; // in it: members that have run
    std::vector<step> after;  // frees put off until it ends
    auto const bad = [](std::size_t k, std::string what) {
        return fail(errc::invalid_plan, "strata::lowering: step " + std::to_string(k) + " " + std::move(what));
    };
    std::vector<std::size_t> places;
    for (std::size_t k = 0; k < s.steps.size(); ++k) {
        auto const [what, id] = s.steps[k];
        places.push_back(r.steps.size());
        auto const limit = what == action::run ? group_of_.size() : tensor_of_.size();
        if (id < 0 || at(id) >= limit) {
            return bad(k, "names an op or tensor that does not exist: " + std::to_string(id));
        }
        if (what == action::run) {
            auto const expected = group == none ? members(group_of(id))[0] : members(group)[position];
            if (id != expected) {
                return bad(k,
                           "runs op " + std::to_string(id) + " where op " + std::to_string(expected) +
                               " must run: ops that share a buffer in place or through a view run one after the other");
            }
            position = group == none ? 1 : position + 1;
            group = group_of(id);
            if (position == members(group).size()) {
                r.steps.push_back(run(group));
                r.steps.insert(r.steps.end(), after.begin(), after.end());
                after.clear();
                group = none;
            }
            continue;
        }
        if (buffer_of(id) != id) {
            return bad(k, "frees tensor " + std::to_string(id) + ", which is a view; free the tensor it views");
        }
        if (tensor_of(id) == none) {
            continue;
        }
        if (group == none) {
            r.steps.push_back(free(tensor_of(id)));
            continue;
        }
        auto const rest = members(group).subspan(position);
        auto const outputs = problem_.outputs(group);
        bool const touched = std::binary_search(outputs.begin(), outputs.end(), tensor_of(id)) ||
                             std::any_of(rest.begin(), rest.end(), [&](op_id o) {
                                 return std::binary_search(touches_[at(o)].begin(), touches_[at(o)].end(), id);
                             });
        if (touched) {
            return bad(k,
                       "frees tensor " + std::to_string(id) + ", which op " + std::to_string(rest[0]) +
                           " or one that runs together with it still uses");
        }
        after.push_back(free(tensor_of(id)));
        places.back() += after.size(); // behind the run of the group
    }
    if (group != none) {
        return bad(s.steps.size(),
                   "is missing: op " + std::to_string(members(group)[position]) + " must run right after op " +
                       std::to_string(members(group)[position - 1]));
    }
    if (step_of != nullptr) {
        places.push_back(r.steps.size());
        *step_of = std::move(places);
    }
    return r;
}

template <class Lazy>
auto lowering::make(aliased_spec spec, buffer_table const& table) -> result<lowering>
{
    detail::basic_spec_folder<Lazy> folder(spec, table);
    auto folded = folder.folded();
    if (!folded) {
        return std::move(folded).error();
    }
    auto p = problem::make(*std::move(folded));
    if (!p) {
        return std::move(p).error();
    }
    lowering r(*std::move(p));
    r.groups_ = std::move(folder.groups);
    r.group_of_ = std::move(folder.group_of);
    r.owner_ = std::move(folder.owner);
    r.tensor_of_ = std::move(folder.tensor_of);
    r.made_by_ = std::move(folder.made_by);
    r.freed_after_ = std::move(folder.freed_after);
    r.workspace_offset_ = std::move(folder.workspace_offset);
    r.temporary_offset_ = std::move(folder.temporary_offset);
    r.buffer_of_ = table.buffer_of;
    r.touches_ = table.touches;
    for (std::size_t o = 0; o < r.group_of_.size(); ++o) {
        r.identity_ = r.identity_ && r.group_of_[o] == static_cast<op_id>(o) && r.groups_.size() == r.group_of_.size();
    }
    for (std::size_t t = 0; t < r.tensor_of_.size(); ++t) {
        r.identity_ = r.identity_ && spec.view_of[t] == none && r.tensor_of_[t] == static_cast<tensor_id>(t);
    }
    r.spec_ = std::move(spec);
    return r;
}

} // namespace strata
