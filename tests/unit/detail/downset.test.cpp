// SPDX-License-Identifier: Apache-2.0
#include <strata/detail/downset.hpp>
#include <strata/detail/downset_pool.hpp>
#include <strata/schedule/profile.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/random_problem.hpp"

namespace detail_downset_test {

using namespace strata;
using namespace strata::test;
using downset = strata::detail::basic_downset<>;
using pool = strata::detail::basic_downset_pool<>;

/// A random way through all ops of `set`, with what each needs.
struct walk {
    run_order order;
    std::vector<bytes_t> needs;
};

auto walk_through(downset set, dice& d) -> walk
{
    walk w;
    while (!set.full()) {
        auto const o = d.pick(set.ready());
        w.order.push_back(o);
        w.needs.push_back(set.need(o));
        auto const after = set.live_after(o);
        set.run(o);
        REQUIRE(set.live() == after);
    }
    return w;
}

TEST_CASE("downset: what ops need on any way through is what early freeing leaves live, from either end")
{
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        auto const p = varied_problem(seed, 20);
        CAPTURE(seed);
        dice d(seed);
        auto const forward = walk_through(downset(strata::detail::order_net_of(p, false)), d);
        REQUIRE(is_first_run_order(p, forward.order));
        REQUIRE(forward.needs == live_bytes(p, forward.order));
        auto backward = walk_through(downset(strata::detail::order_net_of(p, true)), d);
        std::reverse(backward.order.begin(), backward.order.end());
        std::reverse(backward.needs.begin(), backward.needs.end());
        for (auto& o : backward.order) {
            o = p.op_count() - 1 - o;
        }
        REQUIRE(is_first_run_order(p, backward.order));
        REQUIRE(backward.needs == live_bytes(p, backward.order));
    }
}

TEST_CASE("downset: going from one set to another leaves no trace of the way")
{
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        auto const p = varied_problem(seed, 100);
        CAPTURE(seed);
        dice d(seed);
        auto const net = strata::detail::order_net_of(p, d.chance(50));
        downset here(net);
        downset there(net);
        for (int i = 0; i < 5; ++i) {
            for (auto* set : {&here, &there}) {
                for (auto n = d.below(p.op_count() + 1); n > 0 && !set->full(); --n) {
                    set->run(d.pick(set->ready()));
                }
            }
            here.go_to(there.bits());
            REQUIRE(here.bits() == there.bits());
            REQUIRE(here.size() == there.size());
            REQUIRE(here.live() == there.live());
            REQUIRE(here.ready() == there.ready());
            here = downset(net);
            there.go_to(here.bits());
        }
    }
}

TEST_CASE("downset_pool: a set is kept once, by the way with the lowest peak")
{
    auto const p = varied_problem(3, 12);
    downset set(strata::detail::order_net_of(p, false));
    pool seen(set.bits().size());
    auto const start = seen.add(set, pool::nowhere, {}, 5);
    REQUIRE(start == 0);
    CHECK(seen.add(set, pool::nowhere, {}, 5) == pool::nowhere);
    auto const o = set.ready().front();
    set.run(o);
    auto const next = seen.add(set, start, {o}, 9);
    REQUIRE(next == 1);
    CHECK(seen.add(set, start, {o}, 10) == pool::nowhere);
    CHECK(seen.add(set, start, {o}, 8) == next);
    CHECK(seen[next].peak == 8);
    CHECK(seen.size() == 2);
    CHECK(seen.way_to(next) == run_order{o});
    CHECK(seen.way_to(start).empty());
}

} // namespace detail_downset_test
