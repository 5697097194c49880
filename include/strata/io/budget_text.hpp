// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Budgets and durations as people write them: "60%", "8GiB", "500MB", "5s", "250ms".
///
/// Every number needs its unit in sight, save plain bytes: a budget in the wrong unit is the mistake that costs most.
#pragma once

#include <strata/io/json_text.hpp>
#include <strata/result.hpp>
#include <strata/units.hpp>

#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>

namespace strata {

namespace detail {

/// A decimal number such as "1.5", split at its point, and what follows it.
struct decimal {
    std::string_view whole;
    std::string_view fraction;
    std::string_view rest;
};

[[nodiscard]] constexpr auto split_decimal(std::string_view text) noexcept -> decimal
{
    auto const digits = [&] {
        std::size_t n = 0;
        while (n < text.size() && text[n] >= '0' && text[n] <= '9') {
            ++n;
        }
        auto const d = text.substr(0, n);
        text.remove_prefix(n);
        return d;
    };
    decimal r;
    r.whole = digits();
    if (!text.empty() && text.front() == '.') {
        text.remove_prefix(1);
        r.fraction = digits();
    }
    while (!text.empty() && text.front() == ' ') {
        text.remove_prefix(1);
    }
    r.rest = text;
    return r;
}

/// floor((whole.fraction) * unit), exactly; the largest 64-bit number where that is exceeded.
[[nodiscard]] constexpr auto scaled(decimal const& d, std::int64_t unit) noexcept -> std::int64_t
{
    std::int64_t n = 0;
    for (auto const c : d.whole) {
        if (__builtin_mul_overflow(n, 10, &n) || !checked_add(n, c - '0')) {
            return max_bytes;
        }
    }
    // Horner from the last digit; rounding down at each digit equals rounding down once.
    std::int64_t part = 0;
    for (auto k = d.fraction.size(); k-- > 0;) {
        part = ((d.fraction[k] - '0') * unit + part) / 10;
    }
    return __builtin_mul_overflow(n, unit, &n) || !checked_add(n, part) ? max_bytes : n;
}

struct unit_name {
    std::string_view name;
    std::int64_t size;
};

} // namespace detail

/// Reads a budget: a share of the dynamic keep-all peak ("60%", "62.5 %"), or bytes with a unit (B, kB, KB, MB, GB, TB
/// by thousands; KiB, MiB, GiB, TiB by 1024; "1.5GiB") or without ("1073741824"). Fractions of a byte are dropped; what
/// exceeds 64 bits is the largest budget there is.
/// Errors: `invalid_argument` that says what was read and what is wanted.
[[nodiscard]] inline auto parse_budget(std::string_view text) -> result<budget>
{
    constexpr std::array<detail::unit_name, 11> units{{{"", 1},
                                                       {"B", 1},
                                                       {"kB", 1000},
                                                       {"KB", 1000},
                                                       {"MB", 1000'000},
                                                       {"GB", 1000'000'000},
                                                       {"TB", 1000'000'000'000},
                                                       {"KiB", std::int64_t(1) << 10U},
                                                       {"MiB", std::int64_t(1) << 20U},
                                                       {"GiB", std::int64_t(1) << 30U},
                                                       {"TiB", std::int64_t(1) << 40U}}};
    auto const bad = [&](std::string const& why) {
        return fail(errc::invalid_argument,
                    "strata::parse_budget: budget " + json_quoted(text) + " " + why +
                        "; write a share such as 60% or bytes such as 8GiB, 500MB, 123B or 1073741824");
    };
    if (!text.empty() && text.front() == '-') {
        return bad("is negative");
    }
    auto const d = detail::split_decimal(text);
    if (d.whole.empty() && d.fraction.empty()) {
        return bad("does not begin with a number");
    }
    if (d.rest == "%") {
        auto const digits = std::string(d.whole) + "." + std::string(d.fraction);
        double percent = 0;
        auto const r = std::from_chars(digits.data(), digits.data() + digits.size(), percent);
        if (r.ec == std::errc::result_out_of_range) {
            percent = d.whole.empty() ? 0 : std::numeric_limits<double>::max();
        }
        return budget::fraction(percent / 100);
    }
    for (auto const& u : units) {
        if (d.rest == u.name) {
            return budget::bytes(detail::scaled(d, u.size));
        }
    }
    return bad("has the unknown unit " + json_quoted(d.rest) + " (units are B, kB, MB, GB, TB, KiB, MiB, GiB, TiB, %)");
}

/// Reads a time span: a number with one of the units ns, us, ms, s, m, h ("5s", "250ms", "1.5m"). What exceeds 64 bits
/// of nanoseconds is the longest span there is.
/// Errors: `invalid_argument` that says what was read and what is wanted.
[[nodiscard]] inline auto parse_duration(std::string_view text) -> result<std::chrono::nanoseconds>
{
    constexpr std::array<detail::unit_name, 7> units{{{"ns", 1},
                                                      {"us", 1000},
                                                      {"ms", 1000'000},
                                                      {"s", 1000'000'000},
                                                      {"m", 60'000'000'000},
                                                      {"min", 60'000'000'000},
                                                      {"h", 3'600'000'000'000}}};
    auto const d = detail::split_decimal(text);
    if (!d.whole.empty() || !d.fraction.empty()) {
        for (auto const& u : units) {
            if (d.rest == u.name) {
                return std::chrono::nanoseconds(detail::scaled(d, u.size));
            }
        }
    }
    return fail(errc::invalid_argument,
                "strata::parse_duration: " + json_quoted(text) +
                    " is no time span; write a number with a unit (ns, us, ms, s, m, h), such as 5s or 250ms");
}

} // namespace strata
