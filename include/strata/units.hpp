// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Names for the numbers of a problem: bytes, cost, op and tensor ids, budgets; sums that notice overflow.
///
/// Bytes and costs are 64-bit integers under one name each, so that arrays of them stay plain numbers. A budget is
/// the one quantity a person writes by hand, and the one that tools mistake for another unit; it is a type of its own.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace strata {

/// A number of bytes. Never negative in a valid problem.
using bytes_t = std::int64_t;

/// Time of an op in the one unit of its graph, nanoseconds by convention. Never negative in a valid problem.
using cost_t = std::int64_t;

/// Index of an op in first-run order, counted from 0.
using op_id = std::int32_t;

/// Index of a tensor, counted from 0.
using tensor_id = std::int32_t;

/// Stands for "no op" and "no tensor".
inline constexpr std::int32_t none = -1;

inline constexpr bytes_t max_bytes = std::numeric_limits<bytes_t>::max();
inline constexpr cost_t max_cost = std::numeric_limits<cost_t>::max();

/// Adds `b` to `sum` unless the result leaves the 64-bit range.
/// Returns: false, with `sum` unchanged, on overflow.
[[nodiscard]] constexpr auto checked_add(std::int64_t& sum, std::int64_t b) noexcept -> bool
{
    std::int64_t r = 0;
    if (__builtin_add_overflow(sum, b, &r)) {
        return false;
    }
    sum = r;
    return true;
}

/// Bytes rounded up to a multiple of `alignment` (a positive number).
/// Returns: `max_bytes` when the rounded value leaves the 64-bit range; callers treat it as overflow.
[[nodiscard]] constexpr auto align_up(bytes_t size, bytes_t alignment) noexcept -> bytes_t
{
    auto const rest = size % alignment;
    if (rest == 0) {
        return size;
    }
    bytes_t r = size - rest;
    return checked_add(r, alignment) ? r : max_bytes;
}

/// The most bytes a step may use at any instant: either an absolute number, resident tensors included, or a share
/// of the dynamic (non-resident) peak of the keep-all schedule, to which the resident bytes are added.
class budget {
public:
    /// No limit: keeps everything.
    constexpr budget() noexcept = default;

    /// `n` bytes in all, resident tensors included.
    [[nodiscard]] static constexpr auto bytes(bytes_t n) noexcept -> budget
    {
        budget b;
        b.bytes_ = n;
        return b;
    }

    /// `share` (0.6 for 60 %) of the dynamic keep-all peak, plus the resident bytes.
    [[nodiscard]] static constexpr auto fraction(double share) noexcept -> budget
    {
        budget b;
        b.share_ = share;
        b.relative_ = true;
        return b;
    }

    [[nodiscard]] constexpr auto is_fraction() const noexcept -> bool { return relative_; }

    /// The share given to `fraction`; meaningless for an absolute budget.
    [[nodiscard]] constexpr auto share() const noexcept -> double { return share_; }

    /// This budget in bytes for a problem of which the resident bytes and the dynamic keep-all peak are given.
    /// Rounds down, so a plan that fits the answer fits the budget.
    [[nodiscard]] constexpr auto resolve(bytes_t resident, bytes_t dynamic_keep_all_peak) const noexcept -> bytes_t
    {
        if (!relative_) {
            return bytes_;
        }
        long double const x = static_cast<long double>(share_) * static_cast<long double>(dynamic_keep_all_peak);
        if (!(x > 0)) {
            return resident;
        }
        if (x >= static_cast<long double>(max_bytes - resident)) {
            return max_bytes;
        }
        auto n = static_cast<bytes_t>(x);
        // A share such as 0.6 is no binary fraction: what misses a whole number only by that is the whole number.
        if (static_cast<long double>(n) + 1 - x <= x * (std::numeric_limits<double>::epsilon() / 2)) {
            ++n;
        }
        return resident + n;
    }

    friend constexpr auto operator==(budget const&, budget const&) noexcept -> bool = default;

private:
    bytes_t bytes_ = max_bytes;
    double share_ = 0;
    bool relative_ = false;
};

/// Budgets as a person writes them: `2_GiB`, `500_MB`, `60_percent`.
inline namespace literals {
[[nodiscard]] constexpr auto operator""_B(unsigned long long n) -> budget
{
    return budget::bytes(static_cast<bytes_t>(n));
}
[[nodiscard]] constexpr auto operator""_KB(unsigned long long n) -> budget
{
    return budget::bytes(static_cast<bytes_t>(n) * 1000);
}
[[nodiscard]] constexpr auto operator""_MB(unsigned long long n) -> budget
{
    return budget::bytes(static_cast<bytes_t>(n) * 1000'000);
}
[[nodiscard]] constexpr auto operator""_GB(unsigned long long n) -> budget
{
    return budget::bytes(static_cast<bytes_t>(n) * 1000'000'000);
}
[[nodiscard]] constexpr auto operator""_KiB(unsigned long long n) -> budget
{
    return budget::bytes(static_cast<bytes_t>(n) << 10U);
}
[[nodiscard]] constexpr auto operator""_MiB(unsigned long long n) -> budget
{
    return budget::bytes(static_cast<bytes_t>(n) << 20U);
}
[[nodiscard]] constexpr auto operator""_GiB(unsigned long long n) -> budget
{
    return budget::bytes(static_cast<bytes_t>(n) << 30U);
}
[[nodiscard]] constexpr auto operator""_percent(unsigned long long n) -> budget
{
    return budget::fraction(static_cast<double>(n) / 100);
}
[[nodiscard]] constexpr auto operator""_percent(long double n) -> budget
{
    return budget::fraction(static_cast<double>(n) / 100);
}
} // namespace literals

} // namespace strata
