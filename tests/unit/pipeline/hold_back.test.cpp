// SPDX-License-Identifier: Apache-2.0
#include <strata/bound/minimum_budget.hpp>
#include <strata/pipeline/hold_back.hpp>
#include <strata/place/lifetimes.hpp>
#include <strata/place/placement.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/schedule.hpp>

#include <cstddef>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"

using namespace strata;
using namespace strata::test;

TEST_CASE("hold_back: an op is given scratch memory, but no more than leaves room for what every plan has there")
{
    auto const p = make(training_chain_spec(4));
    auto const needed = fixed_bytes(p);
    std::vector<bytes_t> held(static_cast<std::size_t>(p.op_count()), 0);
    held[1] = 2;
    held[5] = 1000;
    bytes_t const bytes = 6;
    auto const eased = strata::detail::hold_back(p, bytes, held);
    REQUIRE(eased);
    for (op_id o = 0; o < p.op_count(); ++o) {
        auto const i = static_cast<std::size_t>(o);
        CHECK(eased->workspace(o) == (o == 1 ? 2 : o == 5 ? bytes - needed[5] : 0));
        CHECK(fixed_bytes(*eased)[i] <= bytes);
    }
    // A plan for the eased step leaves that much free in the step itself.
    auto const order = index_order(p);
    CHECK(live_bytes(*eased, order)[1] == live_bytes(p, order)[1] + 2);
}

TEST_CASE("missing_at: what ends above the room is missing while it lives, and nowhere else")
{
    auto const p = make(chain_spec(4)); // one byte each, two live at a time
    auto const s = free_early(p, index_order(p));
    placement x;
    x.lifetimes = lifetimes_of(p, s);
    for (std::size_t i = 0; i < x.lifetimes.size(); ++i) {
        x.offsets.push_back(x.lifetimes[i].tensor == 1 ? 3 : 0); // the output of op 1, read by op 2
    }
    CHECK(strata::detail::missing_at(p, s, x, 2) == std::vector<bytes_t>{0, 2, 2, 0});
    CHECK(strata::detail::missing_at(p, s, x, 4) == std::vector<bytes_t>{0, 0, 0, 0});
}
