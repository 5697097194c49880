// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What a planning run may use: budget, time, threads, randomness; how it reports and how it is stopped.
#pragma once

#include <strata/error.hpp>
#include <strata/units.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string_view>

namespace strata {

/// Where a planning run stands; handed to `limits::on_progress`.
struct progress {
    double done = 0;             ///< share of the planned work, 0 to 1, never falls
    std::string_view stage = {}; ///< what is being done, valid during the call
    double best_overhead = -1;   ///< overhead of the best valid plan so far, as a fraction; negative when there is none
};

/// Everything that bounds a planning run. Every member has a safe default.
struct limits {
    strata::budget budget = {};                            ///< bytes the peak, and the arena, may reach; default none
    std::optional<std::chrono::nanoseconds> deadline = {}; ///< from the call on; then the best plan so far is returned
    unsigned threads = 1;                                  ///< never changes the plan; 0 counts as 1
    std::uint64_t seed = 1;                                ///< of every random choice
    std::stop_token cancel = {};                           ///< like a deadline that falls when stop is requested
    std::function<void(progress const&)> on_progress = {}; ///< called on the caller's thread; must not throw
    bytes_t alignment = 0;                                 ///< of sizes and offsets; 0 keeps the problem's own
    /// Whether every buffer also gets an offset in one arena, which must fit the budget too. Without, only the peak is
    /// bounded, which is quicker and fits more: for an engine that has its own allocator.
    bool place = true;
};

/// Answers "must I stop?" for code that runs under `limits`. Cheap enough for an inner loop.
class stop_watch {
public:
    stop_watch() = default;
    explicit stop_watch(limits const& lim)
        : cancel_(lim.cancel)
    {
        if (lim.deadline) {
            auto const now = clock::now();
            // A deadline beyond the clock's range is no deadline.
            end_ = *lim.deadline < clock::time_point::max() - now ? now + *lim.deadline : clock::time_point::max();
        }
    }

    /// True once the deadline has passed or cancellation is requested; stays true.
    [[nodiscard]] auto expired() const noexcept -> bool
    {
        return cancel_.stop_requested() || (end_ != clock::time_point::max() && clock::now() >= end_);
    }

    /// Time left until the deadline, not negative; nothing without a deadline. For code that takes a time, not a question.
    [[nodiscard]] auto remaining() const noexcept -> std::optional<std::chrono::nanoseconds>
    {
        if (end_ == clock::time_point::max()) {
            return {};
        }
        auto const now = clock::now();
        return end_ > now ? std::chrono::nanoseconds(end_ - now) : std::chrono::nanoseconds(0);
    }

    /// The error for a run that had to stop with nothing to show.
    [[nodiscard]] auto why() const noexcept -> errc
    {
        return cancel_.stop_requested() ? errc::cancelled : errc::deadline;
    }

    /// True when time can run out.
    [[nodiscard]] auto timed() const noexcept -> bool { return end_ != clock::time_point::max(); }

    /// One that expires `time` from now, whatever this one says: for what is worth doing even when time is up.
    [[nodiscard]] static auto grace(std::chrono::nanoseconds time) -> stop_watch
    {
        stop_watch r;
        r.end_ = clock::now() + std::chrono::duration_cast<clock::duration>(time);
        return r;
    }

    /// One that expires when `share` (0 to 1) of the time left has passed; the same one when time cannot run out.
    [[nodiscard]] auto part(double share) const noexcept -> stop_watch
    {
        auto r = *this;
        if (auto const now = clock::now(); timed() && now < end_) {
            r.end_ = now + std::chrono::duration_cast<clock::duration>((end_ - now) * share);
        }
        return r;
    }

private:
    using clock = std::chrono::steady_clock;
    std::stop_token cancel_;
    clock::time_point end_ = clock::time_point::max();
};

} // namespace strata
