// SPDX-License-Identifier: Apache-2.0
// A device in host memory: it counts what is live, can be told to fail a call, and knows which uses of memory are in order.
#pragma once

#include <strata/cuda/concepts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace strata::test {

/// What every handle `fake_runtime` acts on.
///
/// Work on a stream is never run; it is numbered, and each piece of it remembers what had to be done before: per stream, how
/// many pieces (a vector clock). An event is a copy of such a clock. Two uses of the same bytes on different streams are in
/// order if the later one's clock counts the earlier one in.
class fake_device {
public:
    using clock = std::map<int, std::size_t>; // per stream: pieces of its work that come before

    std::size_t capacity = std::size_t{1} << 30;
    std::size_t misalign = 0;  ///< added to every address: a multiple of 256
    std::size_t fail_call = 0; ///< this call fails, counted from 1; 0 for none
    int fail_with = 700;
    bool events_happen = false; ///< what a query of an event answers

    std::size_t calls = 0;
    std::map<std::string, std::size_t> calls_of = {};
    std::vector<std::string> offences = {}; ///< misuse of the runtime

    static constexpr int no_memory = 2;

    /// Work on stream `s` that uses the `n` bytes at `p`.
    void use(int s, void const* p, std::size_t n)
    {
        auto const from = reinterpret_cast<std::uintptr_t>(p);
        auto const block = block_of(from);
        if (block == live_.end() || from + n > block->first + block->second.size) {
            offences.push_back("memory is used that is not allocated");
            return;
        }
        touch(s, from, from + n);
    }

    /// Pieces of work of stream `other` that the next work of stream `s` comes after; all that `other` was given if equal.
    [[nodiscard]] auto before(int s, int other) -> std::size_t { return streams_[s][other]; }

    [[nodiscard]] auto live_bytes() const -> std::size_t { return used_; }
    [[nodiscard]] auto live_events() const -> std::size_t { return events_.size(); }
    /// Nothing is left over, and nothing was wrong.
    [[nodiscard]] auto clean() const -> bool { return used_ == 0 && events_.empty() && offences.empty(); }

private:
    friend class fake_runtime;
    struct allocation {
        std::vector<std::byte> bytes;
        std::size_t size;
        bool async;
    };
    struct past_use {
        std::uintptr_t begin, end;
        int stream;
        std::size_t number; // on its stream
    };
    using blocks = std::map<std::uintptr_t, allocation>;

    [[nodiscard]] auto block_of(std::uintptr_t p) -> blocks::iterator
    {
        auto const after = live_.upper_bound(p);
        return after == live_.begin() ? live_.end() : std::prev(after);
    }
    static void merge(clock& into, clock const& from)
    {
        for (auto const& [s, n] : from) {
            into[s] = std::max(into[s], n);
        }
    }
    /// The next piece of work of stream `s`: its number, counted from 1.
    auto advance(int s) -> std::size_t
    {
        auto& c = streams_[s];
        merge(c, host_); // what the host waited for comes before whatever it hands over afterwards
        return ++c[s];
    }
    static auto counts_in(clock const& c, past_use const& u) -> bool
    {
        auto const at = c.find(u.stream);
        return at != c.end() && at->second >= u.number;
    }
    void touch(int s, std::uintptr_t begin, std::uintptr_t end)
    {
        auto const number = advance(s);
        for (auto const& u : uses_) {
            if (u.begin < end && begin < u.end && !counts_in(streams_[s], u)) {
                offences.push_back("stream " + std::to_string(s) + " uses bytes before stream " +
                                   std::to_string(u.stream) + " is done with them");
            }
        }
        // What lies in this range is ordered before this use now, so this use stands for it.
        std::erase_if(uses_, [&](past_use const& u) { return begin <= u.begin && u.end <= end; });
        uses_.push_back({begin, end, s, number});
    }

    auto call(char const* name) -> int
    {
        ++calls_of[name];
        return ++calls == fail_call ? fail_with : 0;
    }
    auto allocate(void*& p, std::size_t n, bool async) -> int
    {
        if (auto const code = call("allocate")) {
            return code;
        }
        if (n > capacity - used_) {
            return no_memory;
        }
        allocation x{std::vector<std::byte>(n + 4096), n, async};
        auto at = reinterpret_cast<std::uintptr_t>(x.bytes.data());
        at = (at + 2047) / 2048 * 2048 + misalign; // as aligned as it says, no more
        p = reinterpret_cast<void*>(at);
        used_ += n;
        live_.emplace(at, std::move(x));
        return 0;
    }
    auto free(void* p, bool async, int s) -> int
    {
        auto const code = call("free"); // even if it answers with an error, as CUDA does for earlier ones
        auto const it = live_.find(reinterpret_cast<std::uintptr_t>(p));
        if (it == live_.end() || it->second.async != async) {
            offences.push_back("memory is freed that was not allocated, or not so");
            return code;
        }
        auto const begin = it->first;
        auto const end = begin + it->second.size;
        if (async) {
            touch(s, begin, end);
        }
        for (auto const& u : uses_) {
            if (!async && u.begin < end && begin < u.end && !counts_in(host_, u)) {
                offences.push_back("memory is freed before stream " + std::to_string(u.stream) + " is done with it");
            }
        }
        std::erase_if(uses_, [&](past_use const& u) { return u.begin < end && begin < u.end; });
        used_ -= it->second.size;
        live_.erase(it);
        return code;
    }

    blocks live_;
    std::size_t used_ = 0;
    std::map<int, clock> events_; // live ones
    int next_event_ = 1;
    std::map<int, clock> streams_;
    clock host_;
    std::vector<past_use> uses_;
};

/// Handle to a `fake_device`, which outlives it. Streams and events are numbers; 0 is the default stream.
class fake_runtime {
public:
    using stream = int;
    using event = int;

    explicit fake_runtime(fake_device& d)
        : d_(&d)
    {
    }

    auto allocate(void*& p, std::size_t n) -> int { return d_->allocate(p, n, false); }
    auto free(void* p) -> int { return d_->free(p, false, 0); }
    auto allocate_async(void*& p, std::size_t n, stream s) -> int
    {
        auto const code = d_->allocate(p, n, true);
        if (code == 0) {
            auto const begin = reinterpret_cast<std::uintptr_t>(p);
            d_->touch(s, begin, begin + n);
        }
        return code;
    }
    auto free_async(void* p, stream s) -> int { return d_->free(p, true, s); }

    auto create(event& e) -> int
    {
        if (auto const code = d_->call("create")) {
            return code;
        }
        e = d_->next_event_++;
        d_->events_[e] = {};
        return 0;
    }
    auto destroy(event e) -> int
    {
        auto const code = d_->call("destroy");
        if (d_->events_.erase(e) == 0) {
            d_->offences.emplace_back("an event is destroyed that there is not");
        }
        return code;
    }
    auto record(event e, stream s) -> int
    {
        if (auto const code = d_->call("record")) {
            return code;
        }
        known(e);
        d_->advance(s);
        d_->events_[e] = d_->streams_[s];
        return 0;
    }
    auto wait(stream s, event e) -> int
    {
        if (auto const code = d_->call("wait")) {
            return code;
        }
        known(e);
        d_->advance(s);
        fake_device::merge(d_->streams_[s], d_->events_[e]);
        return 0;
    }
    auto query(event e, bool& done) -> int
    {
        auto const code = d_->call("query");
        known(e);
        done = code == 0 && d_->events_happen;
        return code;
    }
    auto synchronize(stream s) -> int
    {
        auto const code = d_->call("synchronize"); // errors of earlier work; the stream is idle nevertheless
        fake_device::merge(d_->host_, d_->streams_[s]);
        return code;
    }

    auto memory(std::size_t& unused, std::size_t& all) -> int
    {
        if (auto const code = d_->call("memory")) {
            return code;
        }
        all = d_->capacity;
        unused = d_->capacity - d_->used_;
        return 0;
    }
    [[nodiscard]] auto text(int code) const -> char const*
    {
        return code == fake_device::no_memory ? "out of memory" : "an illegal memory access was encountered";
    }
    [[nodiscard]] auto ran_out(int code) const -> bool { return code == fake_device::no_memory; }

private:
    void known(event e)
    {
        if (!d_->events_.contains(e)) {
            d_->offences.emplace_back("an event is used that there is not");
        }
    }

    fake_device* d_;
};

} // namespace strata::test
