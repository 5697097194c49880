// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Makes one stream wait until another is done with memory, by events that are made once and used again.
#pragma once

#include <strata/cuda/concepts.hpp>
#include <strata/cuda/error.hpp>

#include <cstddef>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

namespace strata {

/// The last uses of pieces of memory, and the events that tell when they are over.
///
/// A `mark` says that a stream was the last to use something. It may carry an event; several marks may share one. Copies
/// of a mark are made by `share` and every mark is given to `drop` once. Requires: every stream outlives it.
template <device_runtime R>
class stream_order {
public:
    using stream = typename R::stream;

    class mark {
    public:
        mark() = default; ///< nobody uses it, and nobody need be waited for
        [[nodiscard]] auto nobody() const noexcept -> bool { return !used_; }
        [[nodiscard]] auto on() const noexcept -> stream const& { return on_; }

    private:
        friend class stream_order;
        explicit mark(stream s)
            : on_(s)
            , used_(true)
        {
        }
        stream on_ = {};
        bool used_ = false;
        std::size_t event_ = no_event;
    };

    explicit stream_order(R runtime)
        : runtime_(std::move(runtime))
    {
    }
    stream_order(stream_order const&) = delete;
    auto operator=(stream_order const&) -> stream_order& = delete;
    ~stream_order()
    {
        for (auto const& x : events_) {
            static_cast<void>(runtime_.destroy(x.event));
        }
    }

    /// A mark for what `s` was given so far. With `record`, an event is recorded now, unless that fails: then, as without
    /// it, one is recorded when another stream has to wait, which then waits for what `s` was given in between, too.
    [[nodiscard]] auto mark_now(stream s, bool record) noexcept -> mark
    {
        several_ = several_ || (seen_ && seen_ != s);
        seen_ = s;
        mark m(s);
        if (record) {
            try {
                record_for(m);
            } catch (std::exception const&) {
                m.event_ = no_event; // a later wait tries again, and may throw
            }
        }
        return m;
    }

    /// Another mark of the same use.
    [[nodiscard]] auto share(mark const& m) noexcept -> mark
    {
        if (m.event_ != no_event) {
            ++events_[m.event_].marks;
        }
        return m;
    }

    /// `m` is needed no longer; its event serves others once no mark has it.
    void drop(mark const& m) noexcept
    {
        if (m.event_ != no_event && --events_[m.event_].marks == 0) {
            idle_.push_back(m.event_); // has room for every event
        }
    }

    /// What `s` is given from now on waits until the use of `m` is over.
    /// Returns: whether an event was needed: `m` is a use by another stream.
    /// Throws: `cuda_error`, `std::bad_alloc`.
    auto wait(stream s, mark& m) -> bool
    {
        if (m.nobody() || m.on_ == s) {
            return false;
        }
        if (m.event_ == no_event) {
            record_for(m);
        }
        detail::check_call(runtime_, "wait for an event", runtime_.wait(s, events_[m.event_].event));
        return true;
    }

    /// Whether the use of `m` is known to be over, for every stream. Asks the device, waits for nothing.
    [[nodiscard]] auto over(mark const& m) noexcept -> bool
    {
        bool done = false;
        return m.nobody() || (m.event_ != no_event && runtime_.query(events_[m.event_].event, done) == 0 && done);
    }

    /// Whether both marks are of one use.
    [[nodiscard]] static auto same(mark const& a, mark const& b) noexcept -> bool
    {
        return a.nobody() == b.nobody() && a.event_ == b.event_ && (a.nobody() || a.on_ == b.on_);
    }

    /// Returns when the use of `m` is over.
    void finish(mark const& m) noexcept
    {
        if (!m.nobody()) {
            static_cast<void>(runtime_.synchronize(m.on_));
        }
    }

    /// Whether marks of more than one stream were made.
    [[nodiscard]] auto several() const noexcept -> bool { return several_; }

    /// Events that were made so far.
    [[nodiscard]] auto events() const noexcept -> std::size_t { return events_.size(); }

    [[nodiscard]] auto runtime() noexcept -> R& { return runtime_; }

private:
    static constexpr auto no_event = static_cast<std::size_t>(-1);
    struct shared_event {
        typename R::event event;
        std::size_t marks;
    };

    void record_for(mark& m)
    {
        if (idle_.empty()) {
            if (events_.size() == events_.capacity()) {
                events_.reserve(2 * events_.size() + 1);
            }
            idle_.reserve(events_.capacity());
            typename R::event e = {};
            detail::check_call(runtime_, "create an event", runtime_.create(e));
            events_.push_back({e, 0});
            idle_.push_back(events_.size() - 1);
        }
        auto const i = idle_.back();
        detail::check_call(runtime_, "record an event", runtime_.record(events_[i].event, m.on_));
        idle_.pop_back();
        events_[i].marks = 1;
        m.event_ = i;
    }

    R runtime_;
    std::vector<shared_event> events_;
    std::vector<std::size_t> idle_;
    std::optional<stream> seen_;
    bool several_ = false;
};

} // namespace strata
