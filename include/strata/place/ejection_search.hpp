// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Local search for a placement within a capacity: makes room for what sticks out by taking out what is in the way.
///
/// Everything that ends above the capacity is taken out of a given placement. Then, again and again, the buffer that is
/// hardest to place goes back to the offset where it is in the way of the least; what lies there is taken out in turn.
/// Which buffers are hard is known in part beforehand: those that live when it is crowded, and those that live long. The
/// rest is learned: each time a buffer needs others to be taken out, it becomes harder to take it out itself. (Ejection
/// search with penalty counters: Y. Nagata, O. Bräysy, "A powerful route minimization heuristic for the vehicle routing
/// problem with time windows", 2009.)
///
/// It moves only what is in the way, so it copes with many thousands of buffers of which few do not fit. It proves nothing.
#pragma once

#include <strata/detail/lazy.hpp>
#include <strata/detail/math.hpp>
#include <strata/detail/mix.hpp>
#include <strata/place/contention.hpp>
#include <strata/place/placement.hpp>
#include <strata/place/skyline.hpp>
#include <strata/solve/limits.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace strata::detail {

/// Searches one set of lifetimes for placements within capacities of the caller's choice.
template <class Lazy = void>
class basic_ejection_search {
public:
    /// Requires: sizes are not negative, twice their sum (rounded up to `alignment`) fits 64 bits.
    /// Complexity: O(n log n) time and memory.
    basic_ejection_search(std::span<lifetime const> lifetimes, bytes_t alignment, std::uint64_t seed)
        : lifetimes_(lifetimes)
        , seed_(seed)
        , offsets_(lifetimes.size(), 0)
        , alignment_(alignment)
        , placed_(lifetimes.size(), 0)
        , penalty_(lifetimes.size(), 1)
    {
        for (auto const& x : lifetimes) {
            size_.push_back(x.begin < x.end ? align_up(x.size, alignment) : 0);
        }
        list_by_begin();
        weigh();
    }

    /// Looks for a placement whose buffers, rounded up, end at or below `capacity`, beginning with the offsets `from`.
    ///
    /// Does at most `max_work` work (see `work`), or a little more. Same calls in the same order, same answers.
    /// Requires: `from` is a valid placement.
    /// Returns: true if `offsets` fit.
    auto run(std::span<bytes_t const> from, bytes_t capacity, std::int64_t max_work, stop_watch const& stop) -> bool;

    [[nodiscard]] auto offsets() const noexcept -> std::vector<bytes_t> const& { return offsets_; }
    /// Buffers put back, and one more for every 32 buffers looked at, over all runs: about a microsecond each.
    [[nodiscard]] auto work() const noexcept -> std::int64_t { return work_; }

private:
    using index = std::uint32_t;
    static constexpr std::int64_t most_penalty = 100'000; // sums of weights times penalties must fit
    struct checkpoint { // what lives when the buffer at `position` begins: alive_[first, last)
        std::size_t position;
        std::size_t first;
        std::size_t last;
    };
    struct block { // addresses that buffers in the way take, and what it takes to move all that lie exactly there
        bytes_t begin;
        bytes_t end;
        std::int64_t weight;
    };
    struct change {
        bytes_t offset;
        std::int64_t weight;
    };
    struct spot {
        bytes_t offset;
        std::int64_t weight; // of what has to go
    };

    void list_by_begin();
    void weigh();
    void take_out(index b);
    void list_blocks(index b);
    [[nodiscard]] auto best_spot(bytes_t size, bytes_t capacity) -> spot;
    void settle(bytes_t capacity, bool down);
    void add_block(bytes_t begin, bytes_t end, std::int64_t weight);

    std::span<lifetime const> lifetimes_;
    std::uint64_t seed_;
    std::uint64_t drawn_ = 0;
    std::vector<bytes_t> size_;
    std::vector<bytes_t> offsets_;
    bytes_t alignment_;
    std::vector<char> placed_;
    std::vector<std::int64_t> penalty_;                     // grows each time others had to go
    std::vector<std::int64_t> weight_;                      // known beforehand
    std::vector<index> by_begin_;                           // buffers of more than zero bytes
    std::vector<std::size_t> begins_;                       // of those
    std::vector<std::pair<std::size_t, std::size_t>> span_; // of each buffer: the begins during its life
    skyline ground_;
    std::vector<index> alive_;
    std::vector<checkpoint> checkpoints_;
    std::vector<lazy<std::pair<std::int64_t, index>, Lazy>> out_; // heap: hardest first
    std::vector<index> in_the_way_;
    std::vector<index> falling_;
    std::vector<block> blocks_;
    std::vector<std::uint32_t> table_; // hash of a block -> its index in blocks_ + 1
    std::vector<change> changes_;
    std::int64_t work_ = 0;
};

using ejection_search = basic_ejection_search<>;

/// Lists of what is alive are kept at so few instants that together they are no longer than the list of all buffers.
template <class Lazy>
void basic_ejection_search<Lazy>::list_by_begin()
{
    for (std::size_t i = 0; i < size_.size(); ++i) {
        if (size_[i] > 0) {
            by_begin_.push_back(static_cast<index>(i));
        }
    }
    std::stable_sort(by_begin_.begin(), by_begin_.end(), [&](index a, index b) {
        return lifetimes_[a].begin < lifetimes_[b].begin;
    });
    constexpr std::size_t apart = 32;
    std::vector<index> alive;
    for (std::size_t k = 0, next = 0; k < by_begin_.size(); ++k) {
        auto const begin = lifetimes_[by_begin_[k]].begin;
        begins_.push_back(begin);
        if (k == next) {
            alive.erase(std::remove_if(alive.begin(), alive.end(), [&](index b) { return lifetimes_[b].end <= begin; }),
                        alive.end());
            checkpoints_.push_back({k, alive_.size(), alive_.size() + alive.size()});
            alive_.insert(alive_.end(), alive.begin(), alive.end());
            next = k + std::max(apart, alive.size());
        }
        alive.push_back(by_begin_[k]);
    }
    auto const position = [&](std::size_t t) {
        return static_cast<std::size_t>(std::lower_bound(begins_.begin(), begins_.end(), t) - begins_.begin());
    };
    for (auto const& x : lifetimes_) {
        span_.emplace_back(position(x.begin), position(x.end));
    }
    ground_ = skyline(begins_.size());
}

template <class Lazy>
void basic_ejection_search<Lazy>::weigh()
{
    constexpr double slack = 0.02; // buffers this close to the largest load are about equally hard
    constexpr double scale = 1000;
    auto const crowd = contention_of(lifetimes_);
    std::vector<double> raw;
    double largest = 0;
    for (std::size_t i = 0; i < size_.size(); ++i) {
        auto const& x = lifetimes_[i];
        auto const area = size_[i] > 0 ? static_cast<double>(x.end - x.begin) * static_cast<double>(size_[i]) : 0;
        raw.push_back(math::sqrt(area) / (1 + slack - crowd[i]));
        largest = std::max(largest, raw.back());
    }
    for (auto w : raw) {
        weight_.push_back(1 + static_cast<std::int64_t>(scale * scale * (largest > 0 ? w / largest : 0)));
    }
}

template <class Lazy>
void basic_ejection_search<Lazy>::take_out(index b)
{
    placed_[b] = 0;
    out_.emplace_back(weight_[b] * penalty_[b], b);
    std::push_heap(out_.begin(), out_.end());
}

/// Sets `in_the_way_` to the placed buffers that live at some time when `b` does, and `blocks_` to where they lie.
template <class Lazy>
void basic_ejection_search<Lazy>::list_blocks(index b)
{
    in_the_way_.clear();
    auto const begin = lifetimes_[b].begin;
    auto const end = lifetimes_[b].end;
    auto const k = static_cast<std::size_t>(std::lower_bound(begins_.begin(), begins_.end(), begin) - begins_.begin());
    auto const c = *std::prev(
        std::upper_bound(checkpoints_.begin(), checkpoints_.end(), k, [](std::size_t p, checkpoint const& x) {
            return p < x.position;
        }));
    auto const use = [&](index o) {
        if (placed_[o] != 0 && lifetimes_[o].end > begin) {
            in_the_way_.push_back(o);
        }
    };
    std::for_each(alive_.begin() + static_cast<std::ptrdiff_t>(c.first),
                  alive_.begin() + static_cast<std::ptrdiff_t>(c.last),
                  use);
    for (auto j = c.position; j < begins_.size() && begins_[j] < end; ++j) {
        use(by_begin_[j]);
    }
    std::size_t slots = 64;
    while (slots < 2 * in_the_way_.size()) {
        slots *= 2;
    }
    table_.assign(slots, 0);
    blocks_.clear();
    for (auto o : in_the_way_) {
        add_block(offsets_[o], offsets_[o] + size_[o], weight_[o] * penalty_[o]);
    }
    work_ += 1 + static_cast<std::int64_t>(in_the_way_.size() / 32);
}

/// A step has few distinct sizes, so many buffers lie in the same places one after the other.
template <class Lazy>
void basic_ejection_search<Lazy>::add_block(bytes_t begin, bytes_t end, std::int64_t weight)
{
    auto slot = mix(static_cast<std::uint64_t>(begin) * 31 + static_cast<std::uint64_t>(end)) & (table_.size() - 1);
    while (table_[slot] != 0) {
        auto& x = blocks_[table_[slot] - 1];
        if (x.begin == begin && x.end == end) {
            x.weight += weight;
            return;
        }
        slot = (slot + 1) & (table_.size() - 1);
    }
    blocks_.push_back({begin, end, weight});
    table_[slot] = static_cast<std::uint32_t>(blocks_.size());
}

/// The offset where `size` bytes have the least weight of blocks in the way; one of them at random if there are several.
/// Requires: size <= capacity.
template <class Lazy>
auto basic_ejection_search<Lazy>::best_spot(bytes_t size, bytes_t capacity) -> spot
{
    changes_.clear(); // of the weight in the way as the offset grows
    for (auto const& x : blocks_) {
        changes_.push_back({x.begin - size + 1, x.weight});
        changes_.push_back({x.end, -x.weight});
    }
    std::sort(changes_.begin(), changes_.end(), [](change const& a, change const& b) { return a.offset < b.offset; });
    spot best{0, INT64_MAX};
    std::uint64_t equal = 0;
    std::int64_t weight = 0;
    auto const consider = [&](bytes_t offset) {
        if (offset < 0 || offset > capacity - size || weight > best.weight) {
            return;
        }
        equal = weight < best.weight ? 1 : equal + 1;
        if (equal == 1 || mix(seed_ + ++drawn_) % equal == 0) {
            best = {offset, weight};
        }
    };
    std::size_t k = 0;
    for (; k < changes_.size() && changes_[k].offset <= 0; ++k) {
        weight += changes_[k].weight;
    }
    consider(0);
    while (k < changes_.size() && changes_[k].offset <= capacity - size + 1) {
        auto const offset = changes_[k].offset;
        auto const group = k;
        while (k < changes_.size() && changes_[k].offset == offset) {
            ++k;
        }
        auto const first = changes_.begin() + static_cast<std::ptrdiff_t>(group);
        auto const last = changes_.begin() + static_cast<std::ptrdiff_t>(k);
        if (std::any_of(first, last, [](change const& x) { return x.weight > 0; })) {
            consider(offset - 1); // against the block above
        }
        std::for_each(first, last, [&](change const& x) { weight += x.weight; });
        if (std::any_of(first, last, [](change const& x) { return x.weight < 0; })) {
            consider(offset); // on the block below
        }
    }
    return best;
}

/// Lets everything placed fall to the bottom, or rise to the top, as far as it can: holes become fewer and larger.
template <class Lazy>
void basic_ejection_search<Lazy>::settle(bytes_t capacity, bool down)
{
    auto const top = capacity - capacity % alignment_;
    auto const height = [&](index b) { return down ? offsets_[b] : top - offsets_[b] - size_[b]; };
    falling_.clear();
    std::copy_if(
        by_begin_.begin(), by_begin_.end(), std::back_inserter(falling_), [&](index b) { return placed_[b] != 0; });
    std::sort(falling_.begin(), falling_.end(), [&](index a, index b) {
        return std::pair(height(a), a) < std::pair(height(b), b);
    });
    ground_.clear();
    for (auto b : falling_) {
        auto const [begin, end] = span_[b];
        auto const at = ground_.highest(begin, end);
        ground_.raise(begin, end, at + size_[b]);
        offsets_[b] = down ? at : top - at - size_[b];
    }
    work_ += 1 + static_cast<std::int64_t>(falling_.size() / 8);
}

template <class Lazy>
auto basic_ejection_search<Lazy>::run(std::span<bytes_t const> from,
                                      bytes_t capacity,
                                      std::int64_t max_work,
                                      stop_watch const& stop) -> bool
{
    offsets_.assign(from.begin(), from.end());
    std::fill(penalty_.begin(), penalty_.end(), 1);
    out_.clear();
    for (auto b : by_begin_) {
        if (size_[b] > capacity) {
            return false;
        }
        placed_[b] = 1;
        if (offsets_[b] > capacity - size_[b]) {
            take_out(b);
        }
    }
    auto const give_up_at = work_ + max_work;
    auto const apart = std::max<std::int64_t>(32, static_cast<std::int64_t>(by_begin_.size()) / 16);
    for (std::int64_t moves = 1; !out_.empty(); ++moves) {
        if (work_ >= give_up_at || (moves % 64 == 0 && stop.expired())) {
            return false;
        }
        std::pop_heap(out_.begin(), out_.end());
        auto const b = out_.back().second;
        out_.pop_back();
        list_blocks(b);
        auto const at = best_spot(size_[b], capacity);
        if (at.weight > 0) {
            penalty_[b] = std::min(penalty_[b] + 1, most_penalty);
            for (auto o : in_the_way_) {
                if (offsets_[o] < at.offset + size_[b] && at.offset < offsets_[o] + size_[o]) {
                    take_out(o);
                }
            }
        }
        offsets_[b] = at.offset;
        placed_[b] = 1;
        if (moves % apart == 0) {
            settle(capacity, moves % (2 * apart) == 0);
        }
    }
    return true;
}

} // namespace strata::detail
