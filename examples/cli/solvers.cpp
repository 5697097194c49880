// SPDX-License-Identifier: Apache-2.0
#include "solvers.hpp"

#include <strata/partition/at_cut_points.hpp>
#include <strata/partition/bottom_up.hpp>
#include <strata/pipeline/hierarchical.hpp>
#include <strata/pipeline/thorough.hpp>
#include <strata/solve/block_dp.hpp>
#include <strata/solve/budgeted.hpp>
#include <strata/solve/chain_dp.hpp>
#include <strata/solve/cut.hpp>
#include <strata/solve/greedy.hpp>
#include <strata/solve/keep_all.hpp>
#include <strata/solve/minimum_memory.hpp>
#include <strata/solve/priced_cuts.hpp>
#include <strata/solve/recompute_all.hpp>
#include <strata/solve/sqrt_checkpoint.hpp>
#include <strata/solve/tree_width.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include "commands.hpp"
#include "common.hpp"

namespace cli {

namespace {

/// Default-constructible pipelines with a name of their own.
struct rockmate : strata::hierarchical<strata::at_cut_points<>, strata::quick_solver, strata::block_dp> {
    [[nodiscard]] static constexpr auto name() -> std::string_view { return "cut_points_dp"; }
};
struct hiremate : strata::hierarchical<strata::bottom_up> {
    [[nodiscard]] static constexpr auto name() -> std::string_view { return "bottom_up"; }
};

template <class S>
constexpr auto entry(std::string_view what) -> solver_entry
{
    return {S::name(), what, [](strata::search& on) { S{}.solve(on); }, {0, requires(S const& s){s.polish;
}
} // namespace
}; // namespace cli
}

constexpr std::array every_solver{
    entry<strata::default_solver>(
        "cut, greedy, exhaustive for small graphs, walks for small budgets; used unless told otherwise"),
    entry<strata::thorough>(
        "the default's, priced cuts, blocks under dynamic programming, separators: for small budgets"),
    entry<strata::cut>("minimum cuts at the tightest moments, then repair and fill"),
    entry<strata::greedy>("drops from keep-all until it fits"),
    entry<strata::priced_cuts>("cuts with a price of a byte at each time"),
    entry<strata::chain_dp>("checkpoints on a row of ops by dynamic programming (Rotor)"),
    entry<rockmate>("blocks between cut points under dynamic programming (Rockmate)"),
    entry<hiremate>("nested blocks, one option each (HiRemate's partition)"),
    entry<strata::tree_width>("separators, for the smallest budgets"),
    entry<strata::budgeted>("walks that drop what is worth least when an op does not fit, for small budgets"),
    entry<strata::minimum_memory>("walks that need few bytes, whatever they cost"),
    entry<strata::exhaustive>("every order that could matter, of small graphs only"),
    entry<strata::sqrt_checkpoint>("keeps every k-th cut of the forward pass (Chen)"),
    entry<strata::recompute_all>("keeps nothing that can be made again"),
    entry<strata::keep_all>("recomputes nothing"),
};

} // namespace

auto solvers() -> std::span<solver_entry const> { return every_solver; }

auto find_solver(std::string const& name) -> strata::result<solver_entry>
{
    auto const at =
        std::find_if(every_solver.begin(), every_solver.end(), [&](auto const& s) { return s.label == name; });
    if (at != every_solver.end()) {
        return *at;
    }
    std::string names;
    for (auto const& s : every_solver) {
        names += (names.empty() ? "" : ", ") + std::string(s.label);
    }
    return strata::fail(strata::errc::invalid_argument, "--solver is \"" + name + "\", must be one of " + names);
}

void add_solvers(CLI::App& program, int& status)
{
    auto* const command = program.add_subcommand("solvers", "List the solvers that are compiled in");
    command->callback([&status] {
        for (auto const& s : every_solver) {
            auto line = std::string(s.label);
            line.resize(std::max<std::size_t>(line.size(), 16), ' ');
            print(line + "  " + std::string(s.what) + "\n");
        }
        status = planned;
    });
}

} // namespace cli
