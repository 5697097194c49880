// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What a merger sees: blocks that make up a step, the options of each, and the tensors between them.
#pragma once

#include <strata/merge/option.hpp>
#include <strata/partition/block.hpp>
#include <strata/partition/item_order.hpp>
#include <strata/problem/problem.hpp>
#include <strata/result.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace strata {

/// Stands for running all forward ops of a block once and keeping nothing.
inline constexpr int fast_forward = -1;

/// A run of one half of a part.
struct block_run {
    std::size_t part = 0;
    half which = half::forward;
    int option = fast_forward; ///< index of the option, or `fast_forward`; a backward half needs an option
    friend auto operator==(block_run const&, block_run const&) -> bool = default;
};

/// What a merger answers with: runs of halves in the order they happen.
///
/// Rules: every half that has ops runs; first runs stand in the order of `block_graph::items`; a backward half runs once, with
/// the option of the last run of its forward half before it; only a replayable forward half runs again; what a run reads
/// from other parts has been made before. A forward half that runs again before its backward half has nothing kept from
/// the earlier run.
using block_plan = std::vector<block_run>;

/// Parts that make up a step, each with options.
template <class = void>
class basic_block_graph {
public:
    /// One option list per part, none of them empty; options of a part without backward ops keep nothing.
    /// Errors: `invalid_argument` when the parts are not the whole of `p`, wait for each other, or have no option.
    /// Requires: `p` outlives the graph of blocks; options are made by `describe`.
    /// Complexity: O(ops and reads · log).
    [[nodiscard]] static auto make(problem const& p, std::vector<block> parts, std::vector<std::vector<option>> options)
        -> result<basic_block_graph>
    {
        std::size_t ops = 0;
        for (auto const& b : parts) {
            ops += b.forward.size() + b.backward.size();
        }
        bool const lacking = parts.size() != options.size() ||
                             std::any_of(options.begin(), options.end(), [](auto const& x) { return x.empty(); });
        auto items = item_order(p, std::span<block const>(parts));
        if (!items || lacking || ops != static_cast<std::size_t>(p.op_count())) {
            return fail(errc::invalid_argument,
                        "strata::block_graph: " + std::string(!items    ? "parts wait for each other"
                                                              : lacking ? "every part needs an option"
                                                                        : "the parts must be the whole step"));
        }
        basic_block_graph r;
        r.p_ = &p;
        r.items_ = *std::move(items);
        r.parts_ = std::move(parts);
        r.options_ = std::move(options);
        for (auto const& b : r.parts_) {
            r.fast_.push_back(describe(p, b, b.forward, {}).forward);
            auto const ok = [&](op_id o) { return p.replayable(o); };
            r.replayable_.push_back(std::all_of(b.forward.begin(), b.forward.end(), ok) ? 1 : 0);
        }
        return r;
    }

    [[nodiscard]] auto subject() const noexcept -> problem const& { return *p_; }
    [[nodiscard]] auto size() const noexcept -> std::size_t { return parts_.size(); }
    [[nodiscard]] auto part(std::size_t i) const noexcept -> block const& { return parts_[i]; }
    [[nodiscard]] auto options(std::size_t i) const noexcept -> std::vector<option> const& { return options_[i]; }
    /// The halves in the order of their first runs.
    [[nodiscard]] auto items() const noexcept -> std::vector<item> const& { return items_; }
    /// True when the forward half of part `i` may run again.
    [[nodiscard]] auto replayable(std::size_t i) const noexcept -> bool { return replayable_[i] != 0; }
    /// What a run of a half is: that of its option, or the forward ops once.
    [[nodiscard]] auto run(block_run const& r) const noexcept -> half_run const&
    {
        return r.option == fast_forward ? fast_[r.part]
                                        : options_[r.part][static_cast<std::size_t>(r.option)].run(r.which);
    }

private:
    basic_block_graph() = default;
    problem const* p_ = nullptr;
    std::vector<block> parts_;
    std::vector<std::vector<option>> options_;
    std::vector<item> items_;
    std::vector<half_run> fast_;
    std::vector<char> replayable_;
};

using block_graph = basic_block_graph<>;

/// The plan that runs every half once, the i-th part with `option[i]`. Complexity: O(parts).
template <class = void>
[[nodiscard]] auto once_each(block_graph const& g, std::span<int const> option) -> block_plan
{
    block_plan r;
    for (auto const& x : g.items()) {
        r.push_back({x.part, x.which, option[x.part]});
    }
    return r;
}

/// `plan` with forward runs that serve no backward half turned into fast-forwards.
/// Complexity: O(runs + parts).
template <class = void>
[[nodiscard]] auto without_vain_keeping(block_graph const& g, block_plan plan) -> block_plan
{
    std::vector<int> wanted(g.size(), fast_forward);
    for (auto i = plan.size(); i-- > 0;) {
        auto& r = plan[i];
        if (r.which == half::backward) {
            wanted[r.part] = r.option;
        } else if (!g.part(r.part).backward.empty()) {
            r.option = wanted[r.part];
            wanted[r.part] = fast_forward;
        }
    }
    return plan;
}

} // namespace strata
