// SPDX-License-Identifier: Apache-2.0
// Bounds of several instants against the exact optimum of small problems, whatever the instants, prices and decisions.
#include <strata/bound/joint_bound.hpp>
#include <strata/bound/joint_cuts.hpp>
#include <strata/bound/lower_bound.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/support/broken_laws.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace bound_joint_bound_differential_test {

using namespace strata;
using namespace strata::test;

struct tally {
    int exact = 0, missed = 0; // of all instants together
    int exact_alone = 0;       // of one
    int raised = 0;
};

/// Some of the ops, ascending.
auto some_ops(problem const& p, std::mt19937_64& random) -> std::vector<op_id>
{
    std::vector<op_id> ops;
    for (op_id o = 0; o < p.op_count(); ++o) {
        if (random() % 3 == 0) {
            ops.push_back(o);
        }
    }
    return ops.empty() ? std::vector<op_id>{0} : ops;
}

/// A bound, wherever prices stand, and however it is divided by what is kept, is at most the optimum.
void check_cuts(problem const& p, bytes_t budget, cost_t optimum, std::mt19937_64& random)
{
    auto const extra = static_cast<long double>(optimum - p.base_cost());
    joint_cuts cuts(p, budget, some_ops(p, random));
    auto x = cuts.first_prices();
    for (auto& share : x) {
        share = std::uniform_real_distribution<>(0, 2)(random);
    }
    std::vector<keep_decision> decided;
    auto lowest = joint_cuts::impossible;
    for (int depth = 0; depth < 4; ++depth) {
        cuts.decide(decided);
        auto const value = cuts.climb(x, extra + 1, 20, 1, {});
        auto const next = value == joint_cuts::impossible ? std::nullopt : cuts.least_agreed(x);
        if (!next) {
            lowest = std::min(lowest, value);
            break;
        }
        // One side is left as it is, the other divided further.
        auto side = decided;
        side.push_back({next->instant, next->tensor, random() % 2 == 0});
        decided.push_back({next->instant, next->tensor, !side.back().keep});
        cuts.decide(side);
        auto y = x;
        lowest = std::min(lowest, cuts.climb(y, extra + 1, 20, 1, {}));
        if (depth == 3) {
            cuts.decide(decided);
            lowest = std::min(lowest, cuts.climb(x, extra + 1, 20, 1, {}));
        }
    }
    REQUIRE(lowest <= extra);
}

void check_problem(problem const& p, std::uint64_t seed, tally& count)
{
    std::mt19937_64 random(seed);
    brute_force brute(p);
    for (auto b : telling_budgets(p, brute.minimum_budget())) {
        auto const best = brute.solve(b);
        if (!best) {
            continue;
        }
        CAPTURE(b);
        check_cuts(p, b, best->cost, random);
        auto const alone = lower_bound(p, b, index_order(p));
        std::vector<cost_bound> each;
        for (op_id o = 0; o < p.op_count(); ++o) {
            each.push_back(lower_bound(p, b, std::vector<op_id>{o}));
            each.back().at = o;
        }
        auto const points = telling_points(std::move(each));
        auto const more = best->cost + std::min(1 + p.base_cost() / 8, max_cost - best->cost);
        for (auto known : {best->cost, more}) {
            joint_bound raise(p, b, known, {.work = 100'000, .least_gap = 0});
            auto const proof = raise(alone, points);
            auto const& together = proof.bound;
            REQUIRE(together.cost <= cost_in_sight(p, runs_of(best->schedule), proof.instants));
            REQUIRE_FALSE(together.infeasible);
            REQUIRE(together.cost >= alone.cost);
            REQUIRE(together.cost <= best->cost);
            if (known != best->cost) {
                (together.cost == best->cost ? count.exact : count.missed) += 1;
                count.exact_alone += alone.cost == best->cost ? 1 : 0;
                count.raised += together.cost > alone.cost ? 1 : 0;
            }
        }
    }
}

TEST_CASE("joint bound: at most the optimum on random problems, under every telling budget")
{
    tally count;
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        CAPTURE(seed);
        check_problem(varied_problem(seed, 9), seed, count);
    }
    CAPTURE(count.exact, count.missed, count.exact_alone, count.raised);
    CHECK(count.exact > count.exact_alone);
    CHECK(count.raised > count.missed);
}

TEST_CASE("joint bound: at most the optimum where costs and sizes are too large to be exact")
{
    tally count;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        random_options o;
        o.ops = 8;
        o.training = seed % 2 == 0;
        o.effects = 5;
        o.state = 0;
        o.zero_cost = 20;
        o.aligned = false;
        o.cost = seed % 3 == 0 ? 500'000'000'000'000'000 : 10'000'000'000'000;
        o.bytes = seed % 4 == 0 ? 80'000'000'000'000'000 : 1000;
        CAPTURE(seed);
        check_problem(random_problem(seed, o), seed, count);
    }
    CHECK(count.exact > 0);
}

} // namespace bound_joint_bound_differential_test
