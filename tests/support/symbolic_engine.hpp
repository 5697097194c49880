// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief An engine whose buffers hold where their content comes from: any wrong input shows in every later tensor.
///
/// An op writes words that depend on its number, on every word of what it reads, on the random state if it is random, and
/// on what was there if it changes or adds. Two runs give the same bytes exactly if every op saw the same.
#pragma once

#include <strata/execute/buffers.hpp>
#include <strata/graph/training_graph.hpp>
#include <strata/problem/effects.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace strata::test {

/// The tensor that owns the buffer of `t`.
[[nodiscard]] inline auto owner_of(training_graph<int> const& g, tensor_id t) -> tensor_id
{
    while (g.view_of(t) != none) {
        t = g.view_of(t);
    }
    return t;
}

class symbolic_engine {
public:
    using number = std::uint64_t;
    using graph = training_graph<int>;

    explicit symbolic_engine(graph const& g)
        : graph_(g)
        , seen(at(g.op_count()), 0)
    {
        for (tensor_id t = 0; t < g.tensor_count(); ++t) {
            auto const resident = is_resident(g.kind_of(t)) && g.view_of(t) == none;
            residents.emplace_back(resident ? at(g.tensor_bytes(t)) : 0);
            for (std::size_t k = 0; k < residents.back().size(); ++k) {
                residents.back()[k] = static_cast<std::byte>(7 * t + static_cast<tensor_id>(k));
            }
        }
    }

    /// Tells `x` where the resident tensors are.
    template <class Executor>
    void bind_to(Executor& x)
    {
        for (tensor_id t = 0; t < graph_.tensor_count(); ++t) {
            if (is_resident(graph_.kind_of(t)) && graph_.view_of(t) == none) {
                x.bind(t, std::span(residents[at(t)]));
            }
        }
    }

    void run(op_id o, buffers const& b) { act(o, b, true); }
    void replay(op_id o, buffers const& b) { act(o, b, false); }
    [[nodiscard]] auto random_state() const -> number { return state_; }
    void set_random_state(number s) { state_ = s; }

private:
    static auto at(std::int64_t i) -> std::size_t { return static_cast<std::size_t>(i); }
    static auto mix(number a, number b) -> number
    {
        a ^= b + 0x9e3779b97f4a7c15U + (a << 6U) + (a >> 2U);
        return (a ^ (a >> 31U)) * 0xff51afd7ed558ccdU;
    }
    [[nodiscard]] auto owner(tensor_id t) const -> tensor_id { return owner_of(graph_, t); }
    /// Every word of the buffer of `t`, folded into one.
    [[nodiscard]] auto read(tensor_id t, buffers const& b) const -> number
    {
        number r = 1;
        auto const n = at(graph_.tensor_bytes(owner(t)));
        for (std::size_t k = 0; k < n; k += 8) {
            number w = 0;
            std::memcpy(&w, b.data(t) + k, std::min<std::size_t>(8, n - k));
            r = mix(r, w);
        }
        return r;
    }
    void write(tensor_id t, buffers const& b, number what, bool onto) const
    {
        auto const n = at(graph_.tensor_bytes(owner(t)));
        for (std::size_t k = 0; k < n; k += 8) {
            auto const size = std::min<std::size_t>(8, n - k);
            number w = 0;
            if (onto) {
                std::memcpy(&w, b.data(t) + k, size);
            }
            w = mix(onto ? mix(w, 5) : 3, mix(what, k));
            std::memcpy(b.data(t) + k, &w, size);
        }
    }

    void act(op_id o, buffers const& b, bool first)
    {
        number what = mix(1, static_cast<number>(o));
        for (auto t : graph_.inputs(o)) {
            what = mix(what, read(t, b));
        }
        for (auto t : graph_.mutates(o)) {
            what = mix(what, read(t, b));
        }
        if (graph_.effects_of(o).has(effect::random)) {
            what = mix(what, state_);
            state_ = mix(state_, 11);
        }
        if (throw_at > 0 && --throw_at == 0) {
            throw std::runtime_error("op " + std::to_string(o));
        }
        auto& before = seen[at(o)];
        surprised = surprised || (!first && before != what);
        before = what;
        runs += 1;
        if (graph_.op_workspace(o) > 0) {
            std::memset(b.workspace(), static_cast<int>(o) + 1, at(graph_.op_workspace(o)));
        }
        number k = 0;
        for (auto t : graph_.outputs(o)) {
            ++k;
            if (owner(t) != t) {
                continue; // a view
            }
            bool const lives_on = is_resident(graph_.kind_of(t));
            if (!lives_on || first) {
                write(t, b, mix(what, k), lives_on || b.adds_into(t)); // what lives on adds up
            }
        }
        for (auto t : graph_.mutates(o)) {
            write(t, b, mix(what, ++k), true);
        }
    }

    graph const& graph_;
    number state_ = 42;

public:
    std::vector<number> seen; ///< per op: what its last run saw
    std::vector<std::vector<std::byte>> residents;
    std::int64_t throw_at = 0; ///< the how-many-th run from now on throws; 0: none
    std::int64_t runs = 0;
    bool surprised = false; ///< a replay of a stateful op saw other values than its first run
};

} // namespace strata::test
