// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Watches one forward pass through the dispatcher and writes down every op, or refuses what cannot be repeated.
#pragma once

#include <strata/torch/compat.hpp>
#include <strata/torch/op_rules.hpp>
#include <strata/torch/refusal.hpp>
#include <strata/torch/saved_tensors.hpp>
#include <strata/torch/trace.hpp>
#include <strata/torch/undo.hpp>

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace strata::torch::detail {

/// Writes down the ops that run on its thread while `during` runs.
///
/// An op is what autograd makes one node of; composites are seen through. Tensors are told apart by identity and held
/// weakly, so watching keeps no activation alive.
class recorder {
public:
    /// `inputs`: the tensors that the pass is given, undefined ones allowed. What ops change that was there before goes
    /// into `before`.
    recorder(std::vector<at::Tensor> const& inputs, undo_log& before)
        : before_(before)
    {
        for (auto const& x : inputs) {
            auto const k = static_cast<std::int32_t>(trace_.inputs.size());
            trace_.inputs.push_back(x.defined() ? add(x, origin::input, k) : none);
        }
    }

    /// Calls `pass`, which returns the flat list of its tensors. Throws: `refusal`, and what `pass` throws.
    template <class F>
    [[nodiscard]] auto during(F&& pass) && -> trace
    {
        install();
        forgetful_keeper forgetful;
        std::vector<at::Tensor> outputs;
        at::autocast::clear_cache(); // casts of parameters would have been made outside of this pass
        {
            saved_tensor_keeper::scope const unsaved(&forgetful);
            watching const now(this);
            c10::impl::IncludeDispatchKeyGuard const watched(watch_key);
            outputs = pass();
        }
        at::autocast::clear_cache();
        for (auto const& y : outputs) {
            trace_.outputs.push_back(y.defined() ? known(y, "the result of forward") : none);
        }
        return std::move(trace_);
    }

private:
    struct watching {
        explicit watching(recorder* r)
            : before(std::exchange(current(), r))
        {
        }
        watching(watching const&) = delete;
        auto operator=(watching const&) -> watching& = delete;
        ~watching() { current() = before; }
        recorder* before;
    };

    static auto current() noexcept -> recorder*&
    {
        thread_local recorder* now = nullptr;
        return now;
    }

    static void install()
    {
        static bool const once = [] {
            // Never given back: the dispatcher may be gone before static objects are.
            static auto* const all = new ::torch::Library(::torch::Library::IMPL, "_", watch_key, __FILE__, __LINE__);
            all->fallback(::torch::CppFunction::makeFromBoxedFunction<&on_op>());
            return true;
        }();
        (void)once;
    }

    static void on_op(c10::OperatorHandle const& op, c10::DispatchKeySet keys, ::torch::jit::Stack* stack)
    {
        auto const below = keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, watch_key);
        auto* const self = current();
        if (self == nullptr ||
            c10::impl::tls_is_dispatch_keyset_excluded(c10::autograd_dispatch_keyset_with_ADInplaceOrView)) {
            unwatched(op, below, stack);
            return;
        }
        refuse_op(op, *stack);
        if (transparent(op)) {
            op.redispatchBoxed(below, stack);
            return;
        }
        watching const pause(nullptr); // what the op does inside is its own affair
        auto const n = op.schema().arguments().size();
        auto x = self->begin(op, {stack->end() - static_cast<std::ptrdiff_t>(n), stack->end()});
        unwatched(op, below, stack);
        auto const m = op.schema().returns().size();
        self->end(std::move(x), {stack->end() - static_cast<std::ptrdiff_t>(m), stack->end()});
    }

    static void unwatched(c10::OperatorHandle const& op, c10::DispatchKeySet below, ::torch::jit::Stack* stack)
    {
        c10::impl::ExcludeDispatchKeyGuard const guard(watch_key);
        op.redispatchBoxed(below, stack);
    }

    struct pending {
        captured_op op;
        bool writes = false;
    };

    auto begin(c10::OperatorHandle const& op, std::vector<c10::IValue> const& given) -> pending
    {
        pending x{{op, {}, {}, {}, {}, op.hasTag(at::Tag::nondeterministic_seeded)}, op.schema().is_mutable()};
        x.op.grad_mode = at::GradMode::is_enabled();
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
                    adopt(it->second, trace_.values[at(v)].group, given[k]);
                } else if (!overwrites(x.handle.operator_name())) {
                    throw refusal(x.name(),
                                  "changes a tensor that was filled by hand, not by an op",
                                  "make it with an op such as full or arange, or hand it to forward");
                }
                blanks_.erase(it);
            }
        }
    }
    /// The blank `v` becomes a tensor that was there before.
    void adopt(std::int32_t v, std::int32_t g, c10::IValue const& reader)
    {
        auto& x = trace_.values[at(v)];
        at::Tensor const any = reader.isTensor() ? reader.toTensor() : first_of(g, reader);
        auto impl = c10::make_intrusive<c10::TensorImpl>(c10::Storage(any.storage()), x.keys, x.dtype);
        impl->set_sizes_and_strides(x.sizes, x.strides, x.offset);
        x.from = origin::fixed;
        x.slot = static_cast<std::int32_t>(trace_.fixed.size());
        trace_.fixed.emplace_back(std::move(impl));
        trace_.groups[at(g)].owner = v;
        owner_offset_[g] = std::exchange(x.offset, 0);
        std::erase_if(trace_.ops, [&](captured_op const& op) {
            return op.answers.size() == 1 && op.answers[0].values == std::vector<std::int32_t>{v};
        });
    }
    /// A tensor of group `g` in a list of tensors.
    auto first_of(std::int32_t g, c10::IValue const& list) const -> at::Tensor
    {
        for (auto const& e : list.toListRef()) {
            if (e.isTensor() && e.toTensor().defined() && trace_.values[at(find(e.toTensor()))].group == g) {
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
            auto const& owner = trace_.values[at(group.owner)];
            before_.remember(owner.from == origin::fixed ? trace_.fixed[at(owner.slot)] : held_input(group.owner));
        }
    }

    void end(pending x, std::vector<c10::IValue> const& results)
    {
        bool fresh = x.writes;
        auto const note = [&](at::Tensor const& t) { fresh = fresh || (t.defined() && find(t) == none); };
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
        if (auto const& name = x.op.name(); !x.writes && name.find("empty") != std::string::npos) {
            blanks_[trace_.values[at(x.op.answers[0].values[0])].group] = x.op.answers[0].values[0];
        }
        for (auto g : x.op.writes) {
            refresh(g);
        }
        trace_.ops.push_back(std::move(x.op));
    }

    auto answered(at::Tensor const& t, captured_op const& x) -> std::int32_t
    {
        if (!t.defined()) {
            return none;
        }
        auto const v = find(t);
        if (v != none) {
            auto const g = trace_.values[at(v)].group;
            bool const written = std::find(x.writes.begin(), x.writes.end(), g) != x.writes.end();
            if (!written || !trace_.groups[at(g)].made()) {
                return v;
            }
        }
        return add(t, origin::made, none, x.name());
    }

    /// After an in-place op on a view, others of the same storage may have come to require a gradient.
    void refresh(std::int32_t g)
    {
        for (std::size_t v = 0; v < trace_.values.size(); ++v) {
            if (trace_.values[v].group == g && trace_.values[v].from == origin::made) {
                if (auto const strong = tensors_[v].lock()) {
                    trace_.values[v].grad = at::Tensor(strong).requires_grad();
                }
            }
        }
    }

    auto read(c10::IValue const& g, captured_op const& x) -> argument
    {
        using kind = argument::kind;
        argument a;
        auto const one = [&](at::Tensor const& t) { a.values.push_back(t.defined() ? known(t, x.name()) : none); };
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

    [[nodiscard]] auto find(at::Tensor const& t) const -> std::int32_t
    {
        auto const it = ids_.find(t.unsafeGetTensorImpl());
        return it == ids_.end() ? none : it->second;
    }

    /// The value of a tensor that `reader` reads.
    auto known(at::Tensor const& t, std::string const& reader) -> std::int32_t
    {
        auto const v = find(t);
        if (v == none) {
            if (t.requires_grad() && !t.is_leaf()) {
                throw refusal(
                    reader,
                    "reads a tensor with a gradient function that was made outside of forward, or in a custom "
                    "autograd function",
                    "hand the tensor to forward as an input; write the function with differentiable ops");
            }
            trace_.fixed.push_back(t);
            return add(t, origin::fixed, static_cast<std::int32_t>(trace_.fixed.size()) - 1, reader);
        }
        auto const& x = trace_.values[at(v)];
        if (x.from == origin::made && x.grad != t.requires_grad()) {
            throw refusal(
                reader,
                "reads a tensor whose requires_grad was changed by no op: by a custom autograd function, or by "
                "requires_grad_",
                "write the function with differentiable ops; hand leaves to forward as inputs");
        }
        if (x.from == origin::made && t.requires_grad() && !autograd::impl::hooks(t).empty()) {
            throw refusal(reader,
                          "reads a tensor with a gradient hook, which would not be called",
                          "register hooks on parameters, inputs or results of forward");
        }
        return v;
    }

    auto add(at::Tensor const& t, origin from, std::int32_t slot, std::string const& op = "an input of forward")
        -> std::int32_t
    {
        if (t.layout() != at::kStrided || !t.has_storage()) {
            throw refusal(op,
                          "reads or makes a tensor that is not strided: sparse, quantized or opaque",
                          "convert it outside of forward, or keep it out of the part that is planned");
        }
        auto const v = static_cast<std::int32_t>(trace_.values.size());
        auto* const storage = t.storage().unsafeGetStorageImpl();
        auto const [it, fresh] = groups_.try_emplace(storage, static_cast<std::int32_t>(trace_.groups.size()));
        if (fresh) {
            auto const n = static_cast<bytes_t>(t.storage().nbytes());
            trace_.groups.push_back({n, from == origin::made ? none : v, false});
            storages_.push_back(t.storage().getWeakStorageImpl());
        }
        value x{t.sizes().vec(),
                t.strides().vec(),
                t.storage_offset(),
                t.key_set(),
                t.dtype(),
                t.requires_grad(),
                from,
                slot,
                it->second};
        if (auto const owner = trace_.groups[at(x.group)].owner; owner != none && owner != v) {
            x.offset -= owner_offset_[it->second];
        } else if (owner == v) {
            owner_offset_[it->second] = x.offset;
            x.offset = 0;
        }
        trace_.values.push_back(std::move(x));
        tensors_.emplace_back(t.getIntrusivePtr());
        ids_[t.unsafeGetTensorImpl()] = v;
        return v;
    }

    [[nodiscard]] auto held_input(std::int32_t v) const -> at::Tensor
    {
        return at::Tensor(tensors_[at(v)].lock()); // the caller holds it
    }

    undo_log& before_;
    trace trace_;
    // Held weakly, so that no other tensor and no other storage can come to lie at the same address.
    std::vector<c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>> tensors_; // per value
    std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> storages_;                         // per group
    std::unordered_map<c10::TensorImpl*, std::int32_t> ids_;
    std::unordered_map<c10::StorageImpl*, std::int32_t> groups_;
    std::unordered_map<std::int32_t, std::int64_t> owner_offset_;
    std::unordered_map<std::int32_t, std::int32_t> blanks_; // per group without contents: the value that made it
};

} // namespace strata::torch::detail
