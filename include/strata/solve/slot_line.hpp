// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Runs on a line of slots with room between them, and the bytes live at every slot.
///
/// Inserting a run takes a free slot and moves nothing; when a gap is full, the runs of the smallest loose window around
/// it are spread anew (order maintenance by packed-memory array; Itai, Konheim, Rodeh, "A sparse table implementation of
/// priority queues", 1981: O(log² n) amortised). Comparing two runs in time is comparing two numbers.
#pragma once

#include <strata/solve/range_max.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace strata {

/// A sequence of runs (small non-negative ids chosen by the owner) on slots, with live bytes per slot.
///
/// A slot with a run holds the bytes live during it; a free slot holds the bytes live between the runs around it. The
/// owner keeps that true by `add`. What this class needs to know when it moves runs it asks the owner for: `after(r)`,
/// the bytes live right after run r (`after(none)`: before the first), and `own(r)`, the bytes of r's workspace.
template <class Lazy = void>
class basic_slot_line {
    using range_max = basic_range_max<Lazy>;

public:
    using run_id = std::int32_t;

    /// Puts `runs` on a fresh line, evenly spaced, all bytes 0.
    void reset(std::vector<run_id> const& runs)
    {
        constexpr std::size_t room = 4;
        memory_ = range_max(std::max<std::size_t>(1, runs.size()) * room);
        run_at_.assign(memory_.size(), none);
        first_ = last_ = none;
        places_.reserve(runs.size());
        for (std::size_t k = 0; k < runs.size(); ++k) {
            auto& x = place_for(runs[k]);
            x = {k * memory_.size() / runs.size(), last_, none};
            run_at_[x.slot] = runs[k];
            (last_ == none ? first_ : places_[at(last_)].after) = runs[k];
            last_ = runs[k];
        }
    }

    [[nodiscard]] auto slots() const noexcept -> std::size_t { return memory_.size(); }
    [[nodiscard]] auto first() const noexcept -> run_id { return first_; }
    [[nodiscard]] auto last() const noexcept -> run_id { return last_; }
    [[nodiscard]] auto next(run_id r) const noexcept -> run_id { return places_[at(r)].after; }
    [[nodiscard]] auto slot(run_id r) const noexcept -> std::size_t { return places_[at(r)].slot; }
    /// The run on slot `s`, or `none`.
    [[nodiscard]] auto run_at(std::size_t s) const noexcept -> run_id { return run_at_[s]; }

    [[nodiscard]] auto memory() const noexcept -> range_max const& { return memory_; }
    /// Adds `size` bytes to the slots [from, to]; nothing when from > to.
    void add(std::size_t from, std::size_t to, bytes_t size) { memory_.add(from, to, size); }
    /// Replaces all bytes; one value per slot.
    void assign(std::vector<bytes_t> const& bytes) { memory_.assign(0, bytes); }

    /// Puts `runs`, in this order, right before run `before`; their slots hold what was live there plus `own`.
    template <class After, class Own>
    void insert_before(run_id before, std::vector<run_id> const& runs, After const& after, Own const& own)
    {
        auto prev = places_[at(before)].before;
        for (auto r : runs) {
            place_for(r) = {unplaced, prev, before};
            (prev == none ? first_ : places_[at(prev)].after) = r;
            prev = r;
        }
        places_[at(before)].before = prev;
        while (!settle(before, runs, after, own)) {
            grow(after);
        }
    }

    /// Takes `r` off the line. Its slot then holds what is live there without it.
    void erase(run_id r)
    {
        auto const x = places_[at(r)];
        (x.before == none ? first_ : places_[at(x.before)].after) = x.after;
        (x.after == none ? last_ : places_[at(x.after)].before) = x.before;
        run_at_[x.slot] = none;
    }

private:
    struct place {
        std::size_t slot = unplaced;
        run_id before = none, after = none;
    };
    static constexpr auto unplaced = static_cast<std::size_t>(-1);

    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }

    auto place_for(run_id r) -> place&
    {
        if (places_.size() <= at(r)) {
            places_.resize(at(r) + 1);
        }
        return places_[at(r)];
    }

    /// Gives the new runs slots. Returns: false when the whole line is too full.
    template <class After, class Own>
    auto settle(run_id next, std::vector<run_id> const& runs, After const& after, Own const& own) -> bool
    {
        auto const prev = places_[at(runs.front())].before;
        auto const end = slot(next);
        auto const begin = prev == none ? 0 : slot(prev) + 1;
        if (end - begin >= runs.size()) {
            for (std::size_t i = 0; i < runs.size(); ++i) {
                auto const s = begin + (2 * i + 1) * (end - begin) / (2 * runs.size());
                places_[at(runs[i])].slot = s;
                run_at_[s] = runs[i];
                memory_.add(s, s, own(runs[i]));
            }
            return true;
        }
        std::size_t levels = 0;
        for (std::size_t w = 1; w < slots(); w *= 2) {
            ++levels;
        }
        std::size_t level = 4;
        for (std::size_t width = 16; width <= slots(); width *= 2, ++level) {
            auto const from = end / width * width;
            auto const window = run_at_.begin() + static_cast<std::ptrdiff_t>(from);
            auto const used = static_cast<std::size_t>(
                std::count_if(window, window + static_cast<std::ptrdiff_t>(width), [](run_id r) { return r != none; }));
            // From 7/8 full for a small window to 1/2 for the line: larger windows must be looser, or the next insertion
            // nearby would find no room again.
            auto const allowed = width * 7 / 8 - width * 3 / 8 * std::min(level, levels) / levels;
            if (used + runs.size() <= allowed) {
                spread(from, width, next, after, own);
                return true;
            }
        }
        return false;
    }

    /// Spaces the runs of the window that contains `inside`, new ones (not yet on a slot) included.
    template <class After, class Own>
    void spread(std::size_t from, std::size_t width, run_id inside, After const& after, Own const& own)
    {
        auto const in_window = [&](run_id r) {
            return r != none && (slot(r) == unplaced || (slot(r) >= from && slot(r) < from + width));
        };
        auto head = inside;
        while (in_window(places_[at(head)].before)) {
            head = places_[at(head)].before;
        }
        std::vector<run_id> runs;
        std::vector<bytes_t> during;
        std::vector<bytes_t> between = {after(places_[at(head)].before)};
        for (auto r = head; in_window(r); r = next(r)) {
            bool const fresh = slot(r) == unplaced;
            runs.push_back(r);
            during.push_back(fresh ? between.back() + own(r) : memory_[slot(r)]);
            between.push_back(fresh ? between.back() : after(r));
        }
        std::vector<bytes_t> bytes(width);
        std::fill_n(run_at_.begin() + static_cast<std::ptrdiff_t>(from), width, none);
        std::size_t filled = 0;
        for (std::size_t i = 0; i < runs.size(); ++i) {
            auto const offset = (2 * i + 1) * width / (2 * runs.size());
            while (filled < offset) {
                bytes[filled++] = between[i];
            }
            bytes[filled++] = during[i];
            places_[at(runs[i])].slot = from + offset;
            run_at_[from + offset] = runs[i];
        }
        while (filled < width) {
            bytes[filled++] = between.back();
        }
        memory_.assign(from, bytes);
    }

    /// Twice the slots: each old one is followed by a new one that holds what is live after it.
    template <class After>
    void grow(After const& after)
    {
        std::vector<bytes_t> bytes(slots() * 2);
        std::vector<run_id> runs(slots() * 2, none);
        for (std::size_t s = 0; s < slots(); ++s) {
            auto const r = run_at_[s];
            bytes[2 * s] = memory_[s];
            bytes[2 * s + 1] = r == none ? memory_[s] : after(r);
            runs[2 * s] = r;
        }
        for (auto r = first_; r != none; r = next(r)) {
            places_[at(r)].slot *= slot(r) == unplaced ? 1U : 2U;
        }
        memory_ = range_max(bytes.size());
        memory_.assign(0, bytes);
        run_at_ = std::move(runs);
    }

    range_max memory_;
    std::vector<place> places_;  // by run id
    std::vector<run_id> run_at_; // by slot
    run_id first_ = none, last_ = none;
};

using slot_line = basic_slot_line<>;

} // namespace strata
