// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The tensors in what a forward pass returns: alone, in tuples, pairs, vectors, optionals, or in an `IValue`.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <array>
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace strata::torch::detail {

/// Calls `f(t)` for each tensor in `x`, in order; `f` may put another one there. What is no tensor stays as it is.
template <class F>
void visit_tensors(at::Tensor& x, F&& f)
{
    f(x);
}
template <class F>
void visit_tensors(c10::IValue& x, F&& f);
template <class T, class F>
void visit_tensors(std::vector<T>& x, F&& f);
template <class T, std::size_t N, class F>
void visit_tensors(std::array<T, N>& x, F&& f);
template <class A, class B, class F>
void visit_tensors(std::pair<A, B>& x, F&& f);
template <class... T, class F>
void visit_tensors(std::tuple<T...>& x, F&& f);

template <class T, class F>
    requires requires(T& x) {
        x.has_value();
        *x;
    }
void visit_tensors(T& x, F&& f)
{
    if (x.has_value()) {
        visit_tensors(*x, f);
    }
}
template <class T, class F>
    requires(std::is_arithmetic_v<T>)
void visit_tensors(T& /*x*/, F&& /*f*/)
{
}
template <class T, class F>
void visit_tensors(std::vector<T>& x, F&& f)
{
    for (auto& e : x) {
        visit_tensors(e, f);
    }
}
template <class T, std::size_t N, class F>
void visit_tensors(std::array<T, N>& x, F&& f)
{
    for (auto& e : x) {
        visit_tensors(e, f);
    }
}
template <class A, class B, class F>
void visit_tensors(std::pair<A, B>& x, F&& f)
{
    visit_tensors(x.first, f);
    visit_tensors(x.second, f);
}
template <class... T, class F>
void visit_tensors(std::tuple<T...>& x, F&& f)
{
    std::apply([&](auto&... e) { (visit_tensors(e, f), ...); }, x);
}
template <class F>
void visit_tensors(c10::IValue& x, F&& f)
{
    if (x.isTensor()) {
        auto t = x.toTensor();
        f(t);
        x = std::move(t);
    } else if (x.isTuple()) {
        std::vector<c10::IValue> all(x.toTupleRef().elements().begin(), x.toTupleRef().elements().end());
        visit_tensors(all, f);
        x = c10::ivalue::Tuple::create(std::move(all));
    } else if (x.isTensorList()) {
        auto all = x.toTensorVector();
        visit_tensors(all, f);
        x = std::move(all);
    }
}

} // namespace strata::torch::detail
