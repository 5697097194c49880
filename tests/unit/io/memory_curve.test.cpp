// SPDX-License-Identifier: Apache-2.0
#include <strata/io/memory_curve.hpp>

#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"

using namespace strata;

namespace io_memory_curve_test {

auto training(int n) -> problem { return problem::make(test::training_chain_spec(n)).value(); }

auto bytes_of(detail::memory_curve const& c) -> std::vector<bytes_t>
{
    std::vector<bytes_t> bytes;
    for (auto const& r : c.runs) {
        bytes.push_back(r.bytes);
    }
    return bytes;
}

TEST_CASE("memory curve: runs follow each other on the time axis and replays are known")
{
    auto const p = training(3);
    auto const c = detail::curve_of(p, free_early(p, run_order{0, 1, 2, 3, 0, 4, 5}));
    REQUIRE(c.runs.size() == 7);
    CHECK(c.runs[3].op == 3);
    CHECK(c.runs[3].begin == 3);
    CHECK(c.runs[3].end == 4);
    CHECK_FALSE(c.runs[3].replay);
    CHECK(c.runs[4].op == 0);
    CHECK(c.runs[4].replay);
    CHECK(c.length() == 7);
    CHECK(c.replays() == 1);
}

TEST_CASE("memory curve: the peak is the first run with the most bytes, and what is live there is known")
{
    auto const p = training(3);
    auto const c = detail::keep_all_curve(p);
    // resident 1; x1, x2, x3 are live when the first gradient is written
    CHECK(bytes_of(c) == std::vector<bytes_t>{2, 3, 4, 5, 4, 3});
    CHECK(c.peak() == 5);
    CHECK(c.peak_run == 3);
    CHECK(c.live_at_peak.size() == 4);
}

TEST_CASE("memory curve: a step without any cost is laid out by runs")
{
    auto spec = test::training_chain_spec(2);
    for (auto& o : spec.ops) {
        o.cost = 0;
    }
    auto const c = detail::keep_all_curve(problem::make(spec).value());
    CHECK_FALSE(c.timed);
    CHECK(c.length() == 4);
}

TEST_CASE("memory curve: columns keep every peak, also of a run that takes no time")
{
    auto spec = test::chain_spec(1000);
    spec.ops[500].cost = 0;
    spec.ops[500].workspace = 77;
    auto const c = detail::keep_all_curve(problem::make(spec).value());
    for (std::size_t const count : {1U, 7U, 64U, 999U, 5000U}) {
        auto const columns = detail::columns_of(c, c.length(), count);
        auto const highest = std::max_element(
            columns.begin(), columns.end(), [](auto const& a, auto const& b) { return a.bytes < b.bytes; });
        CHECK(highest->bytes == 79);
        CHECK(c.runs[highest->highest].op == 500);
    }
}

TEST_CASE("memory curve: columns beyond the end hold nothing, and shares of replays add up to their time")
{
    auto const p = training(3);
    auto const c = detail::curve_of(p, free_early(p, run_order{0, 1, 2, 3, 0, 4, 5}));
    auto const columns = detail::columns_of(c, 14, 28);
    CHECK(columns[13].bytes > 0);
    CHECK(columns[14].bytes == -1);
    auto const replayed = std::accumulate(
        columns.begin(), columns.end(), 0.0, [](double sum, auto const& x) { return sum + x.replayed; });
    CHECK(replayed == Approx(2)); // one unit of time in columns of half a unit
}

TEST_CASE("memory curve: phases follow first runs and ignore replays of another phase")
{
    auto const p = training(3);
    auto const c = detail::curve_of(p, free_early(p, run_order{0, 1, 2, 3, 0, 4, 5}));
    auto const phases = detail::phases_of(p, c, 0);
    REQUIRE(phases.size() == 2);
    CHECK(phases[0].phase == phase::forward);
    CHECK(phases[0].end == 3);
    CHECK(phases[1].phase == phase::backward);
    CHECK(phases[1].begin == 3);
    CHECK(phases[1].end == 7);
}

TEST_CASE("memory curve: phases too short to be seen join the one before")
{
    auto const p = training(3);
    CHECK(detail::phases_of(p, detail::keep_all_curve(p), 100).size() == 1);
}

TEST_CASE("memory curve: a schedule of another problem is misuse")
{
    CHECK_THROWS_AS(detail::curve_of(training(1), schedule{{run(7)}}), bad_result_access);
}

} // namespace io_memory_curve_test
