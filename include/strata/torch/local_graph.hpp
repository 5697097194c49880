// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The graph of autograd that one planning unit has for itself, and backward through it.
#pragma once

#include <strata/torch/compat.hpp>
#include <strata/torch/saved_tensors.hpp>
#include <strata/torch/step_state.hpp>
#include <strata/torch/trace.hpp>
#include <strata/torch/units.hpp>

#include <torch/csrc/autograd/engine.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace strata::torch::detail {

/// Autograd's graph of one unit. What it saves of storages that the step owns is kept by reference, so that these can be
/// dropped and made again; the rest, which no value carries, it holds itself.
class local_graph final : public saved_tensor_keeper {
public:
    explicit local_graph(step_state const& s)
        : state_(s)
    {
    }
    ~local_graph() override
    {
        roots_.clear(); // what is saved goes with its node, and is struck off the list
        edge_.reset();
    }

    auto keep() -> std::unique_ptr<autograd::SavedVariableHooks> override
    {
        auto x = std::make_unique<saved>(*this);
        saved_.push_back(x.get());
        return x;
    }

    /// Where the gradient of the next use arrives.
    void watch(at::Tensor const& t, std::int32_t use)
    {
        autograd::create_gradient_edge(const_cast<at::Tensor&>(t), edge_); // NOLINT: a handle
        uses_.push_back(use);
    }
    /// `t` is the result `v` of the unit.
    void add_root(at::Tensor const& t, std::int32_t v)
    {
        if (t.requires_grad()) {
            roots_.push_back(autograd::impl::gradient_edge(t));
            root_values_.push_back(v);
        }
    }

    /// Forgets the tensors whose storages the step owns; those of tensors that were there before may stay.
    void refer(unit const& u)
    {
        for (auto* x : saved_) {
            if (x->tensor.defined() && x->tensor.has_storage()) {
                auto* const storage = x->tensor.storage().unsafeGetStorageImpl();
                for (auto const* list : {&u.needs, &u.makes}) {
                    for (auto g : *list) {
                        if (state_.storages[at(g)].unsafeGetStorageImpl() == storage) {
                            x->refer(g);
                            break;
                        }
                    }
                }
            }
        }
    }

    /// Groups that backward will read, ascending, and bytes that the graph itself holds.
    [[nodiscard]] auto read_groups() const -> std::vector<std::int32_t>
    {
        std::vector<std::int32_t> all;
        for (auto const* x : saved_) {
            if (x->group != none) {
                all.push_back(x->group);
            }
        }
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
        return all;
    }
    [[nodiscard]] auto held_bytes(unit const& u) const -> bytes_t
    {
        std::vector<c10::StorageImpl const*> seen;
        for (auto const& use : u.uses) { // parameters and inputs are there anyway
            if (state_.of().values[at(use.value)].from != origin::made) {
                seen.push_back(state_.tensor(use.value).storage().unsafeGetStorageImpl());
            }
        }
        bytes_t n = 0;
        for (auto const* x : saved_) {
            if (x->tensor.defined() && x->tensor.has_storage()) {
                auto const* const storage = x->tensor.storage().unsafeGetStorageImpl();
                if (std::find(seen.begin(), seen.end(), storage) == seen.end()) {
                    seen.push_back(storage);
                    n += static_cast<bytes_t>(storage->nbytes());
                }
            }
        }
        return n;
    }

    [[nodiscard]] auto root_values() const noexcept -> std::vector<std::int32_t> const& { return root_values_; }

    /// The uses whose gradients come out.
    [[nodiscard]] auto watched() const noexcept -> std::vector<std::int32_t> const& { return uses_; }

    /// Backward through the graph, which is gone then. `given`: per root, undefined where no gradient came. `begun`: per use
    /// that is watched, to what its gradient is added, if to anything.
    /// Returns: the gradient of each use that is watched, undefined if nothing flows there.
    [[nodiscard]] auto run(std::vector<at::Tensor> given, std::vector<at::Tensor> begun) -> std::vector<at::Tensor>
    {
        autograd::edge_list roots;
        autograd::variable_list gradients;
        for (std::size_t k = 0; k < roots_.size(); ++k) {
            if (given[k].defined()) {
                roots.push_back(std::move(roots_[k]));
                gradients.push_back(std::move(given[k]));
            }
        }
        roots_.clear();
        given.clear();
        if (roots.empty()) {
            return begun;
        }
        if (auto from = source::of(edge_, std::move(begun))) {
            from->add_input_metadata(gradients.front()); // which it makes nothing of, but something must come in
            roots.emplace_back(std::move(from), 0);
            gradients.push_back(gradients.front());
        }
        std::vector<at::Tensor> arrived;
        static_cast<sink&>(*edge_).to = &arrived;
        autograd::Engine::get_default_engine().execute(roots, gradients, false, false, true, {});
        arrived.resize(uses_.size());
        return arrived;
    }

private:
    /// Where the graph ends: takes the gradients of all uses at once.
    struct sink final : autograd::Node {
        auto apply(autograd::variable_list&& g) -> autograd::variable_list override
        {
            *to = std::move(g);
            return {};
        }
        std::vector<at::Tensor>* to = nullptr;
    };

    /// Where sums begin that the graph adds to: hands them on before anything else arrives, and keeps no hold of them, so
    /// that autograd adds in place.
    struct source final : autograd::Node {
        source()
            : autograd::Node(std::numeric_limits<std::uint64_t>::max()) // before all nodes of forward
        {
        }
        /// One for the inputs of `to`, null if nothing has begun.
        static auto of(node_pointer const& to, std::vector<at::Tensor> begun) -> node_pointer
        {
            node_pointer made;
            for (std::size_t k = 0; k < begun.size(); ++k) {
                if (begun[k].defined()) {
                    made = made ? std::move(made) : make_node<source>();
                    made->add_next_edge({to, static_cast<std::uint32_t>(k)});
                    static_cast<source&>(*made).sums.push_back(std::move(begun[k]));
                }
            }
            return made;
        }
        auto apply(autograd::variable_list&& /*g*/) -> autograd::variable_list override { return std::move(sums); }
        autograd::variable_list sums;
    };

    /// What stands for one saved tensor.
    struct saved final : autograd::SavedVariableHooks {
        explicit saved(local_graph& g)
            : graph(g)
        {
        }
        saved(saved const&) = delete;
        auto operator=(saved const&) -> saved& = delete;
        ~saved() override { std::erase(graph.saved_, this); }

        void call_pack_hook(at::Tensor const& t) override { tensor = t.requires_grad() ? t.variable_data() : t; }
        auto call_unpack_hook() -> at::Tensor override
        {
            if (group == none) {
                return tensor;
            }
            return graph.state_.view(group, keys, dtype, sizes, strides, offset);
        }
        void refer(std::int32_t g)
        {
            group = g;
            keys = tensor.key_set();
            dtype = tensor.dtype();
            sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
            strides.assign(tensor.strides().begin(), tensor.strides().end());
            offset = tensor.storage_offset();
            tensor.reset();
        }

        local_graph& graph;
        at::Tensor tensor; // unless it is referred to
        std::int32_t group = none;
        c10::DispatchKeySet keys;
        caffe2::TypeMeta dtype;
        c10::SmallVector<std::int64_t, 5> sizes, strides;
        std::int64_t offset = 0;
    };

    step_state const& state_;
    std::vector<saved*> saved_; // that exist
    node_pointer edge_ = make_node<sink>();
    std::vector<std::int32_t> uses_; // per input of the sink
    autograd::edge_list roots_;
    std::vector<std::int32_t> root_values_;
};

inline step_state::step_state(trace const& t, unit_list const& units, std::vector<at::Tensor> inputs)
    : storages(t.groups.size())
    , graphs(units.all.size())
    , gradients(t.values.size())
    , trace_(t)
    , units_(units)
    , inputs_(std::move(inputs))
{
}
inline step_state::~step_state() = default;

} // namespace strata::torch::detail
