// SPDX-License-Identifier: Apache-2.0
// Plans that fit their budget in sum have to fit it in one arena: what the simplest way to get there finds, `plan` finds.
#include <strata/io/lower_graph.hpp>
#include <strata/io/read_graph.hpp>
#include <strata/pipeline/plan.hpp>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/data_folder.hpp"
#include "tests/support/judge_plan.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/sanitized.hpp"

namespace pipeline_arena_test {

using namespace strata;
using namespace strata::test;

auto within(bytes_t bytes) -> limits
{
    limits lim;
    lim.budget = budget::bytes(bytes);
    return lim;
}

/// Whether a plan has its place in `bytes` when as many as were missing are taken off the whole budget, up to five times.
/// `first`: whether no byte had to be.
auto found_by_taking_off(problem const& p, bytes_t bytes, bool& first) -> bool
{
    strata::detail::planner const with(p);
    auto const lim = within(bytes);
    auto const studied = with.analyse(bytes, {});
    auto const room = bytes - p.resident_bytes();
    auto asked = bytes;
    std::optional<candidate> before;
    for (int i = 0; studied && i < 6; ++i) {
        auto const best = with.best_order(asked, *studied, lim, {}, default_solver{}, before ? &*before : nullptr);
        if (!best) {
            return false;
        }
        auto const s = free_early(p, best->order);
        auto const placed = place(p, s, {.target = room, .effort = 100'000}).value();
        if (placed.arena <= room) {
            first = i == 0;
            return true;
        }
        asked = peak_of(p, best->order) - (placed.arena - room);
        before = *best;
    }
    return false;
}

TEST_CASE("plan: a plan has its place wherever taking what is missing off the whole budget leads to one")
{
    int later = 0; // plans that did not fit in one piece at once
    for (std::uint64_t seed : {4U, 3U}) {
        if (sanitized && seed == 4) {
            continue; // takes two minutes
        }
        auto const p = random_problem(seed / 2,
                                      {.ops = 100,
                                       .training = seed % 2 == 1,
                                       .effects = 0,
                                       .state = 0,
                                       .workspace = 0,
                                       .bytes = 1000,
                                       .aligned = false});
        auto const least = minimum_budget(p).bytes;
        auto const most = keep_all_peak(p);
        for (bytes_t twelfth = 1; twelfth < 6; ++twelfth) {
            auto const bytes = least + (most - least) * twelfth / 12;
            bool first = true;
            if (!found_by_taking_off(p, bytes, first)) {
                continue;
            }
            CAPTURE(seed, bytes, least, most);
            auto const made = plan(p, within(bytes));
            INFO((made ? "" : made.error().message));
            REQUIRE(made);
            judge_plan(p, *made, bytes);
            later += first ? 0 : 1;
        }
    }
    CHECK(later > (sanitized ? 0 : 2));
}

TEST_CASE("plan: large tensors of unrelated sizes have their place under tight budgets")
{
    auto const path = data_folder() + "/graphs/checkmate_random_n500.json";
    std::ifstream in(path);
    if (!in) {
        WARN("skipped: no " + path + "; set STRATA_DATA");
        return;
    }
    std::string const text{std::istreambuf_iterator<char>(in), {}};
    auto const file = read_graph(text).value();
    auto const lowered = lower_graph(file).value();
    auto const& p = lowered.problem();
    REQUIRE(file.reference_peak_bytes);
    // 86 % has lost its plan once; more budgets take minutes.
    for (int percent : sanitized ? std::vector{92} : std::vector{86, 90}) {
        auto const bytes = *file.reference_peak_bytes * percent / 100;
        CAPTURE(percent);
        auto const made = plan(p, within(bytes));
        INFO((made ? "" : made.error().message));
        REQUIRE(made);
        judge_plan(p, *made, bytes);
    }
}

} // namespace pipeline_arena_test
