// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Tells the tensors of a forward pass apart, by identity, and gives each its value in the trace.
#pragma once

#include <strata/torch/compat.hpp>
#include <strata/torch/refusal.hpp>
#include <strata/torch/trace.hpp>
#include <strata/units.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace strata::torch::detail {

/// The tensors and storages that were seen. They are held weakly, so watching keeps no activation alive.
class tensor_table {
public:
    trace written; ///< whose values and groups these are

    /// Its value, `none` if it was not seen.
    [[nodiscard]] auto find(at::Tensor const& t) const -> std::int32_t
    {
        auto const it = ids_.find(t.unsafeGetTensorImpl());
        return it == ids_.end() ? none : it->second;
    }

    /// The value of a tensor that `reader` reads.
    auto known(at::Tensor const& t, std::string const& reader) -> std::int32_t
    {
        auto const v = find(t);
        if (v == none) {
            if (t.requires_grad() && !t.is_leaf()) {
                throw refusal(
                    reader,
                    "reads a tensor with a gradient function that was made outside of forward, or in a custom "
                    "autograd function",
                    "hand the tensor to forward as an input; write the function with differentiable ops");
            }
            written.fixed.push_back(t);
            return add(t, origin::fixed, static_cast<std::int32_t>(written.fixed.size()) - 1, reader);
        }
        auto const& x = written.values[at(v)];
        if (x.from == origin::made && x.grad != t.requires_grad()) {
            throw refusal(
                reader,
                "reads a tensor whose requires_grad was changed by no op: by a custom autograd function, or by "
                "requires_grad_",
                "write the function with differentiable ops; hand leaves to forward as inputs");
        }
        if (x.from == origin::made && t.requires_grad() && !autograd::impl::hooks(t).empty()) {
            throw refusal(reader,
                          "reads a tensor with a gradient hook, which would not be called",
                          "register hooks on parameters, inputs or results of forward");
        }
        return v;
    }

    /// A new value for `t`. Throws: `refusal` if it is not strided, naming `op`.
    auto add(at::Tensor const& t, origin from, std::int32_t slot, std::string const& op = "an input of forward")
        -> std::int32_t
    {
        if (t.layout() != at::kStrided || !t.has_storage()) {
            throw refusal(op,
                          "reads or makes a tensor that is not strided: sparse, quantized or opaque",
                          "convert it outside of forward, or keep it out of the part that is planned");
        }
        auto const v = static_cast<std::int32_t>(written.values.size());
        auto* const storage = t.storage().unsafeGetStorageImpl();
        auto const [it, fresh] = groups_.try_emplace(storage, static_cast<std::int32_t>(written.groups.size()));
        if (fresh) {
            auto const n = static_cast<bytes_t>(t.storage().nbytes());
            written.groups.push_back({n, from == origin::made ? none : v, false});
            storages_.push_back(t.storage().getWeakStorageImpl());
        }
        value x{t.sizes().vec(),
                t.strides().vec(),
                t.storage_offset(),
                t.key_set(),
                t.dtype(),
                t.requires_grad(),
                from,
                slot,
                it->second};
        if (auto const owner = written.groups[at(x.group)].owner; owner != none && owner != v) {
            x.offset -= owner_offset_[it->second];
        } else if (owner == v) {
            owner_offset_[it->second] = x.offset;
            x.offset = 0;
        }
        written.values.push_back(std::move(x));
        tensors_.emplace_back(t.getIntrusivePtr());
        ids_[t.unsafeGetTensorImpl()] = v;
        return v;
    }

    /// After an in-place op on a view, others of the same storage may have come to require a gradient.
    void refresh(std::int32_t g)
    {
        for (std::size_t v = 0; v < written.values.size(); ++v) {
            if (written.values[v].group == g && written.values[v].from == origin::made) {
                if (auto const strong = tensors_[v].lock()) {
                    written.values[v].grad = at::Tensor(strong).requires_grad();
                }
            }
        }
    }

    /// The blank `v`, of group `g`, becomes a tensor that was there before. `any`: a tensor in the same storage.
    void adopt(std::int32_t v, std::int32_t g, at::Tensor const& any)
    {
        auto& x = written.values[at(v)];
        auto impl = c10::make_intrusive<c10::TensorImpl>(c10::Storage(any.storage()), x.keys, x.dtype);
        impl->set_sizes_and_strides(x.sizes, x.strides, x.offset);
        x.from = origin::fixed;
        x.slot = static_cast<std::int32_t>(written.fixed.size());
        written.fixed.emplace_back(std::move(impl));
        written.groups[at(g)].owner = v;
        owner_offset_[g] = std::exchange(x.offset, 0);
        std::erase_if(written.ops, [&](captured_op const& op) {
            return op.answers.size() == 1 && op.answers[0].values == std::vector<std::int32_t>{v};
        });
    }

    /// The tensor of value `v`, which was there before the pass. Requires: it still is.
    [[nodiscard]] auto resident(std::int32_t v) const -> at::Tensor
    {
        auto const& x = written.values[at(v)];
        return x.from == origin::fixed ? written.fixed[at(x.slot)] : at::Tensor(tensors_[at(v)].lock());
    }

private:
    // Held weakly, so that no other tensor and no other storage can come to lie at the same address.
    std::vector<c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>> tensors_; // per value
    std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> storages_;                         // per group
    std::unordered_map<c10::TensorImpl*, std::int32_t> ids_;
    std::unordered_map<c10::StorageImpl*, std::int32_t> groups_;
    std::unordered_map<std::int32_t, std::int64_t> owner_offset_;
};

} // namespace strata::torch::detail
