// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The captured step as a task graph: units forward, the host's part, units backward, and all they hand on.
#pragma once

#include <strata/problem/effects.hpp>
#include <strata/problem/problem.hpp>
#include <strata/torch/trace.hpp>
#include <strata/torch/units.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata::torch::detail {

/// What was measured of one unit.
struct unit_profile {
    cost_t forward_ns = 0, backward_ns = 0;
    bytes_t forward_peak = 0;        ///< most bytes taken in forward, results and what is held included
    bytes_t backward_peak = 0;       ///< most bytes taken in backward, gradients that come out included
    bytes_t held = 0;                ///< by its graph, from forward to backward
    std::vector<std::int32_t> saved; ///< groups that backward reads
    /// Values whose gradients, with no other part, are those of a result of the unit, handed on unchanged: pairs of value and
    /// result.
    std::vector<std::pair<std::int32_t, std::int32_t>> handed_on;
};

/// What an op of the step does.
struct step_op {
    enum class kind : std::uint8_t { forward, host, backward };
    kind what = kind::host;
    std::int32_t unit = none;
};

/// What a tensor of the step stands for.
struct step_tensor {
    enum class kind : std::uint8_t { storage, graph, gradient, resident };
    kind what = kind::resident;
    std::int32_t index = none; ///< group, unit or value
};

/// A task graph of the step. `plain` may be changed, its ids stay.
struct step_graph {
    problem_spec plain;
    std::vector<step_op> ops;
    std::vector<step_tensor> tensors;
    op_id host = none;          ///< where the caller's loss is computed; `none` for a pass without backward
    bytes_t gradient_bytes = 0; ///< of the gradients that the step returns

    [[nodiscard]] auto op_count() const -> std::size_t { return plain.ops.size(); }
    [[nodiscard]] auto tensor_count() const -> std::size_t { return plain.tensors.size(); }
    [[nodiscard]] auto inputs(op_id o) const -> std::vector<tensor_id> const& { return plain.ops[at(o)].inputs; }
    [[nodiscard]] auto outputs(op_id o) const -> std::vector<tensor_id> const& { return plain.ops[at(o)].outputs; }
    [[nodiscard]] auto tensor_bytes(tensor_id t) const -> bytes_t { return plain.tensors[at(t)].bytes; }
    [[nodiscard]] auto kind_of(tensor_id t) const -> tensor_kind { return plain.tensors[at(t)].kind; }
    [[nodiscard]] auto effects_of(op_id o) const -> effects { return plain.ops[at(o)].effects; }
    [[nodiscard]] auto op_workspace(op_id o) const -> bytes_t { return plain.ops[at(o)].workspace; }
    [[nodiscard]] auto phase_of(op_id o) const -> phase { return plain.ops[at(o)].phase; }
    [[nodiscard]] auto backward_of(op_id o) const -> op_id { return plain.ops[at(o)].backward_of; }
    [[nodiscard]] auto targets() const -> std::vector<tensor_id> const& { return plain.targets; }
    [[nodiscard]] auto graph_name() const -> std::string_view { return plain.name; }
    [[nodiscard]] auto op_name(op_id o) const -> std::string_view { return plain.ops[at(o)].name; }
    [[nodiscard]] auto tensor_name(tensor_id t) const -> std::string_view { return plain.tensors[at(t)].name; }
    [[nodiscard]] auto type_name(op_id o) const -> std::string_view { return plain.ops[at(o)].type; }
};

/// Writes the step graph of a pass.
class step_writer {
public:
    /// `gradients_count`: whether returned gradients are part of the peak, or there anyway.
    step_writer(trace const& t, unit_list const& units, std::vector<unit_profile> const& measured, bool gradients_count)
        : t_(t)
        , units_(units)
        , measured_(measured)
        , gradients_count_(gradients_count)
        , storage_(t.groups.size(), none)
        , graph_(units.all.size(), none)
        , gradient_(t.values.size(), none)
        , buffer_(t.values.size(), none)
    {
    }

    [[nodiscard]] auto written() && -> step_graph
    {
        g_.plain.name = "libtorch step";
        random_states();
        for (std::size_t i = 0; i < units_.all.size(); ++i) {
            forward(static_cast<std::int32_t>(i));
        }
        host();
        if (g_.host != none) {
            for (auto i = units_.all.size(); i-- > 0;) {
                if (units_.all[i].backward) {
                    backward(static_cast<std::int32_t>(i));
                }
            }
        }
        return std::move(g_);
    }

private:
    auto tensor(std::string name, bytes_t bytes, tensor_kind kind, step_tensor what) -> tensor_id
    {
        g_.plain.tensors.push_back({std::move(name), bytes, kind});
        g_.tensors.push_back(what);
        return static_cast<tensor_id>(g_.tensors.size()) - 1;
    }
    auto storage(std::int32_t g) -> tensor_id
    {
        auto& id = storage_[at(g)];
        if (id == none) {
            auto const& x = t_.groups[at(g)];
            id =
                x.made()
                    ? tensor("s" + std::to_string(g), x.bytes, tensor_kind::activation, {step_tensor::kind::storage, g})
                    : tensor("b" + std::to_string(g), 0, tensor_kind::state, {step_tensor::kind::resident, g});
        }
        return id;
    }
    auto gradient(std::int32_t v) -> tensor_id
    {
        auto& id = gradient_[at(v)];
        if (id == none) {
            auto const& x = t_.values[at(v)];
            bytes_t n = static_cast<bytes_t>(x.dtype.itemsize());
            for (auto s : x.sizes) {
                n *= s;
            }
            bool const returned = x.from != origin::made;
            g_.gradient_bytes += returned ? n : 0;
            n = buffer_[at(v)] != none ? 0 : n * units_.held_apart[at(v)];
            auto const kind = returned && !gradients_count_ ? tensor_kind::parameter_gradient : tensor_kind::gradient;
            id = tensor("d" + std::to_string(v), n, kind, {step_tensor::kind::gradient, v});
            if (returned) {
                g_.plain.targets.push_back(id);
            }
        }
        return id;
    }
    /// States of the generator that replays begin from, one for each random unit at the most.
    void random_states()
    {
        auto const n = std::count_if(units_.all.begin(), units_.all.end(), [](auto const& u) { return u.random; });
        if (n > 0) {
            auto const one = static_cast<bytes_t>(random_state().nbytes());
            tensor("random states", n * one, tensor_kind::state, {});
        }
    }

    void add(op_spec x, step_op what)
    {
        g_.plain.ops.push_back(std::move(x));
        g_.ops.push_back(what);
    }

    void forward(std::int32_t i)
    {
        auto const& u = units_.all[at(i)];
        auto const& m = measured_[at(i)];
        op_spec x{.name = u.name + "#" + std::to_string(i), .type = u.name, .phase = phase::forward};
        x.cost = m.forward_ns;
        x.effects = effects_of(u);
        for (auto g : u.needs) {
            x.inputs.push_back(storage(g));
        }
        for (auto g : u.touches) {
            if (t_.groups[at(g)].changed) { // what never changes is no business of the plan
                x.inputs.push_back(storage(g));
            }
        }
        bytes_t room = 0;
        for (auto g : u.makes) {
            x.outputs.push_back(storage(g));
            room += t_.groups[at(g)].bytes;
        }
        for (auto g : u.changes) {
            x.outputs.push_back(storage(g));
        }
        if (u.backward) {
            graph_[at(i)] = tensor("graph of " + x.name, m.held, tensor_kind::saved, {step_tensor::kind::graph, i});
            x.outputs.push_back(graph_[at(i)]);
            room += m.held;
        }
        x.workspace = std::max<bytes_t>(0, m.forward_peak - room);
        add(std::move(x), {step_op::kind::forward, i});
    }
    static auto effects_of(unit const& u) -> effects
    {
        effects e;
        e |= u.random ? effects(effect::random) : effects();
        e |= u.stateful ? effects(effect::stateful) : effects();
        e |= u.once ? effects(effect::once) : effects();
        e |= u.chooses ? effects(effect::nondeterministic) : effects();
        return e;
    }

    /// The results leave, the caller computes a loss, gradients come in. Results stay: the caller has them.
    void host()
    {
        op_spec x{.name = "caller", .type = "caller", .phase = phase::other, .effects = effect::once};
        bool back = false;
        bytes_t seeds = 0; // a loss and the one that its backward begins with are in the caller's hands too
        for (auto v : t_.outputs) {
            if (v == none || t_.values[at(v)].from != origin::made) {
                continue;
            }
            if (auto const g = t_.values[at(v)].group; t_.groups[at(g)].made()) {
                x.inputs.push_back(storage(g));
                if (std::find(g_.plain.targets.begin(), g_.plain.targets.end(), storage(g)) == g_.plain.targets.end()) {
                    g_.plain.targets.push_back(storage(g));
                }
            }
            if (t_.values[at(v)].grad) {
                back = true;
                x.outputs.push_back(gradient(v));
                seeds += 64;
            }
        }
        if (back) {
            tensor("the caller's", seeds, tensor_kind::state, {});
            g_.host = static_cast<op_id>(g_.ops.size());
            add(std::move(x), {step_op::kind::host, none});
        }
    }

    void backward(std::int32_t i)
    {
        auto const& u = units_.all[at(i)];
        auto const& m = measured_[at(i)];
        op_spec x{.name = "d " + u.name + "#" + std::to_string(i), .type = "d " + u.name, .phase = phase::backward};
        x.cost = m.backward_ns;
        x.effects = effect::once; // its graph is gone afterwards
        x.backward_of = i;
        x.inputs.push_back(graph_[at(i)]);
        for (auto g : m.saved) {
            x.inputs.push_back(storage(g));
        }
        for (auto k : u.results) {
            auto const v = u.locals[at(k)];
            for (auto const d : {gradient_[at(v)], buffer_[at(v)]}) {
                if (d != none && std::find(x.inputs.begin(), x.inputs.end(), d) == x.inputs.end()) {
                    x.inputs.push_back(d);
                }
            }
        }
        for (auto const& [v, result] : m.handed_on) { // one buffer, which is there until both have been read
            buffer_[at(v)] = buffer_[at(result)] != none ? buffer_[at(result)] : gradient_[at(result)];
        }
        bytes_t room = 0;
        for (auto const& use : u.uses) {
            if (use.grad) {
                bool const first = gradient_[at(use.value)] == none;
                x.outputs.push_back(gradient(use.value));
                room += first ? g_.plain.tensors[at(x.outputs.back())].bytes : 0;
            }
        }
        x.workspace = std::max<bytes_t>(0, m.backward_peak - room);
        add(std::move(x), {step_op::kind::backward, i});
    }

    trace const& t_;
    unit_list const& units_;
    std::vector<unit_profile> const& measured_;
    bool gradients_count_;
    std::vector<tensor_id> storage_, graph_, gradient_;
    std::vector<tensor_id> buffer_; // per value: the gradient in whose buffer its own lies
    step_graph g_;
};

} // namespace strata::torch::detail
