// SPDX-License-Identifier: Apache-2.0
#include <strata/cost/table_cost.hpp>
#include <strata/graph/builder.hpp>
#include <strata/pipeline/plan_graph.hpp>
#include <strata/place/place.hpp>
#include <strata/problem/lower.hpp>
#include <strata/schedule/schedule.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/random_graph.hpp"

// A graph with views, in-place ops, states and shared gradients is run symbolically: every buffer holds a number that
// says how it came about. A schedule of the lowered problem, with random replays, is expanded and run on the same graph:
// every run of an op must see the very values it saw when each op ran once, and never more bytes than the problem says.
namespace problem_lower_test {

using namespace strata;
using test::random_graph;
using test::random_replays;
using graph = training_graph<int>;
using number = std::uint64_t;

auto at(std::int32_t i) -> std::size_t { return static_cast<std::size_t>(i); }

auto mix(number a, number b) -> number
{
    a ^= b + 0x9e3779b97f4a7c15U + (a << 6U) + (a >> 2U);
    return a * 0xff51afd7ed558ccdU;
}

/// Runs schedules of a graph on paper.
struct machine {
    graph const& g;
    std::vector<tensor_id> buffer;
    std::vector<number> value;
    std::vector<char> live;
    std::vector<char> shown;       // per view: its op has run since its buffer was made
    std::vector<number> signature; // per op: what its first run saw
    std::vector<char> has_run;
    bytes_t now = 0, peak = 0;
    std::string complaint;

    explicit machine(graph const& of)
        : g(of)
        , value(at(of.tensor_count()))
        , live(at(of.tensor_count()), 0)
        , shown(at(of.tensor_count()), 0)
        , signature(at(of.op_count()), 0)
        , has_run(at(of.op_count()), 0)
    {
        for (tensor_id t = 0; t < g.tensor_count(); ++t) {
            auto b = t;
            while (g.view_of(b) != none) {
                b = g.view_of(b);
            }
            buffer.push_back(b);
            value[at(t)] = 77U + static_cast<number>(t);
            if (is_resident(g.kind_of(b))) {
                live[at(b)] = 1;
                now += b == t ? g.tensor_bytes(t) : 0;
            }
        }
        peak = now;
    }

    void complain(std::string what)
    {
        if (complaint.empty()) {
            complaint = std::move(what);
        }
    }

    void run(op_id o)
    {
        bool const again = has_run[at(o)] != 0;
        has_run[at(o)] = 1;
        number seen = mix(1, static_cast<number>(o));
        auto const look = [&](tensor_id t) {
            if (live[at(buffer[at(t)])] == 0) {
                complain("op " + std::to_string(o) + " uses dead tensor " + std::to_string(t));
            }
            if (g.view_of(t) != none && shown[at(t)] == 0) {
                complain("op " + std::to_string(o) + " uses view " + std::to_string(t) + ", which was not made");
            }
            seen = mix(seen, value[at(buffer[at(t)])]);
        };
        for (auto t : g.inputs(o)) {
            look(t);
        }
        for (auto t : g.mutates(o)) {
            look(t);
        }
        if (again && seen != signature[at(o)]) {
            complain("op " + std::to_string(o) + " sees other values in a replay");
        }
        signature[at(o)] = seen;
        number k = 0;
        for (auto t : g.outputs(o)) {
            auto const b = buffer[at(t)];
            auto const made = mix(seen, ++k);
            if (b != t) {
                shown[at(t)] = 1;
                continue;
            }
            if (is_resident(g.kind_of(b))) {
                if (again && !g.effects_of(o).has(effect::stateful)) {
                    complain("op " + std::to_string(o) + " writes a state again");
                }
                value[at(b)] = again ? value[at(b)] : made;
                continue;
            }
            if (live[at(b)] != 0 && g.kind_of(b) != tensor_kind::gradient) {
                complain("op " + std::to_string(o) + " makes tensor " + std::to_string(t) + ", which is there");
            }
            value[at(b)] = live[at(b)] != 0 ? mix(value[at(b)], made) : made;
            if (live[at(b)] == 0) {
                now += g.tensor_bytes(b);
                for (tensor_id v = 0; v < g.tensor_count(); ++v) {
                    shown[at(v)] = buffer[at(v)] == b ? 0 : shown[at(v)];
                }
            }
            live[at(b)] = 1;
        }
        for (auto t : g.mutates(o)) {
            auto const b = buffer[at(t)];
            if (again && is_resident(g.kind_of(b)) && !g.effects_of(o).has(effect::stateful)) {
                complain("op " + std::to_string(o) + " changes a state again");
            }
            value[at(b)] = mix(mix(seen, ++k), value[at(b)]);
        }
        peak = std::max(peak, now + g.op_workspace(o));
    }

    void free(tensor_id t)
    {
        if (live[at(t)] == 0 || is_resident(g.kind_of(t)) || g.view_of(t) != none) {
            complain("tensor " + std::to_string(t) + " cannot be freed");
        }
        live[at(t)] = 0;
        now -= g.tensor_bytes(t);
    }

    void run(schedule const& s)
    {
        for (auto const& x : s.steps) {
            x.action == action::run ? run(x.id) : free(x.id);
        }
    }

    [[nodiscard]] auto targets() const -> std::vector<std::pair<bool, number>>
    {
        std::vector<std::pair<bool, number>> r;
        for (auto t : g.targets()) {
            r.emplace_back(live[at(buffer[at(t)])] != 0, value[at(buffer[at(t)])]);
        }
        return r;
    }
};

/// Peak of a schedule of a problem, counted afresh.
auto peak_of(problem const& p, schedule const& s) -> bytes_t
{
    std::vector<char> live(at(p.tensor_count()), 0);
    bytes_t now = p.resident_bytes();
    bytes_t peak = now;
    for (auto const& x : s.steps) {
        if (x.action == action::free) {
            now -= p.size(x.id);
            live[at(x.id)] = 0;
            continue;
        }
        for (auto t : p.outputs(x.id)) {
            now += live[at(t)] != 0 ? 0 : p.size(t);
            live[at(t)] = 1;
        }
        peak = std::max(peak, now + p.workspace(x.id));
    }
    return peak;
}

TEST_CASE("lower: on random graphs replays see what first runs saw, and no more bytes than the problem says")
{
    int fused = 0;
    int replays = 0;
    for (std::uint32_t seed = 0; seed < 6000; ++seed) {
        std::mt19937 random(seed);
        auto const g = random_graph(random);
        INFO("seed " << seed);
        auto const l = lower(g, table_cost(std::vector<cost_t>(at(g.op_count()), 1)));
        INFO((l ? "" : l.error().message));
        REQUIRE(l);
        auto const& p = l->problem();
        fused += p.op_count() < g.op_count() ? 1 : 0;
        CHECK(p.base_cost() == g.op_count());

        machine plain(g);
        for (op_id o = 0; o < g.op_count(); ++o) {
            plain.run(o);
        }
        REQUIRE(plain.complaint.empty());
        auto const [s, again] = random_replays(p, random);
        replays += again;
        auto const wide = l->expand(s);
        machine planned(g);
        planned.run(wide);
        REQUIRE(planned.complaint == "");
        REQUIRE(planned.signature == plain.signature);
        REQUIRE(planned.targets() == plain.targets());
        REQUIRE(planned.peak <= peak_of(p, s));
        for (auto const& [alive, value] : planned.targets()) {
            REQUIRE(alive);
        }
        auto const back = l->collapse(wide);
        REQUIRE(back);
        REQUIRE(*back == s);
        certified_plan x;
        x.schedule = s;
        x.placement = place(p, s).value();
        auto const home = in_problem_ids(in_graph_ids(x, *l), *l);
        REQUIRE(home);
        REQUIRE(home->schedule == s);
        REQUIRE(home->placement == x.placement);
    }
    CHECK(fused > 2000);
    CHECK(replays > 5000);
}

TEST_CASE("lower: the first-run order of a problem keeps every op in its place when nothing needs to move")
{
    for (std::uint32_t seed = 0; seed < 500; ++seed) {
        std::mt19937 random(seed);
        auto const g = random_graph(random);
        INFO("seed " << seed);
        bool plain = true;
        for (op_id o = 0; o < g.op_count(); ++o) {
            plain = plain && g.mutates(o).empty();
        }
        for (tensor_id t = 0; t < g.tensor_count(); ++t) {
            plain = plain && g.view_of(t) == none;
        }
        auto const l = lower(g, table_cost(std::vector<cost_t>(at(g.op_count()), 1)));
        REQUIRE(l);
        if (plain) {
            CHECK(l->identity());
        }
        for (op_id p = 0; p + 1 < l->problem().op_count(); ++p) {
            if (l->members(p).size() == 1 && l->members(p + 1).size() == 1) {
                bool const moved = l->members(p)[0] > l->members(p + 1)[0];
                // Only an op that had to wait for a group stands behind a later one.
                CHECK((!moved || l->problem().op_count() < g.op_count()));
            }
        }
    }
}

} // namespace problem_lower_test
