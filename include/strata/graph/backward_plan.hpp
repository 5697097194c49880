// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief First half of `differentiate`: which backward ops are needed, and which gradients share a buffer.
///
/// Three sweeps. Forward: which tensors want a gradient (they depend on a parameter through ops that have one).
/// Backward: which gradients arrive, asking each op's rule and dropping what is absent or unwanted. Then every
/// pass-through is examined: two gradients become one buffer where no reader could tell.
#pragma once

#include <strata/graph/gradient_rule.hpp>
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

/// What the first half hands to the second.
template <class Op>
struct backward_plan {
    std::vector<op_gradient<Op>> answers; ///< per forward op: the rule's answer without what is not needed
    std::vector<tensor_id>
        gradient_buffer; ///< per tensor: the tensor whose gradient buffer it uses; `none`: no gradient
};

/// `Ask` is called as `ask(o, request)` and answers an `op_gradient<Op>`.
template <class Op, class Ask>
class backward_planner {
    using place = gradient_ref::place;

public:
    backward_planner(aliased_spec const& forward,
                     buffer_table const& table,
                     std::vector<tensor_id> const& losses,
                     std::vector<tensor_id> const& requested,
                     bool losses_have_op,
                     Ask ask)
        : forward_(forward)
        , table_(table)
        , losses_(losses)
        , requested_(requested)
        , losses_have_op_(losses_have_op)
        , ask_(std::move(ask))
        , wants_(forward.plain.tensors.size(), 0)
        , contributions_(forward.plain.tensors.size(), 0)
        , passed_to_(forward.plain.tensors.size(), 0)
        , changed_by_(forward.plain.tensors.size())
    {
    }

    /// `parameters`: those that are trained.
    [[nodiscard]] auto run(std::vector<tensor_id> const& parameters) -> result<backward_plan<Op>>
    {
        plan_.answers.resize(forward_.plain.ops.size());
        for (auto const* ids : {&parameters, &requested_}) {
            for (auto t : *ids) {
                wants_[at(t)] = 1;
            }
        }
        note_changes();
        if (auto e = find_wants()) {
            return *std::move(e);
        }
        for (auto t : losses_) {
            if (wants_[at(t)] == 0) {
                return fail(errc::invalid_argument,
                            "strata::differentiate: loss " + label(t) +
                                " depends on no parameter or input whose gradient is wanted through ops that have one");
            }
            ++contributions_[at(t)];
        }
        for (auto o = static_cast<op_id>(forward_.plain.ops.size()); o-- > 0;) {
            if (auto e = ask_backward(o)) {
                return *std::move(e);
            }
        }
        for (auto t : losses_) {
            if (!losses_have_op_ && contributions_[at(t)] > 1) {
                return fail(errc::invalid_argument,
                            "strata::differentiate: loss " + label(t) +
                                " is also used on the way to another loss, so its gradient has several parts; give "
                                "options.seed, an op that adds the gradient of a loss into its buffer");
            }
        }
        for (auto t : requested_) {
            if (contributions_[at(t)] == 0) {
                return fail(errc::invalid_argument,
                            "strata::differentiate: the gradient of " + label(t) +
                                " was asked for, but no loss depends on it through ops that have a gradient");
            }
        }
        share_buffers();
        return std::move(plan_);
    }

private:
    template <class I>
    static auto at(I i) noexcept -> std::size_t
    {
        return static_cast<std::size_t>(i);
    }
    [[nodiscard]] auto op(op_id o) const -> op_spec const& { return forward_.plain.ops[at(o)]; }
    [[nodiscard]] auto tensor(tensor_id t) const -> tensor_spec const& { return forward_.plain.tensors[at(t)]; }
    [[nodiscard]] auto label(tensor_id t) const -> std::string
    {
        return "tensor " + std::to_string(t) + (tensor(t).name.empty() ? "" : " (" + tensor(t).name + ")");
    }
    [[nodiscard]] auto label_op(op_id o) const -> std::string
    {
        return "op " + std::to_string(o) + (op(o).name.empty() ? "" : " (" + op(o).name + ")");
    }
    [[nodiscard]] auto bad(op_id o, std::string const& what) const -> error
    {
        return fail(errc::malformed_graph, "strata::differentiate: " + label_op(o) + " " + what);
    }

    /// Which ops overwrite each buffer: in place, or by writing a resident tensor.
    void note_changes()
    {
        born_.assign(forward_.plain.tensors.size(), none);
        for (op_id o = 0; o < static_cast<op_id>(forward_.plain.ops.size()); ++o) {
            for (auto b : table_.changes[at(o)]) {
                changed_by_[at(b)].push_back(o);
            }
            for (auto t : op(o).outputs) {
                born_[at(t)] = o;
                if (is_resident(tensor(t).kind) && table_.buffer_of[at(t)] == t) {
                    changed_by_[at(t)].push_back(o);
                }
            }
        }
    }

    /// The first op from `from` on that overwrites the buffer of `t`, or `none`.
    [[nodiscard]] auto overwritten(tensor_id t, op_id from) const -> op_id
    {
        auto const& by = changed_by_[at(table_.buffer_of[at(t)])];
        auto const it = std::lower_bound(by.begin(), by.end(), from);
        return it == by.end() ? none : *it;
    }

    /// References of a rule's answer that name nothing.
    [[nodiscard]] auto check_refs(op_id o, op_gradient<Op> const& a) const -> std::optional<error>
    {
        auto const& x = op(o);
        auto const in_range = [&](gradient_ref r) {
            switch (r.at) {
            case place::input:
            case place::of_input: return r.index < x.inputs.size();
            case place::output:
            case place::of_output: return r.index < x.outputs.size();
            case place::saved: return r.index < a.saved.size();
            case place::temporary: return r.index < a.temporaries.size();
            }
            return false;
        };
        std::vector<char> filled(a.temporaries.size(), 0);
        for (auto const& b : a.ops) {
            for (auto r : b.reads) {
                if (r.at == place::temporary && in_range(r) && filled[r.index] == 0) {
                    return bad(o,
                               "has a rule whose backward op reads temporary " + std::to_string(r.index) +
                                   " before one writes it");
                }
                if (!in_range(r) || r.at == place::of_input) {
                    return bad(o,
                               "has a rule whose backward op reads what does not exist: entry " +
                                   std::to_string(r.index) + " of " + name_of(r.at));
                }
            }
            for (auto r : b.writes) {
                if (!in_range(r) || (r.at != place::of_input && r.at != place::temporary)) {
                    return bad(o,
                               "has a rule whose backward op writes what it may not or what does not exist: entry " +
                                   std::to_string(r.index) + " of " + name_of(r.at));
                }
                if (r.at == place::temporary) {
                    filled[r.index] = 1;
                }
            }
        }
        for (auto const& p : a.passes) {
            if (p.output >= x.outputs.size() || p.input >= x.inputs.size()) {
                return bad(o,
                           "has a rule that passes a gradient from output " + std::to_string(p.output) + " to input " +
                               std::to_string(p.input) + ", one of which does not exist");
            }
        }
        return {};
    }

    [[nodiscard]] static auto name_of(place p) -> std::string
    {
        switch (p) {
        case place::input: return "its inputs";
        case place::output: return "its outputs";
        case place::saved: return "its saved tensors";
        case place::temporary: return "its temporaries";
        case place::of_output: return "the gradients of its outputs";
        case place::of_input: return "the gradients of its inputs";
        }
        return {};
    }

    /// Removes from `a` what carries no gradient and what nobody wants.
    void prune(op_gradient<Op>& a, gradient_request const& request) const
    {
        std::vector<char> filled(a.temporaries.size(), 0);
        std::vector<backward_op<Op>> alive;
        std::vector<char> pure_effect;
        for (auto& b : a.ops) {
            auto const carries = [](gradient_ref r) { return r.at == place::of_output || r.at == place::temporary; };
            auto const absent = [&](gradient_ref r) {
                return (r.at == place::of_output && !request.has_output_gradient(r.index)) ||
                       (r.at == place::temporary && filled[r.index] == 0);
            };
            bool const carried = std::any_of(b.reads.begin(), b.reads.end(), carries);
            std::erase_if(b.reads, absent);
            if (carried && std::none_of(b.reads.begin(), b.reads.end(), carries)) {
                continue;
            }
            pure_effect.push_back(b.writes.empty() ? 1 : 0);
            std::erase_if(b.writes, [&](gradient_ref r) {
                return r.at == place::of_input && !request.wants_input_gradient(r.index);
            });
            for (auto r : b.writes) {
                if (r.at == place::temporary) {
                    filled[r.index] = 1;
                }
            }
            alive.push_back(std::move(b));
        }
        std::vector<char> needed(a.temporaries.size(), 0);
        std::vector<backward_op<Op>> kept;
        for (auto k = alive.size(); k-- > 0;) {
            auto& b = alive[k];
            bool const useful =
                pure_effect[k] != 0 || std::any_of(b.writes.begin(), b.writes.end(), [&](gradient_ref r) {
                    return r.at == place::of_input || needed[r.index] != 0;
                });
            if (useful) {
                for (auto r : b.reads) {
                    if (r.at == place::temporary) {
                        needed[r.index] = 1;
                    }
                }
                kept.push_back(std::move(b));
            }
        }
        a.ops.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
        std::erase_if(a.passes, [&](pass_through<Op> const& p) {
            return !request.has_output_gradient(p.output) || !request.wants_input_gradient(p.input);
        });
    }

    [[nodiscard]] auto request_for(op_id o, bool from_all_outputs) const -> gradient_request
    {
        std::vector<char> has, wants;
        for (auto t : op(o).outputs) {
            has.push_back(from_all_outputs || contributions_[at(t)] > 0 ? 1 : 0);
        }
        for (auto t : op(o).inputs) {
            wants.push_back(wants_[at(t)]);
        }
        return {o, std::move(has), std::move(wants)};
    }

    auto find_wants() -> std::optional<error>
    {
        for (op_id o = 0; o < static_cast<op_id>(forward_.plain.ops.size()); ++o) {
            auto const request = request_for(o, true);
            auto const wanted = [&](tensor_id t) { return wants_[at(t)] != 0; };
            if (op(o).outputs.empty() || std::none_of(op(o).inputs.begin(), op(o).inputs.end(), wanted)) {
                continue;
            }
            op_gradient<Op> a = ask_(o, request);
            if (auto e = check_refs(o, a)) {
                return e;
            }
            prune(a, request);
            bool const reaches =
                !a.passes.empty() || std::any_of(a.ops.begin(), a.ops.end(), [](backward_op<Op> const& b) {
                    return std::any_of(
                        b.writes.begin(), b.writes.end(), [](gradient_ref r) { return r.at == place::of_input; });
                });
            for (auto t : op(o).outputs) {
                bool const carries =
                    tensor(t).kind != tensor_kind::saved && !is_resident(tensor(table_.buffer_of[at(t)]).kind);
                // The view of a parameter is a tensor of its own to gradients: its op's rule leads back to the buffer.
                bool const view = table_.buffer_of[at(t)] != t;
                if (reaches && (carries || view)) {
                    wants_[at(t)] = 1;
                }
            }
        }
        return {};
    }

    auto ask_backward(op_id o) -> std::optional<error>
    {
        auto const& x = op(o);
        auto const request = request_for(o, false);
        auto const arrives = [&](tensor_id t) { return contributions_[at(t)] > 0; };
        auto const wanted = [&](tensor_id t) { return wants_[at(t)] != 0; };
        if (std::none_of(x.outputs.begin(), x.outputs.end(), arrives) ||
            std::none_of(x.inputs.begin(), x.inputs.end(), wanted)) {
            return {};
        }
        op_gradient<Op> a = ask_(o, request);
        if (auto e = check_refs(o, a)) {
            return e;
        }
        prune(a, request);
        for (auto const& b : a.ops) {
            if (auto e = check_reads(o, b)) {
                return e;
            }
            std::vector<tensor_id> to;
            for (auto r : b.writes) {
                if (r.at == place::of_input) {
                    to.push_back(x.inputs[r.index]);
                }
            }
            std::sort(to.begin(), to.end());
            to.erase(std::unique(to.begin(), to.end()), to.end());
            for (auto t : to) {
                if (auto e = contribute(o, t)) {
                    return e;
                }
            }
        }
        for (auto const& p : a.passes) {
            if (auto e = contribute(o, x.inputs[p.input])) {
                return e;
            }
            ++passed_to_[at(x.inputs[p.input])];
        }
        plan_.answers[at(o)] = std::move(a);
        return {};
    }

    /// Notes that an op of `o`'s rule adds into the gradient of `t`, which `o` reads.
    auto contribute(op_id o, tensor_id t) -> std::optional<error>
    {
        if (auto const m = overwritten(t, born_[at(t)] + 1); m != none && m < o && !is_resident(tensor(t).kind)) {
            return bad(o,
                       "reads " + label(t) + " after " + label_op(m) +
                           " changed it in place; read the result of that op instead, an output that is a view of "
                           "the changed tensor, so that gradients can tell the old value from the new");
        }
        ++contributions_[at(t)];
        return {};
    }

    /// Forward tensors that a backward op needs must still hold the value they had.
    [[nodiscard]] auto check_reads(op_id o, backward_op<Op> const& b) const -> std::optional<error>
    {
        for (auto r : b.reads) {
            if (r.at != place::input && r.at != place::output) {
                continue;
            }
            auto const t = r.at == place::input ? op(o).inputs[r.index] : op(o).outputs[r.index];
            if (auto const m = overwritten(t, r.at == place::input ? o : o + 1); m != none) {
                return bad(o,
                           "needs " + label(t) + " in its backward, but " + label_op(m) +
                               " overwrites it; let the rule name another tensor, or make that op work out of place");
            }
        }
        return {};
    }

    /// One buffer for two gradients, where a pass-through allows it.
    void share_buffers()
    {
        auto& buffer = plan_.gradient_buffer;
        buffer.assign(wants_.size(), none);
        for (std::size_t t = 0; t < wants_.size(); ++t) {
            buffer[t] = contributions_[t] > 0 ? static_cast<tensor_id>(t) : none;
        }
        struct link {
            tensor_id from = none; // the later tensor whose gradient this one's is
            bool alone = false;    // nothing else reads that gradient
            bool has_op = false;
        };
        std::vector<link> links(wants_.size());
        // Outputs before inputs: when op `o` is met the gradients of its outputs are settled.
        for (auto o = static_cast<op_id>(plan_.answers.size()); o-- > 0;) {
            for (auto const& p : plan_.answers[at(o)].passes) {
                auto const from = op(o).outputs[p.output];
                auto const to = op(o).inputs[p.input];
                if (tensor(from).bytes != tensor(to).bytes) {
                    continue;
                }
                bool const alone = only_reader(o, p);
                if (contributions_[at(to)] == 1 && tensor(to).kind != tensor_kind::parameter) {
                    buffer[at(to)] = from; // nobody else adds into it
                    links[at(to)] = {from, alone, p.fallback.has_value()};
                } else if (alone) { // who adds into `from` may as well add into `to`
                    auto first = from;
                    while (links[at(first)].from != none && links[at(first)].alone) {
                        first = links[at(first)].from;
                    }
                    if (links[at(first)].from == none) {
                        buffer[at(first)] = to;
                    } else if (
                        !p.fallback) { // not all may; the nearest pass-through with an op of its own keeps them apart
                        auto cut = from;
                        while (cut != first && !links[at(cut)].has_op) {
                            cut = links[at(cut)].from;
                        }
                        if (links[at(cut)].has_op) {
                            buffer[at(cut)] = to;
                            links[at(cut)] = {};
                        }
                    }
                }
            }
        }
        for (auto& b : buffer) {
            while (b != none && buffer[at(b)] != b) {
                b = buffer[at(b)];
            }
        }
    }

    /// True when the gradient of the output of `p` is read by `p` alone and its buffer may hold more than it.
    [[nodiscard]] auto only_reader(op_id o, pass_through<Op> const& p) const -> bool
    {
        auto const& a = plan_.answers[at(o)];
        auto const from = op(o).outputs[p.output];
        auto const holds = [&](std::vector<tensor_id> const& ids) {
            return std::find(ids.begin(), ids.end(), from) != ids.end();
        };
        auto const reads = [&](backward_op<Op> const& b) {
            return std::find(b.reads.begin(), b.reads.end(), grad::of_output(p.output)) != b.reads.end();
        };
        auto const passes = [&](pass_through<Op> const& q) { return q.output == p.output; };
        return !holds(requested_) && (losses_have_op_ || !holds(losses_)) &&
               std::none_of(a.ops.begin(), a.ops.end(), reads) &&
               std::count_if(a.passes.begin(), a.passes.end(), passes) == 1;
    }

    aliased_spec const& forward_;
    buffer_table const& table_;
    std::vector<tensor_id> const& losses_;
    std::vector<tensor_id> const& requested_;
    bool losses_have_op_;
    Ask ask_;
    std::vector<char> wants_;
    std::vector<op_id> born_;
    std::vector<std::int32_t> contributions_; // ops, seeds and pass-throughs that add into the gradient of a tensor
    std::vector<std::int32_t> passed_to_;     // pass-throughs among them
    std::vector<std::vector<op_id>> changed_by_;
    backward_plan<Op> plan_;
};

} // namespace strata::detail
