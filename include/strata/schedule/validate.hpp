// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The independent judge of schedules.
///
/// `validate` shares no code with `replay`, `free_early` or any solver, and uses none of the tables that `problem`
/// derives: it reads the spec and works everything out again. Every plan that leaves the library has passed it.
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/schedule/verdict.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace strata {

namespace detail {

/// Walks a schedule once and notes what it breaks.
template <class = void>
class basic_judge {
public:
    basic_judge(problem_spec const& spec, bytes_t budget);
    void run(op_id o);
    void free(tensor_id t);
    [[nodiscard]] auto finish() && -> verdict;

private:
    /// An op as the judge sees it: lists without repetition, resident tensors apart.
    struct op_facts {
        std::vector<tensor_id> reads;  ///< not resident, not added into by the op itself
        std::vector<tensor_id> writes; ///< not resident
        std::vector<tensor_id> state_reads;
        std::vector<tensor_id> state_writes;
        std::size_t runs = 0;
        bool may_replay = true;
    };
    /// A tensor as the judge sees it.
    struct tensor_facts {
        bytes_t bytes = 0;
        bool resident = false;
        bool live = false;
        std::vector<op_id> writers;   ///< ascending
        std::size_t writers_run = 0;  ///< how many of them have run
        op_id last_writer_run = none; ///< the largest of them that has
    };

    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }
    [[nodiscard]] auto rounded(bytes_t n) const noexcept -> bytes_t;
    void collect();
    void derive_may_replay();
    void check_inputs(op_id o);
    void check_first_run(op_id o);
    void write_outputs(op_id o);
    void count_writes(std::vector<tensor_id> const& written, op_id o);
    void measure(op_id o);
    void note(violation_kind k, op_id o, tensor_id t, std::string const& what);
    [[nodiscard]] auto name(op_id o) const -> std::string;
    [[nodiscard]] auto tensor_name(tensor_id t) const -> std::string;

    problem_spec const* spec_;
    bytes_t budget_;
    std::vector<op_facts> ops_;
    std::vector<tensor_facts> tensors_;
    bytes_t live_bytes_ = 0; ///< resident included
    std::size_t step_ = 0;
    std::array<op_id, 3> last_with_effect_{none, none, none}; ///< random, stateful, collective
    verdict verdict_;
};

using judge = basic_judge<>;

template <class Lazy>
basic_judge<Lazy>::basic_judge(problem_spec const& spec, bytes_t budget)
    : spec_(&spec)
    , budget_(budget)
    , ops_(spec.ops.size())
    , tensors_(spec.tensors.size())
{
    collect();
    derive_may_replay();
    verdict_.peak = live_bytes_;
}

template <class Lazy>
auto basic_judge<Lazy>::rounded(bytes_t n) const noexcept -> bytes_t
{
    auto const a = spec_->alignment;
    auto const blocks = n / a + (n % a != 0 ? 1 : 0);
    return blocks > max_bytes / a ? max_bytes : blocks * a;
}

template <class Lazy>
void basic_judge<Lazy>::collect()
{
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
        auto const kind = spec_->tensors[t].kind;
        tensors_[t].bytes = rounded(spec_->tensors[t].bytes);
        tensors_[t].resident = kind == tensor_kind::input || kind == tensor_kind::parameter ||
                               kind == tensor_kind::parameter_gradient || kind == tensor_kind::state;
        if (tensors_[t].resident && !checked_add(live_bytes_, tensors_[t].bytes)) {
            live_bytes_ = max_bytes;
            note(violation_kind::overflow, none, static_cast<tensor_id>(t), "resident bytes leave the 64-bit range");
        }
    }
    auto const tidy = [](std::vector<tensor_id>& list) {
        std::sort(list.begin(), list.end());
        list.erase(std::unique(list.begin(), list.end()), list.end());
    };
    for (std::size_t o = 0; o < ops_.size(); ++o) {
        auto& x = ops_[o];
        for (auto t : spec_->ops[o].outputs) {
            (tensors_[at(t)].resident ? x.state_writes : x.writes).push_back(t);
        }
        tidy(x.writes);
        tidy(x.state_writes);
        for (auto t : spec_->ops[o].inputs) {
            if (tensors_[at(t)].resident) {
                x.state_reads.push_back(t);
            } else if (!std::binary_search(x.writes.begin(), x.writes.end(), t)) {
                x.reads.push_back(t);
            }
        }
        tidy(x.reads);
        tidy(x.state_reads);
        for (auto const* written : {&x.writes, &x.state_writes}) {
            for (auto t : *written) {
                tensors_[at(t)].writers.push_back(static_cast<op_id>(o));
            }
        }
    }
}

template <class Lazy>
void basic_judge<Lazy>::derive_may_replay()
{
    for (std::size_t o = 0; o < ops_.size(); ++o) {
        auto& x = ops_[o];
        auto const e = spec_->ops[o].effects;
        bool once = e.has(effect::nondeterministic) || e.has(effect::collective) || e.has(effect::once);
        once = once || (!x.state_writes.empty() && !e.has(effect::stateful));
        for (auto t : x.writes) {
            once = once || tensors_[at(t)].writers.size() > 1;
        }
        for (auto t : x.state_reads) {
            auto const& w = tensors_[at(t)].writers;
            once = once || (!w.empty() && w.back() > static_cast<op_id>(o));
        }
        x.may_replay = !once;
    }
}

template <class Lazy>
auto basic_judge<Lazy>::name(op_id o) const -> std::string
{
    auto const& n = spec_->ops[at(o)].name;
    return n.empty() ? "op " + std::to_string(o) : "op " + std::to_string(o) + " (" + n + ")";
}

template <class Lazy>
auto basic_judge<Lazy>::tensor_name(tensor_id t) const -> std::string
{
    auto const& n = spec_->tensors[at(t)].name;
    return n.empty() ? "tensor " + std::to_string(t) : "tensor " + std::to_string(t) + " (" + n + ")";
}

template <class Lazy>
void basic_judge<Lazy>::note(violation_kind k, op_id o, tensor_id t, std::string const& what)
{
    if (verdict_.count++ < verdict::max_listed) {
        verdict_.violations.push_back({k, step_, o, t, "step " + std::to_string(step_) + ": " + what});
    }
}

template <class Lazy>
void basic_judge<Lazy>::check_inputs(op_id o)
{
    for (auto t : ops_[at(o)].reads) {
        auto const& x = tensors_[at(t)];
        if (!x.live) {
            note(violation_kind::input_not_live, o, t, name(o) + " reads " + tensor_name(t) + ", which is not live");
        } else if (x.writers_run < x.writers.size()) {
            note(violation_kind::input_incomplete,
                 o,
                 t,
                 name(o) + " reads " + tensor_name(t) + ", into which only " + std::to_string(x.writers_run) + " of " +
                     std::to_string(x.writers.size()) + " ops have added");
        }
    }
}

template <class Lazy>
void basic_judge<Lazy>::check_first_run(op_id o)
{
    auto const& me = ops_[at(o)];
    auto const after = [&](violation_kind k, tensor_id t, op_id later, std::string const& rule) {
        note(k, o, t, name(o) + " runs after " + name(later) + ", but " + rule);
    };
    for (auto t : me.writes) {
        if (auto const last = tensors_[at(t)].last_writer_run; last > o) {
            after(
                violation_kind::accumulation_order, t, last, "ops add into " + tensor_name(t) + " in their own order");
        }
    }
    for (auto t : me.state_writes) {
        if (auto const last = tensors_[at(t)].last_writer_run; last > o) {
            after(violation_kind::state_order, t, last, "ops write " + tensor_name(t) + " in their own order");
        }
    }
    for (auto t : me.state_reads) {
        auto const& x = tensors_[at(t)];
        auto const mine = std::lower_bound(x.writers.begin(), x.writers.end(), o);
        auto const before = static_cast<std::size_t>(mine - x.writers.begin());
        bool const also_writes = mine != x.writers.end() && *mine == o;
        if (x.last_writer_run > o && !also_writes) { // a writer out of order is a matter of state_order
            after(violation_kind::wrong_version,
                  t,
                  x.last_writer_run,
                  "reads the version of " + tensor_name(t) + " that it overwrote");
        } else if (x.last_writer_run <= o && x.writers_run < before) {
            note(violation_kind::wrong_version,
                 o,
                 t,
                 name(o) + " reads " + tensor_name(t) + " before all earlier ops have written it");
        }
    }
    constexpr std::array kinds{effect::random, effect::stateful, effect::collective};
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        if (!spec_->ops[at(o)].effects.has(kinds[i])) {
            continue;
        }
        if (auto const last = last_with_effect_[i]; last > o) {
            after(violation_kind::effect_order,
                  none,
                  last,
                  std::string(to_string(kinds[i])) + " ops first run in their own order");
        }
        last_with_effect_[i] = std::max(last_with_effect_[i], o);
    }
}

template <class Lazy>
void basic_judge<Lazy>::count_writes(std::vector<tensor_id> const& written, op_id o)
{
    for (auto t : written) {
        auto& x = tensors_[at(t)];
        ++x.writers_run;
        x.last_writer_run = std::max(x.last_writer_run, o);
    }
}

template <class Lazy>
void basic_judge<Lazy>::write_outputs(op_id o)
{
    for (auto t : ops_[at(o)].writes) {
        auto& x = tensors_[at(t)];
        if (!x.live) {
            x.live = true;
            if (!checked_add(live_bytes_, x.bytes)) {
                live_bytes_ = max_bytes;
                note(violation_kind::overflow, o, t, "live bytes leave the 64-bit range at " + name(o));
            }
        } else if (x.writers.size() == 1) {
            note(violation_kind::output_live,
                 o,
                 t,
                 name(o) + " produces " + tensor_name(t) + ", which is live already; free it first");
        }
    }
}

template <class Lazy>
void basic_judge<Lazy>::measure(op_id o)
{
    auto const& x = spec_->ops[at(o)];
    bytes_t now = live_bytes_;
    if (!checked_add(now, rounded(x.workspace))) {
        now = max_bytes;
        note(violation_kind::overflow, o, none, "bytes with workspace leave the 64-bit range at " + name(o));
    }
    verdict_.peak = std::max(verdict_.peak, now);
    if (now > budget_) {
        note(violation_kind::over_budget,
             o,
             none,
             name(o) + " needs " + std::to_string(now) + " bytes, the budget is " + std::to_string(budget_) + " bytes");
    }
    if (!checked_add(verdict_.cost, x.cost)) {
        verdict_.cost = max_cost;
        note(violation_kind::overflow, o, none, "the cost leaves the 64-bit range at " + name(o));
    }
}

template <class Lazy>
void basic_judge<Lazy>::run(op_id o)
{
    if (o < 0 || at(o) >= ops_.size()) {
        note(violation_kind::unknown_op,
             o,
             none,
             "runs op " + std::to_string(o) + ", but the graph has " + std::to_string(ops_.size()) + " ops");
    } else {
        auto& x = ops_[at(o)];
        bool const first = x.runs++ == 0;
        if (!first && !x.may_replay) {
            note(violation_kind::forbidden_replay, o, none, name(o) + " runs again, but must run once");
        }
        check_inputs(o);
        if (first) {
            check_first_run(o);
            count_writes(x.writes, o);
            count_writes(x.state_writes, o);
        }
        write_outputs(o);
        measure(o);
    }
    ++step_;
}

template <class Lazy>
void basic_judge<Lazy>::free(tensor_id t)
{
    if (t < 0 || at(t) >= tensors_.size()) {
        note(violation_kind::unknown_tensor,
             none,
             t,
             "frees tensor " + std::to_string(t) + ", but the graph has " + std::to_string(tensors_.size()) +
                 " tensors");
    } else if (auto& x = tensors_[at(t)]; x.resident) {
        note(violation_kind::free_resident, none, t, "frees " + tensor_name(t) + ", which is resident");
    } else if (!x.live) {
        note(violation_kind::free_not_live, none, t, "frees " + tensor_name(t) + ", which is not live");
    } else {
        if (x.writers_run < x.writers.size()) {
            note(violation_kind::free_incomplete,
                 none,
                 t,
                 "frees " + tensor_name(t) + ", into which only " + std::to_string(x.writers_run) + " of " +
                     std::to_string(x.writers.size()) + " ops have added");
        }
        x.live = false;
        live_bytes_ -= x.bytes;
    }
    ++step_;
}

template <class Lazy>
auto basic_judge<Lazy>::finish() && -> verdict
{
    for (std::size_t o = 0; o < ops_.size(); ++o) {
        if (ops_[o].runs == 0) {
            note(violation_kind::op_never_run,
                 static_cast<op_id>(o),
                 none,
                 "the schedule ends, but " + name(static_cast<op_id>(o)) + " has not run");
        }
    }
    for (auto t : spec_->targets) {
        auto const& x = tensors_[at(t)];
        if (!x.resident && (!x.live || x.writers_run < x.writers.size())) {
            note(violation_kind::target_missing,
                 none,
                 t,
                 "the schedule ends, but target " + tensor_name(t) + (x.live ? " is not complete" : " is not live"));
        }
    }
    return std::move(verdict_);
}

} // namespace detail

/// Judges `s` as a plan for `p` under `budget` bytes (resident tensors included).
///
/// Every op runs at least once, and exactly once if it must not repeat. At each run the inputs are live and complete,
/// the outputs are not live (unless the op adds into them), and resident + live + outputs + workspace, each rounded up
/// to the alignment, fit the budget. First runs may take any order that satisfies the dependencies and in which the
/// ops of each group keep their index order: those that add into one gradient, those that write one resident tensor
/// (readers of it stay between the same writers), random ops, stateful ops, collective ops. Targets are live and
/// complete at the end. Other tensors may be live at the end.
///
/// Never fails: whatever is wrong with `s` is a violation. A broken rule does not stop the walk; the step is taken
/// as far as it makes sense.
/// Complexity: O(ops + tensors + steps + sum over runs of reads and writes), with a factor log n for an op with n ids.
template <class Lazy = void>
[[nodiscard]] auto validate(problem const& p, schedule const& s, bytes_t budget = max_bytes) -> verdict
{
    detail::basic_judge<Lazy> j(p.spec(), budget);
    for (auto const& x : s.steps) {
        if (x.action == action::run) {
            j.run(x.id);
        } else {
            j.free(x.id);
        }
    }
    return std::move(j).finish();
}

} // namespace strata
