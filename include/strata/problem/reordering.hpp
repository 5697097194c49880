// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A problem with its ops in another order of first runs, and the way back.
///
/// Bounds, solvers and certificates speak of the order in which a problem numbers its ops. To plan in another order is to
/// number them anew.
#pragma once

#include <strata/problem/precedence.hpp>
#include <strata/problem/problem.hpp>
#include <strata/result.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/units.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace strata {

/// A `problem` whose op `k` is the `k`-th of an order of the ops of another one. Tensors keep their ids.
class reordering {
public:
    /// The ops of `p` numbered by their place in `order`.
    /// Errors: `invalid_argument` if `order` is not one of first runs (see `is_first_run_order`).
    /// Complexity: that of `problem::make`.
    template <class = void>
    [[nodiscard]] static auto make(strata::problem const& p, std::span<op_id const> order) -> result<reordering>;

    [[nodiscard]] auto problem() const noexcept -> strata::problem const& { return problem_; }
    /// The op of the problem before that is op `o` of this one.
    [[nodiscard]] auto original(op_id o) const noexcept -> op_id { return order_[static_cast<std::size_t>(o)]; }

    /// `s`, a schedule of `problem()`, in the ids of the problem before. Valid there if it is here: with the same first
    /// runs in the same order, the judge allows the same replays.
    /// Complexity: linear in `s`.
    template <class = void>
    [[nodiscard]] auto restored(schedule s) const -> schedule
    {
        for (auto& x : s.steps) {
            x.id = x.action == action::run ? original(x.id) : x.id;
        }
        return s;
    }

private:
    explicit reordering(strata::problem p)
        : problem_(std::move(p))
    {
    }

    strata::problem problem_;
    std::vector<op_id> order_;
};

template <class>
auto reordering::make(strata::problem const& p, std::span<op_id const> order) -> result<reordering>
{
    auto const at = [](op_id o) { return static_cast<std::size_t>(o); };
    if (!is_first_run_order(p, order)) {
        return fail(errc::invalid_argument,
                    "strata::reordering: the order must have every op once, behind all that must run before it");
    }
    std::vector<op_id> place(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) {
        place[at(order[k])] = static_cast<op_id>(k);
    }
    auto spec = p.spec();
    for (std::size_t k = 0; k < order.size(); ++k) {
        spec.ops[k] = p.op(order[k]);
        auto& of = spec.ops[k].backward_of;
        of = of == none ? none : place[at(of)];
    }
    auto made = problem::make(std::move(spec));
    if (!made) {
        return std::move(made).error();
    }
    reordering r(*std::move(made));
    r.order_.assign(order.begin(), order.end());
    return r;
}

} // namespace strata
