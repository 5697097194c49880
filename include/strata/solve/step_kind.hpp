// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What kind of step a problem is, and what kinds a solver takes.
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <concepts>
#include <limits>

namespace strata {

/// A set of kinds of steps.
struct step_kinds {
    bool inference = true; ///< no backward op
    bool training = true;  ///< forward and backward
    bool chain = true;     ///< training, and each forward op reads of others only what the one before it makes
    friend constexpr auto operator==(step_kinds, step_kinds) -> bool = default;
};

/// True when some kind of step is in both.
[[nodiscard]] constexpr auto overlap(step_kinds a, step_kinds b) noexcept -> bool
{
    return (a.inference && b.inference) || (a.training && b.training) || (a.chain && b.chain);
}

/// The one kind that `p` is. Complexity: O(ops and reads).
template <class = void>
[[nodiscard]] auto kind_of(problem const& p) -> step_kinds
{
    op_id turn = 0;
    bool chain = true;
    for (; turn < p.op_count() && p.op(turn).phase != phase::backward; ++turn) {
        for (auto t : p.inputs(turn)) {
            chain = chain && p.producers(t).size() == 1 && p.producer(t) == turn - 1;
        }
    }
    if (turn == p.op_count()) {
        return {true, false, false};
    }
    return {false, !chain, chain};
}

/// The kinds that solver `S` takes: its `S::takes`, if it says so, else all. A solver for training steps takes chains too.
template <class S>
inline constexpr step_kinds takes_of = step_kinds{};
template <class S>
    requires requires {
        {
            S::takes
        } -> std::convertible_to<step_kinds>;
    }
inline constexpr step_kinds takes_of<S> = S::takes;

/// True for a solver that improves the best plan so far and so has to wait for those before it: it says `refines = true`.
template <class S>
inline constexpr bool refines = false;
template <class S>
    requires requires {
        {
            S::refines
        } -> std::convertible_to<bool>;
    }
inline constexpr bool refines<S> = S::refines;

/// The largest step that `s` takes, in ops: its member `most_ops`, if it has one, else any.
template <class S>
[[nodiscard]] constexpr auto most_ops_of(S const& s) -> op_id
{
    if constexpr (requires {
                      {
                          s.most_ops
                      } -> std::convertible_to<op_id>;
                  }) {
        return s.most_ops;
    } else {
        return std::numeric_limits<op_id>::max();
    }
}

} // namespace strata
