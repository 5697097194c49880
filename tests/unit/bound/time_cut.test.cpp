// SPDX-License-Identifier: Apache-2.0
//
//     0 ────► x ────► y ────► 3        at op 3: y is read (fixed), x is needed later (by 4): keep it or run 0 again
//             └───────────────► 4
#include <strata/bound/minimum_budget.hpp>
#include <strata/bound/time_cut.hpp>
#include <strata/schedule/profile.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "tests/support/brute_force.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_order.hpp"
#include "tests/support/random_problem.hpp"

namespace bound_time_cut_test {

using namespace strata;
using namespace strata::test;

auto at(std::int32_t i) -> std::size_t { return static_cast<std::size_t>(i); }

/// The instant once more, from its definition: what is there in any case, what must be there later.
struct instant {
    std::vector<char> fixed, needed, made; // by tensor
    bytes_t fixed_bytes = 0;

    instant(problem const& p, op_id o)
        : fixed(at(p.tensor_count()), 0)
        , needed(fixed)
        , made(fixed)
        , fixed_bytes(p.resident_bytes() + p.workspace(o))
    {
        for (tensor_id t = 0; t < p.tensor_count(); ++t) {
            if (p.resident(t)) {
                continue;
            }
            auto const touches = [&](auto list) { return std::find(list.begin(), list.end(), t) != list.end(); };
            auto const makers = p.producers(t);
            auto const begun = std::any_of(makers.begin(), makers.end(), [&](op_id m) { return m < o; });
            auto const going_on = std::any_of(makers.begin(), makers.end(), [&](op_id m) { return m >= o; });
            auto const readers = p.consumers(t);
            auto const wanted =
                p.is_target(t) || std::any_of(readers.begin(), readers.end(), [&](op_id r) { return r >= o; });
            auto const lasting = makers.size() > 1 || !p.replayable(makers[0]);
            made[at(t)] = begun ? 1 : 0;
            if (touches(p.inputs(o)) || touches(p.outputs(o)) || (begun && lasting && (wanted || going_on))) {
                fixed[at(t)] = 1;
                fixed_bytes += p.size(t);
            } else if (begun && wanted) {
                needed[at(t)] = 1;
            }
        }
    }
};

/// Runs ops again until every needed tensor is kept or made; false when that needs what is gone for good.
struct closure {
    problem const& p;
    instant const& now;
    std::vector<char> const& kept;
    std::vector<char> runs; // by op
    bool possible = true;

    void get(tensor_id t)
    {
        if (now.fixed[at(t)] != 0 || kept[at(t)] != 0) {
            return;
        }
        if (p.accumulated(t) || !p.replayable(p.producer(t))) {
            possible = false;
            return;
        }
        auto& r = runs[at(p.producer(t))];
        if (r == 0) {
            r = 1;
            for (auto u : p.inputs(p.producer(t))) {
                get(u);
            }
        }
    }
};

struct choice {
    bytes_t kept;
    cost_t recomputed;
};

/// What every set of kept tensors costs, by enumeration. Nothing when there are too many.
auto all_choices(problem const& p, op_id o, bytes_t room = max_bytes) -> std::optional<std::vector<choice>>
{
    instant const now(p, o);
    std::vector<tensor_id> open;
    for (tensor_id t = 0; t < p.tensor_count(); ++t) {
        if (now.made[at(t)] != 0 && now.fixed[at(t)] == 0 && p.size(t) <= room) {
            open.push_back(t);
        }
    }
    if (open.size() > 11) {
        return {};
    }
    std::vector<choice> all;
    for (std::size_t mask = 0; mask < (std::size_t{1} << open.size()); ++mask) {
        std::vector<char> kept(at(p.tensor_count()), 0);
        choice c{0, 0};
        for (std::size_t i = 0; i < open.size(); ++i) {
            if ((mask >> i & 1U) != 0) {
                kept[at(open[i])] = 1;
                c.kept += p.size(open[i]);
            }
        }
        closure made{p, now, kept, std::vector<char>(at(p.op_count()), 0)};
        for (tensor_id t = 0; t < p.tensor_count(); ++t) {
            if (now.needed[at(t)] != 0) {
                made.get(t);
            }
        }
        for (op_id r = 0; r < p.op_count(); ++r) {
            c.recomputed += made.runs[at(r)] != 0 ? p.cost(r) : 0;
        }
        if (made.possible) {
            all.push_back(c);
        }
    }
    return all;
}

auto cheapest(std::vector<choice> const& all, double lambda) -> double
{
    auto best = std::numeric_limits<double>::infinity();
    for (auto const& c : all) {
        best = std::min(best, static_cast<double>(c.recomputed) + lambda * static_cast<double>(c.kept));
    }
    return best;
}

auto fewest(std::vector<choice> const& all) -> bytes_t
{
    auto best = max_bytes;
    for (auto const& c : all) {
        best = std::min(best, c.kept);
    }
    return best;
}

TEST_CASE("time_cut: for any price the cut is the cheapest of all sets of kept tensors")
{
    int compared = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        auto const p = varied_problem(seed, 9);
        for (op_id o = 0; o < p.op_count(); ++o) {
            auto const all = all_choices(p, o);
            if (!all) {
                continue;
            }
            time_cut cut(p, o);
            auto const scale = static_cast<double>(std::max<cost_t>(1, p.base_cost()));
            for (double lambda : {0.0, 0.003, 0.05, 0.2, 1.0, 7.0, 1e9}) {
                auto const price = lambda * scale / 10;
                auto const c = cut.solve(price);
                CAPTURE(seed, o, price);
                REQUIRE(c.has_value() == !all->empty());
                if (c) {
                    auto const value = static_cast<double>(c->recomputed) + price * static_cast<double>(c->kept);
                    REQUIRE(value == Approx(cheapest(*all, price)).epsilon(1e-9).margin(1e-9 * scale));
                    ++compared;
                }
            }
            if (auto const c = cut.solve_fewest_bytes()) {
                REQUIRE(c->kept == fewest(*all));
            }
        }
    }
    CHECK(compared > 1000);
}

TEST_CASE("time_cut: a tensor larger than the room is not kept")
{
    int refused = 0;
    for (std::uint64_t seed = 100; seed < 140; ++seed) {
        auto const p = varied_problem(seed, 8);
        for (op_id o = 0; o < p.op_count(); ++o) {
            for (bytes_t room : {0, 3, 8}) {
                auto const all = all_choices(p, o, room);
                if (!all) {
                    continue;
                }
                time_cut cut(p, o);
                auto const c = cut.solve(0.5, {}, room);
                auto const least = cut.solve_fewest_bytes(room);
                CAPTURE(seed, o, room);
                REQUIRE(c.has_value() == !all->empty());
                REQUIRE(least.has_value() == !all->empty());
                refused += c ? 0 : 1;
                if (c) {
                    auto const value = static_cast<double>(c->recomputed) + 0.5 * static_cast<double>(c->kept);
                    REQUIRE(value == Approx(cheapest(*all, 0.5)).epsilon(1e-9));
                    REQUIRE(least->kept == fewest(*all));
                }
            }
        }
    }
    CHECK(refused > 0);
}

TEST_CASE("time_cut: kept says which choice the point counts")
{
    for (std::uint64_t seed = 200; seed < 240; ++seed) {
        auto const p = varied_problem(seed, 10);
        for (op_id o = 0; o < p.op_count(); ++o) {
            instant const now(p, o);
            time_cut cut(p, o);
            for (double lambda : {0.01, 0.3, 2.0}) {
                auto const c = cut.solve(lambda);
                REQUIRE(c);
                std::vector<char> kept(at(p.tensor_count()), 0);
                bytes_t bytes = 0;
                for (tensor_id t = 0; t < p.tensor_count(); ++t) {
                    bool const open = now.made[at(t)] != 0 && now.fixed[at(t)] == 0;
                    if (open && cut.kept(t)) {
                        kept[at(t)] = 1;
                        bytes += p.size(t);
                    }
                    CAPTURE(seed, o, lambda, t);
                    if (now.fixed[at(t)] != 0) {
                        REQUIRE(cut.kept(t));
                    }
                }
                closure made{p, now, kept, std::vector<char>(at(p.op_count()), 0)};
                for (auto t : cut.needed()) {
                    REQUIRE(now.needed[at(t)] != 0);
                    made.get(t);
                }
                cost_t cost = 0;
                for (op_id r = 0; r < p.op_count(); ++r) {
                    cost += made.runs[at(r)] != 0 ? p.cost(r) : 0;
                }
                CAPTURE(seed, o, lambda);
                REQUIRE(made.possible);
                REQUIRE(*c == cut_point{bytes, cost});
            }
        }
    }
}

TEST_CASE("time_cut: fixed bytes are live at the first run of the op in every schedule")
{
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        auto const p = varied_problem(seed, 12);
        auto const fixed = fixed_bytes(p);
        for (op_id o = 0; o < p.op_count(); ++o) {
            CAPTURE(seed, o);
            time_cut const cut(p, o);
            REQUIRE(cut.at() == o);
            REQUIRE(cut.fixed() == instant(p, o).fixed_bytes);
            REQUIRE(fixed[at(o)] == cut.fixed());
        }
        dice d(seed);
        for (int i = 0; i < 10; ++i) {
            auto const order = random_order(p, d, 12);
            auto const live = live_bytes(p, order);
            std::vector<char> ran(at(p.op_count()), 0);
            for (std::size_t k = 0; k < order.size(); ++k) {
                if (ran[at(order[k])] == 0) {
                    ran[at(order[k])] = 1;
                    CAPTURE(seed, i, k);
                    REQUIRE(live[k] >= fixed[at(order[k])]);
                }
            }
        }
    }
}

TEST_CASE("time_cut: a dearer byte never keeps more")
{
    auto const p = random_problem(3, {.ops = 40, .training = true});
    time_cut cut(p, 20);
    auto last = max_bytes;
    for (double lambda = 0.001; lambda < 1000; lambda *= 2) {
        auto const c = cut.solve(lambda);
        REQUIRE(c);
        CHECK(c->kept <= last);
        last = c->kept;
    }
}

TEST_CASE("time_cut: a factor makes one tensor dearer than another")
{
    problem_spec s;
    auto const a = add_tensor(s, 10);
    auto const b = add_tensor(s, 10);
    auto const c = add_tensor(s, 1);
    auto const d = add_tensor(s, 1);
    add_op(s, 10, {}, {a});
    add_op(s, 10, {}, {b});
    add_op(s, 1, {}, {c});
    add_op(s, 1, {a, b, c}, {d});
    s.targets = {d};
    auto const p = make(s);
    time_cut cut(p, 2);
    std::vector<double> factor{1, 2, 1, 1};
    auto const point = cut.solve(0.75, factor); // 7.5 and 15 against 10
    REQUIRE(point);
    CHECK(cut.kept(a));
    CHECK_FALSE(cut.kept(b));
    CHECK(*point == cut_point{10, 10});
}

TEST_CASE("time_cut: the training chain has the bound that its arithmetic says")
{
    // At the first backward op of a chain of 9: x9 and x8 are read, one gradient and the resident input are there; of
    // x1…x7, each of 1 byte and 1 unit, one fewer can be kept for every byte taken away.
    auto const p = make(training_chain_spec(9));
    time_cut cut(p, 9);
    CHECK(cut.fixed() == 4);
    CHECK(cut.needed().size() == 7);
    for (bytes_t b = 4; b <= 11; ++b) {
        CHECK(cut.lower_bound(b) == 11 - b);
    }
    CHECK(cut.lower_bound(12) == 0);
    CHECK(cut.lower_bound(max_bytes) == 0);
    CHECK_FALSE(cut.lower_bound(3));
    CHECK(cut.curve() == std::vector<cut_point>{{0, 7}, {7, 0}});
}

TEST_CASE("time_cut: the curve is convex, falls, and its lines never exceed any choice")
{
    int corners = 0;
    for (std::uint64_t seed = 300; seed < 600; ++seed) {
        auto const p = varied_problem(seed, 9);
        for (op_id o = 0; o < p.op_count(); ++o) {
            auto const all = all_choices(p, o);
            if (!all || all->empty()) {
                continue;
            }
            auto const curve = time_cut(p, o).curve();
            CAPTURE(seed, o);
            REQUIRE_FALSE(curve.empty());
            REQUIRE(curve.front().kept == fewest(*all));
            auto const slope = [&](std::size_t i) {
                return static_cast<double>(curve[i].recomputed - curve[i + 1].recomputed) /
                       static_cast<double>(curve[i + 1].kept - curve[i].kept);
            };
            for (std::size_t i = 0; i + 1 < curve.size(); ++i) {
                REQUIRE(curve[i].kept < curve[i + 1].kept);
                REQUIRE(curve[i].recomputed >= curve[i + 1].recomputed);
                if (i > 0) {
                    REQUIRE(slope(i - 1) >= slope(i));
                    ++corners;
                }
                for (auto const& c : *all) {
                    if (c.kept >= curve[i].kept && c.kept <= curve[i + 1].kept) {
                        auto const line = static_cast<double>(curve[i].recomputed) -
                                          slope(i) * static_cast<double>(c.kept - curve[i].kept);
                        REQUIRE(line <= static_cast<double>(c.recomputed) + 1e-9 * static_cast<double>(p.base_cost()));
                    }
                }
            }
            REQUIRE(curve.back().recomputed == 0);
        }
    }
    CHECK(corners > 50);
}

TEST_CASE("time_cut: the curve stops at the number of points allowed")
{
    problem_spec s; // independent tensors of ever better ratio: every subset in that order is a corner
    std::vector<tensor_id> read;
    for (int i = 1; i <= 20; ++i) {
        read.push_back(add_tensor(s, 10 + i));
        add_op(s, i * i, {}, {read.back()});
    }
    auto const c = add_tensor(s, 1);
    add_op(s, 1, {}, {c});
    read.push_back(c);
    auto const d = add_tensor(s, 1);
    add_op(s, 1, read, {d});
    s.targets = {d};
    auto const p = make(s);
    time_cut cut(p, 20);
    CHECK(cut.curve(5).size() == 5);
    CHECK(cut.curve().size() == 21);
}

/// `branches` tensors v of `size` + 1 bytes, each made from its own u of `size` bytes that cannot be made again; then
/// an op that reads none of them, then ops that read one v each.
auto branches_spec(int branches, bytes_t size) -> problem_spec
{
    problem_spec s;
    std::vector<tensor_id> v;
    for (int i = 0; i < branches; ++i) {
        auto const u = add_tensor(s, size);
        add_op(s, 1, {}, {u}, effect::once);
        v.push_back(add_tensor(s, size + 1));
        add_op(s, 1, {u}, {v.back()});
    }
    auto last = add_tensor(s, 0);
    add_op(s, 1, {}, {last}, effect::once);
    for (auto t : v) {
        auto const next = add_tensor(s, 0);
        add_op(s, 1, {t, last}, {next});
        last = next;
    }
    s.targets = {last};
    return s;
}

TEST_CASE("time_cut: a steep price does not make a feasible budget look infeasible")
{
    // Each v costs one byte more than its u: the price per byte that decides is the cost of everything over one byte.
    constexpr int branches = 60;
    auto const p = make(branches_spec(branches, 4000));
    time_cut cut(p, 2 * branches);
    auto const room = 60 * 4000 + 20;
    auto const bound = cut.lower_bound(cut.fixed() + room);
    REQUIRE(bound);
    CHECK(*bound == branches - 20);
    CHECK_FALSE(cut.lower_bound(cut.fixed() + 60 * 4000 - 1));
}

TEST_CASE("time_cut: many tensors too large for the room prove infeasibility without overflow")
{
    constexpr int branches = 40;
    auto const p = make(branches_spec(branches, 4000));
    time_cut cut(p, 2 * branches);
    CHECK_FALSE(cut.solve(0, {}, 100));
    CHECK_FALSE(cut.lower_bound(cut.fixed() + 100));
}

TEST_CASE("time_cut: sizes near the end of the range give bounds that stay below the truth")
{
    auto const huge = (max_bytes / 4 / 12) | 1;
    auto const p = make(branches_spec(4, huge));
    time_cut cut(p, 8);
    auto const c = cut.solve_fewest_bytes();
    REQUIRE(c);
    CHECK(c->kept <= 4 * huge);
    CHECK(c->kept >= 4 * huge / 1000 * 999);
    CHECK(cut.lower_bound(cut.fixed() + 4 * huge));
    CHECK_FALSE(cut.lower_bound(cut.fixed() + 3 * huge));
}

} // namespace bound_time_cut_test
