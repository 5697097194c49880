// SPDX-License-Identifier: Apache-2.0
// keep_all, recompute_all and sqrt_checkpoint: the orders that every other is compared with.
#include <strata/schedule/profile.hpp>
#include <strata/solve/keep_all.hpp>
#include <strata/solve/recompute_all.hpp>
#include <strata/solve/sqrt_checkpoint.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_reference_points_test {

using namespace strata;
using namespace strata::test;

TEST_CASE("keep_all: runs every op once, in index order")
{
    auto const p = make(u_net_spec(4));
    CHECK(keep_all_order(p) == index_order(p));
    CHECK(keep_all_order(make(chain_spec(1))) == run_order{0});
}

/// Ops that must run again when nothing that can be made again stays at `at`, from the definition.
auto runs_again(problem const& p, op_id at) -> std::vector<op_id>
{
    std::vector<char> again(static_cast<std::size_t>(p.op_count()), 0);
    std::vector<tensor_id> wanted(p.targets().begin(), p.targets().end());
    for (auto o = at; o < p.op_count(); ++o) {
        wanted.insert(wanted.end(), p.inputs(o).begin(), p.inputs(o).end());
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        auto const t = wanted[i];
        if (p.resident(t) || p.accumulated(t) || p.producer(t) >= at || !p.replayable(p.producer(t))) {
            continue;
        }
        auto& x = again[static_cast<std::size_t>(p.producer(t))];
        if (x == 0) {
            x = 1;
            wanted.insert(wanted.end(), p.inputs(p.producer(t)).begin(), p.inputs(p.producer(t)).end());
        }
    }
    std::vector<op_id> all;
    for (op_id o = 0; o < p.op_count(); ++o) {
        if (again[static_cast<std::size_t>(o)] != 0) {
            all.push_back(o);
        }
    }
    return all;
}

TEST_CASE("recompute_all: every op that can and must runs a second time, no other does")
{
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        auto const p = varied_problem(seed, 40);
        auto const at = static_cast<op_id>(p.op_count() / 2);
        auto order = recompute_all_order(p, at);
        auto expected = index_order(p);
        for (auto o : runs_again(p, at)) {
            expected.push_back(o);
        }
        std::sort(order.begin(), order.end());
        std::sort(expected.begin(), expected.end());
        CAPTURE(seed, at);
        REQUIRE(order == expected);
    }
}

TEST_CASE("sqrt_checkpoint: a chain keeps about the square root of its tensors, and needs about as many bytes")
{
    for (int n : {16, 100, 400, 2500}) {
        auto const p = make(training_chain_spec(n));
        auto const order = sqrt_checkpoint_order(p, n);
        std::vector<int> runs(static_cast<std::size_t>(p.op_count()), 0);
        for (auto o : order) {
            ++runs[static_cast<std::size_t>(o)];
        }
        auto const kept = std::count(runs.begin(), runs.begin() + n, 1);
        auto const root = std::sqrt(n);
        CAPTURE(n, kept);
        CHECK(static_cast<double>(kept) >= root - 2);
        CHECK(static_cast<double>(kept) <= root + 2);
        CHECK(std::count(runs.begin() + n, runs.end(), 1) == n); // backward runs once
        CHECK(static_cast<double>(peak_of(p, order)) <= 2 * root + 5);
    }
}

TEST_CASE("sqrt_checkpoint: no op before the point is nothing to cut")
{
    auto const p = make(training_chain_spec(3));
    CHECK(sqrt_checkpoint_order(p, 0) == index_order(p));
}

} // namespace solve_reference_points_test
