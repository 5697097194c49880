// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The reference: runs a step without a plan and without the library's executor.
///
/// Every op runs once, in the order of the graph; every tensor has an allocation of its own, from the op that makes it to
/// the last that uses it. That is what a framework does when nobody tells it to recompute.
#pragma once

#include <strata/execute/buffers.hpp>
#include <strata/problem/effects.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "examples/engine_eigen/counting_memory.hpp"
#include "examples/engine_eigen/engine.hpp"
#include "examples/engine_eigen/network.hpp"

namespace engine_eigen {

class plain_step {
    using tensor_id = strata::tensor_id;

public:
    /// Requires: `m` and `e` outlive it.
    plain_step(model const& m, engine& e)
        : model_(&m)
        , engine_(&e)
        , owner_(size(m.step.tensor_count()))
        , address_(owner_.size(), nullptr)
        , holds_(owner_.size(), 0)
        , ends_(size(m.step.op_count()))
    {
        auto const& g = m.step;
        for (tensor_id t = 0; t < g.tensor_count(); ++t) {
            owner_[size(t)] = t;
            while (g.view_of(owner_[size(t)]) != strata::none) {
                owner_[size(t)] = g.view_of(owner_[size(t)]);
            }
            if (strata::is_resident(g.kind_of(t))) {
                address_[size(t)] = e.resident().data(t);
                holds_[size(t)] = g.kind_of(t) == strata::tensor_kind::parameter_gradient ? 1 : 0;
            }
        }
        std::vector<char> seen(owner_.size(), 0); // later than the op that is looked at, or a target
        for (auto t : g.targets()) {
            seen[size(owner_[size(t)])] = 1;
        }
        for (auto o = g.op_count(); o-- > 0;) {
            for_each_buffer(o, [&](tensor_id t) {
                if (seen[size(t)] == 0) {
                    ends_[size(o)].push_back(t);
                    seen[size(t)] = 1;
                }
            });
        }
    }
    plain_step(plain_step const&) = delete;
    auto operator=(plain_step const&) -> plain_step& = delete;
    ~plain_step()
    {
        for (tensor_id t = 0; t < model_->step.tensor_count(); ++t) {
            release(t);
        }
    }

    /// Returns: the loss.
    auto run() -> float
    {
        auto const& g = model_->step;
        for (strata::op_id o = 0; o < g.op_count(); ++o) {
            for_each_buffer(o, [&](tensor_id t) {
                if (address_[size(t)] == nullptr) {
                    address_[size(t)] = allocate(g.tensor_bytes(t));
                }
            });
            auto const workspace = g.op_workspace(o);
            auto* const scratch = workspace > 0 ? allocate(workspace) : nullptr;
            engine_->run(o, strata::buffers(address_, holds_, owner_, scratch));
            if (scratch != nullptr) {
                memory_.deallocate(scratch, static_cast<std::size_t>(workspace), alignment);
            }
            for (auto t : g.outputs(o)) {
                holds_[size(t)] = holds_[size(t)] != 0 || g.kind_of(t) == strata::tensor_kind::gradient ? 1 : 0;
            }
            for (auto t : ends_[size(o)]) {
                release(t);
            }
        }
        auto const loss = *static_cast<float const*>(static_cast<void const*>(address_[size(model_->loss)]));
        for (auto t : g.targets()) {
            release(t);
        }
        return loss;
    }

    /// Most bytes that were allocated at once, resident tensors left out.
    [[nodiscard]] auto peak() const -> strata::bytes_t { return memory_.peak(); }

private:
    template <class I>
    static auto size(I i) -> std::size_t
    {
        return static_cast<std::size_t>(i);
    }
    [[nodiscard]] auto resident(tensor_id t) const -> bool { return strata::is_resident(model_->step.kind_of(t)); }

    /// Calls `f` for every buffer that op `o` touches and that is not resident, some more than once.
    template <class F>
    void for_each_buffer(strata::op_id o, F const& f) const
    {
        auto const& g = model_->step;
        for (auto ids : {g.inputs(o), g.outputs(o), g.mutates(o)}) {
            for (auto t : ids) {
                if (auto const b = owner_[size(t)]; !resident(b)) {
                    f(b);
                }
            }
        }
    }
    auto allocate(strata::bytes_t bytes) -> std::byte*
    {
        return static_cast<std::byte*>(memory_.allocate(size(bytes), alignment));
    }
    void release(tensor_id t)
    {
        auto*& p = address_[size(owner_[size(t)])];
        if (p != nullptr && !resident(owner_[size(t)])) {
            memory_.deallocate(p, size(model_->step.tensor_bytes(owner_[size(t)])), alignment);
            p = nullptr;
            holds_[size(owner_[size(t)])] = 0;
        }
    }

    model const* model_;
    engine* engine_;
    counting_memory memory_;
    std::vector<tensor_id> owner_;             // per tensor: whose buffer it uses
    std::vector<std::byte*> address_;          // per tensor that owns a buffer
    std::vector<char> holds_;                  // per gradient: whether an op has written to it
    std::vector<std::vector<tensor_id>> ends_; // per op: buffers that nothing uses afterwards
};

} // namespace engine_eigen
