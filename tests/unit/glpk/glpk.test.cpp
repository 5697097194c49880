// SPDX-License-Identifier: Apache-2.0
#include <strata/glpk/glpk.hpp>
#include <strata/solve/mip_backend.hpp>

#include "tests/support/backend_laws.hpp"
#include "tests/support/catch.hpp"

namespace glpk_glpk_test {

using namespace strata;
using namespace strata::test;

TEST_CASE("glpk: solves linear programs, and sees which have no solution or no end")
{
    STATIC_REQUIRE(mip_backend<glpk>);
    CHECK(glpk::name() == "glpk");
    check_linear_programs(glpk{});
}

TEST_CASE("glpk: takes models without columns, without rows, with empty, doubled and contradictory rows")
{
    check_odd_models(glpk{});
}

TEST_CASE("glpk: refuses what is no model instead of ending the program") { check_malformed(glpk{}); }

TEST_CASE("glpk: equals enumeration on small integer programs, with cutoffs and starts")
{
    check_integer_programs(glpk{});
}

TEST_CASE("glpk: stops when asked to, with what it has") { check_limits(glpk{}); }

TEST_CASE("glpk: prints nothing") { check_silence(glpk{}); }

} // namespace glpk_glpk_test
