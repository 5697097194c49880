// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The engine: runs ops by their kernels, owns what is resident and the random state.
#pragma once

#include <strata/execute/buffers.hpp>
#include <strata/execute/concepts.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstdint>
#include <variant>

#include "examples/engine_eigen/network.hpp"
#include "examples/engine_eigen/resident_memory.hpp"

namespace engine_eigen {

/// Single-threaded and deterministic. Gradients of parameters add up until `zero_gradients`.
class engine {
public:
    static constexpr strata::bytes_t alignment = engine_eigen::alignment;

    /// Requires: `m` outlives the engine.
    engine(model const& m, std::uint64_t seed)
        : model_(&m)
        , resident_(m.step)
        , random_(seed)
    {
        for (auto const& start : m.initials) {
            for (auto& x : resident_.as(start.tensor)) {
                x = start.deviation == 0 ? start.mean : start.mean + start.deviation * random_.normal();
            }
        }
    }

    // [hooks]
    void run(strata::op_id o, strata::buffers const& b) { run(o, b, false); }
    /// Leaves the running statistics of batch normalisation as they are.
    void replay(strata::op_id o, strata::buffers const& b) { run(o, b, true); }

    [[nodiscard]] auto random_state() const -> generator { return random_; }
    void set_random_state(generator state) { random_ = state; }
    // [hooks]

    [[nodiscard]] auto resident() -> resident_memory& { return resident_; }
    [[nodiscard]] auto resident() const -> resident_memory const& { return resident_; }

    void zero_gradients()
    {
        for (auto const& p : model_->parameters) {
            auto const gradient = resident_.as(p.gradient);
            std::fill(gradient.begin(), gradient.end(), 0.0F);
        }
    }

private:
    void run(strata::op_id o, strata::buffers const& b, bool replay)
    {
        auto const& g = model_->step;
        operands const t(g.inputs(o), g.outputs(o), b, random_, replay);
        std::visit([&](auto const& kernel) { kernel.run(t); }, g.op(o));
    }

    model const* model_;
    resident_memory resident_;
    generator random_;
};

static_assert(strata::stateful_engine<engine> && strata::random_engine<engine>);

} // namespace engine_eigen
