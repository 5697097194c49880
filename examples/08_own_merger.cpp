// SPDX-License-Identifier: Apache-2.0
// A merger of one's own: it says which option each block runs with, strata expands, repairs, judges and places the plan.
#include <strata/hierarchy.hpp>
#include <strata/strata.hpp>

#include <iostream>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

// [merger]
/// Keeps the last blocks whole, which need what they kept soonest, and has the others keep as little as they can.
struct last_ones_whole {
    [[nodiscard]] static constexpr auto name() -> std::string_view { return "last_ones_whole"; }
    [[nodiscard]] auto merge(strata::block_graph const& g,
                             strata::bytes_t budget,
                             strata::stop_watch const& /*stop*/) const -> std::optional<strata::block_plan>
    {
        std::vector<int> option(g.size(), 0); // options are sorted: the first keeps most, the last least
        for (std::size_t i = 0; i <= g.size(); ++i) {
            auto const plan = once_each(g, std::span<int const>(option));
            if (i == g.size() || promise_of(g, plan).peak <= budget) {
                return plan;
            }
            option[i] = static_cast<int>(g.options(i).size()) - 1;
        }
        return {};
    }
};
static_assert(strata::merger<last_ones_whole>);
// [merger]

namespace {

struct by_four {
    [[nodiscard]] static constexpr auto name() -> std::string_view { return "by_four"; }
    [[nodiscard]] auto split(strata::problem const& /*p*/, std::span<strata::op_id const> ops) const
        -> std::vector<strata::part>
    {
        std::vector<strata::part> parts;
        for (std::size_t i = 0; i < ops.size(); ++i) {
            (i % 4 == 0 ? parts.emplace_back() : parts.back()).ops.push_back(ops[i]);
        }
        return parts;
    }
};

auto chain(int n) -> strata::problem
{
    using strata::phase;
    strata::problem_spec s;
    s.tensors.push_back({"input", 1000, strata::tensor_kind::input});
    for (int i = 0; i < n; ++i) {
        s.tensors.push_back({{}, 1000});
        s.ops.push_back({.phase = phase::forward, .cost = 10 + i % 4, .inputs = {i}, .outputs = {i + 1}});
    }
    for (int i = n, above = n; i-- > 0; ++above) {
        s.tensors.push_back({{}, 1000});
        s.ops.push_back({.phase = phase::backward, .cost = 20, .inputs = {i, above}, .outputs = {above + 1}});
        s.ops.back().backward_of = i;
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
    auto const blocks = strata::pipeline<>{}.with(by_four{});
    auto const mine = strata::plan(p, half, blocks.with(last_ones_whole{}));
    // [use]
    auto const theirs = strata::plan(p, half, blocks);
    std::cout << "mine:            " << describe(mine->certificate)
              << "\none_option_each: " << describe(theirs->certificate) << '\n';
}
