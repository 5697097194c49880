// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What is proven about a plan, and the plan that carries the proof.
#pragma once

#include <strata/bound/time_cut.hpp>
#include <strata/place/placement.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/units.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace strata {

/// What a gap is likely to be due to.
enum class gap_cause : std::uint8_t {
    closed, ///< there is none to speak of
    bound,  ///< most of it lies in costs that the proof does not count: expect the bound to be weak
    open,   ///< the plan, or the bound
};

/// The numbers that say how good a plan is. Bytes include resident tensors; costs are in the graph's unit.
struct certificate {
    bytes_t budget = max_bytes; ///< bytes the peak was allowed
    bytes_t peak = 0;           ///< largest sum of live bytes, outputs being written and workspace
    bytes_t keep_all_peak = 0;  ///< the same when every op runs once, in the order given
    bytes_t resident = 0;       ///< part of every peak above
    cost_t cost = 0;            ///< of the plan
    cost_t base_cost = 0;       ///< of running every op once
    cost_t lower_bound =
        0; ///< no plan under this budget, first runs in one of `bound_orders`, costs less; >= base_cost
    cost_t bound_reach = 0; ///< part of `cost` that the proof counts at all (`cost_in_sight`); 0 if that is not known
    first_run_orders bound_orders =
        first_run_orders::given; ///< that the bound speaks of; given: the order of this plan
    std::string solver = {};     ///< who found it
    double seconds = 0;          ///< wall time spent

    /// Share of `base_cost` that is spent on replays. 0 when everything is free of cost.
    [[nodiscard]] auto overhead() const noexcept -> double { return ratio(cost); }
    /// Proven minimum of `overhead`.
    [[nodiscard]] auto overhead_bound() const noexcept -> double { return ratio(lower_bound); }
    /// What is left open between plan and proof, as a fraction of `base_cost`.
    [[nodiscard]] auto gap() const noexcept -> double { return overhead() - overhead_bound(); }
    /// The part of the gap that lies in costs which the proof does not count: no better prices, no longer search would
    /// raise the bound beyond it. What is left of the gap is the plan's, or lies in what the proof counts and does not use.
    [[nodiscard]] auto gap_out_of_sight() const noexcept -> double
    {
        return bound_reach > 0 ? overhead() - ratio(bound_reach) : 0;
    }
    /// Where the rest of the way between plan and proof is likely to be. A sign, not a proof.
    [[nodiscard]] auto likely_gap() const noexcept -> gap_cause
    {
        constexpr double hundredth = 1e-4; // of a percentage point
        if (gap() <= hundredth) {
            return gap_cause::closed;
        }
        return 2 * gap_out_of_sight() > gap() ? gap_cause::bound : gap_cause::open;
    }

    friend auto operator==(certificate const&, certificate const&) -> bool = default;

private:
    [[nodiscard]] auto ratio(cost_t c) const noexcept -> double
    {
        return base_cost == 0 ? 0.0 : static_cast<double>(c - base_cost) / static_cast<double>(base_cost);
    }
};

/// One line for people.
template <class = void>
[[nodiscard]] auto describe(certificate const& c) -> std::string
{
    auto const percent = [](double x) {
        auto const hundredths = static_cast<std::int64_t>(x * 1e4 + 0.5);
        auto const rest = std::to_string(100 + hundredths % 100);
        return "+" + std::to_string(hundredths / 100) + "." + rest.substr(1) + " %";
    };
    auto const bytes = [](bytes_t n) {
        constexpr std::array units = {" B", " KiB", " MiB", " GiB"};
        std::size_t unit = 0;
        for (; n >= 10 * 1024 && unit + 1 < units.size(); n >>= 10U) {
            ++unit;
        }
        return std::to_string(n) + units[unit];
    };
    return "peak " + bytes(c.peak) + " instead of " + bytes(c.keep_all_peak) + ", time " + percent(c.overhead()) +
           ", proven minimum " + percent(c.overhead_bound()) + ", found by " + c.solver;
}

/// A schedule with its proof and its place in memory.
struct certified_plan {
    strata::schedule schedule = {};
    strata::certificate certificate = {};
    strata::placement placement = {};
    std::uint64_t fingerprint = 0; ///< of the problem it was made for; see `fingerprint`

    /// Whether its buffers have offsets in an arena. A plan made without (`limits::place`) has an empty placement, in which
    /// the alignment alone counts.
    [[nodiscard]] auto placed() const noexcept -> bool { return !placement.lifetimes.empty(); }
    friend auto operator==(certified_plan const&, certified_plan const&) -> bool = default;
};

} // namespace strata
