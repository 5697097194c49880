// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The lives of tensors in an order under edit: each production and the runs that use it until the next one.
#pragma once

#include <strata/detail/lazy.hpp>
#include <strata/units.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata {

/// One production of a tensor and the runs that use it until the next one.
struct life {
    tensor_id tensor = none;
    std::int32_t start = none;      ///< the run that produces it
    std::vector<std::int32_t> uses; ///< runs, in order; later producers of a gradient count as uses
    std::int32_t next = none;       ///< the life of the same tensor that follows
};

/// Lives by id, and those of each tensor in the order of time.
template <class Lazy = void>
class basic_life_table {
public:
    using run_id = std::int32_t;
    using life_id = std::int32_t;

    explicit basic_life_table(tensor_id tensors)
        : first_(at(tensors), none)
    {
        lives_.reserve(at(tensors));
    }

    /// A new life, right after `before` (`none`: first) among those of `t`.
    auto add(tensor_id t, run_id start, life_id before) -> life_id
    {
        auto l = static_cast<life_id>(lives_.size());
        if (free_.empty()) {
            lives_.emplace_back();
        } else {
            l = free_.back();
            free_.pop_back();
        }
        auto& x = lives_[at(l)];
        x.tensor = t;
        x.start = start;
        x.uses.clear();
        auto& link = before == none ? first_[at(t)] : lives_[at(before)].next;
        x.next = link;
        link = l;
        return l;
    }

    void remove(life_id l)
    {
        auto* link = &first_[at(lives_[at(l)].tensor)];
        while (*link != l) {
            link = &lives_[at(*link)].next;
        }
        *link = lives_[at(l)].next;
        free_.push_back(l);
    }

    [[nodiscard]] auto operator[](life_id l) noexcept -> life& { return lives_[at(l)]; }
    [[nodiscard]] auto operator[](life_id l) const noexcept -> life const& { return lives_[at(l)]; }
    /// The last run that uses `l`, or the one that produces it if none does.
    [[nodiscard]] auto end_of(life_id l) const noexcept -> run_id
    {
        auto const& x = lives_[at(l)];
        return x.uses.empty() ? x.start : x.uses.back();
    }
    /// The first life of `t`, `none` if it has none.
    [[nodiscard]] auto first(tensor_id t) const noexcept -> life_id { return first_[at(t)]; }
    /// One more than the largest id; ids below that were never removed if none ever was.
    [[nodiscard]] auto size() const noexcept -> std::size_t { return lives_.size(); }

private:
    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }

    std::vector<detail::lazy<life, Lazy>> lives_;
    std::vector<life_id> first_; // by tensor
    std::vector<life_id> free_;
};

using life_table = basic_life_table<>;

} // namespace strata
