// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The runs of an order under edit: which op each one runs and which lives it uses and produces.
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata {

/// Runs by id, with one link to a life (see `order_editor`) for each tensor that the run's op reads or writes. A run of no
/// op reads the targets: it stands at the end of an order.
template <class = void>
class basic_run_table {
public:
    using run_id = std::int32_t;
    using life_id = std::int32_t;

    /// `p` outlives the table.
    explicit basic_run_table(problem const& p)
        : p_(&p)
        , free_(at(p.op_count()))
    {
        for (tensor_id t = 0; t < p.tensor_count(); ++t) {
            if (p.is_target(t)) {
                targets_.push_back(t);
            }
        }
    }

    /// A new run of `o`, all links `none`. The id of the run of `o` that was removed last comes back first.
    auto add(op_id o) -> run_id
    {
        if (o != none && !free_[at(o)].empty()) {
            auto const r = free_[at(o)].back();
            free_[at(o)].pop_back();
            std::fill(inputs(r).begin(), inputs(r).end(), none);
            std::fill(outputs(r).begin(), outputs(r).end(), none);
            return r;
        }
        auto const r = static_cast<run_id>(runs_.size());
        runs_.push_back({o, links_.size()});
        links_.resize(links_.size() + input_tensors(r).size() + output_tensors(r).size(), none);
        return r;
    }

    /// Provides for so many more runs.
    void reserve(std::size_t runs)
    {
        constexpr std::size_t links = 4; // of most ops
        runs_.reserve(runs_.size() + runs);
        links_.reserve(links_.size() + links * runs);
    }

    /// Gives the id back. What can be asked about the run stays until the id is used again.
    void remove(run_id r) { free_[at(op_of(r))].push_back(r); }

    [[nodiscard]] auto op_of(run_id r) const noexcept -> op_id { return runs_[at(r)].op; }
    [[nodiscard]] auto workspace(run_id r) const noexcept -> bytes_t
    {
        return op_of(r) == none ? 0 : p_->workspace(op_of(r));
    }
    [[nodiscard]] auto input_tensors(run_id r) const noexcept -> std::span<tensor_id const>
    {
        return op_of(r) == none ? std::span<tensor_id const>(targets_) : p_->inputs(op_of(r));
    }
    [[nodiscard]] auto output_tensors(run_id r) const noexcept -> std::span<tensor_id const>
    {
        return op_of(r) == none ? std::span<tensor_id const>{} : p_->outputs(op_of(r));
    }

    /// The links, in the order of `input_tensors` and of `output_tensors`.
    [[nodiscard]] auto inputs(run_id r) noexcept -> std::span<life_id>
    {
        return {links_.data() + runs_[at(r)].first, input_tensors(r).size()};
    }
    [[nodiscard]] auto inputs(run_id r) const noexcept -> std::span<life_id const>
    {
        return {links_.data() + runs_[at(r)].first, input_tensors(r).size()};
    }
    [[nodiscard]] auto outputs(run_id r) noexcept -> std::span<life_id>
    {
        return {links_.data() + runs_[at(r)].first + input_tensors(r).size(), output_tensors(r).size()};
    }
    [[nodiscard]] auto outputs(run_id r) const noexcept -> std::span<life_id const>
    {
        return {links_.data() + runs_[at(r)].first + input_tensors(r).size(), output_tensors(r).size()};
    }

private:
    struct record {
        op_id op = none;
        std::size_t first = 0; // of its links: inputs, then outputs
    };

    static auto at(std::int32_t i) noexcept -> std::size_t { return static_cast<std::size_t>(i); }

    problem const* p_;
    std::vector<tensor_id> targets_;
    std::vector<record> runs_;
    std::vector<life_id> links_;
    std::vector<std::vector<run_id>> free_; // per op: links have room for the tensors of one op only
};

using run_table = basic_run_table<>;

} // namespace strata
