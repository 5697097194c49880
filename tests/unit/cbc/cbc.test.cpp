// SPDX-License-Identifier: Apache-2.0
#include <strata/cbc/cbc.hpp>
#include <strata/solve/mip_backend.hpp>

#include "tests/support/backend_laws.hpp"
#include "tests/support/catch.hpp"

namespace cbc_cbc_test {

using namespace strata;
using namespace strata::test;

TEST_CASE("cbc: solves linear programs, and sees which have no solution or no end")
{
    STATIC_REQUIRE(mip_backend<cbc>);
    CHECK(cbc::name() == "cbc");
    check_linear_programs(cbc{});
}

TEST_CASE("cbc: takes models without columns, without rows, with empty, doubled and contradictory rows")
{
    check_odd_models(cbc{});
}

TEST_CASE("cbc: refuses what is no model instead of ending the program") { check_malformed(cbc{}); }

TEST_CASE("cbc: equals enumeration on small integer programs, with cutoffs and starts")
{
    check_integer_programs(cbc{});
}

TEST_CASE("cbc: stops when asked to, with what it has") { check_limits(cbc{}); }

TEST_CASE("cbc: prints nothing") { check_silence(cbc{}); }

} // namespace cbc_cbc_test
