// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A source of memory that keeps count: live bytes, their peak and the number of allocations, in all and by tag.
#pragma once

#include <strata/config.hpp>
#include <strata/execute/concepts.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace strata {

/// Allocations that were counted together.
struct memory_count {
    std::size_t live = 0;  ///< bytes that are out
    std::size_t peak = 0;  ///< most bytes that were out at once
    std::size_t count = 0; ///< allocations so far
    friend auto operator==(memory_count const&, memory_count const&) -> bool = default;
};

/// Hands on what another source gives, and counts it under the tag that is set. Streams are handed on where the source
/// knows them.
///
/// Not thread-safe. Requires: the source outlives it.
template <memory_source M>
class tracking_resource {
public:
    static constexpr bool stream_ordered = strata::stream_ordered<M>;
    using counts = std::map<std::string, memory_count, std::less<>>;

    explicit tracking_resource(M& from)
        : from_(&from)
        , tag_(by_tag_.try_emplace("").first)
    {
    }

    /// Throws: what the source throws, `std::bad_alloc`; then nothing is counted.
    [[nodiscard]] auto allocate(std::size_t n, std::size_t alignment) -> void*
    {
        return counted(n, [&] { return from_->allocate(n, alignment); });
    }
    template <class Stream>
    [[nodiscard]] auto allocate(std::size_t n, std::size_t alignment, Stream s) -> void*
        requires requires(M& m) { m.allocate(n, alignment, s); }
    {
        return counted(n, [&] { return from_->allocate(n, alignment, s); });
    }

    /// Requires: `allocate` gave it.
    void deallocate(void* p, std::size_t n, std::size_t alignment) noexcept
    {
        forget(p, n);
        from_->deallocate(p, n, alignment);
    }
    template <class Stream>
    void deallocate(void* p, std::size_t n, std::size_t alignment, Stream s) noexcept
        requires requires(M& m) { m.deallocate(p, n, alignment, s); }
    {
        forget(p, n);
        from_->deallocate(p, n, alignment, s);
    }

    /// From now on allocations are counted under `tag`, which is empty at first.
    /// Returns: the tag until now, to be set again.
    auto set_tag(std::string_view tag) -> std::string
    {
        auto at = by_tag_.find(tag);
        if (at == by_tag_.end()) {
            at = by_tag_.try_emplace(std::string(tag)).first;
        }
        return std::exchange(tag_, at)->first;
    }

    [[nodiscard]] auto total() const noexcept -> memory_count const& { return total_; }

    /// Counts of every tag that was set, and of the empty one. Complexity: O(1).
    [[nodiscard]] auto by_tag() const noexcept -> counts const& { return by_tag_; }

private:
    static void add(memory_count& to, std::size_t n) noexcept
    {
        to.live += n;
        to.peak = std::max(to.peak, to.live);
        ++to.count;
    }

    template <class Allocate>
    auto counted(std::size_t n, Allocate const& allocate) -> void*
    {
        if (n == 0) { // may have an address that others have, too
            void* const p = allocate();
            add(total_, 0);
            add(tag_->second, 0);
            return p;
        }
        std::map<void*, typename counts::iterator>
            entry; // what may throw does so before there is anything to give back
        auto node = (entry.emplace(nullptr, tag_), entry.extract(entry.begin()));
        node.key() = allocate();
        auto* const p = node.key();
        out_.insert(std::move(node));
        add(total_, n);
        add(tag_->second, n);
        return p;
    }

    void forget(void* p, std::size_t n) noexcept
    {
        if (n == 0) {
            return;
        }
        auto const at = out_.find(p);
        STRATA_ASSERT(at != out_.end() && "strata::tracking_resource: what is given back was not allocated");
        if (at != out_.end()) {
            at->second->second.live -= n;
            total_.live -= n;
            out_.erase(at);
        }
    }

    M* from_;
    counts by_tag_;
    typename counts::iterator tag_;
    memory_count total_;
    std::map<void*, typename counts::iterator> out_; // under which tag
};

} // namespace strata
