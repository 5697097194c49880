// SPDX-License-Identifier: Apache-2.0
#include <strata/merge/block_graph.hpp>
#include <strata/merge/expand.hpp>
#include <strata/merge/promise.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/search.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/random_block_graph.hpp"
#include "tests/support/random_problem.hpp"

namespace merge_promise_test {

using namespace strata;

TEST_CASE("an expanded plan of a level costs and needs what its options promise, run by run")
{
    int replays = 0;
    int kept = 0;
    for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
        test::dice d(seed * 7919);
        auto const p =
            problem::make(test::random_spec(seed, {.ops = static_cast<int>(d.between(2, 24)), .training = true}))
                .value();
        auto parts = test::random_parts(p, d);
        std::vector<std::vector<option>> options;
        for (auto const& b : parts) {
            options.push_back(test::random_options_of(p, b, d));
        }
        auto const g = block_graph::make(p, std::move(parts), std::move(options));
        if (!g) { // parts of a random step may wait for each other
            continue;
        }
        for (int i = 0; i < 4; ++i) {
            auto const plan = test::random_plan(*g, d);
            auto const promise = promise_of(*g, plan);
            auto const order = expand(*g, plan);
            auto const live = live_bytes(p, order);
            INFO("seed " << seed);
            REQUIRE(promise.cost == cost_of(p, order));
            REQUIRE(promise.peak == *std::max_element(live.begin(), live.end()));
            std::size_t k = 0;
            auto const runs = without_vain_keeping(*g, plan);
            for (std::size_t j = 0; j < runs.size(); ++j) {
                auto const n = g->run(runs[j]).order.size();
                auto const begin = live.begin() + static_cast<std::ptrdiff_t>(k);
                REQUIRE(promise.peaks[j] == *std::max_element(begin, begin + static_cast<std::ptrdiff_t>(n)));
                k += n;
                kept += runs[j].option != fast_forward &&
                                g->options(runs[j].part)[static_cast<std::size_t>(runs[j].option)].kept > 0
                            ? 1
                            : 0;
            }
            auto const given = in_first_run_order(p, order);
            REQUIRE(is_run_order(p, given));
            REQUIRE(validate(p, free_early(p, given), max_bytes).ok());
            replays += given.size() > static_cast<std::size_t>(p.op_count()) ? 1 : 0;
        }
    }
    CHECK(replays > 1000);
    CHECK(kept > 1000);
}

} // namespace merge_promise_test
