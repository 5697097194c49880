// SPDX-License-Identifier: Apache-2.0
#include <strata/schedule/replay.hpp>

#include <cstdint>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/slow_simulator.hpp"

namespace schedule_replay_test {

using namespace strata;
using namespace strata::test;
using Catch::Matchers::Contains;

TEST_CASE("replay: bytes of every step, the peak, where and why")
{
    //  bytes         9
    //           8 ┌──────┐ 7             run 3 holds t0 (4), t1 (2), t3 (3): the peak
    //        6 ┌──┤      ├────
    //     4 ┌──┘  …
    auto const p = make(u_net_spec(2)); // sizes: t0 4, t1 2, t2 1, t3 2, t4 4
    auto const s = free_early(p, index_order(p));
    auto const r = replay(p, s).value();
    REQUIRE(s == schedule{{run(0), run(1), run(2), run(3), free(2), free(1), run(4), free(3), free(0)}});
    CHECK(r.live == std::vector<bytes_t>{4, 6, 7, 9, 8, 6, 10, 8, 4});
    CHECK(r.peak == 10);
    CHECK(r.peak_step == 6);
    CHECK(r.peak_op == 4);
    CHECK(r.live_at_peak == std::vector<tensor_id>{0, 4, 3});
    CHECK(r.cost == 5);
    CHECK(r.replays == std::vector<std::uint32_t>(5, 0));
}

TEST_CASE("replay: resident bytes count at every step, workspace only during the run")
{
    auto sp = chain_spec(2);
    sp.tensors.push_back({"w", 100, tensor_kind::parameter});
    sp.ops[0].workspace = 50;
    auto const p = make(sp);
    auto const r = replay(p, free_early(p, index_order(p))).value();
    CHECK(r.live == std::vector<bytes_t>{151, 102, 101});
    CHECK(r.peak == 151);
    CHECK(r.peak_op == 0);
    CHECK(r.live_at_peak == std::vector<tensor_id>{0}); // no resident tensor
}

TEST_CASE("replay: the first of several equal peaks is named")
{
    auto const p = make(chain_spec(4));
    auto const r = replay(p, free_early(p, index_order(p))).value();
    CHECK(r.peak == 2);
    CHECK(r.peak_step == 1);
    CHECK(r.peak_op == 1);
}

TEST_CASE("replay: replays are counted per op and paid")
{
    auto const p = make(u_net_spec(2));
    auto const r = replay(p, free_early(p, std::vector<op_id>{0, 1, 2, 3, 0, 4})).value();
    CHECK(r.cost == 6);
    CHECK(r.replays == std::vector<std::uint32_t>{1, 0, 0, 0, 0});
}

TEST_CASE("replay: a schedule without runs peaks at the resident bytes")
{
    auto const p = make(training_chain_spec(2));
    auto const r = replay(p, {}).value();
    CHECK(r.peak == 1);
    CHECK(r.peak_op == none);
    CHECK(r.live_at_peak.empty());
    CHECK(r.replays.size() == 4);
    CHECK(replay(p, {{free(1)}}).value().live == std::vector<bytes_t>{1});
}

TEST_CASE("replay: steps that name nothing are refused and the step is named")
{
    auto const p = make(chain_spec(2));
    for (auto id : {-1, 2}) {
        auto const r = replay(p, {{run(0), run(id)}});
        REQUIRE_FALSE(r);
        CHECK(r.error().code == errc::malformed_plan);
        CHECK_THAT(r.error().message, Contains("step 1 runs op " + std::to_string(id)) && Contains("2 ops"));
        auto const f = replay(p, {{free(id)}});
        REQUIRE_FALSE(f);
        CHECK(f.error().code == errc::malformed_plan);
        CHECK_THAT(f.error().message, Contains("step 0 frees tensor " + std::to_string(id)) && Contains("2 tensors"));
    }
}

TEST_CASE("replay: a cost that leaves the 64-bit range is an overflow")
{
    auto sp = chain_spec(2);
    sp.ops[0].cost = max_cost - 1;
    auto const p = make(sp);
    CHECK(replay(p, {{run(0), run(1)}}).value().cost == max_cost);
    auto const r = replay(p, {{run(0), run(1), free(0), run(0)}});
    REQUIRE_FALSE(r);
    CHECK(r.error().code == errc::overflow);
    CHECK_THAT(r.error().message, Contains("step 3"));
}

TEST_CASE("replay: believes what it is given, as long as it exists")
{
    auto const p = make(chain_spec(2));
    auto const r = replay(p, {{run(1), free(0), run(1), free(1), free(1)}}).value();
    CHECK(r.live == std::vector<bytes_t>{1, 1, 1, 0, 0});
}

TEST_CASE("replay: live_at lists what is live during a step, largest first, equal sizes by id")
{
    auto const p = make(u_net_spec(2));
    auto const s = free_early(p, index_order(p));
    CHECK(live_at(p, s, 0) == std::vector<tensor_id>{0});
    CHECK(live_at(p, s, 3) == std::vector<tensor_id>{0, 1, 3, 2});
    CHECK(live_at(p, s, 5) == std::vector<tensor_id>{0, 3});
    CHECK(live_at(p, s, 8) == std::vector<tensor_id>{4});
}

} // namespace schedule_replay_test
