// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Libtorch as an engine and a storage of `strata::executor`: libtorch takes memory, the plan says when it goes.
#pragma once

#include <strata/execute/buffers.hpp>
#include <strata/execute/program.hpp>
#include <strata/torch/compat.hpp>
#include <strata/torch/run_unit.hpp>
#include <strata/torch/step_graph.hpp>
#include <strata/torch/step_state.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace strata::torch::detail {

/// What is known of one run in a program.
struct run_note {
    bool graph = true;                 ///< forward: its graph is there when backward comes
    std::vector<std::int32_t> last_of; ///< groups that go right after it
};

/// Runs the units of one step in flight. Models `random_engine` and `stateful_engine`.
class unit_engine {
public:
    /// `notes`: per run of the program, or null.
    unit_engine(step_graph const& g, step_state& s, std::vector<run_note> const* notes)
        : graph_(g)
        , state_(s)
        , notes_(notes)
    {
    }

    void run(op_id o, buffers const& /*b*/) { run(o, false); }
    void replay(op_id o, buffers const& /*b*/) { run(o, true); }
    [[nodiscard]] auto random_state() const -> at::Tensor { return detail::random_state(); }
    void set_random_state(at::Tensor const& s) { detail::set_random_state(s); }

    /// Gradients of the results of forward, undefined ones too: what the caller's part of the step gives.
    void give(std::vector<at::Tensor> seeds) { seeds_ = std::move(seeds); }

private:
    void run(op_id o, bool quiet)
    {
        static run_note const unknown;
        auto const& x = graph_.ops[at(o)];
        auto const& note = notes_ == nullptr ? unknown : (*notes_)[done_++];
        switch (x.what) {
        case step_op::kind::forward:
            run_forward(
                state_, x.unit, {.graph = graph_.host != none && note.graph, .quiet = quiet, .last_of = note.last_of});
            break;
        case step_op::kind::backward: run_backward(state_, x.unit, note.last_of); break;
        case step_op::kind::host: take_seeds(); break;
        }
    }

    /// The results that lead back take their gradients first, in the order in which they were returned.
    void take_seeds()
    {
        auto const& t = state_.of();
        std::vector<std::int32_t> ranks(t.values.size(), 0);
        std::size_t k = 0;
        for (auto v : t.outputs) {
            if (v != none && t.values[at(v)].from == origin::made && t.values[at(v)].grad) {
                state_.gradients[at(v)].add(ranks[at(v)]++, k < seeds_.size() ? std::move(seeds_[k]) : at::Tensor());
                ++k;
            }
        }
        seeds_.clear();
    }

    step_graph const& graph_;
    step_state& state_;
    std::vector<run_note> const* notes_;
    std::size_t done_ = 0; // runs
    std::vector<at::Tensor> seeds_;
};

/// Lets go of what the plan releases. What is acquired comes with the run of its op, from libtorch's allocator.
class releasing {
public:
    static constexpr bool gives_back = true;

    releasing(step_graph const& g, step_state& s)
        : graph_(&g)
        , state_(&s)
    {
    }

    void open(program const& /*p*/) noexcept {}
    [[nodiscard]] auto acquire(memory_piece const& x) noexcept -> std::byte*
    {
        live_ += x.size;
        peak_ = std::max(peak_, live_);
        static std::byte somewhere{}; // the engine finds its tensors by itself
        return &somewhere;
    }
    void release(memory_piece const& x, std::byte* /*p*/) noexcept
    {
        live_ -= x.size;
        if (x.tensor == none) {
            return;
        }
        auto const& what = graph_->tensors[at(x.tensor)];
        switch (what.what) {
        case step_tensor::kind::storage: state_->storages[at(what.index)] = {}; break;
        case step_tensor::kind::graph: state_->graphs[at(what.index)].reset(); break;
        case step_tensor::kind::gradient: state_->gradients[at(what.index)].clear(); break;
        case step_tensor::kind::resident: break;
        }
    }

    /// Bytes that the plan says are there now, and the most of them so far; tensors that are always there left out.
    [[nodiscard]] auto live_bytes() const noexcept -> bytes_t { return live_; }
    [[nodiscard]] auto peak_bytes() const noexcept -> bytes_t { return peak_; }

private:
    step_graph const* graph_;
    step_state* state_;
    bytes_t live_ = 0;
    bytes_t peak_ = 0;
};

} // namespace strata::torch::detail
