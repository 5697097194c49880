// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Partition, solve, merge: cut a step into blocks, solve each kind of block once, make one plan of the options.
///
/// Sources: Zhao et al., "Rockmate: an efficient, fast, automatic and generic tool for re-materialization in PyTorch",
/// 2023; Gusak et al., "HiRemate: hierarchical approach for efficient re-materialization of neural networks", 2025.
#pragma once

#include <strata/merge/block_graph.hpp>
#include <strata/merge/concepts.hpp>
#include <strata/merge/expand.hpp>
#include <strata/merge/one_option_each.hpp>
#include <strata/partition/concepts.hpp>
#include <strata/partition/hierarchy.hpp>
#include <strata/pipeline/block_options.hpp>
#include <strata/problem/problem.hpp>
#include <strata/solve/concepts.hpp>
#include <strata/solve/cut.hpp>
#include <strata/solve/greedy.hpp>
#include <strata/solve/search.hpp>
#include <strata/solve/step_kind.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

/// Solves a block: the first cut and greedy. Blocks are small and planned under many budgets; more seeds take longer and
/// bring less than the next level makes of it.
struct quick_solver {
    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "quick"; }
    template <class = void>
    void solve(search& on) const
    {
        cut{.one_shot = true}.solve(on);
        if (!on.done()) {
            greedy{}.solve(on);
        }
    }
};

/// What was done, for reports.
struct hierarchy_counts {
    std::size_t blocks = 0; ///< without the root
    std::size_t kinds = 0;  ///< of isomorphic blocks
    std::size_t solved = 0; ///< kinds whose options were made
};

/// A solver out of a partitioner, a solver of blocks and a merger.
///
/// Kinds of blocks are solved once, inner ones first, those that do not wait for each other side by side on
/// `limits::threads` threads; what comes out does not depend on them. A step that the partitioner leaves whole, or that has no backward
/// ops, is handed to the solver of blocks.
template <partitioner P, solver S = quick_solver, merger M = one_option_each>
struct hierarchical {
    static constexpr step_kinds takes{.inference = false};
    P partition = {};
    S solve_block = {};
    M merge = {};
    option_effort effort = {};
    op_id most_block_ops = 200; ///< larger blocks that are cut further are left to the merger
    std::string_view label = "hierarchical";

    [[nodiscard]] constexpr auto name() const noexcept -> std::string_view { return label; }

    template <class = void>
    void solve(search& on) const
    {
        if (on.stop().expired()) {
            return; // cutting alone takes a while on a long step
        }
        auto const& p = on.subject();
        if (!overlap(takes, kind_of(p))) {
            solve_block.solve(on);
            return;
        }
        auto const cut = hierarchy::make(p, partition);
        if (!cut || (*cut)[0].parts.empty()) {
            solve_block.solve(on);
            return;
        }
        auto const options = options_of(*cut, on);
        auto const g = on.stop().expired() ? std::nullopt : top(*cut, options);
        if (!g || on.stop().expired()) {
            return;
        }
        auto const budgets = budgets_around(on);
        auto const offer = [&](auto const& plans) {
            std::vector<proposal> seeds;
            for (double spread : {0.0, 0.5, 1.0}) {
                for (auto const& plan : plans) {
                    if (plan) {
                        seeds.push_back({.make = [&] { return in_first_run_order(p, expand(*g, *plan)); },
                                         .spread = spread,
                                         .name = std::string(name())});
                    }
                }
            }
            on.propose(seeds);
        };
        if constexpr (asks_at_once) {
            offer(merge.merge_each(*g, budgets, on.stop()));
        } else {
            for (auto b : budgets) {
                if (!on.done()) {
                    offer(std::array{merge.merge(*g, b, on.stop())});
                }
            }
        }
    }

    /// What `solve` would solve in `p`. Errors: those of `hierarchy::make`.
    template <class = void>
    [[nodiscard]] auto count(problem const& p) const -> result<hierarchy_counts>
    {
        auto const cut = hierarchy::make(p, partition);
        if (!cut) {
            return cut.error();
        }
        hierarchy_counts r{cut->size() - 1, cut->kinds(), 0};
        for (std::size_t k = 0; k < cut->kinds(); ++k) {
            r.solved += cut->representative(k) != 0 && solvable((*cut)[cut->representative(k)].ops) ? 1U : 0U;
        }
        return r;
    }

    /// The graph of the root's parts with the options of each, described in the step.
    template <class = void>
    [[nodiscard]] auto top(hierarchy const& h, std::vector<std::vector<option>> const& of_kind) const
        -> std::optional<block_graph>
    {
        std::vector<block> parts;
        std::vector<std::vector<option>> options;
        for (auto i : h[0].parts) {
            parts.push_back(h[i].ops);
            options.push_back(translated(h, of_kind, i));
        }
        auto g = block_graph::make(h.subject(), std::move(parts), std::move(options));
        return g ? std::optional(*std::move(g)) : std::nullopt;
    }

    /// Options by kind, in the ops of the kind's representative. When the search has to stop, those left over have none.
    template <class = void>
    [[nodiscard]] auto options_of(hierarchy const& h, search const& on) const -> std::vector<std::vector<option>>
    {
        std::vector<std::size_t> height(h.size(), 0); // parts come after the block they are cut from
        std::size_t highest = 0;
        for (auto i = h.size(); i-- > 1;) {
            for (auto j : h[i].parts) {
                height[i] = std::max(height[i], height[j] + 1);
            }
            highest = std::max(highest, height[i]);
        }
        std::vector<std::vector<option>> r(h.kinds());
        for (std::size_t now = 0; now <= highest; ++now) {
            std::vector<std::size_t> todo;
            for (std::size_t k = 0; k < h.kinds(); ++k) {
                if (auto const i = h.representative(k); i != 0 && height[i] == now) {
                    todo.push_back(k);
                }
            }
            on.side_by_side(todo.size(), [&](std::size_t i) {
                if (!on.stop().expired()) {
                    r[todo[i]] = options_of_block(h, r, h.representative(todo[i]), on);
                }
            });
        }
        return r;
    }

private:
    static constexpr op_id full_effort_ops = 80;
    /// Several budgets cost the merger little more than one.
    static constexpr bool asks_at_once = requires(
        M const& m, block_graph const& g, std::span<bytes_t const> b, stop_watch const& s) { m.merge_each(g, b, s); };

    /// Budgets to merge for, the largest first. What a merger counts is exact, but repair and fill go on from what they get:
    /// a little less may become better, and so may what is far too large, mended.
    template <class = void>
    [[nodiscard]] static auto budgets_around(search const& on) -> std::vector<bytes_t>
    {
        static constexpr std::array shares = {
            1.0, 0.97, 0.94, 1.06, 1.12, 1.3, 1.2, 1.09, 1.5, 1.03, 1.15, 1.4, 1.25, 1.17};
        constexpr op_id least = 3;
        auto const most = std::max(least, 60'000 / std::max<op_id>(1, on.subject().op_count()));
        auto const resident = on.subject().resident_bytes();
        auto const dynamic = static_cast<long double>(std::min(on.budget(), max_bytes / 2) - resident);
        std::vector<bytes_t> r;
        for (auto share :
             std::span(shares).first(std::min(shares.size(), static_cast<std::size_t>(asks_at_once ? most : least)))) {
            r.push_back(resident + static_cast<bytes_t>(dynamic * static_cast<long double>(share)));
        }
        std::sort(r.begin(), r.end(), std::greater<>());
        return r;
    }

    [[nodiscard]] static auto solvable(block const& b) -> bool { return !b.forward.empty() && !b.backward.empty(); }

    template <class = void>
    [[nodiscard]] static auto translated(hierarchy const& h,
                                         std::vector<std::vector<option>> const& of_kind,
                                         std::size_t i) -> std::vector<option>
    {
        auto const from = h.representative(h[i].kind);
        auto const& options = of_kind[h[i].kind];
        if (from == i) {
            return options;
        }
        std::vector<option> r;
        for (auto const& x : options) {
            r.push_back(describe(
                h.subject(), h[i].ops, h.translate(x.forward.order, from, i), h.translate(x.backward.order, from, i)));
        }
        return r;
    }

    template <class = void>
    [[nodiscard]] auto options_of_block(hierarchy const& h,
                                        std::vector<std::vector<option>> const& of_kind,
                                        std::size_t i,
                                        search const& on) const -> std::vector<option>
    {
        auto const& p = h.subject();
        auto const& b = h[i].ops;
        if (!solvable(b)) {
            return {describe(p, b, b.forward, b.backward)};
        }
        auto quiet = on.how();
        quiet.on_progress = nullptr;
        quiet.threads = 1;
        // A large block takes long for each plan and its options matter less: how often it is asked falls with its size.
        auto const ops = static_cast<op_id>(b.forward.size() + b.backward.size());
        auto solve_flat = effort;
        if (ops > full_effort_ops) {
            bool const left_to_merger = !h[i].parts.empty() && ops > most_block_ops;
            solve_flat.budgets = left_to_merger ? 0 : std::max(3, effort.budgets * full_effort_ops / ops);
            solve_flat.peaks = std::min(1, solve_flat.budgets);
        }
        auto r = options_by_solver(p, b, solve_block, solve_flat, quiet, on.stop());
        if (!h[i].parts.empty()) {
            std::vector<block> parts;
            std::vector<std::vector<option>> options;
            for (auto j : h[i].parts) {
                parts.push_back(h[j].ops);
                options.push_back(translated(h, of_kind, j));
            }
            add_options_by_merger(p, b, parts, options, merge, effort, on.stop(), r);
            detail::thin_out(p, r, effort.most_options);
        }
        return r;
    }
};

} // namespace strata
