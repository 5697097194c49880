// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The random numbers of the engine: a generator whose state is one number, so that saving it costs nothing.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace engine_eigen {

/// SplitMix64: a counter, and a hash of it.
class generator {
public:
    explicit constexpr generator(std::uint64_t seed) noexcept
        : counter_(seed)
    {
    }

    constexpr auto next() noexcept -> std::uint64_t
    {
        counter_ += 0x9e3779b97f4a7c15U;
        auto z = counter_;
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }
    /// In [0, 1), with the 24 bits that a float holds.
    constexpr auto uniform() noexcept -> float { return static_cast<float>(next() >> 40U) * 0x1p-24F; }
    /// In [0, n).
    constexpr auto below(std::uint64_t n) noexcept -> std::uint64_t { return next() % n; }
    /// Mean 0 and deviation 1, by Box and Muller.
    auto normal() noexcept -> float
    {
        auto const radius = std::sqrt(-2 * std::log(1 - uniform()));
        return radius * std::cos(2 * std::numbers::pi_v<float> * uniform());
    }

    friend constexpr auto operator==(generator, generator) noexcept -> bool = default;

private:
    std::uint64_t counter_;
};

} // namespace engine_eigen
