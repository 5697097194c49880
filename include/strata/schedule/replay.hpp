// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Runs a schedule on paper: bytes over the steps, the peak and where it is, the cost.
///
/// A fast measure, not the judge: it believes that the schedule is sound. `validate` says whether it is.
///
/// ```
///   bytes        ┌──┐ ◄ peak          a `run` counts everything live, its outputs and its workspace
///          ┌──┐  │  └──┐
///     ┌────┘  └──┘     └────          a `free` counts what is left after it
///   ──┴─────────────────────── resident
///     run  run  free run free  steps
/// ```
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/result.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace strata {

/// What a schedule does to memory and time. Bytes include resident tensors.
struct timeline {
    std::vector<bytes_t> live;           ///< one entry per step: bytes during a `run`, bytes left after a `free`
    bytes_t peak = 0;                    ///< largest entry of `live` at a `run`; the resident bytes if nothing runs
    std::size_t peak_step = 0;           ///< first step at which `peak` is reached
    op_id peak_op = none;                ///< the op that runs there; `none` if nothing runs
    std::vector<tensor_id> live_at_peak; ///< see `live_at`
    cost_t cost = 0;                     ///< of all runs, replays included
    std::vector<std::uint32_t> replays;  ///< one entry per op: its runs beyond the first
    friend auto operator==(timeline const&, timeline const&) -> bool = default;
};

namespace detail {

/// The set of live tensors while a schedule is walked, and its bytes.
template <class = void>
class basic_live_set {
public:
    explicit basic_live_set(problem const& p)
        : problem_(&p)
        , live_(static_cast<std::size_t>(p.tensor_count()), 0)
        , bytes_(p.resident_bytes())
    {
    }

    /// Takes one step. Returns: false if the bytes leave the 64-bit range.
    [[nodiscard]] auto take(step x) -> bool
    {
        if (x.action == action::run) {
            bool fits = true;
            for (auto t : problem_->outputs(x.id)) {
                fits = fits && add(t);
            }
            return fits;
        }
        auto& mark = live_[static_cast<std::size_t>(x.id)];
        if (mark != 0) {
            mark = 0;
            bytes_ -= problem_->size(x.id);
        }
        return true;
    }

    [[nodiscard]] auto bytes() const noexcept -> bytes_t { return bytes_; }

    /// Live tensors that are not resident, largest first, equal sizes by id.
    [[nodiscard]] auto list() const -> std::vector<tensor_id>
    {
        std::vector<tensor_id> r;
        for (tensor_id t = 0; t < problem_->tensor_count(); ++t) {
            if (live_[static_cast<std::size_t>(t)] != 0) {
                r.push_back(t);
            }
        }
        std::stable_sort(
            r.begin(), r.end(), [&](tensor_id a, tensor_id b) { return problem_->size(a) > problem_->size(b); });
        return r;
    }

private:
    auto add(tensor_id t) -> bool
    {
        auto& mark = live_[static_cast<std::size_t>(t)];
        if (mark != 0) {
            return true;
        }
        mark = 1;
        return checked_add(bytes_, problem_->size(t));
    }

    problem const* problem_;
    std::vector<char> live_;
    bytes_t bytes_;
};

using live_set = basic_live_set<>;

/// True if `x` names an op, or a tensor, of `p`.
template <class = void>
[[nodiscard]] auto names_something(problem const& p, step x) noexcept -> bool
{
    return x.id >= 0 && x.id < (x.action == action::run ? p.op_count() : p.tensor_count());
}

} // namespace detail

/// The tensors live during step `k` of `s`, outputs being written included, resident tensors left out: largest first,
/// equal sizes by id.
/// Requires: `k` is a step of `s`, and `replay` accepts `s`.
/// Complexity: O(k + tensors log tensors).
template <class Lazy = void>
[[nodiscard]] auto live_at(problem const& p, schedule const& s, std::size_t k) -> std::vector<tensor_id>
{
    detail::basic_live_set<Lazy> live(p);
    for (std::size_t i = 0; i <= k && i < s.steps.size(); ++i) {
        if (!live.take(s.steps[i])) {
            break;
        }
    }
    return live.list();
}

/// Measures `s`. Steps that make no sense but name what exists (freeing what is not live, running without inputs) are
/// taken as they stand.
/// Errors: `malformed_plan` naming the step if an op or tensor does not exist; `overflow` if cost or bytes leave the
/// 64-bit range.
/// Complexity: O(steps + outputs of all runs + tensors log tensors).
template <class Lazy = void>
[[nodiscard]] auto replay(problem const& p, schedule const& s) -> result<timeline>
{
    timeline r;
    r.peak = p.resident_bytes();
    r.live.reserve(s.steps.size());
    std::vector<std::uint32_t> runs(static_cast<std::size_t>(p.op_count()), 0);
    detail::basic_live_set<Lazy> live(p);
    for (std::size_t k = 0; k < s.steps.size(); ++k) {
        auto const x = s.steps[k];
        bool const is_run = x.action == action::run;
        if (!detail::names_something(p, x)) {
            return fail(errc::malformed_plan,
                        "strata::replay: step " + std::to_string(k) + (is_run ? " runs op " : " frees tensor ") +
                            std::to_string(x.id) + ", but the graph has " +
                            std::to_string(is_run ? p.op_count() : p.tensor_count()) + (is_run ? " ops" : " tensors"));
        }
        bool fits = live.take(x);
        bytes_t now = live.bytes();
        if (is_run) {
            fits = fits && checked_add(now, p.workspace(x.id)) && checked_add(r.cost, p.cost(x.id));
            ++runs[static_cast<std::size_t>(x.id)];
            if (r.peak_op == none || now > r.peak) {
                r.peak = now;
                r.peak_step = k;
                r.peak_op = x.id;
            }
        }
        if (!fits) {
            return fail(errc::overflow,
                        "strata::replay: cost or bytes leave the 64-bit range at step " + std::to_string(k));
        }
        r.live.push_back(now);
    }
    if (r.peak_op != none) {
        r.live_at_peak = live_at(p, s, r.peak_step);
    }
    r.replays = std::move(runs);
    for (auto& n : r.replays) {
        n = n > 0 ? n - 1 : 0;
    }
    return r;
}

} // namespace strata
