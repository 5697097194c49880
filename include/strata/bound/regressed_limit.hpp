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
#include <vector>

namespace strata {

/// How far `regressed_limit` looks.
struct regression_effort {
    std::int64_t states = 3'000'000;     ///< in all; about half a million a second
    std::int64_t states_of_op = 100'000; ///< of the search from one op; one that needs more shows nothing
    op_id window = 15;                   ///< ops back at which a search has got past what was in the way
    double small = 0.02;                 ///< tensors of a smaller share of the limit's bytes are taken for nothing
};

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
    auto const resident = p.resident_bytes();
    auto const at = [](op_id o) { return static_cast<std::size_t>(o); };
    auto const small = static_cast<bytes_t>(effort.small * static_cast<double>(known.bytes - resident));
    detail::basic_regression<Lazy> back(p, small);
    auto const need = fixed_bytes(p);
    std::vector<op_id> ops(need.size()); // the most needy first, then the end
    std::iota(ops.begin(), ops.end(), 0);
    std::sort(ops.begin(), ops.end(), [&](op_id a, op_id b) {
        return need[at(a)] != need[at(b)] ? need[at(a)] > need[at(b)] : a < b;
    });
    ops.push_back(p.op_count());
    auto const left = [&] { return effort.states - back.states(); };
    for (auto yes = feasible; yes - known.bytes > known.bytes / fine && left() > 0 && !stop.expired();) {
        auto const bytes = known.bytes + (yes - known.bytes) / 2;
        auto const in_the_way = std::find_if(ops.begin(), ops.end(), [&](op_id o) {
            detail::regression_options const how{.window = effort.window,
                                                 .most = std::min(effort.states_of_op, left())};
            return left() > 0 && back(o, bytes - resident, how, stop) == detail::regressed::unreachable;
        });
        if (in_the_way == ops.end()) {
            yes = bytes;
            continue;
        }
        known = {bytes + 1, std::min(*in_the_way, p.op_count() - 1)};
        std::rotate(ops.begin(), in_the_way, in_the_way + 1); // most likely in the way of more bytes, too
    }
    return known;
}

} // namespace strata
