// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What autograd saves for backward, taken out of its hands: kept by reference to a storage, or not at all.
#pragma once

#include <strata/torch/compat.hpp>

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace strata::torch::detail {

/// Whoever receives the tensors that autograd saves on this thread.
class saved_tensor_keeper {
public:
    saved_tensor_keeper() = default;
    saved_tensor_keeper(saved_tensor_keeper const&) = delete;
    auto operator=(saved_tensor_keeper const&) -> saved_tensor_keeper& = delete;
    virtual ~saved_tensor_keeper() = default;

    /// Makes what stands for the next saved tensor.
    virtual auto keep() -> std::unique_ptr<autograd::SavedVariableHooks> = 0;

    /// While it lives, `by` keeps what autograd saves on this thread.
    class scope {
    public:
        explicit scope(saved_tensor_keeper* by);
        scope(scope const&) = delete;
        auto operator=(scope const&) -> scope& = delete;
        ~scope();

    private:
        saved_tensor_keeper* before_;
    };
};

[[nodiscard]] inline auto current_keeper() noexcept -> saved_tensor_keeper*&
{
    thread_local saved_tensor_keeper* now = nullptr;
    return now;
}

/// Libtorch asks its engine for the default hooks of saved tensors, and only the one for Python has any. This one asks the
/// keeper of the thread; without one it is the engine that libtorch brings.
class hooking_engine final : public autograd::Engine {
public:
    /// Makes it the engine of the process, once.
    static void install()
    {
        static bool const once = [] {
            autograd::set_default_engine_stub([]() -> autograd::Engine& {
                static auto* const engine = new hooking_engine; // its threads outlive every static object
                return *engine;
            });
            return true;
        }();
        (void)once;
    }
    ~hooking_engine() override { stop(); }

    auto get_default_saved_variable_hooks() -> std::unique_ptr<autograd::SavedVariableHooks> override
    {
        auto* const keeper = current_keeper();
        return keeper == nullptr ? nullptr : keeper->keep();
    }

private:
    hooking_engine() = default;
};

inline saved_tensor_keeper::scope::scope(saved_tensor_keeper* by)
    : before_(std::exchange(current_keeper(), by))
{
    hooking_engine::install();
}
inline saved_tensor_keeper::scope::~scope() { current_keeper() = before_; }

/// Keeps nothing: for a forward pass whose backward never runs.
class forgetful_keeper final : public saved_tensor_keeper {
public:
    auto keep() -> std::unique_ptr<autograd::SavedVariableHooks> override { return std::make_unique<nothing>(); }

private:
    struct nothing final : autograd::SavedVariableHooks {
        void call_pack_hook(at::Tensor const& /*saved*/) override {}
        auto call_unpack_hook() -> at::Tensor override { return {}; }
    };
};

} // namespace strata::torch::detail
