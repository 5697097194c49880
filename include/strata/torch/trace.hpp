// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief One forward pass as it was seen: ops with their arguments, tensors, and which of these share a storage.
#pragma once

#include <strata/torch/compat.hpp>
#include <strata/units.hpp>

#include <ATen/core/stack.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace strata::torch::detail {

/// Index into a vector of the standard library.
template <class I>
[[nodiscard]] constexpr auto at(I i) noexcept -> std::size_t
{
    return static_cast<std::size_t>(i);
}

/// Where a value comes from.
enum class origin : std::uint8_t {
    made,  ///< an op
    input, ///< the caller of forward
    fixed, ///< parameters, buffers, and tensors that were there before
};

/// One tensor of a forward pass. An in-place op gives the tensor that it changes a new value.
struct value {
    std::vector<std::int64_t> sizes, strides;
    std::int64_t offset = 0; ///< in its storage; if the storage is not made here, from where its owner begins
    c10::DispatchKeySet keys;
    caffe2::TypeMeta dtype;
    bool grad = false; ///< requires a gradient
    origin from = origin::made;
    std::int32_t slot = none;  ///< input: which; fixed: index into `trace::fixed`
    std::int32_t group = none; ///< of values that share a storage
};

/// Values that share one storage.
struct storage_group {
    bytes_t bytes = 0;
    std::int32_t owner = none; ///< input or fixed value whose storage it is; `none` for one that ops make
    bool changed = false;      ///< not made here, and some op writes it
    [[nodiscard]] auto made() const noexcept -> bool { return owner == none; }
};

/// One argument of an op: a constant, a tensor, or a list of tensors, some of which may be absent.
struct argument {
    enum class kind : std::uint8_t { constant, tensor, tensors, optional_tensors };
    kind what = kind::constant;
    c10::IValue constant;
    std::vector<std::int32_t> values; ///< `none` for an absent one
};

/// What an op answered at one place: a tensor, or a list of them.
struct answer {
    bool list = false;
    std::vector<std::int32_t> values; ///< `none` for an undefined tensor
};

/// An op of the binding's own, which libtorch does not know.
struct own_op {
    std::string name;
    void (*run)(::torch::jit::Stack&); ///< from arguments to answers
};

/// One op as it ran.
struct captured_op {
    c10::OperatorHandle handle;
    std::vector<argument> arguments;
    std::vector<answer> answers;
    std::vector<std::int32_t> writes;     ///< groups it changes in place
    std::vector<std::int32_t> statistics; ///< groups of running statistics that it updates, though its schema is silent
    c10::IValue expected;                 ///< of an op that compares: what it answered
    bool random = false;
    bool grad_mode = true;
    bool leads_back = false;     ///< some answer required a gradient, so that one may flow to its arguments
    own_op const* own = nullptr; ///< runs in place of `handle`
    [[nodiscard]] auto name() const -> std::string const& { return own ? own->name : handle.operator_name().name; }
};

/// One forward pass.
struct trace {
    std::vector<value> values;
    std::vector<storage_group> groups;
    std::vector<captured_op> ops;
    std::vector<at::Tensor> fixed;
    std::vector<std::int32_t> inputs;  ///< per tensor given to forward: its value, `none` for an undefined one
    std::vector<std::int32_t> outputs; ///< per tensor that forward returned
};

/// Calls `f(v)` for each tensor among the arguments of `x`, in order, absent ones left out.
template <class F>
void for_each_argument(captured_op const& x, F&& f)
{
    for (auto const& a : x.arguments) {
        for (auto v : a.values) {
            if (v != none) {
                f(v);
            }
        }
    }
}
template <class F>
void for_each_answer(captured_op const& x, F&& f)
{
    for (auto const& a : x.answers) {
        for (auto v : a.values) {
            if (v != none) {
                f(v);
            }
        }
    }
}

} // namespace strata::torch::detail
