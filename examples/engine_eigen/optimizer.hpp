// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Optimizers: they change parameters after a step, from gradients that are resident, outside of the graph.
#pragma once

#include <Eigen/Core>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <variant>
#include <vector>

#include "examples/engine_eigen/engine.hpp"
#include "examples/engine_eigen/kernels/operands.hpp"
#include "examples/engine_eigen/network.hpp"

namespace engine_eigen {

namespace detail {

/// One array per parameter, zeroed at first.
class moments {
public:
    auto of(std::size_t parameter, index numbers) -> Eigen::ArrayXf&
    {
        if (parameter >= arrays_.size()) {
            arrays_.resize(parameter + 1);
        }
        if (arrays_[parameter].size() != numbers) {
            arrays_[parameter].setZero(numbers);
        }
        return arrays_[parameter];
    }

    /// Bit by bit.
    friend auto operator==(moments const& a, moments const& b) -> bool
    {
        for (std::size_t k = 0; k < a.arrays_.size() && a.arrays_.size() == b.arrays_.size(); ++k) {
            auto const& x = a.arrays_[k];
            auto const& y = b.arrays_[k];
            if (x.size() != y.size() ||
                std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.size()) * sizeof(float)) != 0) {
                return false;
            }
        }
        return a.arrays_.size() == b.arrays_.size();
    }

private:
    std::vector<Eigen::ArrayXf> arrays_;
};

} // namespace detail

/// Stochastic gradient descent with momentum.
struct sgd {
    float rate = 0.05F;
    float momentum = 0.9F;
    detail::moments velocity = {};

    void update(std::size_t k, array value, Eigen::ArrayXf const& gradient)
    {
        auto& v = velocity.of(k, value.size());
        v = momentum * v + gradient;
        value -= rate * v;
    }
    void begin() {}
    friend auto operator==(sgd const&, sgd const&) -> bool = default;
};

/// Adam with decoupled weight decay.
struct adamw {
    float rate = 3e-3F;
    float first_decay = 0.9F;
    float second_decay = 0.999F;
    float epsilon = 1e-8F;
    float weight_decay = 0.01F;
    int steps = 0;
    detail::moments first = {};
    detail::moments second = {};

    void update(std::size_t k, array value, Eigen::ArrayXf const& gradient)
    {
        auto& m = first.of(k, value.size());
        auto& v = second.of(k, value.size());
        m = first_decay * m + (1 - first_decay) * gradient;
        v = second_decay * v + (1 - second_decay) * gradient.square();
        auto const first_bias = 1 - std::pow(first_decay, static_cast<float>(steps));
        auto const second_bias = 1 - std::pow(second_decay, static_cast<float>(steps));
        value = value * (1 - rate * weight_decay) - rate * (m / first_bias) / ((v / second_bias).sqrt() + epsilon);
    }
    void begin() { ++steps; }
    friend auto operator==(adamw const&, adamw const&) -> bool = default;
};

using optimizer = std::variant<sgd, adamw>;

/// Changes every parameter by the mean of the `steps` gradients that have been added up.
inline void update(optimizer& with, model const& m, engine& e, int steps = 1)
{
    std::visit(
        [&](auto& rule) {
            rule.begin();
            for (std::size_t k = 0; k < m.parameters.size(); ++k) {
                auto const value = e.resident().as(m.parameters[k].value);
                auto const numbers = static_cast<index>(value.size());
                const_array const sum(e.resident().as(m.parameters[k].gradient).data(), numbers);
                rule.update(k, array(value.data(), numbers), sum / static_cast<float>(steps));
            }
        },
        with);
}

} // namespace engine_eigen
