// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A proven limit of the budget from what must be held while the last of several needy ops runs.
///
///     needy ops       A ──→ a ──→ target 1      one of them runs for the last time of all: say B. From then on a is not
///                     B ──→ b ──→ target 2      made again, so that a, or target 1, is there while B runs
///
#pragma once

#include <strata/bound/max_flow.hpp>
#include <strata/bound/minimum_budget.hpp>
#include <strata/problem/problem.hpp>
#include <strata/solve/limits.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

namespace strata {

/// For sets of ops that need most: what is held while the last of them runs.
///
/// A target is there at that time, or made afterwards, and then without any op of the set: what is held cuts all paths from
/// what the others make to the targets. The fewest bytes that do are a minimum cut in which a tensor counts its size, and
/// what the last one itself reads or makes nothing.
template <class Lazy = void>
class basic_last_run {
public:
    /// `p` outlives it. Complexity: O(ops + tensors + reads and writes).
    explicit basic_last_run(problem const& p)
        : p_(&p)
        , net_(2 + p.op_count() + 2 * p.tensor_count())
    {
        for (op_id o = 0; o < p.op_count(); ++o) {
            begins_.push_back(net_.add(source, node_of(o)));
            need_.push_back(footprint(o));
        }
        for (tensor_id t = 0; t < p.tensor_count(); ++t) {
            holds_.push_back(net_.add(made(t), read(t)));
            for (auto o : p.producers(t)) {
                leads_.push_back(net_.add(node_of(o), made(t)));
            }
            for (auto o : p.consumers(t)) {
                leads_.push_back(net_.add(read(t), node_of(o)));
            }
            if (p.is_target(t)) {
                leads_.push_back(net_.add(read(t), sink));
            }
        }
        net_.freeze();
    }

    /// Bytes live when `o` runs, resident ones included, whatever else there is.
    [[nodiscard]] auto need(op_id o) const -> bytes_t { return need_[at(o)]; }

    /// Bytes live in every plan when `last` runs for the last time, if no op of `set` runs after that.
    /// Complexity: that of a maximum flow.
    [[nodiscard]] auto needed(std::span<op_id const> set, op_id last) -> bytes_t
    {
        for (auto a : leads_) {
            net_.set_capacity(a, flow::infinite);
        }
        for (auto a : begins_) {
            net_.set_capacity(a, 0);
        }
        for (auto o : set) {
            net_.set_capacity(begins_[at(o)], o == last ? 0 : flow::infinite);
        }
        for (tensor_id t = 0; t < p_->tensor_count(); ++t) {
            net_.set_capacity(holds_[at(t)], p_->resident(t) ? 0 : p_->size(t));
        }
        for (auto const tensors : {p_->inputs(last), p_->outputs(last)}) {
            for (auto t : tensors) {
                net_.set_capacity(holds_[at(t)], 0);
            }
        }
        return need(last) + net_.solve(source, sink);
    }

    /// The highest of `known` and what sets of up to 64 ops prove, the most needy first, those of the same need together.
    /// Complexity: O(64²) maximum flows; where nothing is proven, at most 64.
    [[nodiscard]] auto limit(byte_limit known, stop_watch const& stop = {}) -> byte_limit
    {
        constexpr std::size_t most = 64;
        std::vector<op_id> ops(need_.size());
        std::iota(ops.begin(), ops.end(), 0);
        std::sort(
            ops.begin(), ops.end(), [&](op_id a, op_id b) { return need(a) != need(b) ? need(a) > need(b) : a < b; });
        binding_ = {};
        for (std::size_t n = 1; n <= std::min(most, ops.size()) && !stop.expired(); ++n) {
            if (n < ops.size() && need(ops[n]) == need(ops[n - 1])) {
                continue;
            }
            std::span<op_id const> const set(ops.data(), n);
            byte_limit least{max_bytes, none}; // whichever of them is the last
            for (auto i = set.rbegin(); i != set.rend() && least.bytes > known.bytes; ++i) {
                if (stop.expired()) {
                    return known;
                }
                if (auto const bytes = needed(set, *i); bytes < least.bytes) {
                    least = {bytes, *i};
                }
            }
            if (least.bytes > known.bytes) {
                known = least;
                binding_.assign(set.begin(), set.end());
            }
        }
        return known;
    }
    /// The set that has proven the last limit; empty if it was known.
    [[nodiscard]] auto binding() const noexcept -> std::vector<op_id> const& { return binding_; }

    /// After `needed`: a set of tensors of the fewest bytes that can be held, beside what the last op reads and makes.
    [[nodiscard]] auto held() const -> std::vector<tensor_id>
    {
        std::vector<tensor_id> all;
        for (tensor_id t = 0; t < p_->tensor_count(); ++t) {
            if (net_.source_side(made(t)) && !net_.source_side(read(t))) {
                all.push_back(t);
            }
        }
        return all;
    }

private:
    using flow = basic_max_flow<Lazy>;
    static constexpr typename flow::node source = 0;
    static constexpr typename flow::node sink = 1;

    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }
    [[nodiscard]] auto node_of(op_id o) const -> typename flow::node { return 2 + o; }
    [[nodiscard]] auto made(tensor_id t) const -> typename flow::node { return 2 + p_->op_count() + 2 * t; }
    [[nodiscard]] auto read(tensor_id t) const -> typename flow::node { return made(t) + 1; }

    [[nodiscard]] auto footprint(op_id o) const -> bytes_t
    {
        auto bytes = p_->resident_bytes() + p_->workspace(o);
        auto const inputs = p_->inputs(o);
        for (auto t : inputs) {
            bytes += p_->resident(t) ? 0 : p_->size(t);
        }
        for (auto t : p_->outputs(o)) {
            bool const counted = p_->resident(t) || std::find(inputs.begin(), inputs.end(), t) != inputs.end();
            bytes += counted ? 0 : p_->size(t);
        }
        return bytes;
    }

    problem const* p_;
    flow net_;
    std::vector<bytes_t> need_;                      // by op
    std::vector<typename flow::arc> begins_, holds_; // by op, by tensor
    std::vector<typename flow::arc> leads_;
    std::vector<op_id> binding_;
};

/// A proven limit at least as high as `known`: no plan has fewer bytes. See `basic_last_run::limit`.
template <class Lazy = void>
[[nodiscard]] auto last_run_limit(problem const& p, byte_limit known, stop_watch const& stop = {}) -> byte_limit
{
    return basic_last_run<Lazy>(p).limit(known, stop);
}

} // namespace strata
