// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Numbers as people read them: "6.2 GiB", "3.8 %", "41.3 ms". The same text under every locale.
#pragma once

#include <strata/units.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace strata {

namespace detail {

/// `x` with `digits` decimals and a point as separator, whatever the locale. "-0" is written "0".
[[nodiscard]] inline auto fixed(double x, int digits) -> std::string
{
    if (!std::isfinite(x)) {
        return "?";
    }
    std::array<char, 400> buffer{}; // the largest double has 309 digits before the point
    auto const end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x, std::chars_format::fixed, digits);
    std::string s(buffer.data(), end.ptr);
    return s.find_first_not_of("-0.") == std::string::npos && s.front() == '-' ? s.substr(1) : s;
}

/// `x` with three significant digits, zeros at the end of the decimals dropped: 1234 → "1234", 6.2 → "6.2".
[[nodiscard]] inline auto short_number(double x) -> std::string
{
    auto const size = std::fabs(x);
    auto s = fixed(x, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
    if (s.find('.') != std::string::npos) {
        s.erase(s.find_last_not_of('0') + 1);
        if (s.back() == '.') {
            s.pop_back();
        }
    }
    return s;
}

/// `n` with its thousands set apart: 1234567 → "1,234,567".
[[nodiscard]] inline auto grouped(std::int64_t n) -> std::string
{
    auto s = std::to_string(n);
    auto const first = static_cast<std::size_t>(n < 0 ? 1 : 0);
    for (auto k = s.size(); k > first + 3;) {
        k -= 3;
        s.insert(k, 1, ',');
    }
    return s;
}

/// `name`, its middle left out when it is longer than `most` bytes. Cuts between characters of UTF-8.
[[nodiscard]] inline auto shortened(std::string_view name, std::size_t most = 64) -> std::string
{
    if (name.size() <= most) {
        return std::string(name);
    }
    auto const inside = [&](std::size_t k) { return (static_cast<unsigned char>(name[k]) & 0xC0U) == 0x80U; };
    auto head = most * 2 / 3;
    auto tail = name.size() - (most - head - 3);
    while (head > 0 && inside(head)) {
        --head;
    }
    while (tail < name.size() && inside(tail)) {
        ++tail;
    }
    return std::string(name.substr(0, head)) + "…" + std::string(name.substr(tail));
}

/// `text` with a space that does not break after every digit, so that a number and its unit stay on one line.
[[nodiscard]] inline auto unbroken(std::string_view text) -> std::string
{
    std::string s;
    bool after_digit = false;
    for (char const c : text) {
        s += c == ' ' && after_digit ? std::string("\u00a0") : std::string(1, c);
        after_digit = c >= '0' && c <= '9';
    }
    return s;
}

} // namespace detail

/// Bytes in the largest binary unit that leaves at least 1: 6657199309 → "6.2 GiB", 900 → "900 B".
[[nodiscard]] inline auto format_bytes(bytes_t n) -> std::string
{
    constexpr std::array<char const*, 7> units{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    auto x = static_cast<double>(n);
    std::size_t unit = 0;
    // 1023.5 would be written 1024: the next unit says it better.
    while (std::fabs(x) >= 1023.5 && unit + 1 < units.size()) {
        x /= 1024;
        ++unit;
    }
    return detail::short_number(x) + " " + units[unit];
}

/// A fraction as a percentage: 0.0384 → "3.84 %". A share that is not zero is never written as zero.
[[nodiscard]] inline auto format_percent(double share) -> std::string
{
    auto const x = share * 100;
    if (x > 0 && x < 0.005) {
        return "< 0.01 %";
    }
    return detail::short_number(x) + " %";
}

/// A cost in its graph's unit. Nanoseconds, microseconds, milliseconds and seconds ("ns", "us", "ms", "s") are turned
/// into the unit that leaves at least 1; any other unit is written after the number. Plain ASCII, for any terminal.
[[nodiscard]] inline auto format_cost(double cost, std::string_view unit = "ns") -> std::string
{
    constexpr std::array<char const*, 4> units{"ns", "us", "ms", "s"};
    auto at = unit == "ns" ? 0U : unit == "us" || unit == "µs" ? 1U : unit == "ms" ? 2U : unit == "s" ? 3U : 4U;
    if (at == units.size()) {
        return detail::short_number(cost) + (unit.empty() ? "" : " ") + std::string(unit);
    }
    while (std::fabs(cost) >= 999.5 && at + 1 < units.size()) {
        cost /= 1000;
        ++at;
    }
    while (cost != 0 && std::fabs(cost) < 0.9995 && at > 0) {
        cost *= 1000;
        --at;
    }
    return detail::short_number(cost) + " " + units[at];
}

} // namespace strata
