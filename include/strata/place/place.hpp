// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The placement of a schedule in one arena: first fit, then improvement if that is not tight.
#pragma once

#include <strata/place/first_fit.hpp>
#include <strata/place/improve.hpp>
#include <strata/place/lifetimes.hpp>
#include <strata/place/placement.hpp>
#include <strata/problem/problem.hpp>
#include <strata/result.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/solve/limits.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace strata {

/// How to place.
struct place_options {
    bytes_t alignment = 0;           ///< of offsets; 0 takes the problem's own, or 1 where there is no problem
    bytes_t target = 0;              ///< an arena of at most this many bytes (without resident tensors) is good enough
    std::int64_t effort = 1'000'000; ///< of improvement; see `improve_options::effort`
    std::uint64_t seed = 1;          ///< of every random choice
    stop_watch stop = {};            ///< when it expires, the best placement so far is returned; first fit always runs
};

/// Offsets for `lifetimes`, which keep their order.
///
/// First fit; if its arena exceeds both the largest load and the target, `improve`. Deterministic unless `stop` expires.
/// Errors: `invalid_argument` for a negative alignment, target, effort or size; `overflow` if twice the sum of all sizes
/// leaves the 64-bit range.
template <class = void>
[[nodiscard]] auto place(std::vector<lifetime> lifetimes, place_options const& how = {}) -> result<placement>
{
    auto const bad = [](std::string what) {
        return fail(errc::invalid_argument, "strata::place: " + std::move(what) + " must not be negative");
    };
    if (how.alignment < 0) {
        return bad("alignment of " + std::to_string(how.alignment) + " bytes");
    }
    if (how.target < 0) {
        return bad("target of " + std::to_string(how.target) + " bytes");
    }
    if (how.effort < 0) {
        return bad("effort of " + std::to_string(how.effort));
    }
    auto const alignment = std::max<bytes_t>(how.alignment, 1);
    bytes_t sum = 0;
    for (auto const& x : lifetimes) {
        if (x.size < 0) {
            return bad("a buffer of " + std::to_string(x.size) + " bytes");
        }
        if (!checked_add(sum, align_up(x.size, alignment)) || sum > max_bytes / 2) {
            return fail(errc::overflow,
                        "strata::place: the bytes of all buffers, one per production, do not fit 62 bits; one has " +
                            std::to_string(x.size));
        }
    }
    return improve(first_fit(std::move(lifetimes), alignment), {how.target, how.effort, how.seed, how.stop});
}

/// Offsets for every buffer that `s` needs; see `lifetimes_of` for which these are.
/// Requires: `s` is a valid schedule of `p`.
/// Errors: as above.
template <class = void>
[[nodiscard]] auto place(problem const& p, schedule const& s, place_options how = {}) -> result<placement>
{
    if (how.alignment == 0) {
        how.alignment = p.alignment();
    }
    return place(lifetimes_of(p, s), how);
}

} // namespace strata
