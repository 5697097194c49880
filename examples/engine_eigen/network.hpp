// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A network while its layers are added, and the model it becomes: a training step and what it starts from.
#pragma once

#include <strata/graph/builder.hpp>
#include <strata/graph/differentiate.hpp>
#include <strata/graph/gradient_rule.hpp>
#include <strata/result.hpp>
#include <strata/units.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "examples/engine_eigen/operation.hpp"
#include "examples/engine_eigen/resident_memory.hpp"

namespace engine_eigen {

/// Lengths of a tensor's axes, outermost first.
using shape = std::vector<index>;

[[nodiscard]] inline auto count(shape const& s) -> index
{
    return std::accumulate(s.begin(), s.end(), index{1}, std::multiplies<>());
}

/// A tensor of the network.
struct value {
    strata::tensor_id id = strata::none;
    shape dims = {};
};

/// What a resident tensor of floats starts from: independent normal numbers.
struct initial {
    strata::tensor_id tensor = strata::none;
    float mean = 0;
    float deviation = 0;
};

/// A trained tensor and the tensor of its gradient.
struct parameter {
    strata::tensor_id value = strata::none;
    strata::tensor_id gradient = strata::none;
};

/// A training step, what its resident tensors start from, and where its examples come from.
struct model {
    step_graph step;
    strata::tensor_id loss = strata::none;
    std::vector<parameter> parameters = {};
    std::vector<initial> initials = {}; ///< of parameters and states
    std::function<void(generator&, resident_memory&)> next_batch = {};
};

/// What one forward op is: its kernel, what it reads and makes, its gradient. Layers fill it in.
struct layer {
    std::string name;
    operation kernel;
    std::vector<strata::tensor_id> reads;
    shape makes;
    strata::op_gradient<operation> gradient = {};
    strata::effects effects = {};
    std::vector<strata::tensor_id> writes = {}; ///< states
    strata::tensor_id view_of = strata::none;   ///< what it makes is a view of this tensor
    bool in_place = false;                      ///< and changes it
};

/// Collects layers, each with its gradient.
class network {
public:
    explicit network(std::string name)
        : builder_(std::move(name))
    {
    }

    /// Examples, set anew for each step.
    auto input(std::string name, shape s, std::size_t element = sizeof(float)) -> value
    {
        auto const bytes = static_cast<strata::bytes_t>(count(s)) * static_cast<strata::bytes_t>(element);
        return {builder_.input(std::move(name), bytes), std::move(s)};
    }
    /// Throws: `std::invalid_argument` if there is one of that name.
    auto parameter(std::string name, shape const& s, float mean, float deviation) -> strata::tensor_id
    {
        if (!names_.insert(name).second) {
            throw std::invalid_argument("two parameters are called " + name);
        }
        parameters_.push_back(builder_.parameter(std::move(name), float_bytes(count(s))));
        initials_.push_back({parameters_.back(), mean, deviation});
        return parameters_.back();
    }
    auto state(std::string name, shape const& s, float start) -> strata::tensor_id
    {
        auto const id = builder_.state(std::move(name), float_bytes(count(s)));
        initials_.push_back({id, start, 0});
        return id;
    }

    auto add(layer l) -> value
    {
        for (auto& b : l.gradient.ops) {
            describe(b);
        }
        for (auto& p : l.gradient.passes) {
            if (p.fallback) {
                describe(*p.fallback);
            }
        }
        strata::op_attributes more{.name = l.name,
                                   .type = type_of(l.kernel),
                                   .effects = l.effects,
                                   .workspace = workspace_of(l.kernel),
                                   .writes = std::move(l.writes)};
        if (l.in_place) {
            more.mutates = {l.view_of};
        }
        auto const made =
            builder_.add(std::move(l.kernel),
                         std::move(l.reads),
                         {{.name = std::move(l.name), .bytes = float_bytes(count(l.makes)), .view_of = l.view_of}},
                         std::move(more));
        gradients_.push_back(std::move(l.gradient));
        return {made, std::move(l.makes)};
    }

    /// The model whose step is the layers as added, then their gradients from `loss` on. `next_batch` is left open.
    /// Errors: see `differentiate`.
    [[nodiscard]] auto train(value const& loss) && -> strata::result<model>
    {
        builder_.target(loss.id);
        auto const forward = std::move(builder_).build();
        if (!forward) {
            return forward.error();
        }
        auto const rule = [this](operation const&, strata::gradient_request const& ask) {
            return gradients_[static_cast<std::size_t>(ask.op())];
        };
        strata::backward_op<operation> seed(ops::one{});
        describe(seed);
        auto step = strata::differentiate(*forward, rule, {.losses = {loss.id}, .seed = std::move(seed)});
        if (!step) {
            return std::move(step).error();
        }
        model m{.step = *std::move(step), .loss = loss.id, .initials = std::move(initials_)};
        for (auto p : parameters_) {
            m.parameters.push_back({p, gradient_of(m.step, p)});
        }
        return m;
    }

private:
    static void describe(strata::backward_op<operation>& b)
    {
        b.more.type = type_of(b.op);
        b.more.workspace = workspace_of(b.op);
    }
    /// `differentiate` names a gradient after its tensor.
    [[nodiscard]] static auto gradient_of(step_graph const& g, strata::tensor_id parameter) -> strata::tensor_id
    {
        for (strata::tensor_id t = 0; t < g.tensor_count(); ++t) {
            if (g.kind_of(t) == strata::tensor_kind::parameter_gradient &&
                g.tensor_name(t) == g.tensor_name(parameter) + ".grad") {
                return t;
            }
        }
        return strata::none;
    }

    strata::graph_builder<operation> builder_;
    std::vector<strata::op_gradient<operation>> gradients_; // per forward op
    std::vector<strata::tensor_id> parameters_;
    std::vector<initial> initials_;
    std::set<std::string> names_; // of parameters
};

} // namespace engine_eigen
