// SPDX-License-Identifier: Apache-2.0
// The integer program on cbc against enumeration: the optimum, feasibility, and what the relaxation proves.
#include <strata/cbc/cbc.hpp>

#include "tests/support/catch.hpp"
#include "tests/support/checkmate_laws.hpp"

namespace cbc_checkmate_test {

using namespace strata;
using namespace strata::test;

TEST_CASE("checkmate on cbc: equals the enumeration of its class under every telling budget, with any number of cuts")
{
    check_classes_of_orders(cbc{}, 40);
}

TEST_CASE("checkmate on cbc: with the passes it takes by itself, equals the enumeration of all orders")
{
    check_all_orders(cbc{}, 20);
}

TEST_CASE("checkmate on cbc: closure cuts raise the relaxation's bound, never above the optimum")
{
    check_closure_cuts(cbc{}, 20);
}

TEST_CASE("checkmate on cbc: is never worse than an order that is known") { check_known_orders(cbc{}, 20); }

} // namespace cbc_checkmate_test
