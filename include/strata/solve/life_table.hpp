// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The lives of tensors in an order under edit: each production and the runs that use it until the next one.
#pragma once

#include <strata/detail/lazy.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata {

/// One production of a tensor and the runs that use it until the next one.
struct life {
    tensor_id tensor = none;
    std::int32_t start = none;      ///< the run that produces it
    std::vector<std::int32_t> uses; ///< runs, in order; later producers of a gradient count as uses
};

/// Lives by id, and those of each tensor in the order of time.
template <class Lazy = void>
class basic_life_table {
public:
    using run_id = std::int32_t;
    using life_id = std::int32_t;

    explicit basic_life_table(tensor_id tensors)
        : of_(at(tensors))
    {
    }

    /// A new life, right after `before` (`none`: after all) among those of `t`.
    auto add(tensor_id t, run_id start, life_id before = none) -> life_id
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
        auto& all = of_[at(t)];
        all.insert(before == none ? all.end() : std::find(all.begin(), all.end(), before) + 1, l);
        return l;
    }

    void remove(life_id l)
    {
        auto& all = of_[at(lives_[at(l)].tensor)];
        all.erase(std::find(all.begin(), all.end(), l));
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
    [[nodiscard]] auto of(tensor_id t) const noexcept -> std::span<life_id const> { return of_[at(t)]; }
    /// One more than the largest id; ids below that were never removed if none ever was.
    [[nodiscard]] auto size() const noexcept -> std::size_t { return lives_.size(); }

private:
    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }

    std::vector<detail::lazy<life, Lazy>> lives_;
    std::vector<std::vector<life_id>> of_;
    std::vector<life_id> free_;
};

using life_table = basic_life_table<>;

} // namespace strata
