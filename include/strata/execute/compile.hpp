// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief From a plan to a program: checked once more, then written as instructions in graph ids.
#pragma once

#include <strata/execute/program.hpp>
#include <strata/pipeline/certificate.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/pipeline/plan_graph.hpp>
#include <strata/place/check.hpp>
#include <strata/place/lifetimes.hpp>
#include <strata/place/placement.hpp>
#include <strata/problem/effects.hpp>
#include <strata/problem/fingerprint.hpp>
#include <strata/problem/lower.hpp>
#include <strata/problem/lowering.hpp>
#include <strata/problem/problem.hpp>
#include <strata/result.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace strata {

namespace detail {

/// Writes the instructions of a plan that `refuse_plan` has nothing against.
template <class = void>
class basic_program_writer {
public:
    basic_program_writer(lowering const& from, certified_plan const& planned)
        : from_(from)
        , plan_(planned)
        , problem_(from.problem())
        , lives_(planned.placed() ? planned.placement.lifetimes : lifetimes_of(problem_, planned.schedule))
        , pieces_at_(planned.schedule.steps.size())
        , open_(at(problem_.tensor_count()), none)
        , temporary_(at(from.graph_tensor_count()), none)
        , runs_(at(problem_.op_count()), 0)
        , left_(at(problem_.op_count()), 0)
        , slot_(at(from.graph_op_count()), none)
        , held_(at(from.graph_tensor_count()), 0)
        , adders_(at(from.graph_tensor_count()), 0)
    {
    }

    [[nodiscard]] auto written() -> program
    {
        describe();
        for (std::size_t i = 0; i < lives_.size(); ++i) {
            pieces_at_[lives_[i].begin].push_back(i);
        }
        for (auto const& x : plan_.schedule.steps) {
            if (x.action == action::run) {
                ++left_[at(x.id)];
            }
        }
        for (std::size_t k = 0; k < pieces_at_.size(); ++k) {
            auto const& x = plan_.schedule.steps[k];
            x.action == action::run ? run(x.id, pieces_at_[k]) : release(open_[at(x.id)]);
        }
        return program(std::make_shared<program::content const>(std::move(to_)));
    }

private:
    using kind = instruction::kind;

    template <class I>
    static auto at(I i) noexcept -> std::size_t
    {
        return static_cast<std::size_t>(i);
    }

    static void sort_unique(std::vector<tensor_id>& ids)
    {
        std::sort(ids.begin(), ids.end());
        ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    }

    void describe()
    {
        for (op_id o = 0; o < from_.graph_op_count(); ++o) {
            to_.graph.ops.push_back(from_.graph_op(o));
            auto written = from_.graph_op(o).outputs;
            std::erase_if(written, [&](tensor_id t) { return from_.buffer_of(t) != t; }); // the views it makes
            sort_unique(written);
            for (auto t : written) {
                adders_[at(t)] += is_resident(from_.graph_tensor(t).kind) ? 0 : 1;
            }
            for (auto t : from_.mutates(o)) {
                written.push_back(from_.buffer_of(t));
            }
            sort_unique(written);
            to_.written.push_back(std::move(written));
        }
        for (tensor_id t = 0; t < from_.graph_tensor_count(); ++t) {
            to_.graph.tensors.push_back(from_.graph_tensor(t));
            to_.owners.push_back(from_.buffer_of(t));
        }
        for (tensor_id t = 0; t < problem_.tensor_count(); ++t) {
            if (problem_.is_target(t)) {
                to_.targets.push_back(from_.owner(t));
            }
        }
        to_.placed = plan_.placed() || lives_.empty();
        to_.arena = plan_.placement.arena;
        to_.alignment = plan_.placement.alignment;
        to_.promise = plan_.certificate;
    }

    auto piece(tensor_id t, bytes_t bytes, bytes_t offset) -> std::int32_t
    {
        to_.pieces.push_back({t, bytes, align_up(bytes, to_.alignment), offset});
        return static_cast<std::int32_t>(to_.pieces.size()) - 1;
    }
    void acquire(std::int32_t i) { to_.instructions.push_back({.what = kind::acquire, .id = i}); }
    void release(std::int32_t i) { to_.instructions.push_back({.what = kind::release, .id = i}); }

    /// Runs the graph ops behind op `p` of the problem, whose run begins the lifetimes `begins`.
    void run(op_id p, std::vector<std::size_t> const& begins)
    {
        bytes_t workspace = 0;
        for (auto i : begins) {
            auto const& x = lives_[i];
            auto const offset = plan_.placed() ? plan_.placement.offsets[i] : 0;
            if (x.tensor == none) {
                workspace = offset;
                continue;
            }
            auto const owner = from_.owner(x.tensor);
            open_[at(x.tensor)] = piece(owner, from_.graph_tensor(owner).bytes, offset);
            held_[at(owner)] = 0;
            acquire(open_[at(x.tensor)]);
        }
        for (auto o : from_.members(p)) {
            for (auto t : from_.temporaries_from(o)) {
                temporary_[at(t)] = piece(t, from_.graph_tensor(t).bytes, workspace + from_.temporary_offset(t));
                held_[at(t)] = 0;
                acquire(temporary_[at(t)]);
            }
            run_one(o, runs_[at(p)] > 0, left_[at(p)] > 1, workspace);
            for (auto t : from_.temporaries_until(o)) {
                release(temporary_[at(t)]);
            }
        }
        ++runs_[at(p)];
        --left_[at(p)];
    }

    void run_one(op_id o, bool again, bool more_follow, bytes_t workspace)
    {
        auto const& x = from_.graph_op(o);
        std::int32_t scratch = none;
        if (x.workspace > 0) {
            scratch = piece(none, x.workspace, workspace + from_.workspace_offset(o));
            acquire(scratch);
        }
        instruction now{.again = again, .id = o};
        if (x.effects.has(effect::random) && (again || more_follow)) {
            if (slot_[at(o)] == none) {
                slot_[at(o)] = static_cast<std::int32_t>(to_.random_ops.size());
                to_.random_ops.push_back(o);
            }
            now.random_slot = slot_[at(o)];
        }
        if (again && x.effects.has(effect::stateful)) {
            now.quiet = true;
            to_.stateful_op = to_.stateful_op == none ? o : to_.stateful_op;
        }
        now.first_mark = static_cast<std::int32_t>(to_.marks.size());
        for (auto t : to_.written[at(o)]) {
            if (adders_[at(t)] > 1 && held_[at(t)] == 0) {
                held_[at(t)] = 1;
                to_.marks.push_back(t);
                ++now.mark_count;
            }
        }
        to_.instructions.push_back(now);
        if (scratch != none) {
            release(scratch);
        }
    }

    lowering const& from_;
    certified_plan const& plan_;
    problem const& problem_;
    std::vector<lifetime> lives_;
    program::content to_;
    std::vector<std::vector<std::size_t>> pieces_at_; // per step of the schedule: lifetimes that begin there
    std::vector<std::int32_t> open_;                  // per tensor of the problem: its piece
    std::vector<std::int32_t> temporary_;             // per graph tensor: its piece
    std::vector<int> runs_, left_;                    // per op of the problem
    std::vector<std::int32_t> slot_;                  // per graph op: its random state
    std::vector<char> held_;                          // per graph tensor: some producer has run
    std::vector<int> adders_;                         // per graph tensor
};

/// What forbids to run `planned` on the graph behind `from`, if anything does.
template <class = void>
[[nodiscard]] auto refuse_plan(lowering const& from, certified_plan const& planned) -> std::optional<error>
{
    auto const& placed = planned.placement;
    auto const own = from.problem().alignment();
    if (auto const mine = fingerprint(from.problem()); planned.fingerprint != mine) {
        return fail(errc::wrong_graph,
                    "strata::compile: the plan was made for a problem with fingerprint " +
                        std::to_string(planned.fingerprint) + ", but this graph and its costs have " +
                        std::to_string(mine) + "; plan again");
    }
    if (placed.alignment < 1 || placed.alignment % own != 0 || (placed.alignment & (placed.alignment - 1)) != 0) {
        return fail(errc::invalid_plan,
                    "strata::compile: the placement is aligned to " + std::to_string(placed.alignment) +
                        " bytes, must be a power of two and a multiple of the " + std::to_string(own) +
                        " that the graph was lowered for");
    }
    auto const judged = [&](problem const& p) -> std::optional<error> {
        if (auto const v = validate(p, planned.schedule, planned.certificate.budget); !v.ok()) {
            return fail(errc::invalid_plan,
                        "strata::compile: the judge refuses the plan: " + v.violations.front().message);
        }
        if (!planned.placed()) {
            return {};
        }
        if (auto e = check(p, planned.schedule, placed)) {
            return e;
        }
        bytes_t all = placed.arena;
        if (!checked_add(all, p.resident_bytes()) || all > planned.certificate.budget) {
            return fail(errc::invalid_plan,
                        "strata::compile: an arena of " + std::to_string(placed.arena) + " bytes and " +
                            std::to_string(p.resident_bytes()) + " resident bytes exceed the budget of " +
                            std::to_string(planned.certificate.budget) + " bytes");
        }
        return {};
    };
    if (placed.alignment == own) {
        return judged(from.problem());
    }
    for (op_id p = 0; p < from.problem().op_count(); ++p) {
        if (from.members(p).size() > 1 && from.problem().workspace(p) > 0) {
            return fail(errc::invalid_argument,
                        "strata::compile: ops that run together with op " + std::to_string(from.members(p)[0]) + " (" +
                            from.problem().op(p).name + ") were laid out for " + std::to_string(own) +
                            "-byte alignment, the plan is for " + std::to_string(placed.alignment) +
                            "; lower the graph with {.alignment = " + std::to_string(placed.alignment) + "}");
        }
    }
    auto const other = realigned(from.problem(), {.alignment = placed.alignment});
    return other ? judged(**other) : other.error();
}

} // namespace detail

/// Makes `planned`, a plan of `from.problem()` in that problem's ids, ready to run the graph that `from` was made of.
///
/// Ops that share a buffer run one after the other, their temporaries lie in the workspace of their group.
/// Errors: `wrong_graph` if the plan was made for another problem; `invalid_plan` if the judge or the checker of
/// placements refuses it, or its arena and the resident tensors exceed its budget; `invalid_argument` if ops that share
/// a buffer were laid out for a smaller alignment than that of the placement.
/// Complexity: that of `validate` and `check`.
template <class = void>
[[nodiscard]] auto compile(lowering const& from, certified_plan const& planned) -> result<program>
{
    if (auto e = detail::refuse_plan(from, planned)) {
        return *std::move(e);
    }
    return detail::basic_program_writer<>(from, planned).written();
}

/// The same for a plan in the ids of `g`, as `plan(g, c)` gives it.
/// Errors: also those of `lower` and of `in_problem_ids`.
template <class G, class C>
[[nodiscard]] auto compile(G const& g, C const& c, certified_plan planned, lower_options const& how = {})
    -> result<program>
{
    auto const from = lower(g, c, how);
    if (!from) {
        return from.error();
    }
    auto const own = in_problem_ids(std::move(planned), *from);
    if (!own) {
        return own.error();
    }
    return compile(*from, *own);
}

} // namespace strata
