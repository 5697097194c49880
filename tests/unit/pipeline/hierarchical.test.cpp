// SPDX-License-Identifier: Apache-2.0
#include <strata/merge/one_option_each.hpp>
#include <strata/partition/at_cut_points.hpp>
#include <strata/partition/whole.hpp>
#include <strata/pipeline/hierarchical.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/solve/block_dp.hpp>
#include <strata/solve/keep_all.hpp>
#include <strata/solve/search.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/layered.hpp"
#include "tests/support/problems.hpp"

using namespace strata;
using namespace strata::test;

namespace pipeline_hierarchical_test {

/// Notes what it is asked for.
struct one_by_one {
    std::vector<bytes_t>* asked;
    [[nodiscard]] static auto name() -> std::string_view { return "one_by_one"; }
    [[nodiscard]] auto merge(block_graph const& g, bytes_t budget, stop_watch const& stop) const
        -> std::optional<block_plan>
    {
        asked->push_back(budget);
        return one_option_each{}.merge(g, budget, stop);
    }
};

struct all_at_once : one_by_one {
    int* calls;
    [[nodiscard]] auto merge_each(block_graph const& g, std::span<bytes_t const> budgets, stop_watch const& stop) const
        -> std::vector<std::optional<block_plan>>
    {
        ++*calls;
        std::vector<std::optional<block_plan>> r;
        for (auto b : budgets) {
            r.push_back(merge(g, b, stop));
        }
        return r;
    }
};

using cut_in_layers = at_cut_points<whole>;

struct at_share {
    explicit at_share(problem const& p, int percent)
        : bytes(p.resident_bytes() + (peak_of(p, keep_all_order(p)) - p.resident_bytes()) * percent / 100)
        , on(p, bytes, {}, {p.base_cost(), none, false}, lim, stop_watch(lim))
    {
    }
    limits lim;
    bytes_t bytes;
    search on;
};

TEST_CASE("hierarchical: a merger that answers many budgets at once is asked once, for more than there is too")
{
    auto const p = make(layered_spec(8));
    std::vector<bytes_t> asked;
    int calls = 0;
    at_share task(p, 60);
    hierarchical<cut_in_layers, quick_solver, all_at_once>{.merge = {{&asked}, &calls}}.solve(task.on);
    REQUIRE(calls == 1);
    CHECK(std::is_sorted(asked.rbegin(), asked.rend()));
    CHECK(asked.front() > task.bytes * 14 / 10);
    CHECK(asked.back() < task.bytes);
    CHECK(std::count(asked.begin(), asked.end(), task.bytes) == 1);
}

TEST_CASE("hierarchical: a merger that answers one budget is asked for what there is, and little less")
{
    auto const p = make(layered_spec(8));
    std::vector<bytes_t> asked;
    at_share task(p, 60);
    hierarchical<cut_in_layers, quick_solver, one_by_one>{.merge = {&asked}}.solve(task.on);
    REQUIRE(!asked.empty());
    CHECK(asked.size() <= 3);
    CHECK(asked.front() == task.bytes);
    CHECK(asked.back() > task.bytes * 9 / 10);
}

TEST_CASE("hierarchical: budgets far beyond any memory do not overflow")
{
    auto const p = make(layered_spec(8));
    std::vector<bytes_t> asked;
    int calls = 0;
    limits const lim;
    search on(p, max_bytes, {}, {p.base_cost(), none, false}, lim, stop_watch(lim));
    hierarchical<cut_in_layers, quick_solver, all_at_once>{.merge = {{&asked}, &calls}}.solve(on);
    REQUIRE(calls == 1);
    CHECK(*std::min_element(asked.begin(), asked.end()) > max_bytes / 3);
    REQUIRE(on.best());
    CHECK(on.best()->cost == p.base_cost());
}

TEST_CASE("hierarchical: what is made for more than there is comes back mended, and fits")
{
    auto const p = make(layered_spec(12));
    for (int percent : {70, 50, 40}) {
        at_share task(p, percent);
        hierarchical<cut_in_layers, quick_solver, block_dp>{}.solve(task.on);
        CAPTURE(percent);
        REQUIRE(task.on.best());
        CHECK(peak_of(p, task.on.best()->order) <= task.bytes);
        CHECK(task.on.best()->name == "hierarchical");
    }
}

} // namespace pipeline_hierarchical_test
