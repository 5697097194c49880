// SPDX-License-Identifier: Apache-2.0
// The integer program on glpk against enumeration: the optimum, feasibility, and what the relaxation proves.
#include <strata/glpk/glpk.hpp>

#include "tests/support/catch.hpp"
#include "tests/support/checkmate_laws.hpp"

namespace glpk_checkmate_test {

using namespace strata;
using namespace strata::test;

TEST_CASE("checkmate on glpk: equals the enumeration of its class under every telling budget, with any number of cuts")
{
    check_classes_of_orders(glpk{}, 250);
}

TEST_CASE("checkmate on glpk: with the passes it takes by itself, equals the enumeration of all orders")
{
    check_all_orders(glpk{}, 60);
}

TEST_CASE("checkmate on glpk: closure cuts raise the relaxation's bound, never above the optimum")
{
    check_closure_cuts(glpk{}, 60);
}

TEST_CASE("checkmate on glpk: is never worse than an order that is known") { check_known_orders(glpk{}, 60); }

} // namespace glpk_checkmate_test
