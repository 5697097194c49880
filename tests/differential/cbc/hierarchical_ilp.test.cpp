// SPDX-License-Identifier: Apache-2.0
// The integer program of a level on cbc against enumeration of plans, and against what is known of the reference.
#include <strata/cbc/cbc.hpp>

#include "tests/support/catch.hpp"
#include "tests/support/hierarchical_laws.hpp"

namespace cbc_hierarchical_ilp_test {

using namespace strata;
using namespace strata::test;

TEST_CASE("hierarchical_ilp on cbc: equals the enumeration of its class of plans, with any number of cuts")
{
    check_class_of_plans(cbc{}, 150);
}

TEST_CASE("hierarchical_ilp on cbc: ends at the costs of the reference without its restrictions")
{
    check_chains_of_the_reference(cbc{});
}

TEST_CASE("hierarchical_ilp on cbc: closure cuts raise the relaxation's bound, never above the optimum")
{
    check_relaxation_of_levels(cbc{}, 60);
}

TEST_CASE("hierarchical_ilp on cbc: whatever stops it, plans obey every rule and fit")
{
    check_large_levels(cbc{}, 15);
}

TEST_CASE("hierarchical_ilp on cbc: told to stop in the middle, says nothing that is not so")
{
    check_stops_in_the_middle(cbc{});
}

} // namespace cbc_hierarchical_ilp_test
