// SPDX-License-Identifier: Apache-2.0
#include <strata/solve/disturb.hpp>
#include <strata/solve/fill.hpp>
#include <strata/solve/search.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_disturb_test {

using namespace strata;
using namespace strata::test;

using move = std::function<void(disturb&, order_editor&, bytes_t, random_draws&)>;

struct named_move {
    char const* name;
    move make;
};

auto moves() -> std::vector<named_move>
{
    return {
        {"drop some", [](auto& d, auto& e, bytes_t room, auto& draw) { d.drop_some(e, room, draw); }},
        {"drop alike", [](auto& d, auto& e, bytes_t room, auto& draw) { d.drop_alike(e, room, draw); }},
        {"keep some", [](auto& d, auto& e, bytes_t /*room*/, auto& draw) { d.keep_some(e, draw); }},
        {"keep a stretch", [](auto& d, auto& e, bytes_t /*room*/, auto& draw) { d.keep_stretch(e, draw); }},
    };
}

TEST_CASE("disturb: every move changes most orders, leaves an order, and is taken back to the last byte")
{
    for (auto const& [name, make_move] : moves()) {
        int changed = 0;
        for (std::uint64_t seed = 0; seed < 60; ++seed) {
            auto const p = varied_problem(seed, 50);
            order_editor e(p, index_order(p));
            repair mend(p);
            auto const room = e.peak() * 8 / 10;
            (void)mend(e, room, {}, {});
            disturb d(p);
            if (d.droppable() == 0) {
                continue;
            }
            random_draws draw(seed);
            CAPTURE(name, seed);
            for (int i = 0; i < 10; ++i) {
                auto const order = e.order();
                auto const cost = e.cost();
                std::vector<bytes_t> bytes;
                for (std::size_t s = 0; s < e.slots(); ++s) {
                    bytes.push_back(e.run_at(s) == none ? -1 : e.bytes_at(s));
                }
                bytes.erase(std::remove(bytes.begin(), bytes.end(), -1), bytes.end());
                d.forget();
                e.record();
                make_move(d, e, room, draw);
                REQUIRE(is_run_order(p, e.order()));
                changed += e.order() == order ? 0 : 1;
                e.undo();
                REQUIRE(e.order() == order);
                REQUIRE(e.cost() == cost);
                std::vector<bytes_t> again;
                for (std::size_t s = 0; s < e.slots(); ++s) {
                    again.push_back(e.run_at(s) == none ? -1 : e.bytes_at(s));
                }
                again.erase(std::remove(again.begin(), again.end(), -1), again.end());
                REQUIRE(again == bytes);
            }
        }
        CAPTURE(name);
        CHECK(changed > 100);
    }
}

TEST_CASE("disturb: what was dropped is marked until it is forgotten, and fill leaves it dropped")
{
    auto const p = make(training_chain_spec(20));
    order_editor e(p, index_order(p));
    disturb d(p);
    random_draws draw(1);
    CHECK(d.dropped().empty());
    d.drop_some(e, max_bytes, draw);
    REQUIRE_FALSE(d.dropped().empty());
    auto const replays = e.replays();
    REQUIRE_FALSE(replays.empty());
    fill_options leave;
    leave.frozen = d.dropped();
    fill(e, max_bytes, {}, leave);
    for (auto r : replays) {
        auto const marked = d.dropped()[static_cast<std::size_t>(e.op_of(r))] != 0;
        CHECK((!marked || e.is_at(r, e.slot_of(r))));
    }
    d.forget();
    CHECK(d.dropped().empty());
    fill(e, max_bytes, {});
    CHECK(e.replays().empty());
}

TEST_CASE("disturb: equal layers lose the same tensor together")
{
    auto const p = make(training_chain_spec(40));
    int together = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        order_editor e(p, index_order(p));
        disturb d(p);
        random_draws draw(seed);
        d.drop_alike(e, max_bytes, draw);
        together += std::count(d.dropped().begin(), d.dropped().end(), 1) > 1 ? 1 : 0;
    }
    CHECK(together > 5);
}

TEST_CASE("random_draws: the seed decides, and numbers stay where they are asked to be")
{
    random_draws a(5);
    random_draws b(5);
    random_draws other(6);
    int same = 0;
    for (int i = 0; i < 1000; ++i) {
        auto const x = a.next();
        REQUIRE(x == b.next());
        same += x == other.next() ? 1 : 0;
        REQUIRE(a.below(7) < 7);
        (void)b.below(7);
        auto const s = a.share();
        REQUIRE((s >= 0 && s < 1));
        (void)b.share();
    }
    CHECK(same == 0);
}

} // namespace solve_disturb_test
