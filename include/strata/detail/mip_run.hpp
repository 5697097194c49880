// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What the integer programs of solve/ ask of a backend, and what its answer proves.
///
/// A program has `model()`, `solution_of(answer)` → `std::optional` of a solution, `cost_unit()`, what a unit of the
/// objective costs, and `cost_grain()`, of which all its costs are multiples.
#pragma once

#include <strata/error.hpp>
#include <strata/result.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/mip_backend.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

namespace strata::detail {

/// Asks for what costs less than `known`, which is `extra` above the program's base: with a start if the program can express
/// it, and otherwise with a cutoff half a grain below it. `known`: null for none.
template <class Program, class Answer>
[[nodiscard]] auto
request_below(Program const& m, Answer const* known, cost_t extra, std::int64_t max_nodes, stop_watch const& stop)
    -> mip_request
{
    mip_request r{.max_nodes = max_nodes, .stop = stop};
    if (known == nullptr) {
        return r;
    }
    r.start = m.solution_of(*known);
    if (r.start && violation_of(m.model(), *r.start) > mip_tolerance) {
        r.start.reset();
    }
    if (!r.start) {
        r.cutoff = (static_cast<double>(extra) - 0.5 * static_cast<double>(m.cost_grain())) / m.cost_unit();
    }
    return r;
}

/// Extra cost that `answer` to such a request proves. Costs are multiples of a grain, so a bound may be rounded up to one;
/// first the backend's tolerance is taken off. `known_extra`: null when nothing was known.
template <class Program>
[[nodiscard]] auto proven_extra(Program const& m, mip_outcome const& answer, cost_t const* known_extra) -> cost_t
{
    constexpr double tolerance = 1e-6;
    auto extra = answer.bound * m.cost_unit();
    if (answer.status == mip_status::infeasible && known_extra != nullptr) {
        extra = static_cast<double>(*known_extra); // nothing is below the cutoff
    }
    auto const grain = static_cast<double>(m.cost_grain());
    auto const safe = std::ceil((extra - tolerance * std::max(extra, grain)) / grain);
    return safe > 0 && safe * grain < 1e18 ? static_cast<cost_t>(safe) * m.cost_grain() : 0;
}

/// Extra cost that the linear relaxation of `m` proves; infinite when it has no solution.
/// Errors: those of the backend; `deadline` or `cancelled`, in the name of `who`, when it did not end.
template <class Program, class B>
[[nodiscard]] auto relaxed_extra(Program const& m, B const& backend, stop_watch const& stop, std::string const& who)
    -> result<double>
{
    auto linear = m.model();
    linear.integer.assign(linear.integer.size(), 0);
    auto const answer = backend.solve(linear, {.stop = stop});
    if (!answer) {
        return answer.error();
    }
    if (answer->status == mip_status::infeasible) {
        return infinite;
    }
    if (answer->status != mip_status::optimal) {
        return fail(stop.expired() ? stop.why() : errc::deadline,
                    who + ": stopped before the linear program was solved");
    }
    return answer->bound * m.cost_unit();
}

} // namespace strata::detail
