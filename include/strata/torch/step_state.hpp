// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What one step has in memory: storages of activations, graphs of units, gradients that are being added up.
#pragma once

#include <strata/torch/compat.hpp>
#include <strata/torch/trace.hpp>
#include <strata/torch/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace strata::torch::detail {

class local_graph;

/// The parts of one gradient, added up in their order, whatever the order in which they come.
class ordered_sum {
public:
    /// Part number `rank`; it may be undefined, which is zero.
    void add(std::int32_t rank, at::Tensor part)
    {
        if (rank != next_) {
            early_.emplace_back(rank, std::move(part));
            return;
        }
        accumulate(std::move(part));
        add_early();
    }
    /// The sum of all parts before number `rank`, which goes to whoever adds parts from there on. Requires: they have come.
    [[nodiscard]] auto hand_over(std::int32_t rank) -> at::Tensor
    {
        TORCH_CHECK(next_ == rank, "strata::torch: a gradient is added up before all of its parts have come");
        return take();
    }
    /// The sum comes back, with all parts before number `next`.
    void take_over(at::Tensor sum, std::int32_t next)
    {
        sum_ = std::move(sum);
        next_ = next;
        add_early();
    }
    /// The sum, which goes to the caller.
    [[nodiscard]] auto take() -> at::Tensor { return std::exchange(sum_, at::Tensor()); }
    /// What has been added up so far; undefined if nothing has.
    [[nodiscard]] auto sum() const noexcept -> at::Tensor const& { return sum_; }
    void clear() noexcept { *this = ordered_sum(); }

private:
    void add_early()
    {
        for (auto it = early_.begin(); it != early_.end();) {
            if (it->first == next_) {
                auto now = std::move(it->second);
                early_.erase(it);
                accumulate(std::move(now));
                it = early_.begin();
            } else {
                ++it;
            }
        }
    }
    /// As autograd does it: in place where nobody else could see that.
    void accumulate(at::Tensor part)
    {
        ++next_;
        if (!part.defined()) {
            return;
        }
        if (!sum_.defined()) {
            sum_ = std::move(part);
            return;
        }
        bool const own = sum_.use_count() == 1 && sum_.has_storage() && sum_.storage().use_count() == 1 &&
                         sum_.is_non_overlapping_and_dense();
        if (own) {
            sum_.add_(part);
        } else {
            sum_ = sum_.is_sparse() ? part + sum_ : sum_ + part;
        }
    }

    at::Tensor sum_;
    std::int32_t next_ = 0;
    std::vector<std::pair<std::int32_t, at::Tensor>> early_;
};

/// One step in flight. Its ops run through `run_forward` and `run_backward` of run_unit.hpp.
class step_state {
public:
    step_state(trace const& t, unit_list const& units, std::vector<at::Tensor> inputs);
    step_state(step_state const&) = delete;
    auto operator=(step_state const&) -> step_state& = delete;
    ~step_state();

    [[nodiscard]] auto of() const noexcept -> trace const& { return trace_; }
    [[nodiscard]] auto units() const noexcept -> unit_list const& { return units_; }

    /// The tensor of value `v`. Requires: its storage is there.
    [[nodiscard]] auto tensor(std::int32_t v) const -> at::Tensor
    {
        auto const& x = trace_.values[at(v)];
        if (x.from == origin::made) {
            auto const offset = trace_.groups[at(x.group)].made() ? 0 : resident(x.group).storage_offset();
            return view(x.group, x.keys, x.dtype, x.sizes, x.strides, x.offset + offset);
        }
        return x.from == origin::input ? inputs_[at(x.slot)] : trace_.fixed[at(x.slot)];
    }

    /// A tensor in the storage of group `g`.
    [[nodiscard]] auto view(std::int32_t g,
                            c10::DispatchKeySet keys,
                            caffe2::TypeMeta dtype,
                            at::IntArrayRef sizes,
                            at::IntArrayRef strides,
                            std::int64_t offset) const -> at::Tensor
    {
        auto impl = c10::make_intrusive<c10::TensorImpl>(c10::Storage(storage(g)), keys, dtype);
        impl->set_sizes_and_strides(sizes, strides, offset);
        return at::Tensor(std::move(impl));
    }

    [[nodiscard]] auto storage(std::int32_t g) const -> c10::Storage const&
    {
        auto const& kept = storages[at(g)];
        TORCH_CHECK(kept || !trace_.groups[at(g)].made(), "strata::torch: an activation that was dropped is read");
        return trace_.groups[at(g)].made() ? kept : resident(g).storage();
    }

    std::vector<c10::Storage> storages;               // per group: if made and there
    std::vector<std::unique_ptr<local_graph>> graphs; // per unit: between its forward and its backward
    std::vector<ordered_sum> gradients;               // per value

private:
    [[nodiscard]] auto resident(std::int32_t g) const -> at::Tensor const&
    {
        auto const& owner = trace_.values[at(trace_.groups[at(g)].owner)];
        return owner.from == origin::input ? inputs_[at(owner.slot)] : trace_.fixed[at(owner.slot)];
    }

    trace const& trace_;
    unit_list const& units_;
    std::vector<at::Tensor> inputs_;
};

} // namespace strata::torch::detail
