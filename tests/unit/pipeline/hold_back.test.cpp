// SPDX-License-Identifier: Apache-2.0
#include <strata/bound/minimum_budget.hpp>
#include <strata/pipeline/hold_back.hpp>
#include <strata/place/lifetimes.hpp>
#include <strata/place/placement.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"

namespace pipeline_hold_back_test {

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

TEST_CASE("reserve: first what is missing, and where it is missing, but not around the tightest op")
{
    auto const p = make(chain_spec(40)); // of 40 ops, two to each side are around one
    strata::detail::reserve r(p, 10);
    std::vector<bytes_t> here(40, 0);
    REQUIRE(r.raise(8, here));
    for (std::size_t o = 0; o < 40; ++o) {
        CHECK(r.held()[o] == (o < 8 || o > 12 ? 8 : 0));
    }
    here[3] = 6;
    here[11] = 5;
    REQUIRE(r.raise(6, here));
    CHECK(r.held()[3] == 14);
    CHECK(r.held()[4] > 8);
    CHECK(r.held()[4] < 14);
    CHECK(r.held()[11] == 0);
    r.ease(); // halfway back to the first try
    CHECK(r.held()[3] == 11);
    CHECK(r.held()[10] == 0);
}

TEST_CASE("reserve: if the plan stays the same, what is missing around the tightest op is held back too")
{
    auto const p = make(chain_spec(40));
    strata::detail::reserve r(p, 10);
    REQUIRE(r.raise(8, std::vector<bytes_t>(40, 8)));
    CHECK(r.held()[10] == 0);
    REQUIRE(r.raise_again());
    CHECK(r.held() == std::vector<bytes_t>(40, 8));
}

TEST_CASE(
    "reserve: in the end the same is held back from all ops, more each time, until nothing is left between the limits")
{
    auto const p = make(chain_spec(40));
    for (bytes_t works_from : {1, 5, 100, 2001}) { // no plan for more than twice that
        strata::detail::reserve r(p, 10);
        bool more = true;
        int tries = 0;
        bytes_t most = 0;
        while (more && *std::min_element(r.held().begin(), r.held().end()) < works_from) {
            REQUIRE(++tries < 40);
            most = std::max(most, r.held()[10]);
            more = r.raise(3, std::vector<bytes_t>(40, 3));
            if (r.held()[10] > 2 * works_from) {
                more = r.lower();
            }
        }
        CAPTURE(works_from, most, tries);
        CHECK(r.held() == std::vector<bytes_t>(40, r.held()[10])); // alike
        CHECK(r.held()[10] >= works_from);
        CHECK(r.held()[10] <= 2 * works_from);
        CHECK(tries < 20);
    }
    strata::detail::reserve r(p, 10);
    REQUIRE(r.raise(4, std::vector<bytes_t>(40, 4)));
    int tries = 0;
    while (r.lower()) { // no plan for anything
        REQUIRE(++tries < 10);
    }
    CHECK(r.held() == std::vector<bytes_t>(40, 0));
}

TEST_CASE("reserve: stays within 64 bits however much is missing")
{
    auto const p = make(chain_spec(40));
    constexpr auto missing = max_bytes - 1;
    strata::detail::reserve r(p, 10);
    for (int i = 0; i < 40; ++i) {
        (void)(i % 3 == 2 ? r.raise_again() : r.raise(missing, std::vector<bytes_t>(40, missing)));
        CHECK(*std::min_element(r.held().begin(), r.held().end()) >= 0);
    }
    CHECK(r.held()[10] > max_bytes / 4);
}

} // namespace pipeline_hold_back_test
