// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Depth-first search for a placement within a given capacity: finds one, or proves that there is none.
///
/// The search builds placements from the bottom up. It only looks at *canonical* ones: no buffer can be moved to a lower
/// offset by itself. Sorted by offset, each buffer of such a placement rests on one placed before it (or on 0), so the
/// offset of the next buffer is never a choice, only which buffer comes next. If any placement fits, a canonical one does
/// (of all that fit, one whose bytes lie lowest on average over time). Canonical placements and the kind of pruning
/// come from M. D. Moffitt, "MiniMalloc", ASPLOS 2023; here they take this form:
///
///   - *floor*: an unplaced buffer lies at or above the last offset, and above whatever was placed in its lifetime; if
///     it could already have been placed lower, it must still be lifted by an unplaced neighbour, so it lies above one;
///   - *stack*: at any time the unplaced buffers stack up; sorted by floor, the stack must stay within the capacity
///     (the one-machine bound of scheduling with release dates);
///   - *room below*: once an unplaced buffer fits entirely below the next offset, it could move down: not canonical;
///   - *twins*: of two buffers that live at the same times and touch, the one with the smaller rank lies below, since
///     they could trade places; of two with the same size besides, always;
///   - *parts*: when no unplaced buffer links an earlier time with a later one, both sides are solved on their own.
///
/// Which buffer to try first decides everything, and no rule is best everywhere: the search restarts in rounds with
/// several rules and growing node limits, and lets buffers go first that failed often.
#pragma once

#include <strata/detail/lazy.hpp>
#include <strata/detail/mix.hpp>
#include <strata/place/packing_instance.hpp>
#include <strata/place/placement.hpp>
#include <strata/solve/limits.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace strata::detail {

/// Searches one set of lifetimes for placements within capacities of the caller's choice.
///
/// Needs O(n²) memory in the number of lifetimes, and recursion as deep as there are lifetimes: meant for up to a few
/// thousand. Lifetimes that are empty or of zero bytes lie at offset 0.
template <class Lazy = void>
class basic_capacity_search {
public:
    enum class answer : std::uint8_t {
        found,      ///< `offsets` fit
        impossible, ///< proven: no placement fits
        gave_up,    ///< out of nodes or time
    };

    /// Requires: sizes are not negative, their sum (rounded up to `alignment`) fits 64 bits.
    basic_capacity_search(std::span<lifetime const> lifetimes, bytes_t alignment, std::uint64_t seed);

    /// Looks for a placement whose buffers, rounded up, end at or below `capacity`.
    /// Visits at most `max_nodes` nodes; when called again with the same capacity, goes on with the next round.
    /// Same calls in the same order, same answers.
    auto run(bytes_t capacity, std::int64_t max_nodes, stop_watch const& stop) -> answer;

    /// The offsets found by the last `run` that answered `found`, as ordered in the constructor.
    [[nodiscard]] auto offsets() const noexcept -> std::vector<bytes_t> const& { return offsets_; }
    /// Nodes that it takes to try every rule once at a new capacity.
    [[nodiscard]] auto once() const noexcept -> std::int64_t
    {
        return static_cast<std::int64_t>(rules) * (quick + static_cast<std::int64_t>(x_.size.size()));
    }
    /// Nodes visited so far, over all runs.
    [[nodiscard]] auto nodes() const noexcept -> std::int64_t { return visited_; }

private:
    using index = packing_instance::index;
    using part = section_range;
    struct position { // of the buffer placed last: the next one lies above it, or beside it with a larger rank
        bytes_t offset;
        index rank;
    };
    using lift = lazy<std::pair<index, bytes_t>, Lazy>;
    static constexpr std::uint64_t rules = 9;
    static constexpr std::int64_t quick = 500; // nodes of the first rounds, beside one for each buffer

    static auto at(index i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }
    void make_ranks(std::uint64_t rule, std::uint64_t cycle);
    [[nodiscard]] auto late(index b, position last) const -> bool
    {
        return std::pair(floor_[at(b)], rank_[at(b)]) < std::pair(last.offset, last.rank);
    }
    void blame(index b) { failures_[at(b)] += 1; }
    auto raise_lows(position last) -> bool;
    auto stacks_fit(part p) -> bool;
    auto stack_height(index section) -> bytes_t;
    [[nodiscard]] auto out_of_turn(index b) const -> bool;
    void list_unplaced(part p);
    void place(index b);
    void undo(std::size_t placed, std::size_t lifts);
    auto solve_parts(part p, position last) -> bool;
    auto branch(part p, position last) -> bool;

    std::uint64_t seed_;
    std::vector<bytes_t> offsets_; // of the caller's lifetimes
    packing_instance x_;           // members of a section are reordered by stack_height, nothing else changes
    std::vector<index> rank_;      // of each buffer: lower is tried first
    std::vector<double> failures_; // of each buffer, fading

    bytes_t capacity_ = -1;
    std::uint64_t round_ = 0; // rules take turns
    std::uint64_t tried_ = 0; // rounds at this capacity
    std::int64_t nodes_per_round_ = 0;
    std::vector<char> placed_;
    std::vector<bytes_t> floor_;     // lowest offset above everything placed in the life of a buffer
    std::vector<bytes_t> low_;       // proven lower bound of the offset, set by raise_lows
    std::vector<bytes_t> remaining_; // of each section: bytes not placed
    std::vector<index> trail_;       // buffers in the order placed
    std::vector<lift> lifts_;        // buffer and its floor before it was lifted
    std::vector<index> unplaced_;    // of the part being looked at; valid until the next branch
    std::int64_t visited_ = 0;
    std::int64_t node_limit_ = 0;
    bool stopped_ = false;
    stop_watch const* stop_ = nullptr;
};

using capacity_search = basic_capacity_search<>;

template <class Lazy>
basic_capacity_search<Lazy>::basic_capacity_search(std::span<lifetime const> lifetimes,
                                                   bytes_t alignment,
                                                   std::uint64_t seed)
    : seed_(seed)
    , offsets_(lifetimes.size(), 0)
    , x_(make_instance(lifetimes, alignment))
    , rank_(x_.size.size())
    , failures_(x_.size.size(), 0)
    , placed_(x_.size.size(), 0)
    , floor_(x_.size.size(), 0)
    , low_(x_.size.size(), 0)
    , remaining_(x_.load)
{
}

/// Ranks buffers by three keys, largest first. The seed breaks ties and blurs the count of failures.
template <class Lazy>
void basic_capacity_search<Lazy>::make_ranks(std::uint64_t rule, std::uint64_t cycle)
{
    std::vector<lazy<std::pair<std::array<double, 3>, std::uint64_t>, Lazy>> keys;
    for (std::size_t b = 0; b < x_.size.size(); ++b) {
        auto const size = static_cast<double>(x_.size[b]);
        auto const width = x_.duration[b];
        auto const area = size * width;
        auto const crowd = x_.crowd[b];
        auto const luck = mix(mix(seed_ + b) + cycle);
        auto const failures = failures_[b] * (1 + static_cast<double>(luck) / 0x1p64);
        std::array<std::array<double, 3>, rules> const by{{{width, area, crowd},
                                                           {crowd, area, width},
                                                           {crowd, width, area},
                                                           {area, width, crowd},
                                                           {size, width, crowd},
                                                           {width, crowd, area},
                                                           {failures, width, area},
                                                           {failures * width, width, area},
                                                           {failures * area, width, area}}};
        keys.emplace_back(by[rule], luck);
    }
    std::vector<index> order(x_.size.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](index x, index y) {
        return std::tie(keys[at(x)].first, keys[at(x)].second, x) > std::tie(keys[at(y)].first, keys[at(y)].second, y);
    });
    for (std::size_t k = 0; k < order.size(); ++k) {
        rank_[at(order[k])] = static_cast<index>(k);
    }
}

template <class Lazy>
auto basic_capacity_search<Lazy>::run(bytes_t capacity, std::int64_t max_nodes, stop_watch const& stop) -> answer
{
    if (capacity != capacity_) {
        capacity_ = capacity;
        tried_ = 0; // the rule that goes first is the one that was the last to succeed
        nodes_per_round_ = quick + static_cast<std::int64_t>(x_.size.size());
    }
    stop_ = &stop;
    auto const give_up_at = visited_ + max_nodes;
    for (; visited_ < give_up_at; ++round_, ++tried_) {
        auto const rule = round_ % rules;
        if (tried_ % rules == 0 && tried_ > 0) {
            nodes_per_round_ += nodes_per_round_ / 2;
            for (auto& f : failures_) {
                f /= 2;
            }
        }
        make_ranks(rule, round_ / rules);
        stopped_ = stop.expired();
        node_limit_ = visited_ + std::min(nodes_per_round_, give_up_at - visited_);
        bool const found = !stopped_ && solve_parts({0, static_cast<index>(x_.members.size())}, {0, -1});
        if (found) {
            for (std::size_t b = 0; b < x_.size.size(); ++b) {
                offsets_[x_.source[b]] = floor_[b];
            }
        }
        undo(0, 0);
        if (found) {
            return answer::found;
        }
        if (!stopped_) {
            return answer::impossible;
        }
        if (stop.expired()) {
            break;
        }
    }
    return answer::gave_up;
}

/// Sets `low_` of the unplaced buffers. Returns: false if one of them cannot lie within the capacity.
template <class Lazy>
auto basic_capacity_search<Lazy>::raise_lows(position last) -> bool
{
    for (auto b : unplaced_) {
        auto low = std::max(floor_[at(b)], last.offset);
        if (late(b, last)) {
            auto lifted = max_bytes;
            for (auto c : x_.neighbours[at(b)]) {
                if (last.offset + x_.size[at(c)] >= lifted) {
                    break; // sorted by size: no later neighbour ends lower
                }
                if (placed_[at(c)] == 0) {
                    lifted = std::min(lifted, std::max(floor_[at(c)], last.offset) + x_.size[at(c)]);
                }
            }
            low = std::max(low, lifted);
        }
        if (low > capacity_ - x_.size[at(b)]) {
            blame(b);
            return false;
        }
        low_[at(b)] = low;
    }
    return true;
}

/// Height that the unplaced buffers of a section reach at least, given `low_`.
template <class Lazy>
auto basic_capacity_search<Lazy>::stack_height(index section) -> bytes_t
{
    auto& members = x_.members[at(section)];
    bytes_t lowest = max_bytes;
    bytes_t highest = 0;
    for (auto b : members) {
        if (placed_[at(b)] == 0) {
            lowest = std::min(lowest, low_[at(b)]);
            highest = std::max(highest, low_[at(b)]);
        }
    }
    auto const rest = remaining_[at(section)];
    if (lowest > capacity_ - rest || highest <= capacity_ - rest) {
        return lowest + rest; // decided without sorting
    }
    // Insertion sort, unplaced first: the order hardly changes from node to node.
    for (std::size_t i = 1; i < members.size(); ++i) {
        auto const b = members[i];
        if (placed_[at(b)] != 0) {
            continue;
        }
        auto j = i;
        for (; j > 0 && (placed_[at(members[j - 1])] != 0 || low_[at(members[j - 1])] > low_[at(b)]); --j) {
            members[j] = members[j - 1];
        }
        members[j] = b;
    }
    bytes_t height = 0;
    for (auto b : members) {
        if (placed_[at(b)] != 0) {
            break;
        }
        height = std::max(height, low_[at(b)]) + x_.size[at(b)];
    }
    return height;
}

template <class Lazy>
auto basic_capacity_search<Lazy>::stacks_fit(part p) -> bool
{
    bytes_t highest = 0;
    for (auto b : unplaced_) {
        highest = std::max(highest, low_[at(b)]);
    }
    for (auto s = p.begin; s < p.end; ++s) {
        if (highest > capacity_ - remaining_[at(s)] && stack_height(s) > capacity_) {
            for (auto b : x_.members[at(s)]) {
                if (placed_[at(b)] == 0) {
                    blame(b);
                }
            }
            return false;
        }
    }
    return true;
}

/// True when a twin of `b` must lie below it but does not, or lies right below it and must not.
template <class Lazy>
auto basic_capacity_search<Lazy>::out_of_turn(index b) const -> bool
{
    auto const& twins = x_.twins[at(b)];
    return std::any_of(twins.begin(), twins.end(), [&](index c) {
        if (placed_[at(c)] != 0) {
            return floor_[at(c)] + x_.size[at(c)] == floor_[at(b)] && rank_[at(c)] > rank_[at(b)];
        }
        return x_.size[at(c)] == x_.size[at(b)] && rank_[at(c)] < rank_[at(b)];
    });
}

template <class Lazy>
void basic_capacity_search<Lazy>::list_unplaced(part p)
{
    unplaced_.clear();
    for (auto k = x_.first[at(p.begin)]; k < x_.first[at(p.end)]; ++k) {
        if (placed_[at(x_.by_begin[k])] == 0) {
            unplaced_.push_back(x_.by_begin[k]);
        }
    }
}

template <class Lazy>
void basic_capacity_search<Lazy>::place(index b)
{
    auto const end = floor_[at(b)] + x_.size[at(b)];
    placed_[at(b)] = 1;
    trail_.push_back(b);
    for (auto s = x_.sections[at(b)].begin; s < x_.sections[at(b)].end; ++s) {
        remaining_[at(s)] -= x_.size[at(b)];
    }
    for (auto c : x_.neighbours[at(b)]) {
        if (placed_[at(c)] == 0 && floor_[at(c)] < end) {
            lifts_.emplace_back(c, floor_[at(c)]);
            floor_[at(c)] = end;
        }
    }
}

template <class Lazy>
void basic_capacity_search<Lazy>::undo(std::size_t placed, std::size_t lifts)
{
    for (; lifts_.size() > lifts; lifts_.pop_back()) {
        floor_[at(lifts_.back().first)] = lifts_.back().second;
    }
    for (; trail_.size() > placed; trail_.pop_back()) {
        auto const b = trail_.back();
        placed_[at(b)] = 0;
        for (auto s = x_.sections[at(b)].begin; s < x_.sections[at(b)].end; ++s) {
            remaining_[at(s)] += x_.size[at(b)];
        }
    }
}

/// Cuts the sections of `p` where no unplaced buffer crosses and solves the parts, shortest first.
template <class Lazy>
auto basic_capacity_search<Lazy>::solve_parts(part p, position last) -> bool
{
    std::vector<part> parts;
    for (auto k = x_.first[at(p.begin)]; k < x_.first[at(p.end)]; ++k) {
        auto const b = x_.by_begin[k];
        if (placed_[at(b)] != 0) {
            continue;
        }
        auto const s = x_.sections[at(b)];
        if (parts.empty() || s.begin >= parts.back().end) {
            parts.push_back(s);
        } else {
            parts.back().end = std::max(parts.back().end, s.end);
        }
    }
    std::stable_sort(parts.begin(), parts.end(), [](part x, part y) { return x.end - x.begin < y.end - y.begin; });
    // Parts do not touch: if one has no solution, others of the rest cannot help it.
    return std::all_of(parts.begin(), parts.end(), [&](part x) { return branch(x, last); });
}

template <class Lazy>
auto basic_capacity_search<Lazy>::branch(part p, position last) -> bool
{
    ++visited_;
    if (visited_ > node_limit_ || (visited_ % 256 == 0 && stop_->expired())) {
        stopped_ = true;
        return false;
    }
    list_unplaced(p);
    if (!raise_lows(last) || !stacks_fit(p)) {
        return false;
    }
    // Room below: the next offset must be lower than where any buffer would end if placed now.
    auto lowest_end = max_bytes;
    for (auto b : unplaced_) {
        lowest_end = std::min(lowest_end, floor_[at(b)] + x_.size[at(b)]);
    }
    std::vector<index> next;
    std::copy_if(unplaced_.begin(), unplaced_.end(), std::back_inserter(next), [&](index b) {
        return !late(b, last) && !out_of_turn(b) && floor_[at(b)] < lowest_end;
    });
    std::sort(next.begin(), next.end(), [&](index x, index y) {
        return std::pair(floor_[at(x)], rank_[at(x)]) < std::pair(floor_[at(y)], rank_[at(y)]);
    });
    auto const placed = trail_.size();
    auto const lifts = lifts_.size();
    auto level = last.offset;
    for (auto b : next) {
        if (floor_[at(b)] > level) { // can anything at all come next at this offset or above?
            level = floor_[at(b)];
            list_unplaced(p);
            if (!raise_lows({level, -1}) || !stacks_fit(p)) {
                return false;
            }
        }
        place(b);
        if (solve_parts(p, {floor_[at(b)], rank_[at(b)]})) {
            return true;
        }
        undo(placed, lifts);
        if (stopped_) {
            return false;
        }
    }
    return false;
}

} // namespace strata::detail
