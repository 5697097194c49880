// SPDX-License-Identifier: Apache-2.0
// A solver of one's own: it proposes orders, strata repairs, fills, compares, judges and places them.
#include <strata/solve/portfolio.hpp>
#include <strata/strata.hpp>

#include <iostream>
#include <string_view>

// [solver]
/// Keeps every second activation and makes the others again.
struct every_other {
    [[nodiscard]] static constexpr auto name() -> std::string_view { return "every_other"; }
    void solve(strata::search& on) const
    {
        auto const& p = on.subject();
        auto const tightest = on.points().front();
        on.propose(
            {.make = [&p,
                      tightest] { return just_in_time(p, tightest, [](strata::tensor_id t) { return t % 2 == 0; }); },
             .name = "every_other"});
    }
};
static_assert(strata::solver<every_other>);
// [solver]

namespace {

/// A chain of `n` ops and its backward pass, as plain numbers: no graph type is needed.
auto chain(int n) -> strata::problem
{
    strata::problem_spec s;
    s.tensors.push_back({"input", 1000, strata::tensor_kind::input});
    for (int i = 0; i < n; ++i) {
        s.tensors.push_back({"h" + std::to_string(i), 1000, strata::tensor_kind::activation});
        s.ops.push_back({.cost = 10 + i % 7, .inputs = {i}, .outputs = {i + 1}});
    }
    for (int i = n; i-- > 0;) {
        auto const above = static_cast<strata::tensor_id>(s.tensors.size()) - 1;
        s.tensors.push_back({"g" + std::to_string(i), 1000, strata::tensor_kind::gradient});
        s.ops.push_back({.phase = strata::phase::backward, .cost = 20, .inputs = {i, above}, .outputs = {above + 1}});
    }
    s.targets = {2 * n};
    return strata::problem::make(s).value();
}

} // namespace

int main()
{
    auto const p = chain(40);
    strata::limits const half{.budget = strata::budget::fraction(0.5)};
    // [use]
    auto const mine = strata::plan(p, half, every_other{});
    auto const both = strata::plan(p, half, strata::portfolio(every_other{}, strata::default_solver{}));
    // [use]
    std::cout << "alone:     " << describe(mine->certificate) << "\ntogether:  " << describe(both->certificate) << '\n';
}
