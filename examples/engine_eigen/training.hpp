// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A training run: an engine, its examples, its optimizer, and whatever runs a step.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "examples/engine_eigen/engine.hpp"
#include "examples/engine_eigen/network.hpp"
#include "examples/engine_eigen/optimizer.hpp"

namespace engine_eigen {

struct training_options {
    optimizer with = adamw{};
    std::uint64_t seed = 1;
    int accumulate = 1; ///< steps whose gradients are added up before parameters change
};

/// `Step` is `plain_step` or `planned_step`. Runs of one seed see the same examples and draw the same numbers.
template <class Step>
class training {
public:
    /// `of_step` are the arguments of the step's constructor that come before model and engine. Requires: `m` outlives it.
    template <class... Args>
    training(model const& m, training_options const& o, Args&&... of_step)
        : model_(m)
        , options_(o)
        , engine_(m, o.seed)
        , examples_(o.seed + 1)
        , step_(std::forward<Args>(of_step)..., m, engine_)
    {
    }

    /// Returns: the loss.
    auto next() -> float
    {
        model_.next_batch(examples_, engine_.resident());
        if (steps_++ % options_.accumulate == 0) {
            engine_.zero_gradients();
        }
        auto const begin = std::chrono::steady_clock::now();
        auto const loss = step_.run();
        auto const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        seconds_ = steps_ == 1 ? seconds : std::min(seconds_, seconds);
        if (steps_ % options_.accumulate == 0) {
            update(options_.with, model_, engine_, options_.accumulate);
        }
        return loss;
    }

    [[nodiscard]] auto step() const -> Step const& { return step_; }

    /// Seconds of a step, optimizer and examples left out: of the fastest, which other load disturbs least.
    [[nodiscard]] auto seconds() const -> double { return seconds_; }

    /// Whether all that lives on after a step is the same, bit by bit: parameters and their gradients, running
    /// statistics, the state of the optimizer, the random state.
    template <class Other>
    [[nodiscard]] auto same_state_as(training<Other> const& other) const -> bool
    {
        return engine_.resident() == other.engine_.resident() && options_.with == other.options_.with &&
               engine_.random_state() == other.engine_.random_state();
    }

private:
    template <class>
    friend class training;

    model const& model_;
    training_options options_;
    engine engine_;
    generator examples_;
    Step step_;
    int steps_ = 0;
    double seconds_ = 0;
};

} // namespace engine_eigen
