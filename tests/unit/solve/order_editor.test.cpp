// SPDX-License-Identifier: Apache-2.0
#include <strata/schedule/profile.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/order_editor.hpp>
#include <strata/solve/saving.hpp>
#include <strata/solve/search.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_order.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_order_editor_test {

using namespace strata;
using namespace strata::test;

auto at(std::int32_t i) -> std::size_t { return static_cast<std::size_t>(i); }

/// Bytes left after each run of `order` has ended and what is not used again is freed; the last run frees nothing that
/// is a target.
auto bytes_between(problem const& p, run_order const& order) -> std::vector<bytes_t>
{
    std::vector<bytes_t> left;
    std::vector<char> live(at(p.tensor_count()), 0);
    bytes_t now = 0;
    for (auto const& x : free_early(p, order).steps) {
        if (x.action == action::run) {
            for (auto t : p.outputs(x.id)) {
                now += live[at(t)] != 0 ? 0 : p.size(t);
                live[at(t)] = 1;
            }
            left.push_back(now);
        } else {
            live[at(x.id)] = 0;
            left.back() = now -= p.size(x.id);
        }
    }
    return left;
}

/// Everything the editor says about its order, against plain recomputation.
void check_editor(order_editor const& e)
{
    auto const& p = e.subject();
    auto const order = e.order();
    REQUIRE(is_run_order(p, order));
    auto const judged = validate(p, free_early(p, order), max_bytes);
    REQUIRE(judged.ok());
    REQUIRE(e.cost() == judged.cost);
    REQUIRE(e.cost() == cost_of(p, order));
    REQUIRE(e.peak() + p.resident_bytes() == judged.peak);
    auto const live = live_bytes(p, order);
    auto const left = bytes_between(p, order);
    std::size_t k = 0; // runs met so far
    bytes_t hottest = 0;
    bytes_t between = 0;
    for (std::size_t s = 0; s < e.slots(); ++s) {
        auto const r = e.run_at(s);
        if (r == none) {
            REQUIRE(e.bytes_at(s) == (k > order.size() ? 0 : between));
            continue;
        }
        REQUIRE(e.slot_of(r) == s);
        REQUIRE(e.is_at(r, s));
        if (k < order.size()) {
            REQUIRE(e.op_of(r) == order[k]);
            REQUIRE(e.bytes_at(s) == live[k] - p.resident_bytes());
            REQUIRE(e.is_replay(r) ==
                    (std::find(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order[k]) !=
                     order.begin() + static_cast<std::ptrdiff_t>(k)));
            between = left[k];
        } else {
            REQUIRE(e.op_of(r) == none);
            REQUIRE(e.bytes_at(s) == between); // the targets
        }
        if (e.peak() > 0 && hottest < e.peak() && e.bytes_at(s) == e.peak()) {
            REQUIRE(e.hottest() == r);
        }
        hottest = std::max(hottest, e.bytes_at(s));
        ++k;
    }
    REQUIRE(k == order.size() + 1);
    REQUIRE(e.run_count() == order.size() + 1);
}

/// A use of a tensor that could be made again right before it; nothing when the dice find none.
struct use {
    tensor_id tensor = none;
    order_editor::run_id before = none;
};

auto some_use(order_editor const& e, dice& d) -> std::optional<use>
{
    auto const& p = e.subject();
    for (int tries = 0; tries < 20; ++tries) {
        auto const t = static_cast<tensor_id>(d.below(p.tensor_count()));
        if (p.resident(t) || p.accumulated(t) || !p.replayable(p.producer(t))) {
            continue;
        }
        std::vector<std::int32_t> lives;
        for (auto l = e.first_life(t); l != none; l = e.at_life(l).next) {
            lives.push_back(l);
        }
        auto const& life = e.at_life(d.pick(lives));
        if (!life.uses.empty()) {
            return use{t, d.pick(life.uses)};
        }
    }
    return {};
}

/// The producer of `t`, now and then with some of the ops it depends on, in index order.
auto some_chain(problem const& p, tensor_id t, dice& d) -> run_order
{
    run_order chain{p.producer(t)};
    for (std::size_t i = 0; i < chain.size(); ++i) {
        for (auto u : p.inputs(chain[i])) {
            if (!p.accumulated(u) && p.replayable(p.producer(u)) && d.chance(40) &&
                std::find(chain.begin(), chain.end(), p.producer(u)) == chain.end()) {
                chain.push_back(p.producer(u));
            }
        }
    }
    std::sort(chain.begin(), chain.end());
    return chain;
}

/// All that can be seen of an editor.
auto picture(order_editor const& e) -> std::vector<bytes_t>
{
    std::vector<bytes_t> all{e.cost(), static_cast<bytes_t>(e.run_count())};
    for (std::size_t s = 0; s < e.slots(); ++s) {
        all.push_back(e.bytes_at(s));
        all.push_back(e.run_at(s) == none ? -2 : e.op_of(e.run_at(s)));
    }
    return all;
}

void keep_some(order_editor& e, dice& d)
{
    auto const replays = e.replays();
    if (replays.empty()) {
        return;
    }
    auto const r = d.pick(replays);
    auto const before = e.peak();
    auto const capacity = d.chance(30) ? max_bytes : d.between(before / 2, before);
    auto const used = [&] {
        auto const lives = e.outputs_of(r);
        return std::count_if(lives.begin(), lives.end(), [&](auto l) { return !e.at_life(l).uses.empty(); });
    }();
    auto const seen = picture(e);
    auto const cost = e.cost();
    auto const predicted = saving_estimate(e)(r, capacity);
    auto const saved = e.keep_instead(r, capacity);
    if (saved < 0) {
        REQUIRE(saved == -1);
        REQUIRE((!predicted.possible || used > 1));
        REQUIRE(picture(e) == seen);
    } else {
        REQUIRE(predicted.possible);
        REQUIRE(saved == predicted.cost);
        REQUIRE(e.cost() == cost - saved);
        REQUIRE(e.peak() <= std::max(before, capacity));
    }
}

TEST_CASE("order_editor: stays true to its order over thousands of random edits")
{
    int edits = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        auto const p = varied_problem(seed, seed % 4 == 0 ? 60 : 20);
        dice d(seed);
        order_editor e(p, random_order(p, d, static_cast<int>(d.below(8))));
        CAPTURE(seed);
        check_editor(e);
        for (int step = 0; step < 60; ++step) {
            CAPTURE(step);
            if (d.chance(60)) {
                if (auto const u = some_use(e, d)) {
                    e.replay_before(u->before, some_chain(p, u->tensor, d));
                    ++edits;
                }
            } else {
                keep_some(e, d);
                ++edits;
            }
            check_editor(e);
        }
        // Everything undone: no replay is left that serves anyone.
        for (bool any = true; any;) {
            any = false;
            for (auto r : e.replays()) {
                any = e.keep_instead(r, max_bytes) >= 0;
                if (any) {
                    break;
                }
            }
        }
        check_editor(e);
        REQUIRE(e.order() == index_order(p));
    }
    CHECK(edits > 2000);
}

TEST_CASE("order_editor: undo gives back the order that was recorded, whatever was edited since")
{
    int undone = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        auto const p = varied_problem(seed, seed % 4 == 0 ? 60 : 20);
        dice d(seed);
        order_editor e(p, random_order(p, d, static_cast<int>(d.below(8))));
        CAPTURE(seed);
        for (int round = 0; round < 12; ++round) {
            CAPTURE(round);
            auto const order = e.order();
            auto const cost = e.cost();
            auto const peak = e.peak();
            e.record();
            for (int step = static_cast<int>(d.below(8)); step >= 0; --step) {
                if (d.chance(60)) {
                    if (auto const u = some_use(e, d)) {
                        e.replay_before(u->before, some_chain(p, u->tensor, d));
                    }
                } else {
                    keep_some(e, d);
                }
            }
            if (d.chance(30)) {
                continue; // keep these
            }
            undone += e.order() == order ? 0 : 1;
            e.undo();
            REQUIRE(e.order() == order);
            REQUIRE(e.cost() == cost);
            REQUIRE(e.peak() == peak);
            check_editor(e);
            e.undo(); // there is nothing left to undo
            REQUIRE(e.order() == order);
        }
    }
    CHECK(undone > 200);
}

TEST_CASE("order_editor: a copy is an editor of its own")
{
    auto const p = make(training_chain_spec(5));
    order_editor a(p, index_order(p));
    auto b = a;
    auto const life = b.life_before(1, b.slots());
    b.replay_before(b.at_life(life).uses.back(), std::vector<op_id>{0});
    CHECK(a.order() == index_order(p));
    CHECK(b.order().size() == a.order().size() + 1);
    check_editor(a);
    check_editor(b);
}

TEST_CASE("order_editor: dropping a tensor over a gap frees it there, and keeping it brings the first order back")
{
    auto const p = make(training_chain_spec(4)); // tensors: input, x1…x4, four gradients
    order_editor e(p, index_order(p));
    CHECK(e.peak() == 5);
    auto const life = e.first_life(1);
    REQUIRE(e.at_life(life).uses.size() == 2); // op 1, and the backward of op 1
    e.replay_before(e.at_life(life).uses[1], std::vector<op_id>{0});
    CHECK(e.order() == run_order{0, 1, 2, 3, 4, 5, 0, 6, 7});
    CHECK(e.cost() == 9);
    CHECK(e.peak() == 4);
    auto const replay = e.replays().at(0);
    auto const s = saving_estimate(e)(replay, 4);
    CHECK_FALSE(s.possible);
    CHECK(e.keep_instead(replay, 4) == -1);
    CHECK(saving_estimate(e)(replay, 5).possible);
    CHECK(saving_estimate(e)(replay, 5).bytes == 1);
    CHECK(e.keep_instead(replay, 5) == 1);
    CHECK(e.order() == index_order(p));
    CHECK(e.peak() == 5);
}

TEST_CASE("order_editor: keeping a tensor takes with it the replays that served only its replay")
{
    // a → b → c, then d alone, then e reads c and d.
    problem_spec spec;
    for (bytes_t bytes : {1, 1, 1, 5, 1}) {
        add_tensor(spec, bytes);
    }
    add_op(spec, 1, {}, {0});
    add_op(spec, 2, {0}, {1});
    add_op(spec, 4, {1}, {2});
    add_op(spec, 8, {}, {3});
    add_op(spec, 16, {2, 3}, {4});
    spec.targets = {4};
    auto const p = make(spec);
    order_editor e(p, index_order(p));
    e.replay_before(e.at_life(e.first_life(2)).uses[0], std::vector<op_id>{0, 1, 2});
    REQUIRE(e.order() == run_order{0, 1, 2, 3, 0, 1, 2, 4});
    CHECK(e.cost() == 31 + 7);
    CHECK(saving_estimate(e)(e.replays().back(), max_bytes).cost == 7);
    CHECK(saving_estimate(e)(e.replays().front(), max_bytes).cost == 1); // a is kept for b's replay, which stays
    CHECK(e.keep_instead(e.replays().back(), max_bytes) == 7);
    CHECK(e.order() == index_order(p));
    check_editor(e);
}

} // namespace solve_order_editor_test
