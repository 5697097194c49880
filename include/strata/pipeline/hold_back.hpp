// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A step as it is planned when its buffers need room to be packed: some bytes are held back from some ops.
#pragma once

#include <strata/bound/minimum_budget.hpp>
#include <strata/place/placement.hpp>
#include <strata/problem/problem.hpp>
#include <strata/result.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace strata::detail {

/// By how much buffers that live while an op runs end above `room` bytes, at worst: 0 where everything fits.
/// Requires: `x` places `s`. Complexity: O(steps × number of buffers that end above).
template <class = void>
[[nodiscard]] auto missing_at(problem const& p, schedule const& s, placement const& x, bytes_t room)
    -> std::vector<bytes_t>
{
    std::vector<bytes_t> missing(static_cast<std::size_t>(p.op_count()), 0);
    for (std::size_t i = 0; i < x.lifetimes.size(); ++i) {
        auto const& l = x.lifetimes[i];
        auto const above = x.offsets[i] + l.size - room;
        for (auto k = l.begin; k < l.end && above > 0; ++k) {
            if (s.steps[k].action == action::run) {
                auto& most = missing[static_cast<std::size_t>(s.steps[k].id)];
                most = std::max(most, above);
            }
        }
    }
    return missing;
}

/// `p` with scratch memory that nobody uses, `held[o]` bytes of it for op `o`: a plan for it leaves so many bytes free
/// while `o` runs. No op is given more than leaves room in `bytes` for what every plan has there.
template <class = void>
[[nodiscard]] auto hold_back(problem const& p, bytes_t bytes, std::span<bytes_t const> held) -> result<problem>
{
    auto const needed = fixed_bytes(p);
    auto spec = p.spec();
    for (std::size_t o = 0; o < spec.ops.size(); ++o) {
        spec.ops[o].workspace += std::clamp<bytes_t>(bytes - needed[o], 0, held[o]);
    }
    return problem::make(std::move(spec));
}

/// How much to hold back from each op, more and more until a plan has its place.
///
/// First, as many bytes as were missing, from all ops but those around the instant where memory is tightest: lifetimes that
/// must fit without a gap at one instant still pack, those that must do so all the time do not; and the least cost is
/// decided at the tightest instant. Then, what is still missing is taken where it is missing, and half of it elsewhere. If
/// that leads nowhere soon, the same is taken from all ops: more than twice as much each time, and when that leaves no plan,
/// halfway between what was too little and what is too much.
template <class Lazy = void>
class basic_reserve {
public:
    basic_reserve(problem const& p, op_id tightest)
        : held_(static_cast<std::size_t>(p.op_count()), 0)
        , fails_(held_)
        , tightest_(tightest)
        , around_(p.op_count() / window)
    {
    }

    /// What to hold back from each op.
    [[nodiscard]] auto held() const noexcept -> std::vector<bytes_t> const& { return held_; }

    // Each of these chooses what to hold back next. Returns: false if there is nothing else to try.

    /// The plan for `held` needs `missing` bytes more than there are, those of `here` at each op.
    [[nodiscard]] auto raise(bytes_t missing, std::vector<bytes_t> here) -> bool
    {
        fails_ = held_;
        missing_ = missing = std::min(missing, huge);
        if (++failures_ > patient) {
            too_little_ = taken_;
            return take_everywhere();
        }
        if (failures_ == 1) {
            here.assign(held_.size(), missing);
        }
        for (std::size_t o = 0; o < held_.size(); ++o) {
            auto const apart = static_cast<op_id>(o) - tightest_;
            if (apart < -around_ || apart > around_) {
                held_[o] += std::max(missing / 2, std::min(std::exchange(here[o], 0), huge));
            }
        }
        rest_ = std::move(here);
        return true;
    }

    /// The plan for `held` is the one before, so take from the ops around the tightest instant as well, or more from all.
    [[nodiscard]] auto raise_again() -> bool
    {
        if (failures_ > patient || std::all_of(rest_.begin(), rest_.end(), [](bytes_t b) { return b == 0; })) {
            return raise(missing_, std::vector<bytes_t>(held_.size(), missing_));
        }
        std::transform(held_.begin(), held_.end(), rest_.begin(), held_.begin(), [](bytes_t held, bytes_t rest) {
            return held + std::min(rest, huge);
        });
        rest_.clear();
        return true;
    }

    /// There is no plan for `held`.
    [[nodiscard]] auto lower() -> bool
    {
        if (failures_ > patient) {
            too_much_ = taken_;
        }
        failures_ = patient + 1;
        return take_everywhere();
    }

    /// Halfway back to what failed: a plan for `held` has its place, and might have had it for less.
    void ease()
    {
        std::transform(held_.begin(), held_.end(), fails_.begin(), held_.begin(), [](bytes_t works, bytes_t failed) {
            return failed + (works - failed) / 2;
        });
    }

private:
    static constexpr int patient = 4;               // failures after which bytes are held back from all ops alike
    static constexpr op_id window = 20;             // a share of the ops, to each side of the tightest instant
    static constexpr bytes_t huge = max_bytes / 64; // more than any memory; keeps the sums in range

    auto take_everywhere() -> bool
    {
        taken_ = std::min(2 * std::min(too_little_, 16 * huge) + missing_, too_little_ + (too_much_ - too_little_) / 2);
        fails_.assign(held_.size(), too_little_);
        held_.assign(held_.size(), taken_);
        return taken_ > too_little_;
    }

    std::vector<bytes_t> held_;
    std::vector<bytes_t> fails_; // what was held back when last a plan had no place
    std::vector<bytes_t> rest_;  // missing around the tightest instant, and not yet held back
    op_id tightest_;
    op_id around_;
    int failures_ = 0;
    bytes_t missing_ = 0;
    bytes_t taken_ = 0; // from all ops alike; so are the limits of what else is worth trying
    bytes_t too_little_ = 0;
    bytes_t too_much_ = max_bytes;
};

using reserve = basic_reserve<>;

} // namespace strata::detail
