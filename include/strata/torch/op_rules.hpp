// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What the binding knows of single ops: which are seen through, which are refused, which overwrite.
#pragma once

#include <strata/torch/compat.hpp>
#include <strata/torch/refusal.hpp>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace strata::torch::detail {

/// Whether the kernel that runs is made of other ops, each with its own autograd node.
[[nodiscard]] inline auto transparent(c10::OperatorHandle const& op) -> bool
{
    using key = c10::DispatchKey;
    if (op.hasKernelForDispatchKey(key::AutocastCPU) && !c10::impl::tls_is_dispatch_key_excluded(key::AutocastCPU)) {
        return true; // casts its arguments, then calls itself
    }
    return op.hasKernelForDispatchKey(key::CompositeImplicitAutograd) && !op.hasKernelForDispatchKey(key::CPU) &&
           !op.hasKernelForDispatchKey(key::AutogradCPU) && !op.hasKernelForDispatchKey(key::CompositeExplicitAutograd);
}

/// Indexing by whole numbers, which has the shape of the index, unlike that by a mask.
[[nodiscard]] inline auto
by_positions(std::string_view name, c10::OperatorHandle const& op, ::torch::jit::Stack const& stack) -> bool
{
    if (name != "aten::index") {
        return false;
    }
    auto const& indices = stack[stack.size() - op.schema().arguments().size() + 1];
    auto const list = indices.toListRef();
    return std::none_of(list.begin(), list.end(), [](c10::IValue const& i) {
        return i.isTensor() && i.toTensor().defined() &&
               (i.toTensor().scalar_type() == at::kBool || i.toTensor().scalar_type() == at::kByte);
    });
}

/// Throws: `refusal` for an op that no plan can repeat.
inline void refuse_op(c10::OperatorHandle const& op, ::torch::jit::Stack const& stack)
{
    std::string_view const name = op.operator_name().name;
    constexpr std::array numbers{"aten::item", "aten::_local_scalar_dense", "aten::is_nonzero"};
    if (std::find(numbers.begin(), numbers.end(), name) != numbers.end()) {
        throw refusal(std::string(name),
                      "reads a number out of a tensor, so that what forward does may depend on data",
                      "keep it in a tensor, or read it outside of forward and hand it in");
    }
    if (op.hasTag(at::Tag::dynamic_output_shape) && !by_positions(name, op, stack)) {
        throw refusal(std::string(name),
                      "makes a tensor whose shape depends on data",
                      "use an op with a fixed shape, such as where, masked_fill or topk");
    }
    constexpr std::array storage{"aten::set_", "aten::resize_", "aten::resize_as_", "aten::set_data"};
    if (std::find(storage.begin(), storage.end(), name) != storage.end()) {
        throw refusal(std::string(name), "exchanges or resizes the storage of a tensor", "make a new tensor instead");
    }
}

/// Whether an op only tells whether tensors are the same: forward may take another path then, so that its answer is part of
/// what the plan relies on. Attention of libtorch asks whether query, key and value are one.
[[nodiscard]] inline auto compares(c10::OperatorName const& name) -> bool { return name.name == "aten::equal"; }

/// Whether an op chooses among its elements. Where some are equal, another run may choose others: what it has chosen is kept.
[[nodiscard]] inline auto chooses(c10::OperatorName const& name) -> bool
{
    static constexpr std::array all{
        "aten::topk", "aten::sort", "aten::argsort", "aten::kthvalue", "aten::mode", "aten::median", "aten::nanmedian"};
    return std::find(all.begin(), all.end(), name.name) != all.end();
}

/// Whether an in-place op fills a tensor without a look at what was in it.
[[nodiscard]] inline auto overwrites(c10::OperatorName const& name) -> bool
{
    static std::array const all{"fill_",
                                "zero_",
                                "copy_",
                                "bernoulli_",
                                "normal_",
                                "uniform_",
                                "random_",
                                "exponential_",
                                "geometric_",
                                "cauchy_",
                                "log_normal_",
                                "masked_fill_",
                                "index_put_",
                                "index_fill_",
                                "index_copy_",
                                "scatter_",
                                "masked_scatter_",
                                "_index_put_impl_"};
    return name.overload_name.find("out") != std::string::npos ||
           std::find(all.begin(), all.end(), name.name.substr(name.name.rfind(':') + 1)) != all.end();
}

} // namespace strata::torch::detail
