// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Reproducible random numbers: the same on every platform, for the price of three multiplications.
#pragma once

#include <cstdint>

namespace strata::detail {

/// A well-mixed function of `x`; `mix(seed + 1)`, `mix(seed + 2)`, … are random numbers (the splitmix64 finalizer).
[[nodiscard]] constexpr auto mix(std::uint64_t x) noexcept -> std::uint64_t
{
    x += 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31U);
}

/// A random number from -1 to 1 for `x`.
[[nodiscard]] constexpr auto chance(std::uint64_t x) noexcept -> double
{
    return static_cast<double>(mix(x)) / 0x1p63 - 1;
}

} // namespace strata::detail
