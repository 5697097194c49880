// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Writes down ops: what each reads, answers, changes in place, and changes without saying so.
#pragma once

#include <strata/torch/compat.hpp>
#include <strata/torch/op_rules.hpp>
#include <strata/torch/refusal.hpp>
#include <strata/torch/tensor_table.hpp>
#include <strata/torch/trace.hpp>
#include <strata/torch/undo.hpp>

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace strata::torch::detail {

/// Turns ops, each told before and after it runs, into a trace.
class trace_writer {
public:
    /// `inputs`: as `recorder`. What ops change that was there before goes into `before`.
    trace_writer(std::vector<at::Tensor> const& inputs, undo_log& before)
        : before_(before)
    {
        for (auto const& x : inputs) {
            auto const k = static_cast<std::int32_t>(trace_.inputs.size());
            trace_.inputs.push_back(x.defined() ? table_.add(x, origin::input, k) : none);
        }
    }

    trace_writer(trace_writer const&) = delete;
    auto operator=(trace_writer const&) -> trace_writer& = delete;

    /// An op that is about to run.
    struct pending {
        captured_op op;
        bool writes = false;
    };

    /// Throws: `refusal` for arguments with which it cannot be repeated.
    auto begin(c10::OperatorHandle const& op, std::vector<c10::IValue> const& given) -> pending
    {
        pending x{{op, {}, {}, {}, {}, {}, op.hasTag(at::Tag::nondeterministic_seeded)}, op.schema().is_mutable()};
        x.op.grad_mode = at::GradMode::is_enabled();
        for (auto const& g : given) {
            if (g.isGenerator() && g.toGenerator() != at::detail::getDefaultCPUGenerator()) {
                refuse_generator(x.op);
            }
        }
        for (auto const& g : given) {
            x.op.arguments.push_back(read(g, x.op));
        }
        auto const& declared = op.schema().arguments();
        for (std::size_t k = 0; k < declared.size(); ++k) {
            auto const* const alias = declared[k].alias_info();
            if (alias != nullptr && alias->isWrite()) {
                for (auto v : x.op.arguments[k].values) {
                    if (v != none) {
                        change(trace_.values[at(v)].group, x.op.writes);
                    }
                }
            }
        }
        settle_blanks(x.op, given);
        find_statistics(x.op);
        return x;
    }

    /// `x` has run.
    void end(pending x, std::vector<c10::IValue> const& results)
    {
        if (compares(x.op.handle.operator_name())) {
            x.op.expected = results[0];
            trace_.ops.push_back(std::move(x.op));
            return;
        }
        bool fresh = x.writes;
        auto const note = [&](at::Tensor const& t) {
            fresh = fresh || (t.defined() && table_.find(t) == none);
            x.op.leads_back = x.op.leads_back || (t.defined() && t.requires_grad());
        };
        for (auto const& r : results) {
            if (r.isTensor()) {
                note(r.toTensor());
            } else if (r.isTensorList()) {
                for (at::Tensor const& t : r.toTensorVector()) {
                    note(t);
                }
            }
        }
        if (!fresh) {
            return; // it handed back what it was given
        }
        for (auto const& r : results) {
            answer a;
            if (r.isTensor()) {
                a.values.push_back(answered(r.toTensor(), x.op));
            } else if (r.isTensorList()) {
                a.list = true;
                for (at::Tensor const& t : r.toTensorVector()) {
                    a.values.push_back(answered(t, x.op));
                }
            }
            x.op.answers.push_back(std::move(a));
        }
        for_each_answer(x.op, [&](auto v) {
            if (x.op.random && !trace_.values[at(v)].keys.has(c10::DispatchKey::CPU)) {
                refuse_generator(x.op);
            }
        });
        if (auto const& name = x.op.name(); !x.writes && name.find("empty") != std::string::npos) {
            blanks_[trace_.values[at(x.op.answers[0].values[0])].group] = x.op.answers[0].values[0];
        }
        for (auto g : x.op.writes) {
            table_.refresh(g);
        }
        trace_.ops.push_back(std::move(x.op));
    }

    /// The trace, whose pass has returned `outputs`. Throws: `refusal` for results that are not the pass's own.
    [[nodiscard]] auto finished(std::vector<at::Tensor> const& outputs) && -> trace
    {
        for (auto const& y : outputs) {
            trace_.outputs.push_back(y.defined() ? table_.known(y, "the result of forward") : none);
        }
        return std::move(trace_);
    }

private:
    [[noreturn]] static void refuse_generator(captured_op const& x)
    {
        throw refusal(x.name(),
                      "draws from another generator than the default one of the CPU, which replays would not put back",
                      "draw outside of forward and hand the numbers in, or leave the generator to libtorch");
    }

    /// Memory that an op has made without contents, and that nothing known has filled so far.
    ///
    /// When an op reads it all the same, it was filled by hand, like the result of `at::tensor`: it is a constant.
    void settle_blanks(captured_op const& x, std::vector<c10::IValue> const& given)
    {
        auto const& declared = x.handle.schema().arguments();
        for (std::size_t k = 0; k < declared.size() && !blanks_.empty(); ++k) {
            auto const* const alias = declared[k].alias_info();
            bool const viewed = alias != nullptr && !alias->isWrite();
            for (auto v : x.arguments[k].values) {
                auto const it = v == none ? blanks_.end() : blanks_.find(trace_.values[at(v)].group);
                if (it == blanks_.end() || viewed) {
                    continue;
                }
                if (alias == nullptr) {
                    auto const g = trace_.values[at(v)].group;
                    table_.adopt(it->second, g, given[k].isTensor() ? given[k].toTensor() : first_of(g, given[k]));
                } else if (!overwrites(x.handle.operator_name())) {
                    throw refusal(x.name(),
                                  "changes a tensor that was filled by hand, not by an op",
                                  "make it with an op such as full or arange, or hand it to forward");
                }
                blanks_.erase(it);
            }
        }
    }
    /// A tensor of group `g` in a list of tensors.
    auto first_of(std::int32_t g, c10::IValue const& list) const -> at::Tensor
    {
        for (auto const& e : list.toListRef()) {
            if (e.isTensor() && e.toTensor().defined() && trace_.values[at(table_.find(e.toTensor()))].group == g) {
                return e.toTensor();
            }
        }
        return {};
    }

    /// Batch normalisation updates its running statistics, though its schema does not say so.
    void find_statistics(captured_op& x)
    {
        auto const& declared = x.handle.schema().arguments();
        bool training = false;
        std::vector<std::int32_t> groups;
        for (std::size_t k = 0; k < declared.size(); ++k) {
            auto const& name = declared[k].name();
            auto const& a = x.arguments[k];
            if (name == "training" || name == "train") {
                training = training || (a.constant.isBool() && a.constant.toBool());
            }
            if ((name == "running_mean" || name == "running_var") && !a.values.empty() && a.values[0] != none) {
                groups.push_back(trace_.values[at(a.values[0])].group);
            }
        }
        if (!training || groups.empty()) {
            return;
        }
        bool const fixed =
            std::none_of(groups.begin(), groups.end(), [&](auto g) { return trace_.groups[at(g)].made(); });
        for (auto g : groups) {
            change(g, fixed ? x.statistics : x.writes);
        }
    }

    void change(std::int32_t g, std::vector<std::int32_t>& list)
    {
        list.push_back(g);
        auto& group = trace_.groups[at(g)];
        if (!group.made() && !std::exchange(group.changed, true)) {
            before_.remember(table_.resident(group.owner));
        }
    }

    auto answered(at::Tensor const& t, captured_op const& x) -> std::int32_t
    {
        if (!t.defined()) {
            return none;
        }
        auto const v = table_.find(t);
        if (v != none) {
            auto const g = trace_.values[at(v)].group;
            bool const written = std::find(x.writes.begin(), x.writes.end(), g) != x.writes.end();
            if (!written || !trace_.groups[at(g)].made()) {
                return v;
            }
        }
        return table_.add(t, origin::made, none, x.name());
    }

    auto read(c10::IValue const& g, captured_op const& x) -> argument
    {
        using kind = argument::kind;
        argument a;
        auto const one = [&](at::Tensor const& t) {
            a.values.push_back(t.defined() ? table_.known(t, x.name()) : none);
        };
        if (g.isTensor() && g.toTensor().defined()) {
            a.what = kind::tensor;
            one(g.toTensor());
        } else if (g.isTensorList()) {
            a.what = kind::tensors;
            for (at::Tensor const& t : g.toTensorVector()) {
                one(t);
            }
        } else if (g.isList() && has_tensors(g)) {
            a.what = kind::optional_tensors;
            for (auto const& e : g.toListRef()) {
                e.isTensor() ? one(e.toTensor()) : a.values.push_back(none);
            }
        } else {
            a.constant = g;
        }
        return a;
    }
    static auto has_tensors(c10::IValue const& list) -> bool
    {
        auto const all = list.toListRef();
        return std::any_of(all.begin(), all.end(), [](c10::IValue const& e) { return e.isTensor(); });
    }

    undo_log& before_;
    tensor_table table_;
    trace& trace_ = table_.written;
    std::unordered_map<std::int32_t, std::int32_t> blanks_; // per group without contents: the value that made it
};

} // namespace strata::torch::detail
