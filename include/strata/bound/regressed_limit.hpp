// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A proven limit of the budget that also counts what making the inputs of an op takes.
#pragma once

#include <strata/bound/minimum_budget.hpp>
#include <strata/bound/regression.hpp>
#include <strata/problem/problem.hpp>
#include <strata/solve/limits.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

namespace strata {

/// How far `regressed_limit` looks.
struct regression_effort {
    std::int64_t states = 3'000'000;                ///< in all; about half a million a second
    std::int64_t states_of_op = 100'000;            ///< of the search from one op; one that needs more shows nothing
    std::size_t ops = static_cast<std::size_t>(-1); ///< that are searched from, the most needy first
    op_id window = 15;                              ///< ops back at which a search has got past what was in the way
    double small = 0.02; ///< tensors of a smaller share of the limit's bytes are taken for nothing
};

/// Looks for an op that no order of runs reaches within a budget.
template <class Lazy = void>
class basic_reach_test {
public:
    /// `p` outlives it. `least`: what no plan has fewer bytes than.
    basic_reach_test(problem const& p, bytes_t least, regression_effort const& effort = {})
        : p_(&p)
        , effort_(effort)
        , back_(p, static_cast<bytes_t>(effort.small * static_cast<double>(least - p.resident_bytes())))
    {
        auto const need = fixed_bytes(p);
        ops_.resize(need.size());
        std::iota(ops_.begin(), ops_.end(), 0);
        auto const more_needy = [&](op_id a, op_id b) {
            auto const x = need[static_cast<std::size_t>(a)];
            auto const y = need[static_cast<std::size_t>(b)];
            return x != y ? x > y : a < b;
        };
        std::sort(ops_.begin(), ops_.end(), more_needy);
        ops_.resize(std::min(ops_.size(), effort.ops));
        ops_.push_back(p.op_count());
    }

    /// An op that is out of reach in `bytes`, resident ones included, so that no plan fits; the number of ops for the end of
    /// the step. Nothing where no search shows that.
    [[nodiscard]] auto out_of_reach(bytes_t bytes, stop_watch const& stop = {}) -> std::optional<op_id>
    {
        auto const found = std::find_if(ops_.begin(), ops_.end(), [&](op_id o) {
            detail::regression_options const how{.window = effort_.window,
                                                 .most = std::min(effort_.states_of_op, left())};
            return left() > 0 && !stop.expired() &&
                   back_(o, bytes - p_->resident_bytes(), how, stop) == detail::regressed::unreachable;
        });
        if (found == ops_.end()) {
            return {};
        }
        auto const o = *found;
        std::rotate(ops_.begin(), found, found + 1); // most likely in the way of more bytes, too
        return o;
    }

    /// States that may still be looked at.
    [[nodiscard]] auto left() const noexcept -> std::int64_t { return effort_.states - back_.states(); }

private:
    problem const* p_;
    regression_effort effort_;
    detail::basic_regression<Lazy> back_;
    std::vector<op_id> ops_; // the most needy first, then the end; what was in the way last before them
};

using reach_test = basic_reach_test<>;

/// A proven limit at least as high as `known` (see `minimum_budget`), and no higher than `feasible`, the peak of an order of
/// `p`: no plan has fewer bytes. Halves the interval between them, to a tenth of a percent.
/// Near the limit of one op's footprint, what brings its inputs there often takes more than the op.
/// Complexity: `effort.states`, for each interval halved at most the ops times `effort.states_of_op`.
template <class Lazy = void>
[[nodiscard]] auto regressed_limit(problem const& p,
                                   byte_limit known,
                                   bytes_t feasible,
                                   regression_effort const& effort = {},
                                   stop_watch const& stop = {}) -> byte_limit
{
    constexpr bytes_t fine = 1000; // an interval of so small a share of its lower end is small enough
    basic_reach_test<Lazy> test(p, known.bytes, effort);
    for (auto yes = feasible; yes - known.bytes > known.bytes / fine && test.left() > 0 && !stop.expired();) {
        auto const bytes = known.bytes + (yes - known.bytes) / 2;
        if (auto const o = test.out_of_reach(bytes, stop)) {
            known = {bytes + 1, std::min(*o, p.op_count() - 1)};
        } else {
            yes = bytes;
        }
    }
    return known;
}

} // namespace strata
