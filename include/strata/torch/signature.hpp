// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What a captured pass depends on: shapes, types, flags; another signature is another plan.
#pragma once

#include <strata/torch/compat.hpp>

#include <cstdint>
#include <vector>

namespace strata::torch::detail {

/// Numbers that are equal when a plan may be used again.
using signature = std::vector<std::int64_t>;

/// Type, device, layout and gradient flag of `t`.
inline void append(signature& s, at::Tensor const& t, bool with_shape)
{
    s.push_back(t.defined() ? 1 : 0);
    if (!t.defined()) {
        return;
    }
    s.push_back(static_cast<std::int64_t>(t.scalar_type()));
    s.push_back(static_cast<std::int64_t>(t.device().type()) * 256 + t.device().index());
    s.push_back(t.requires_grad() ? 1 : 0);
    s.push_back(t.dim());
    s.insert(s.end(), t.sizes().begin(), t.sizes().end());
    if (with_shape && t.layout() == at::kStrided) {
        s.insert(s.end(), t.strides().begin(), t.strides().end());
    }
}

/// Training flags of `m` and of the modules in it, and which tensors its parameters are; nothing for a plain callable.
template <class M>
void append_module(signature& s, M& m)
{
    if constexpr (requires { m->is_training(); }) {
        append_module(s, *m);
    } else if constexpr (requires { m.is_training(); }) {
        s.push_back(m.is_training() ? 1 : 0);
        if constexpr (requires { m.modules(false); }) {
            for (auto const& x : m.modules(false)) {
                s.push_back(x->is_training() ? 1 : 0);
            }
        } else {
            for (auto const& x : m.modules()) {
                s.push_back(x.is_training() ? 1 : 0);
            }
        }
        for (auto const& p : m.parameters()) {
            s.push_back(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(p.unsafeGetTensorImpl())));
        }
    }
}

} // namespace strata::torch::detail
