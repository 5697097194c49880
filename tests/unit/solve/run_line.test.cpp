// SPDX-License-Identifier: Apache-2.0
#include <strata/schedule/profile.hpp>
#include <strata/solve/disturb.hpp>
#include <strata/solve/keep_all.hpp>
#include <strata/solve/run_line.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_run_line_test {

using namespace strata;
using namespace strata::test;

/// Makes an edit drawn at random. Returns: false if it was not possible.
auto edited(problem const& p, run_line& line, random_draws& draw) -> bool
{
    auto const k = draw.below(line.size());
    switch (draw.below(3)) {
    case 0: {
        auto const [lo, hi] = line.reach(k);
        REQUIRE(lo <= k);
        REQUIRE(k <= hi);
        auto const to = lo + draw.below(hi - lo + 1);
        if (to != k) {
            line.move(k, to);
        }
        return to != k;
    }
    case 1: {
        auto const o = line.op_at(draw.below(line.size()));
        if (!p.replayable(o) || line.first_place(o) >= k) {
            return false;
        }
        line.put_in(o, k);
        return true;
    }
    default:
        if (line.replays().empty()) {
            return false;
        }
        line.take_out(draw.below(line.replays().size()));
        return true;
    }
}

TEST_CASE("run_line: after every edit, and when it is taken back, the bytes live at each run are those of the order")
{
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        CAPTURE(seed);
        auto const p = varied_problem(seed, 30);
        run_line line(p, keep_all_order(p));
        random_draws draw(seed);
        for (int i = 0; i < 200; ++i) {
            auto const before = line.order();
            auto const bytes = live_bytes(p, before);
            if (!edited(p, line, draw)) {
                continue;
            }
            auto const live = live_bytes(p, line.order());
            REQUIRE(std::equal(live.begin(), live.end(), line.live().begin(), line.live().end()));
            REQUIRE(line.cost() == cost_of(p, line.order()));
            auto const sum = [](auto const& x) {
                std::int64_t all = 0;
                for (auto b : x) {
                    all += b;
                }
                return all;
            };
            REQUIRE(sum(line.after()) - sum(line.before()) == sum(live) - sum(bytes));
            if (draw.below(2) == 0) {
                line.undo();
                REQUIRE(line.order() == before);
                REQUIRE(std::equal(bytes.begin(), bytes.end(), line.live().begin(), line.live().end()));
                REQUIRE(line.cost() == cost_of(p, before));
            }
        }
        REQUIRE(line.replays().size() == line.size() - static_cast<std::size_t>(p.op_count()));
    }
}

} // namespace solve_run_line_test
