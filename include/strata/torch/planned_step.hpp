// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief One pass, captured, measured and planned: runs steps of it, as often as wanted and several at a time.
#pragma once

#include <strata/cost/table_cost.hpp>
#include <strata/execute/compile.hpp>
#include <strata/execute/executor.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/problem/fingerprint.hpp>
#include <strata/problem/lower.hpp>
#include <strata/problem/lowering.hpp>
#include <strata/problem/problem.hpp>
#include <strata/solve/limits.hpp>
#include <strata/torch/capture.hpp>
#include <strata/torch/coarse_step.hpp>
#include <strata/torch/compat.hpp>
#include <strata/torch/engine.hpp>
#include <strata/torch/fused_units.hpp>
#include <strata/torch/mask_bits.hpp>
#include <strata/torch/memory_watch.hpp>
#include <strata/torch/options.hpp>
#include <strata/torch/profile.hpp>
#include <strata/torch/refusal.hpp>
#include <strata/torch/step_arena.hpp>
#include <strata/torch/step_graph.hpp>
#include <strata/torch/step_state.hpp>
#include <strata/torch/undo.hpp>
#include <strata/torch/unit_maker.hpp>
#include <strata/torch/units.hpp>

#include <ATen/ops/ones_like.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace strata::torch::detail {

/// One step in flight: its state and the executor that runs it.
class running_step {
public:
    running_step(trace const& t,
                 unit_list const& u,
                 step_graph const& g,
                 program const& p,
                 std::vector<at::Tensor> in,
                 std::vector<run_note> const* notes = nullptr,
                 std::unique_ptr<block_source> memory = nullptr)
        : state(t, u, std::move(in))
        , engine(g, state, notes)
        , runs(p, engine, releasing(g, state))
        , blocks(std::move(memory))
        , host(g.host)
    {
    }

    /// Up to the results.
    void run_forward()
    {
        block_source::scope const from(blocks.get());
        if (host != none) {
            runs.run_before(host);
        } else {
            runs.run();
        }
    }
    /// From the gradients of the results, as `unit_engine::give` takes them, to those that the step returns.
    void run_backward(std::vector<at::Tensor> seeds)
    {
        block_source::scope const from(blocks.get());
        engine.give(std::move(seeds));
        runs.resume();
    }

    step_state state;
    unit_engine engine;
    executor<unit_engine, releasing> runs;
    std::unique_ptr<block_source> blocks; // null: libtorch's own
    op_id host;
};

/// A pass with its plan. Does not change once it is made.
class planned_step {
public:
    /// Captures `pass`, a callable without arguments that returns its tensors as a flat list and reads `inputs`; measures
    /// it, plans it and tries the plan. Buffers and the random state are afterwards as before.
    /// With a plan that is `known`, none is looked for.
    /// Throws: `refusal`, `not_planned`, and what `pass` throws.
    template <class F>
    planned_step(F&& pass,
                 std::vector<at::Tensor> const& inputs,
                 options const& how,
                 certified_plan const* known = nullptr)
    {
        require_reports();
        undo_log before;
        auto begin = clock::now();
        trace_ = recorder(inputs, before).during(pass);
        if (trace_.ops.empty()) {
            throw refusal("forward", "runs no op", "there is nothing to plan");
        }
        auto const seen = trace_.ops.size();
        mask_packer{trace_}();
        units_ = unit_maker(trace_).made();
        said_.capture_seconds = lap(begin);
        said_.ops = seen;
        said_.parts = said_.units = units_.all.size();
        before.restore();
        measured_ = profiler(trace_, units_).measured(inputs, how.repeats, before);
        read_again_.assign(trace_.groups.size(), 0);
        for (std::size_t i = 0; i < measured_.size(); ++i) {
            for (auto const* list : {&measured_[i].saved, &units_.all[i].needs}) {
                for (auto g : *list) {
                    read_again_[at(g)] = 1;
                }
            }
        }
        said_.profile_seconds = lap(begin);
        bool const all_count = how.budget.counts == counted::activations_and_gradients;
        graph_ = step_writer(trace_, units_, measured_, all_count).written();
        if (known != nullptr) {
            take_plan(*known);
            ++said_.rehearsals;
            (void)rehearse(inputs);
            before.restore();
            said_.rehearse_seconds = lap(begin);
            refuse_excess();
            run_coarsely(inputs, before);
            said_.rehearse_seconds += lap(begin);
            place_blocks(how, inputs, before);
            return;
        }
        make_plan(how);
        said_.plan_seconds = lap(begin);
        constexpr int more = 10; // than wished for, until the last plan is one that was tried and kept its budget
        for (int k = 0; k < how.rehearsals + more && how.rehearsals > 0; ++k) {
            ++said_.rehearsals;
            bool const kept = rehearse(inputs);
            before.restore();
            said_.rehearse_seconds += lap(begin);
            if (kept || (k + 1 >= how.rehearsals && said_.measured_peak <= said_.budget)) {
                break;
            }
            if (k + 1 == how.rehearsals + more) {
                refuse_excess();
            }
            make_plan(how);
            said_.plan_seconds += lap(begin);
        }
        if (how.rehearsals > 0) {
            run_coarsely(inputs, before);
            said_.rehearse_seconds += lap(begin);
        }
        place_blocks(how, inputs, before);
    }
    planned_step(planned_step const&) = delete;
    auto operator=(planned_step const&) -> planned_step& = delete;

    [[nodiscard]] auto captured() const noexcept -> trace const& { return trace_; }
    [[nodiscard]] auto plan() const noexcept -> certified_plan const& { return *plan_; }
    [[nodiscard]] auto graph() const noexcept -> step_graph const& { return graph_; }
    [[nodiscard]] auto said() const noexcept -> report const& { return said_; }

    /// Whether a step ends with a backward pass.
    [[nodiscard]] auto has_backward() const noexcept -> bool { return graph_.host != none; }

    /// Runs a step up to its results.
    [[nodiscard]] auto begin(std::vector<at::Tensor> inputs) const -> std::unique_ptr<running_step>
    {
        auto blocks = said_.arena_bytes > 0 ? std::make_unique<block_replayer>(arena_, slab_, device_type()) : nullptr;
        auto x = fresh(std::move(inputs), std::move(blocks));
        x->run_forward();
        return x;
    }

    /// Whether anything after the results are out reads group `g`.
    [[nodiscard]] auto reads_again(std::int32_t g) const noexcept -> bool { return read_again_[at(g)] != 0; }

    /// Values whose gradients a step returns: parameters and inputs, ascending.
    [[nodiscard]] auto returned() const -> std::vector<std::int32_t>
    {
        std::vector<std::int32_t> all;
        for (std::size_t v = 0; v < trace_.values.size(); ++v) {
            if (trace_.values[v].from != origin::made && units_.contributions[v] > 0) {
                all.push_back(static_cast<std::int32_t>(v));
            }
        }
        return all;
    }

private:
    using clock = std::chrono::steady_clock;

    static auto lap(clock::time_point& since) -> double
    {
        auto const now = clock::now();
        return std::chrono::duration<double>(now - std::exchange(since, now)).count();
    }

    /// Without reports of the allocator nothing can be measured, and no budget kept.
    static void require_reports()
    {
        memory_watch const watch;
        auto const probe = at::ones_like(random_state());
        if (watch.live() == 0) {
            throw refusal("the allocator",
                          "an allocator was installed that does not report to the profiler of libtorch",
                          "hand its requests on to the allocator it replaces, or report them");
        }
    }

    /// Bytes that the problem counts, and the budget does not.
    [[nodiscard]] static auto uncounted(problem const& p) -> bytes_t
    {
        bytes_t n = 0;
        for (tensor_id t = 0; t < p.tensor_count(); ++t) {
            n += p.tensor(t).kind == tensor_kind::parameter_gradient ? p.size(t) : 0;
        }
        return n;
    }
    /// The budget of the problem, where these count.
    [[nodiscard]] static auto budget_of(problem const& p, step_budget const& b) -> strata::budget
    {
        auto const n = b.amount.resolve(0, 0);
        return !b.amount.is_fraction() && n <= max_bytes - uncounted(p) ? strata::budget::bytes(n + uncounted(p))
                                                                        : b.amount;
    }

    [[nodiscard]] auto lowered() const -> lowering
    {
        std::vector<cost_t> costs;
        for (auto const& x : graph_.plain.ops) {
            costs.push_back(x.cost);
        }
        auto low = lower(graph_, table_cost(std::move(costs)), {.alignment = 64});
        if (!low) {
            throw not_planned(low.error());
        }
        return *std::move(low);
    }

    /// What the step is, whatever was measured: times, and temporaries of ops, differ from run to run.
    [[nodiscard]] static auto structure(problem const& p) -> std::uint64_t
    {
        auto spec = p.spec();
        for (auto& x : spec.ops) {
            x.cost = 0;
            x.workspace = 0;
        }
        return fingerprint(problem::make(std::move(spec)).value());
    }

    /// Takes a plan that was made before. Throws: `not_planned` if it is for another step.
    void take_plan(certified_plan plan)
    {
        auto const low = lowered();
        if (auto const mine = structure(low.problem()); plan.fingerprint != mine) {
            throw not_planned(fail(errc::wrong_graph,
                                   "the plan was made for a step with fingerprint " + std::to_string(plan.fingerprint) +
                                       ", but this model does on these inputs one with " + std::to_string(mine) +
                                       "; plan it anew"));
        }
        plan.fingerprint = fingerprint(low.problem());
        adopt(low, std::move(plan));
    }
    void refuse_excess() const
    {
        if (said_.measured_peak > said_.budget) {
            throw not_planned(fail(errc::invalid_plan,
                                   "with this plan the step takes " + std::to_string(said_.measured_peak) +
                                       " bytes here, its budget is " + std::to_string(said_.budget) +
                                       "; plan it anew, or with a larger budget"));
        }
    }

    void make_plan(options const& how)
    {
        auto const low = lowered();
        auto const& p = low.problem();
        auto const within = [&](strata::budget b) {
            // No deadline, which would be used up: time that is not needed is not spent.
            auto const stop = std::make_unique<std::stop_source>(); // g++ 12 warns of one on the stack
            auto const begin = clock::now();
            auto const look = [&](progress const&) {
                if (how.patience && clock::now() - begin > *how.patience) {
                    stop->request_stop();
                }
            };
            // Libtorch takes its blocks one by one, so that an arena would be planned for nobody.
            return strata::plan(p, {.budget = b, .cancel = stop->get_token(), .on_progress = look, .place = false});
        };
        auto made = within(budget_of(p, how.budget));
        for (bytes_t least = 0; !made && how.or_least;) {
            auto const& known = made.error().limit;
            if (!known ||
                known->known_feasible.value_or(0) <= std::exchange(least, known->known_feasible.value_or(0))) {
                break;
            }
            made = within(strata::budget::bytes(least));
        }
        if (!made) {
            throw not_planned(std::move(made).error());
        }
        adopt(low, *std::move(made));
    }

    /// Makes `made`, a plan of `low`, ready to run, and says what it promises.
    void adopt(lowering const& low, certified_plan made)
    {
        auto const& p = low.problem();
        auto compiled = compile(low, made);
        if (!compiled) {
            throw not_planned(std::move(compiled).error());
        }
        made.fingerprint = structure(p);
        uncounted_ = uncounted(p);
        auto const& c = made.certificate;
        said_.budget = c.budget - (c.budget == max_bytes ? 0 : uncounted_);
        said_.planned_peak = c.peak - uncounted_;
        said_.plain_peak = c.keep_all_peak - uncounted_;
        said_.overhead = c.overhead();
        said_.overhead_bound = c.overhead_bound();
        said_.recomputed.clear();
        for (auto const& x : compiled->instructions()) {
            if (x.what == instruction::kind::run && x.again) {
                said_.recomputed.push_back(graph_.plain.ops[at(x.id)].name);
            }
        }
        auto& names = said_.recomputed;
        std::sort(names.begin(), names.end());
        names.erase(std::unique(names.begin(), names.end()), names.end());
        resident_ = p.resident_bytes();
        plan_ = std::make_unique<certified_plan>(std::move(made));
        program_ = std::make_unique<program>(*std::move(compiled));
    }

    /// One step under the eyes of a watch. An op that takes more than the plan says, since gradients come in another layout
    /// than when it was measured, is given more.
    /// Returns: whether every op kept to the plan.
    auto rehearse(std::vector<at::Tensor> const& inputs) -> bool
    {
        bool kept = true;
        memory_watch watch;
        said_.measured_peak = 0;
        running_step x(trace_, units_, graph_, *program_, inputs);
        auto const& ops = graph_.plain.ops;
        auto const before = [&](instruction const&) { watch.reset_peak(); };
        auto const after = [&](instruction const& i) {
            auto const excess = watch.peak() - (x.runs.memory().live_bytes() + resident_);
            said_.measured_peak = std::max(said_.measured_peak, watch.peak() - uncounted_);
            if (excess > 0) {
                kept = false;
                graph_.plain.ops[at(i.id)].workspace = ops[at(i.id)].workspace + excess;
            }
        };
        run_once(x, before, after);
        return kept;
    }

    /// Runs what always runs together as one, where a trial step keeps the budget that way: units that exceed it are taken
    /// apart again.
    void run_coarsely(std::vector<at::Tensor> const& inputs, undo_log& before)
    {
        constexpr int trials = 5;
        auto const measured = std::exchange(said_.measured_peak, 0);
        auto const allowed = std::max(said_.budget, measured);
        std::vector<char> apart(units_.all.size(), 0);
        for (int k = 0; k < trials; ++k) {
            auto fused = unit_fuser(trace_, units_, measured_, graph_, *program_, apart).made();
            auto const part_of = fused.part_of;
            auto made = coarse_step::of(trace_, std::move(fused));
            if (!made) {
                throw not_planned(std::move(made).error());
            }
            coarse_ = *std::move(made);
            auto const peaks = peaks_of_units(inputs);
            before.restore();
            said_.measured_peak = *std::max_element(peaks.begin(), peaks.end());
            if (said_.measured_peak <= allowed) {
                said_.parts = coarse_->units.all.size();
                return;
            }
            for (std::size_t u = 0; u < apart.size(); ++u) {
                apart[u] = k + 2 == trials || peaks[at(part_of[u])] > allowed ? 1 : apart[u];
            }
        }
        coarse_.reset();
        said_.measured_peak = measured;
    }
    /// A trial step in coarser units: per unit, the most memory in use while it runs; what the budget counts of it.
    [[nodiscard]] auto peaks_of_units(std::vector<at::Tensor> const& inputs) const -> std::vector<bytes_t>
    {
        std::vector<bytes_t> peaks(coarse_->units.all.size(), 0);
        memory_watch watch;
        auto const x = fresh(inputs, nullptr);
        auto const before = [&](instruction const&) { watch.reset_peak(); };
        auto const after = [&](instruction const& i) {
            if (auto const u = coarse_->graph.ops[at(i.id)].unit; u != none) {
                peaks[at(u)] = std::max(peaks[at(u)], watch.peak() - uncounted_);
            }
        };
        run_once(*x, before, after);
        return peaks;
    }

    [[nodiscard]] auto fresh(std::vector<at::Tensor> inputs, std::unique_ptr<block_source> memory) const
        -> std::unique_ptr<running_step>
    {
        auto const& units = coarse_ ? coarse_->units : units_;
        auto const& graph = coarse_ ? coarse_->graph : graph_;
        auto const& code = coarse_ ? coarse_->code : *program_;
        return std::make_unique<running_step>(
            trace_, units, graph, code, std::move(inputs), coarse_ ? &coarse_->notes : nullptr, std::move(memory));
    }
    /// All of a step, with gradients of ones.
    template <class Before, class After>
    void run_once(running_step& x, Before const& before, After const& after) const
    {
        if (has_backward()) {
            x.runs.run_before(x.host, before, after);
            x.engine.give(ones(x.state));
            x.runs.resume(before, after);
        } else {
            x.runs.run(before, after);
        }
    }

    /// Writes down which blocks a trial step takes, and finds their places, if they are wanted and fit.
    void place_blocks(options const& how, std::vector<at::Tensor> const& inputs, undo_log& before)
    {
        if (!how.arena || !diverted(device_type())) {
            return;
        }
        auto recorder = std::make_unique<block_recorder>(device_type());
        auto const& written = *recorder;
        auto const x = fresh(inputs, std::move(recorder)); // gone when its results are
        x->run_forward();
        if (has_backward()) {
            x->run_backward(ones(x->state));
        }
        arena_ = arena_layout::of(written.blocks(), device_type());
        before.restore();
        if (arena_.bytes <= said_.budget - (arena_.escaped - uncounted_)) {
            said_.arena_bytes = arena_.bytes;
        }
    }

    /// Where the step makes its tensors.
    [[nodiscard]] auto device_type() const noexcept -> c10::DeviceType
    {
        return std::any_of(trace_.values.begin(),
                           trace_.values.end(),
                           [](value const& x) { return x.from == origin::made && x.keys.has(c10::DispatchKey::CUDA); })
                   ? c10::DeviceType::CUDA
                   : c10::DeviceType::CPU;
    }

    [[nodiscard]] auto ones(step_state const& s) const -> std::vector<at::Tensor>
    {
        at::NoGradGuard const guard;
        std::vector<at::Tensor> all;
        for (auto v : trace_.outputs) {
            if (v != none && trace_.values[at(v)].from == origin::made && trace_.values[at(v)].grad) {
                all.push_back(at::ones_like(s.tensor(v)));
            }
        }
        return all;
    }

    trace trace_;
    unit_list units_;
    std::vector<unit_profile> measured_;
    step_graph graph_;
    report said_;
    std::unique_ptr<certified_plan> plan_;
    std::unique_ptr<program> program_;
    std::unique_ptr<coarse_step> coarse_; // the same in fewer units; null where the trial step exceeded the budget
    arena_layout arena_;
    mutable std::shared_ptr<step_slab> slab_; // between steps
    std::vector<char> read_again_;            // per group
    bytes_t resident_ = 0;                    // tensors that the plan counts as always there
    bytes_t uncounted_ = 0;                   // part of them that the user's budget does not count
};

} // namespace strata::torch::detail
