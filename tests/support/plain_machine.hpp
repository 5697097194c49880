// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What a step must leave behind, found without an executor and without a plan.
#pragma once

#include <strata/execute/buffers.hpp>
#include <strata/graph/training_graph.hpp>
#include <strata/problem/effects.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/support/symbolic_engine.hpp"

namespace strata::test {

/// What a step leaves behind.
struct outcome {
    std::vector<std::vector<std::byte>> targets;
    std::vector<std::vector<std::byte>> residents;
    std::uint64_t random = 0;
    std::vector<std::uint64_t> seen;
    friend auto operator==(outcome const&, outcome const&) -> bool = default;
};

/// Bytes of target `t` at `p`. A target that is resident or has no bytes shows nothing of its own.
[[nodiscard]] inline auto target_content(training_graph<int> const& g, tensor_id t, std::byte const* p)
    -> std::vector<std::byte>
{
    auto const owner = owner_of(g, t);
    return is_resident(g.kind_of(owner)) ? std::vector<std::byte>()
                                         : std::vector<std::byte>(p, p + g.tensor_bytes(owner));
}

/// Runs every op once, in graph order, each tensor in memory of its own: no executor, no plan.
class plain_machine {
public:
    explicit plain_machine(training_graph<int> const& g)
        : graph_(g)
        , engine(g)
        , memory_(at(g.tensor_count()))
        , address_(at(g.tensor_count()), nullptr)
        , holds_(at(g.tensor_count()), 0)
        , owner_(at(g.tensor_count()))
    {
        for (tensor_id t = 0; t < g.tensor_count(); ++t) {
            auto const o = owner_[at(t)] = owner_of(g, t);
            auto& own = is_resident(g.kind_of(o)) ? engine.residents[at(o)] : memory_[at(o)];
            own.resize(std::max<std::size_t>(1, at(g.tensor_bytes(o))));
            address_[at(o)] = own.data();
        }
    }

    auto step() -> outcome
    {
        std::fill(holds_.begin(), holds_.end(), char{0});
        for (op_id o = 0; o < graph_.op_count(); ++o) {
            std::vector<std::byte> scratch(at(graph_.op_workspace(o)));
            engine.run(o, buffers(address_, holds_, owner_, scratch.data()));
            for (auto t : graph_.outputs(o)) {
                holds_[at(t)] = graph_.kind_of(t) == tensor_kind::gradient ? 1 : 0;
            }
        }
        outcome r{{}, engine.residents, engine.random_state(), engine.seen};
        for (auto t : graph_.targets()) {
            r.targets.push_back(target_content(graph_, t, address_[at(owner_[at(t)])]));
        }
        return r;
    }

private:
    static auto at(std::int64_t i) -> std::size_t { return static_cast<std::size_t>(i); }

    training_graph<int> const& graph_;

public:
    symbolic_engine engine;

private:
    std::vector<std::vector<std::byte>> memory_;
    std::vector<std::byte*> address_;
    std::vector<char> holds_;
    std::vector<tensor_id> owner_;
};

template <class Executor>
auto step_of(training_graph<int> const& g, symbolic_engine& e, Executor& x) -> outcome
{
    x.run();
    outcome r{{}, e.residents, e.random_state(), e.seen};
    for (auto t : g.targets()) {
        r.targets.push_back(target_content(g, t, x.data(t)));
    }
    return r;
}

} // namespace strata::test
