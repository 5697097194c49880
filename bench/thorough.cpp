// SPDX-License-Identifier: Apache-2.0
// The quick portfolio, alone and then polished, beside the study's every seed (its column C) and its search (column D).
//
//     thorough [--smoke] [GRAPH...]
//
// Where the portfolio alone does not reach a column it plans again until nine tenths of the time that column took are over,
// for column C without a placement, since the study had none, and for column D with one.
#include <strata/pipeline/plan.hpp>
#include <strata/pipeline/thorough.hpp>
#include <strata/schedule/validate.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "bench/known_results.hpp"
#include "bench/study.hpp"
#include "bench/support.hpp"

namespace {

using namespace strata;

auto cell(double x, int digits = 2) -> std::string { return x < 0 ? "none" : bench::number(x, digits); }

/// No more than `known` as the study printed it, in hundredths of a percent.
auto reaches(double found, double known) -> bool { return known < 0 || (found >= 0 && found < known + 0.005); }

constexpr double nine_tenths = 0.9;
int refused = 0;

auto ask(problem const& p, bytes_t bytes, std::optional<double> seconds, bool place = true) -> bench::answer
{
    std::optional<std::chrono::nanoseconds> deadline;
    if (seconds) {
        deadline = std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * *seconds));
    }
    auto a = bench::plan_and_judge(p, bytes, thorough{}, 1, deadline, place);
    refused += a.refused;
    return a;
}

} // namespace

int main(int argc, char** argv)
{
    bool const smoke = bench::smoke(argc, argv);
    std::vector<std::string_view> const names(argv + (smoke ? 2 : 1), argv + argc);
    bench::print_setting("thorough: overhead in percent of the plain step's cost");
    if (bench::data_folder().empty()) {
        std::cout << "no measurement data (set STRATA_DATA): skipped\n";
        return 0;
    }
    std::cout
        << "\n| graph | budget | bound | search | s | s, two threads | study's seeds | s | in that time | planned | s "
           "| polished | s | study's search | s | gap "
           "|\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    int cells = 0, alone = 0, seeds_reached = 0, slower = 0, searched_cells = 0, searched_reached = 0,
        unplaced_reached = 0;
    std::map<op_id, std::pair<double, double>> slowest; // search alone, by ops: on one thread and on two
    double worst_arena = 1;
    auto const wanted = [&](bench::study_cell const& known) {
        bool const named = names.empty() || std::find(names.begin(), names.end(), known.graph) != names.end();
        return named && (!smoke || (known.graph == "gpt12" && known.budget == 50));
    };
    bench::for_each_cell(wanted, [&](bench::study_cell const& known, problem const& p, bytes_t bytes) {
        auto const found = bench::search_alone(p, bytes, thorough{}, 2);
        auto const by_two = bench::search_alone(p, bytes, thorough{}, 2, 2);
        refused += (found.valid ? 0 : 1) + (by_two.overhead == found.overhead ? 0 : 1);
        auto in_time = found.overhead;
        if (known.all >= 0 && !reaches(in_time, known.all)) {
            in_time = ask(p, bytes, nine_tenths * known.all_seconds, false).overhead;
        }
        auto const quick = ask(p, bytes, {});
        auto polished = quick;
        if (quick.overhead >= 0 && !reaches(quick.overhead, known.searched)) {
            polished = ask(p, bytes, nine_tenths * known.searched_seconds);
        }
        auto& longest = slowest[p.op_count()];
        longest = {std::max(longest.first, found.seconds), std::max(longest.second, by_two.seconds)};
        worst_arena = std::max({worst_arena, quick.arena_over_peak, polished.arena_over_peak});
        bool const as_seeds = reaches(in_time, known.all);
        bool const as_search = reaches(polished.overhead, known.searched);
        cells += known.all >= 0 ? 1 : 0;
        alone += known.all >= 0 && reaches(found.overhead, known.all) ? 1 : 0;
        seeds_reached += known.all >= 0 && as_seeds ? 1 : 0;
        slower += known.all >= 0 && found.seconds > known.all_seconds ? 1 : 0;
        searched_cells += known.searched >= 0 ? 1 : 0;
        searched_reached += known.searched >= 0 && as_search ? 1 : 0;
        if (known.searched >= 0) {
            auto const nowhere = [&] { return ask(p, bytes, nine_tenths * known.searched_seconds, false).overhead; };
            unplaced_reached += as_search || reaches(nowhere(), known.searched) ? 1 : 0;
        }
        std::cout << "| " << known.graph << " | " << known.budget << " % | " << cell(known.bound) << " | "
                  << cell(found.overhead) << " | " << cell(found.seconds, 3) << " | " << cell(by_two.seconds, 3)
                  << " | " << cell(known.all) << " | " << cell(known.all_seconds) << " | " << cell(in_time)
                  << (as_seeds ? "" : " (above)") << " | " << cell(quick.overhead) << " | " << cell(quick.seconds, 3)
                  << " | " << cell(polished.overhead) << (as_search ? "" : " (above)") << " | "
                  << cell(polished.seconds) << " | " << cell(known.searched) << " | " << cell(known.searched_seconds, 1)
                  << " | " << cell(polished.overhead < 0 ? -1 : std::max(0.0, polished.overhead - known.bound))
                  << " |\n"
                  << std::flush;
    });
    std::cout << "\nsearch alone: " << alone << " of " << cells << " cells at the study's seeds or below, " << slower
              << " slower than it; in nine tenths of their time, without a place: " << seeds_reached
              << "\npolished: " << searched_reached << " of " << searched_cells
              << " cells at the study's search or below, without a place " << unplaced_reached
              << "\nlongest search, s:";
    for (auto const& [ops, seconds] : slowest) {
        std::cout << ' ' << ops << " ops " << bench::number(seconds.first, 2) << ", on two threads "
                  << bench::number(seconds.second, 2) << ';';
    }
    std::cout << "\nlargest arena / peak: " << bench::number(worst_arena, 4)
              << "\nplans refused by the judge: " << refused << '\n';
    return refused == 0 ? 0 : 1;
}
