// SPDX-License-Identifier: Apache-2.0
#include <strata/error.hpp>

#include <set>
#include <string>

#include "tests/support/catch.hpp"

namespace error_test {

using namespace strata;

TEST_CASE("error: every code has a name of its own")
{
    std::set<std::string> names;
    constexpr int last = static_cast<int>(errc::io);
    for (int i = 0; i <= last; ++i) {
        names.insert(to_string(static_cast<errc>(i)));
    }
    CHECK(names.size() == static_cast<std::size_t>(last) + 1);
    CHECK(names.count("unknown") == 0);
    CHECK(to_string(errc::infeasible) == std::string("infeasible"));
    CHECK(to_string(static_cast<errc>(last + 1)) == std::string("unknown"));
}

TEST_CASE("error: two errors are equal when code, message and limit are")
{
    error const a{errc::infeasible, "m", feasibility{10, 3, "conv", 12}};
    auto b = a;
    CHECK(a == b);
    b.limit->known_feasible.reset();
    CHECK_FALSE(a == b);
    b = a;
    b.message = "n";
    CHECK_FALSE(a == b);
}

TEST_CASE("error: the exception for a missing value carries the whole error")
{
    bad_result_access const x(error{errc::deadline, "too late", {}});
    CHECK(x.what() == std::string("too late"));
    CHECK(x.why().code == errc::deadline);
}

} // namespace error_test
