// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Downsets that were reached, each kept once, and the way to each.
#pragma once

#include <strata/detail/downset.hpp>
#include <strata/detail/mix.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata::detail {

/// Downsets that were reached, each once, and how.
template <class = void>
class basic_downset_pool {
public:
    static constexpr auto nowhere = static_cast<std::size_t>(-1);

    explicit basic_downset_pool(std::size_t words)
        : words_(words)
        , table_(1024, nowhere)
    {
    }

    struct entry {
        std::size_t parent = nowhere;
        std::size_t first = 0; // of the ops that lead here from there
        std::size_t last = 0;
        bytes_t peak = 0; // of the way here
        bytes_t live = 0;
        op_id size = 0;
    };

    [[nodiscard]] auto size() const noexcept -> std::size_t { return entries_.size(); }
    [[nodiscard]] auto operator[](std::size_t i) const noexcept -> entry const& { return entries_[i]; }
    [[nodiscard]] auto bits(std::size_t i) const noexcept -> std::span<std::uint64_t const>
    {
        return {sets_.data() + i * words_, words_};
    }

    /// Notes that `set` is reached from `parent` by `ops`, unless it was reached with as low a peak before.
    /// Returns: its number, or `nowhere` if there is nothing new.
    template <class Lazy>
    auto add(basic_downset<Lazy> const& set, std::size_t parent, run_order const& ops, bytes_t peak) -> std::size_t
    {
        auto& slot = find(set.bits());
        if (slot != nowhere && entries_[slot].peak <= peak) {
            return nowhere;
        }
        entry e{parent, ops_.size(), ops_.size() + ops.size(), peak, set.live(), set.size()};
        ops_.insert(ops_.end(), ops.begin(), ops.end());
        if (slot != nowhere) {
            entries_[slot] = e;
            return slot;
        }
        auto const i = slot = entries_.size();
        entries_.push_back(e);
        sets_.insert(sets_.end(), set.bits().begin(), set.bits().end());
        if (2 * entries_.size() > table_.size()) {
            grow();
        }
        return i;
    }

    /// The ops that lead to `i` from the beginning.
    [[nodiscard]] auto way_to(std::size_t i) const -> run_order
    {
        run_order r;
        for (; i != nowhere; i = entries_[i].parent) {
            for (auto k = entries_[i].last; k-- > entries_[i].first;) {
                r.push_back(ops_[k]);
            }
        }
        std::reverse(r.begin(), r.end());
        return r;
    }

private:
    [[nodiscard]] auto find(std::span<std::uint64_t const> set) -> std::size_t&
    {
        std::uint64_t h = 0;
        for (auto w : set) {
            h = mix(h ^ w);
        }
        for (auto k = static_cast<std::size_t>(h);; ++k) {
            auto& slot = table_[k & (table_.size() - 1)];
            if (slot == nowhere || std::equal(set.begin(), set.end(), bits(slot).begin())) {
                return slot;
            }
        }
    }
    void grow()
    {
        table_.assign(2 * table_.size(), nowhere);
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            find(bits(i)) = i;
        }
    }

    std::size_t words_;
    std::vector<entry> entries_;
    std::vector<std::uint64_t> sets_;
    std::vector<op_id> ops_;
    std::vector<std::size_t> table_; // of numbers, by hash; its size is a power of two
};

} // namespace strata::detail
