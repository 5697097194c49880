// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Watches one forward pass through the dispatcher and writes down every op, or refuses what cannot be repeated.
#pragma once

#include <strata/torch/compat.hpp>
#include <strata/torch/op_rules.hpp>
#include <strata/torch/saved_tensors.hpp>
#include <strata/torch/trace.hpp>
#include <strata/torch/trace_writer.hpp>
#include <strata/torch/undo.hpp>

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <cstddef>
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
        : writer_(inputs, before)
    {
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
        return std::move(writer_).finished(outputs);
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
        auto x = self->writer_.begin(op, {stack->end() - static_cast<std::ptrdiff_t>(n), stack->end()});
        unwatched(op, below, stack);
        auto const m = op.schema().returns().size();
        self->writer_.end(std::move(x), {stack->end() - static_cast<std::ptrdiff_t>(m), stack->end()});
    }

    static void unwatched(c10::OperatorHandle const& op, c10::DispatchKeySet below, ::torch::jit::Stack* stack)
    {
        c10::impl::ExcludeDispatchKeyGuard const guard(watch_key);
        op.redispatchBoxed(below, stack);
    }

    trace_writer writer_;
};

} // namespace strata::torch::detail
