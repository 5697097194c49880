// SPDX-License-Identifier: Apache-2.0
#include <strata/pipeline/certificate.hpp>
#include <strata/pipeline/plan.hpp>

#include <cstdint>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/sanitized.hpp"

namespace pipeline_certificate_test {

using namespace strata;
using namespace strata::test;
using Catch::Detail::Approx;

TEST_CASE("certificate: a gap is split where the sight of the proof ends")
{
    certificate c;
    c.base_cost = 1000;
    c.cost = 1300;
    c.lower_bound = 1100;
    CHECK(c.gap() == Approx(0.2));
    CHECK(c.gap_out_of_sight() == 0); // not known
    CHECK(c.likely_gap() == gap_cause::open);
    c.bound_reach = 1250;
    CHECK(c.gap_out_of_sight() == Approx(0.05));
    CHECK(c.likely_gap() == gap_cause::open);
    c.bound_reach = 1120;
    CHECK(c.gap_out_of_sight() == Approx(0.18));
    CHECK(c.likely_gap() == gap_cause::bound);
    c.lower_bound = c.bound_reach = c.cost;
    CHECK(c.likely_gap() == gap_cause::closed);
    CHECK(certificate{}.likely_gap() == gap_cause::closed);
}

TEST_CASE("certificate: of every plan the reach lies between bound and cost, if it is known")
{
    int known = 0;
    for (std::uint64_t seed = 0; seed < (sanitized ? 3U : 12U); ++seed) {
        auto const p = random_problem(seed, {.ops = sanitized ? 40 : 80, .training = true, .effects = 0, .state = 0});
        for (auto share : {0.4, 0.6, 0.8}) {
            auto const made = plan(p, {.budget = budget::fraction(share)});
            if (!made) {
                continue;
            }
            auto const& c = made->certificate;
            CAPTURE(seed, share);
            CHECK(c.bound_orders == first_run_orders::given);
            CHECK(c.bound_reach <= c.cost);
            CHECK((c.bound_reach == 0 || c.bound_reach >= c.lower_bound));
            known += c.bound_reach > 0 ? 1 : 0;
        }
    }
    CHECK(known > (sanitized ? 0 : 3));
}

} // namespace pipeline_certificate_test
