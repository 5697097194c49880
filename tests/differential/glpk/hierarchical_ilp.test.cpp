// SPDX-License-Identifier: Apache-2.0
// The integer program of a level on glpk against enumeration of plans, and against what is known of the reference.
#include <strata/glpk/glpk.hpp>

#include "tests/support/catch.hpp"
#include "tests/support/hierarchical_laws.hpp"

namespace glpk_hierarchical_ilp_test {

using namespace strata;
using namespace strata::test;

TEST_CASE("hierarchical_ilp on glpk: equals the enumeration of its class of plans, with any number of cuts")
{
    check_class_of_plans(glpk{}, 250);
}

TEST_CASE("hierarchical_ilp on glpk: ends at the costs of the reference without its restrictions")
{
    check_chains_of_the_reference(glpk{});
}

TEST_CASE("hierarchical_ilp on glpk: closure cuts raise the relaxation's bound, never above the optimum")
{
    check_relaxation_of_levels(glpk{}, 80);
}

TEST_CASE("hierarchical_ilp on glpk: whatever stops it, plans obey every rule and fit")
{
    check_large_levels(glpk{}, 40);
}

TEST_CASE("hierarchical_ilp on glpk: told to stop in the middle, says nothing that is not so")
{
    check_stops_in_the_middle(glpk{});
}

} // namespace glpk_hierarchical_ilp_test
