// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Puts back what trying out a step has changed: the random state, and tensors that the step writes.
#pragma once

#include <strata/torch/compat.hpp>

#include <c10/core/impl/LocalDispatchKeySet.h>

#include <utility>
#include <vector>

namespace strata::torch::detail {

/// Remembers the random state when it is made and tensors when it is told, and puts all back when it goes.
class undo_log {
public:
    undo_log()
        : random_(random_state())
    {
    }
    undo_log(undo_log const&) = delete;
    auto operator=(undo_log const&) -> undo_log& = delete;
    ~undo_log()
    {
        try {
            restore();
        } catch (...) { // copying a tensor to where it was does not fail
        }
    }

    /// `t` will be changed.
    void remember(at::Tensor const& t)
    {
        at::NoGradGuard const guard;
        c10::impl::ExcludeDispatchKeyGuard const unwatched(watch_key);
        tensors_.emplace_back(t, t.variable_data().clone());
    }

    /// Makes everything as it was; may be called again after the next try.
    void restore()
    {
        at::NoGradGuard const guard;
        set_random_state(random_);
        for (auto const& [t, before] : tensors_) {
            t.variable_data().copy_(before);
        }
    }

private:
    at::Tensor random_;
    std::vector<std::pair<at::Tensor, at::Tensor>> tensors_;
};

} // namespace strata::torch::detail
