// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Random graphs with everything that lowering folds away, and random schedules full of replays.
#pragma once

#include <strata/graph/builder.hpp>
#include <strata/graph/training_graph.hpp>
#include <strata/problem/effects.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace strata::test {

/// A graph of 3 to `most` + 2 ops with views, in-place ops, a state, gradients that several ops add into, effects; the bytes of every tensor are multiples of `unit`.
inline auto random_graph(std::mt19937& random, std::size_t most = 10, bytes_t unit = 1) -> training_graph<int>
{
    graph_builder<int> b;
    auto const below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    std::vector<tensor_id> readable, adding; // adding: gradients that are not complete
    std::vector<tensor_id> states;           // the state and its views
    readable.push_back(b.input("x", 8 * unit));
    states.push_back(b.state("s", 4 * unit));
    readable.push_back(states[0]);
    auto const n = 3 + below(most);
    std::vector<std::size_t> left; // ops that add into `adding[k]` before it may be read
    for (std::size_t k = 0; k < n; ++k) {
        auto const any = [&] { return readable[below(readable.size())]; };
        auto const name = std::to_string(k);
        op_attributes more;
        more.name = "op" + name;
        more.workspace = unit * static_cast<bytes_t>(below(4) * 5);
        switch (below(12)) {
        case 0: more.effects = effect::random; break;
        case 1: more.effects = effect::once; break;
        case 2:
            more.effects = effect::stateful;
            more.writes.push_back(states[0]);
            break;
        case 3: more.writes.push_back(states[0]); break;
        default: break;
        }
        std::vector<tensor_id> in;
        for (std::size_t i = 0; i < below(3); ++i) {
            in.push_back(any());
        }
        // A stateful op that reads its own state is trusted to know what it reads in a replay.
        auto const of_state = [&](tensor_id t) { return std::find(states.begin(), states.end(), t) != states.end(); };
        if (more.effects.has(effect::stateful)) {
            std::erase_if(in, of_state);
        }
        for (std::size_t i = 0; i < adding.size(); ++i) {
            if (left[i] > 0 && below(2) == 0) {
                more.writes.push_back(adding[i]);
                if (--left[i] == 0) {
                    readable.push_back(adding[i]);
                }
            }
        }
        switch (below(6)) {
        case 0: { // a view
            auto const t = any();
            in.push_back(t);
            if (more.effects.has(effect::stateful) && of_state(t)) {
                more.effects = {};
            }
            readable.push_back(b.add(0, in, {{.name = "v" + name, .bytes = 8 * unit, .view_of = t}}, more));
            if (of_state(t)) {
                states.push_back(readable.back());
            }
            break;
        }
        case 1: { // in place, with a name for the result or without
            auto const t = any();
            more.mutates.push_back(t);
            if (more.effects.has(effect::stateful)) {
                more.mutates.clear();
            }
            if (below(2) == 0) {
                readable.push_back(b.add(0, in, {{.name = "m" + name, .bytes = 8 * unit, .view_of = t}}, more));
                if (of_state(t)) {
                    states.push_back(readable.back());
                }
            } else {
                b.add(0, in, {}, more);
            }
            break;
        }
        case 2: {
            auto const two = b.add(0,
                                   in,
                                   {{.name = "p" + name, .bytes = unit * static_cast<bytes_t>(1 + below(20))},
                                    {.name = "q" + name, .bytes = unit * static_cast<bytes_t>(below(20))}},
                                   more);
            readable.insert(readable.end(), two.outputs.begin(), two.outputs.end());
            break;
        }
        case 3: {
            adding.push_back(b.gradient("g" + name, unit * static_cast<bytes_t>(1 + below(9))));
            left.push_back(1 + below(2));
            more.writes.push_back(adding.back());
            b.add(0, in, {}, more);
            break;
        }
        default:
            readable.push_back(
                b.add(0, in, {{.name = "t" + name, .bytes = unit * static_cast<bytes_t>(1 + below(20))}}, more));
        }
    }
    for (auto t : readable) {
        if (below(4) == 0) {
            b.target(t);
        }
    }
    auto g = b.build();
    // A gradient may have been made readable before its last adder: the generator does not look ahead.
    return g ? *std::move(g) : random_graph(random, most, unit);
}

/// A schedule of `p` that drops what it can make again, at random, and makes it again when it is needed; and how many
/// runs are replays.
inline auto random_replays(problem const& p, std::mt19937& random) -> std::pair<schedule, int>
{
    auto const at = [](auto i) { return static_cast<std::size_t>(i); };
    schedule s;
    int replays = 0;
    std::vector<char> live(at(p.tensor_count()), 0), has_run(at(p.op_count()), 0);
    auto const regrows = [&](tensor_id t) { return !p.accumulated(t) && p.replayable(p.producer(t)); };
    std::function<void(op_id)> const run_op = [&](op_id o) {
        for (bool again = true; again;) { // making one input again may have dropped another
            again = false;
            for (auto t : p.inputs(o)) {
                if (live[at(t)] == 0) {
                    run_op(p.producer(t));
                    again = true;
                }
            }
        }
        for (auto t : p.outputs(o)) {
            if (live[at(t)] != 0 && !p.accumulated(t)) {
                s.steps.push_back(free(t));
            }
            live[at(t)] = 1;
        }
        s.steps.push_back(run(o));
        replays += has_run[at(o)];
        has_run[at(o)] = 1;
    };
    for (op_id o = 0; o < p.op_count(); ++o) {
        run_op(o);
        for (tensor_id t = 0; t < p.tensor_count(); ++t) {
            if (live[at(t)] != 0 && regrows(t) && random() % 3 == 0) {
                s.steps.push_back(free(t));
                live[at(t)] = 0;
            }
        }
    }
    for (auto t : p.targets()) {
        if (!p.resident(t) && live[at(t)] == 0) {
            run_op(p.producer(t));
        }
    }
    return {s, replays};
}

} // namespace strata::test
