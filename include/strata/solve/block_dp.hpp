// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Merges options by dynamic programming over a row of stages: what is kept stays until its backward half (rk-Rotor).
#pragma once

#include <strata/merge/block_graph.hpp>
#include <strata/merge/concepts.hpp>
#include <strata/merge/promise.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/persistent_table.hpp>
#include <strata/solve/stage_line.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

/// Plans of a level for every budget up to a largest one, from one table.
///
/// The table is cut into slots of the largest budget (see `persistent_table`): for budgets that are a small share of it,
/// where a slot weighs more, a table of their own is finer. What limits it is the number of stretches of stages that
/// differ from each other, times their length: when that would leave too few slots, neighbours are taken together.
template <class = void>
class basic_block_dp_table {
public:
    /// `g` must outlive the table. Returns: nothing when time is up.
    [[nodiscard]] static auto make(block_graph const& g, bytes_t largest, stop_watch const& stop = {})
        -> std::optional<basic_block_dp_table>
    {
        constexpr std::int64_t fine = 500; // slots
        auto once = cheapest_once(g);
        largest = std::min(largest, promise_of(g, once).peak); // more needs no table
        auto most = std::size_t{400};
        for (;; most = most * 2 / 3) {
            stage_line line(g, most);
            if (stop.expired()) {
                return {};
            }
            most = line.stages().size();
            if (most > 1 && persistent_table::size_of(line.stages()).slots({}) < fine) {
                continue;
            }
            auto table = persistent_table::make(line.stages(), room_of(line, largest), stop);
            if (!table) {
                return {};
            }
            return basic_block_dp_table(g, std::move(line), *std::move(table), std::move(once));
        }
    }

    /// The cheapest plan the table knows that fits `budget`, by what its options promise; a larger budget never gets a
    /// costlier one. Returns: nothing when there is none, or time is up.
    /// Complexity: O(plans that are too large by a little · runs).
    [[nodiscard]] auto plan(bytes_t budget, stop_watch const& stop = {}) const -> std::optional<block_plan>
    {
        if (promise_of(*g_, once_).peak <= budget) {
            return once_; // nothing is cheaper
        }
        for (auto m = table_.slots_in(room_of(line_, budget)); m >= 0 && !stop.expired(); --m) {
            if (m > 0 && table_.cost(m - 1) == table_.cost(m)) {
                continue; // the same runs do with less
            }
            auto const runs = table_.runs(m);
            if (runs.empty()) {
                return {};
            }
            block_plan r;
            for (auto const& x : runs) {
                x.backward ? line_.append_backward(x.stage, x.option, r) : line_.append_forward(x.stage, x.option, r);
            }
            if (promise_of(*g_, r).peak <= budget) {
                return without_vain_keeping(*g_, std::move(r));
            }
        }
        return {};
    }

    [[nodiscard]] auto stages() const noexcept -> stage_line const& { return line_; }
    [[nodiscard]] auto table() const noexcept -> persistent_table const& { return table_; }

private:
    basic_block_dp_table(block_graph const& g, stage_line line, persistent_table table, block_plan once)
        : g_(&g)
        , line_(std::move(line))
        , table_(std::move(table))
        , once_(std::move(once))
    {
    }

    static auto cheapest_once(block_graph const& g) -> block_plan
    {
        std::vector<int> cheapest;
        for (std::size_t i = 0; i < g.size(); ++i) {
            auto const& all = g.options(i);
            auto const by_cost = [](option const& a, option const& b) {
                return a.cost() != b.cost() ? a.cost() < b.cost() : a.kept < b.kept;
            };
            cheapest.push_back(static_cast<int>(std::min_element(all.begin(), all.end(), by_cost) - all.begin()));
        }
        return once_each(g, cheapest);
    }

    /// Bytes for the stages to share. Where they count tensors that may be gone, a little more than there is.
    static auto room_of(stage_line const& line, bytes_t budget) -> bytes_t
    {
        auto const room = std::max<bytes_t>(0, budget - line.always());
        return line.exact() ? room : room + room / 12;
    }

    block_graph const* g_;
    stage_line line_;
    persistent_table table_;
    block_plan once_;
};

using block_dp_table = basic_block_dp_table<>;

/// The plan of a `block_dp_table` made for one budget.
struct block_dp {
    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "block_dp"; }
    template <class = void>
    [[nodiscard]] auto merge(block_graph const& g, bytes_t budget, stop_watch const& stop) const
        -> std::optional<block_plan>
    {
        return std::move(merge_each(g, std::span<bytes_t const>(&budget, 1), stop).front());
    }

    /// A plan for each of `budgets`, the largest one first, from one table.
    template <class = void>
    [[nodiscard]] auto merge_each(block_graph const& g, std::span<bytes_t const> budgets, stop_watch const& stop) const
        -> std::vector<std::optional<block_plan>>
    {
        std::vector<std::optional<block_plan>> r(budgets.size());
        if (auto const table = block_dp_table::make(g, budgets.front(), stop)) {
            for (std::size_t i = 0; i < budgets.size(); ++i) {
                r[i] = table->plan(budgets[i], stop);
            }
        }
        return r;
    }
};

} // namespace strata
