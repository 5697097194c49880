// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Everything in which the versions of libtorch that the binding knows (1.13 and 2.x) differ, and its leaf headers.
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/version.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

namespace strata::torch::detail {

namespace autograd = ::torch::autograd;

/// What holds a node of autograd: a shared pointer, or in later versions an intrusive one.
using node_pointer = decltype(autograd::Edge::function);

/// A new node of type `N`.
template <class N, class... A>
[[nodiscard]] auto make_node(A&&... a) -> node_pointer
{
    if constexpr (std::is_same_v<node_pointer, std::shared_ptr<autograd::Node>>) {
        return node_pointer(new N(std::forward<A>(a)...), [](auto* n) { deleteNode(n); }); // without deep recursion
    } else {
        return c10::make_intrusive<N>(std::forward<A>(a)...);
    }
}

/// The dispatch key under which a forward pass is watched: above autograd and autocast, used by nothing else.
inline constexpr auto watch_key = c10::DispatchKey::TESTING_ONLY_GenericMode;

/// Under which what answers requests for blocks goes with a step to the threads of autograd's engine; used by nothing else.
[[nodiscard]] inline auto step_info() -> c10::DebugInfoKind { return c10::DebugInfoKind::TEST_INFO_2; }

/// Hears of every block of tensor memory that its thread takes or gives back, while it is installed.
class allocation_listener : public c10::MemoryReportingInfoBase {
public:
    /// `change` bytes more, or less, are in use.
    virtual void on_change(std::int64_t change) noexcept = 0;

#if TORCH_VERSION_MAJOR < 2
    void reportMemoryUsage(void* /*p*/, std::int64_t n, std::int64_t /*all*/, std::int64_t /*held*/, c10::Device) final
#else
    void reportMemoryUsage(void* /*p*/, std::int64_t n, std::size_t /*all*/, std::size_t /*held*/, c10::Device) final
#endif
    {
        on_change(n);
    }
    [[nodiscard]] auto memoryProfilingEnabled() const -> bool final { return true; }
};

/// An allocator that answers requests in place of another one, or hands them on.
class allocator_in_front : public c10::Allocator {
public:
    explicit allocator_in_front(c10::Allocator& behind) noexcept
        : behind_(behind)
    {
    }
    // Libtorch's raw requests want a block that is its own context; where `take` gives another one, they throw.
    [[nodiscard]] auto raw_deleter() const -> c10::DeleterFnPtr final { return behind_.raw_deleter(); }
#if TORCH_VERSION_MAJOR < 2
    [[nodiscard]] auto allocate(std::size_t n) const -> c10::DataPtr final { return take(n); }
#else
    [[nodiscard]] auto allocate(std::size_t n) -> c10::DataPtr final { return take(n); }
    void copy_data(void* to, void const* from, std::size_t n) const final { default_copy_data(to, from, n); }
#endif

protected:
    virtual auto take(std::size_t n) const -> c10::DataPtr = 0;
    [[nodiscard]] auto behind() const noexcept -> c10::Allocator& { return behind_; }

private:
    c10::Allocator& behind_;
};

/// State of the generator that ops on the CPU draw from.
[[nodiscard]] inline auto random_state() -> at::Tensor
{
    auto generator = at::detail::getDefaultCPUGenerator();
    std::lock_guard<std::mutex> const lock(generator.mutex());
    return generator.get_state();
}
inline void set_random_state(at::Tensor const& state)
{
    auto generator = at::detail::getDefaultCPUGenerator();
    std::lock_guard<std::mutex> const lock(generator.mutex());
    generator.set_state(state);
}

/// A number for the state of autocast, which decides what ops a pass runs.
[[nodiscard]] inline auto autocast_mode() -> std::int64_t
{
#if TORCH_VERSION_MAJOR < 2
    return at::autocast::is_cpu_enabled() ? 1 + static_cast<std::int64_t>(at::autocast::get_autocast_cpu_dtype()) : 0;
#else
    return at::autocast::is_autocast_enabled(at::kCPU)
               ? 1 + static_cast<std::int64_t>(at::autocast::get_autocast_dtype(at::kCPU))
               : 0;
#endif
}

} // namespace strata::torch::detail
