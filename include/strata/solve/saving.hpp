// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What it would save to keep a tensor instead of making it again, and what that needs.
#pragma once

#include <strata/solve/order_editor.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata {

/// What `order_editor::keep_instead` of a replay would bring.
struct saving {
    cost_t cost = 0;       ///< of the replay and of the replays that serve only it
    bytes_t bytes = 0;     ///< to be kept over the gap
    std::size_t gap = 0;   ///< slots from the last use before to the replay
    bytes_t hottest = 0;   ///< most live bytes inside the gap
    bool possible = false; ///< all of it fits, looking at one output at a time
};

/// Answers for one order under edit, any number of times; changes nothing.
template <class Lazy = void>
class basic_saving_estimate {
    using order_editor = basic_order_editor<Lazy>;

public:
    using run_id = order_editor::run_id;
    using life_id = order_editor::life_id;

    /// `e` outlives the estimate.
    explicit basic_saving_estimate(order_editor const& e)
        : e_(&e)
    {
    }

    /// The saving of replay `r` under `capacity` bytes; without a cost when it is not possible.
    /// Complexity: O(log n) per output, and O(uses) of what would go with `r`.
    [[nodiscard]] auto operator()(run_id r, bytes_t capacity) -> saving
    {
        auto const& e = *e_;
        saving s;
        s.possible = true;
        for (auto l : e.outputs_of(r)) {
            if (e.at_life(l).uses.empty()) {
                continue;
            }
            auto const t = e.at_life(l).tensor;
            auto const from = e.slot_of(e.end_of(e.life_before(t, e.slot_of(r))));
            auto const inside = e.most_between(from, e.slot_of(r));
            s.bytes += e.subject().size(t);
            s.gap = std::max(s.gap, e.slot_of(r) - from);
            s.hottest = std::max(s.hottest, inside);
            s.possible = s.possible && inside + e.subject().size(t) <= capacity;
        }
        if (s.possible) {
            s.cost = cost_without(r);
        }
        return s;
    }

private:
    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }

    [[nodiscard]] auto lost(life_id l) -> std::int32_t&
    {
        if (at(l) >= uses_lost_.size()) {
            uses_lost_.resize(at(l) + 1, 0);
        }
        return uses_lost_[at(l)];
    }

    [[nodiscard]] auto cost_without(run_id r) -> cost_t
    {
        auto const& e = *e_;
        auto const unused = [&](life_id l) { return lost(l) == static_cast<std::int32_t>(e.at_life(l).uses.size()); };
        cost_t cost = 0;
        touched_.clear();
        gone_.assign(1, r);
        for (std::size_t i = 0; i < gone_.size(); ++i) { // grows by replays whose outputs lose every use with `r`
            cost += e.subject().cost(e.op_of(gone_[i]));
            for (auto l : e.inputs_of(gone_[i])) {
                touched_.push_back(l);
                ++lost(l);
                auto const maker = e.at_life(l).start;
                auto const made = e.outputs_of(maker);
                if (unused(l) && e.is_replay(maker) && std::all_of(made.begin(), made.end(), unused)) {
                    gone_.push_back(maker);
                }
            }
        }
        for (auto l : touched_) {
            lost(l) = 0;
        }
        return cost;
    }

    order_editor const* e_;
    std::vector<std::int32_t> uses_lost_; // per life; all zero between calls
    std::vector<life_id> touched_;
    std::vector<run_id> gone_;
};

using saving_estimate = basic_saving_estimate<>;

} // namespace strata
