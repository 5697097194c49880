// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Several solvers on one search: the best proposal of all wins.
///
/// ```cpp
/// auto const both = strata::portfolio(strata::default_solver{}, my_solver{});
/// ```
#pragma once

#include <strata/solve/concepts.hpp>
#include <strata/solve/default_solver.hpp>
#include <strata/solve/step_kind.hpp>

#include <boost/hana/filter.hpp>
#include <boost/hana/for_each.hpp>
#include <boost/hana/integral_constant.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/unpack.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

/// Solvers of different types behind one.
///
/// The first member runs alone, since it may settle the matter; the others start from what it found, side by side on
/// `limits::threads` threads, and are compared in the order they stand, each spared once those before it reached the proven
/// bound. A member that `refines` starts from the best of all before it. What comes out does not depend on the threads.
///
/// Guards: a member is passed over when the step is of a kind it does not take (`S::takes`) or has more ops than its
/// member `most_ops`.
template <class... S>
class portfolio {
public:
    constexpr explicit portfolio(S... members)
        : members_(std::move(members)...)
    {
        (require_solver<S>(), ...);
    }

    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "portfolio"; }
    template <class Lazy>
    void solve(basic_search<Lazy>& on) const
    {
        auto const kind = kind_of(on.subject());
        std::vector<std::function<void(basic_search<Lazy>&)>> waiting; // for those before them, not for each other
        bool first = true;
        boost::hana::for_each(members_, [&]<class Member>(Member const& s) {
            if (!overlap(takes_of<Member>, kind) || on.subject().op_count() > most_ops_of(s)) {
                return;
            }
            if (first || refines<Member>) {
                run(waiting, on);
                if (!on.done()) {
                    s.solve(on);
                }
            } else {
                waiting.emplace_back([&s](basic_search<Lazy>& its_own) { s.solve(its_own); });
            }
            first = false;
        });
        run(waiting, on);
    }

private:
    template <class Lazy>
    static void run(std::vector<std::function<void(basic_search<Lazy>&)>>& waiting, basic_search<Lazy>& on)
    {
        if (on.how().threads < 2 || waiting.size() < 2) {
            auto const before = on.fork();
            for (auto const& member : waiting) {
                if (on.done()) {
                    break;
                }
                auto its_own = before;
                member(its_own);
                on.absorb(std::move(its_own));
            }
        } else if (!on.done()) {
            std::vector<basic_search<Lazy>> forks(waiting.size(), on.fork());
            on.side_by_side(waiting.size(), [&](std::size_t i) { waiting[i](forks[i]); });
            for (auto& its_own : forks) {
                if (!on.done()) {
                    on.absorb(std::move(its_own));
                }
            }
        }
        waiting.clear();
    }

    boost::hana::tuple<S...> members_;
};

/// A portfolio of those `members` that take some step of kind `K`; the others are not even compiled.
template <step_kinds K, class... S>
[[nodiscard]] constexpr auto portfolio_for(S... members)
{
    auto const takes = []<class Member>(Member const&) { return boost::hana::bool_c<overlap(takes_of<Member>, K)>; };
    return boost::hana::unpack(boost::hana::filter(boost::hana::make_tuple(std::move(members)...), takes),
                               [](auto... fit) { return portfolio(std::move(fit)...); });
}

} // namespace strata
