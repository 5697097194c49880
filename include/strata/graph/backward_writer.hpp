// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Second half of `differentiate`: writes the backward ops of a `backward_plan` behind the forward ops.
#pragma once

#include <strata/graph/backward_plan.hpp>
#include <strata/graph/gradient_rule.hpp>
#include <strata/graph/training_graph.hpp>
#include <strata/problem/aliased_spec.hpp>
#include <strata/result.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace strata::detail {

template <class Op>
class backward_writer {
    using place = gradient_ref::place;

public:
    /// `ops` and `tensors` are those of the forward graph; `backward_of` of each op is `none`.
    backward_writer(backward_plan<Op> plan, std::vector<graph_op<Op>> ops, std::vector<graph_tensor> tensors)
        : plan_(std::move(plan))
        , forward_count_(ops.size())
        , ops_(std::move(ops))
        , tensors_(std::move(tensors))
        , gradient_(tensors_.size(), none)
        , waiting_(tensors_.size())
    {
    }

    /// Writes everything; `seed`, if any, becomes one op per loss.
    [[nodiscard]] auto run(std::vector<tensor_id> const& losses, std::optional<backward_op<Op>> const& seed)
        -> std::optional<error>
    {
        write_saved();
        for (auto t : losses) {
            write_seed(t, seed);
        }
        for (auto o = forward_count_; o-- > 0;) {
            if (auto e = write_backward(static_cast<op_id>(o))) {
                return e;
            }
        }
        for (std::size_t t = 0; t < waiting_.size(); ++t) {
            flush(static_cast<tensor_id>(t));
        }
        return {};
    }

    /// The gradient of forward tensor `t`, or `none`.
    [[nodiscard]] auto gradient(tensor_id t) const -> tensor_id
    {
        auto const b = plan_.gradient_buffer[at(t)];
        return b == none ? none : gradient_[at(b)];
    }
    [[nodiscard]] auto take_ops() -> std::vector<graph_op<Op>> { return std::move(ops_); }
    [[nodiscard]] auto take_tensors() -> std::vector<graph_tensor> { return std::move(tensors_); }

private:
    template <class I>
    static auto at(I i) noexcept -> std::size_t
    {
        return static_cast<std::size_t>(i);
    }

    auto new_tensor(std::string name, bytes_t bytes, tensor_kind kind) -> tensor_id
    {
        tensors_.push_back({std::move(name), bytes, kind, none});
        return static_cast<tensor_id>(tensors_.size() - 1);
    }

    /// Hidden tensors become outputs of their forward op, if a backward op that stayed reads them.
    void write_saved()
    {
        saved_.resize(forward_count_);
        for (std::size_t o = 0; o < forward_count_; ++o) {
            auto const& a = plan_.answers[o];
            for (std::size_t j = 0; j < a.saved.size(); ++j) {
                auto const reads = [&](backward_op<Op> const& b) {
                    return std::find(b.reads.begin(), b.reads.end(), grad::saved(j)) != b.reads.end();
                };
                bool const needed = std::any_of(a.ops.begin(), a.ops.end(), reads);
                if (needed) {
                    auto const& own = a.saved[j].name;
                    saved_[o].push_back(
                        new_tensor(ops_[o].name + "." + (own.empty() ? "saved" + std::to_string(j) : own),
                                   a.saved[j].bytes,
                                   tensor_kind::saved));
                    ops_[o].outputs.push_back(saved_[o].back());
                } else {
                    saved_[o].push_back(none);
                }
            }
        }
    }

    void write_seed(tensor_id loss, std::optional<backward_op<Op>> const& seed)
    {
        auto const b = plan_.gradient_buffer[at(loss)];
        if (!seed) {
            gradient_[at(b)] = new_tensor(tensors_[at(b)].name + ".grad", tensors_[at(b)].bytes, tensor_kind::input);
            return;
        }
        ops_.push_back({.op = seed->op,
                        .name = tensors_[at(loss)].name + "." + (seed->more.name.empty() ? "seed" : seed->more.name),
                        .type = seed->more.type.empty() ? "seed" : seed->more.type,
                        .phase = phase::backward,
                        .effects = seed->more.effects,
                        .workspace = seed->more.workspace,
                        .outputs = {gradient_of(loss)}});
    }

    /// The gradient tensor of forward tensor `t`, made on first use.
    auto gradient_of(tensor_id t) -> tensor_id
    {
        auto const b = plan_.gradient_buffer[at(t)];
        if (gradient_[at(b)] == none) {
            bool const parameter = tensors_[at(b)].kind == tensor_kind::parameter;
            gradient_[at(b)] = new_tensor(tensors_[at(b)].name + ".grad",
                                          tensors_[at(b)].bytes,
                                          parameter ? tensor_kind::parameter_gradient : tensor_kind::gradient);
        }
        return gradient_[at(b)];
    }

    auto write_backward(op_id o) -> std::optional<error>
    {
        for (std::size_t k = 0; k < ops_[at(o)].outputs.size(); ++k) {
            auto const t = ops_[at(o)].outputs[k];
            if (at(t) < plan_.gradient_buffer.size() && plan_.gradient_buffer[at(t)] != none) {
                flush(plan_.gradient_buffer[at(t)]);
            }
        }
        auto const& a = plan_.answers[at(o)];
        temporaries_.assign(a.temporaries.size(), none);
        for (std::size_t k = 0; k < a.ops.size(); ++k) {
            auto const name = ops_[at(o)].name + ".backward" + (a.ops.size() > 1 ? std::to_string(k) : "");
            write(o, a.ops[k], name);
        }
        for (auto const& p : a.passes) {
            if (auto e = write_pass(o, p)) {
                return e;
            }
        }
        return {};
    }

    /// A pass-through that needs an op waits until another op has added into the same gradient, or until that gradient
    /// is read: until then only the gradient it is passed from takes memory.
    auto write_pass(op_id o, pass_through<Op> const& p) -> std::optional<error>
    {
        auto const from = ops_[at(o)].outputs[p.output];
        auto const to = ops_[at(o)].inputs[p.input];
        auto const buffer = plan_.gradient_buffer[at(to)];
        if (plan_.gradient_buffer[at(from)] == buffer) {
            return {};
        }
        if (!p.fallback) {
            bool const same = tensors_[at(from)].bytes == tensors_[at(to)].bytes;
            return fail(errc::malformed_graph,
                        "strata::differentiate: op " + std::to_string(o) + " (" + ops_[at(o)].name +
                            ") passes the gradient of its output " + std::to_string(p.output) + " on to input " +
                            std::to_string(p.input) + " (" + tensors_[at(to)].name +
                            "), which needs an op here, since " +
                            (same ? "other ops add into that gradient too" : "the two differ in bytes") +
                            "; give the pass-through a fallback");
        }
        auto b = *p.fallback;
        b.reads.push_back(grad::of_output(p.output));
        b.writes.push_back(grad::of_input(p.input));
        pending w{o, std::move(b), ops_[at(o)].name + ".accumulate" + std::to_string(p.input)};
        if (tensors_[at(buffer)].kind == tensor_kind::parameter) {
            write(w.forward, w.op, w.name);
        } else {
            waiting_[at(buffer)].push_back(std::move(w));
        }
        return {};
    }

    void flush(tensor_id buffer)
    {
        auto const ready = std::exchange(waiting_[at(buffer)], {});
        for (auto const& w : ready) {
            write(w.forward, w.op, w.name);
        }
    }

    void write(op_id o, backward_op<Op> const& b, std::string const& name)
    {
        auto const& f = ops_[at(o)];
        graph_op<Op> x{.op = b.op,
                       .name = b.more.name.empty() ? name : b.more.name,
                       .type = b.more.type.empty() ? (f.type.empty() ? "" : f.type + ".backward") : b.more.type,
                       .phase = phase::backward,
                       .effects = b.more.effects,
                       .workspace = b.more.workspace,
                       .backward_of = o};
        // One entry per reference, also where two share a buffer: who runs the op finds them by position.
        for (auto r : b.reads) {
            x.inputs.push_back(tensor_at(o, r, x.name));
        }
        std::vector<tensor_id> added_into;
        for (auto r : b.writes) {
            x.outputs.push_back(tensor_at(o, r, x.name));
            if (r.at == place::of_input) {
                added_into.push_back(plan_.gradient_buffer[at(ops_[at(o)].inputs[r.index])]);
            }
        }
        ops_.push_back(std::move(x));
        for (auto t : added_into) {
            flush(t);
        }
    }

    auto tensor_at(op_id o, gradient_ref r, std::string const& reader) -> tensor_id
    {
        auto const& f = ops_[at(o)];
        switch (r.at) {
        case place::input: return f.inputs[r.index];
        case place::output: return f.outputs[r.index];
        case place::saved: return saved_[at(o)][r.index];
        case place::of_output: return gradient_of(f.outputs[r.index]);
        case place::of_input: return gradient_of(f.inputs[r.index]);
        case place::temporary: break;
        }
        auto& t = temporaries_[r.index];
        if (t == none) {
            auto const& h = plan_.answers[at(o)].temporaries[r.index];
            t = new_tensor(h.name.empty() ? reader + ".temporary" + std::to_string(r.index) : f.name + "." + h.name,
                           h.bytes,
                           tensor_kind::gradient);
        }
        return t;
    }

    struct pending {
        op_id forward;
        backward_op<Op> op;
        std::string name;
    };

    backward_plan<Op> plan_;
    std::size_t forward_count_;
    std::vector<graph_op<Op>> ops_;
    std::vector<graph_tensor> tensors_;
    std::vector<tensor_id> gradient_;           // per forward tensor that owns a gradient buffer
    std::vector<std::vector<pending>> waiting_; // pass-throughs into that buffer that are still to be written
    std::vector<std::vector<tensor_id>> saved_; // per forward op and entry of its rule's `saved`
    std::vector<tensor_id> temporaries_;        // of the op being written
};

} // namespace strata::detail
