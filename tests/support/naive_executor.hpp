// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What one writes first: runs the ops of a schedule one after the other, and knows nothing of effects.
#pragma once

#include <strata/execute/buffers.hpp>
#include <strata/graph/training_graph.hpp>
#include <strata/problem/effects.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/plain_machine.hpp"

namespace strata::test {

/// Replays are runs like all others: with the random state of the moment, writing states again. Memory is asked for when
/// an op makes a tensor, and comes back filled with zeros.
template <class Engine = symbolic_engine>
class naive_executor {
public:
    naive_executor(training_graph<int> const& g, Engine& e)
        : graph_(g)
        , engine_(e)
        , memory_(at(g.tensor_count()))
        , address_(at(g.tensor_count()), nullptr)
        , holds_(at(g.tensor_count()), 0)
        , owner_(at(g.tensor_count()))
    {
        for (tensor_id t = 0; t < g.tensor_count(); ++t) {
            owner_[at(t)] = owner_of(g, t);
            memory_[at(t)].resize(at(g.tensor_bytes(t)) + 1);
            address_[at(t)] = is_resident(g.kind_of(t)) ? engine_.residents[at(t)].data() : memory_[at(t)].data();
        }
    }

    /// `s` is in graph ids.
    auto run(schedule const& s) -> outcome
    {
        for (auto const& x : s.steps) {
            if (x.action == action::free) {
                live_ -= graph_.tensor_bytes(x.id);
                std::fill(memory_[at(x.id)].begin(), memory_[at(x.id)].end(), std::byte{0});
                continue;
            }
            std::vector<std::byte> scratch(at(graph_.op_workspace(x.id)));
            for (auto t : graph_.outputs(x.id)) {
                live_ += is_resident(graph_.kind_of(t)) ? 0 : graph_.tensor_bytes(t);
            }
            peak = std::max(peak, live_);
            engine_.run(x.id, buffers(address_, holds_, owner_, scratch.data()));
            for (auto t : graph_.outputs(x.id)) {
                holds_[at(t)] = graph_.kind_of(t) == tensor_kind::gradient ? 1 : 0;
            }
        }
        outcome r{{}, engine_.residents, engine_.random_state(), engine_.seen};
        for (auto t : graph_.targets()) {
            r.targets.push_back(target_content(graph_, t, address_[at(owner_[at(t)])]));
        }
        return r;
    }

    bytes_t peak = 0;

private:
    static auto at(std::int64_t i) -> std::size_t { return static_cast<std::size_t>(i); }

    training_graph<int> const& graph_;
    Engine& engine_;
    std::vector<std::vector<std::byte>> memory_;
    std::vector<std::byte*> address_;
    std::vector<char> holds_;
    std::vector<tensor_id> owner_;
    bytes_t live_ = 0;
};

} // namespace strata::test
