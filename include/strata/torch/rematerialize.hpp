// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Any libtorch module trains inside a byte budget, with the same bits and one more line.
///
/// ```cpp
/// auto planned = strata::torch::rematerialize(model, {sample}, {.budget = 2_GiB});
/// auto loss = cross_entropy(planned.forward(x), y); // as before
/// loss.backward();                                  // as before
/// ```
#pragma once

#include <strata/pipeline/certificate.hpp>
#include <strata/torch/backward_node.hpp>
#include <strata/torch/compat.hpp>
#include <strata/torch/options.hpp>
#include <strata/torch/planned_step.hpp>
#include <strata/torch/refusal.hpp>
#include <strata/torch/signature.hpp>
#include <strata/torch/tensors_in.hpp>

#include <ATen/core/ivalue.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace strata::torch {

namespace detail {

/// A holder of a module, or a pointer to one; a module of TorchScript; a module as such.
template <class M>
concept module_pointer = requires(M& m) { m->is_training(); };
template <class M>
concept script_module = requires(M& m, std::vector<c10::IValue> x) { m.forward(std::move(x)); };
template <class M>
concept module_itself = !script_module<M> && requires(M& m) { m.is_training(); };

/// Whether `m` takes these tensors. A module holder must not be asked for its call operator: it takes anything, and then
/// does not compile.
template <class M, class... T>
consteval auto takes() -> bool
{
    if constexpr (module_pointer<M>) {
        return requires(M& m, T const&... x) { m->forward(x...); };
    } else if constexpr (script_module<M>) {
        return true;
    } else if constexpr (module_itself<M>) {
        return requires(M& m, T const&... x) { m.forward(x...); };
    } else {
        return std::is_invocable_v<M&, T const&...>;
    }
}

/// `m` on these tensors.
template <class M, class... T>
auto call(M& m, T const&... x) -> decltype(auto)
{
    if constexpr (module_pointer<M>) {
        return m->forward(x...);
    } else if constexpr (script_module<M>) {
        return m.forward(std::vector<c10::IValue>{c10::IValue(x)...});
    } else if constexpr (module_itself<M>) {
        return m.forward(x...);
    } else {
        return m(x...);
    }
}

template <std::size_t>
using one_tensor = at::Tensor;

template <class R>
inline constexpr char type_tag = 0;

} // namespace detail

/// A model whose steps are planned. `M` is what `rematerialize` was given, held as it is: usually a module holder or a
/// reference to the module in a callable.
///
/// Use it from one thread at a time. Steps may be in flight side by side: several calls of `forward`, then their backward
/// passes in any order. It stays usable when a step throws.
template <class M>
class rematerialized {
public:
    rematerialized(M model, std::vector<at::Tensor> const& sample, options how)
        : model_(std::move(model))
        , how_(std::move(how))
    {
        prepare(sample);
    }
    rematerialized(M model, std::vector<at::Tensor> const& sample, certified_plan const& plan, options how)
        : model_(std::move(model))
        , how_(std::move(how))
    {
        prepare(sample, plan);
    }

    /// As `forward` of the model. The first call with new shapes, types, flags or gradient mode plans anew.
    /// Throws: what the model throws; `refusal`; `not_planned`.
    template <class... T>
        requires(std::is_convertible_v<T const&, at::Tensor> && ...)
    auto forward(T const&... x)
    {
        return run(at::Tensor(x)...);
    }
    template <class... T>
    auto operator()(T const&... x)
    {
        return forward(x...);
    }

    /// Plans for inputs like `sample` now, if that has not happened yet.
    /// Throws: as `forward`; `std::invalid_argument` if the model does not take that many tensors.
    void prepare(std::vector<at::Tensor> const& sample) { prepare_for(sample, std::make_index_sequence<9>()); }
    /// The same with a plan that was made before, in another run or by another process.
    /// Throws: also `not_planned` if that was for another model or other inputs, or if the step takes more here.
    void prepare(std::vector<at::Tensor> const& sample, certified_plan const& plan)
    {
        known_ = &plan;
        try {
            prepare(sample);
        } catch (...) {
            known_ = nullptr;
            throw;
        }
        known_ = nullptr;
    }

    /// What is known about the plan that was used last. Valid until the next call.
    [[nodiscard]] auto report() const -> torch::report
    {
        auto r = plans_.front().step->said();
        r.plans = made_;
        return r;
    }
    /// That plan. Its fingerprint says what the step is, not how long it takes, so that a plan can be kept for later runs.
    [[nodiscard]] auto plan() const -> certified_plan const& { return plans_.front().step->plan(); }
    /// The step of that plan as a task graph, to lower, to write, or to plan again.
    [[nodiscard]] auto graph() const -> auto const& { return plans_.front().step->graph(); }
    [[nodiscard]] auto model() noexcept -> M& { return model_; }

private:
    struct entry {
        detail::signature key;
        std::shared_ptr<detail::planned_step const> step;
        detail::signature fixed;           // of tensors that the pass reads and nobody hands in
        std::shared_ptr<void const> shape; // what forward returns, without its tensors
        char const* type;
    };

    template <class... T>
    auto run(T const&... x)
    {
        using answer = std::remove_cvref_t<decltype(detail::call(model_, x...))>;
        auto const& now = find(x...);
        auto results = detail::run_step(now.step, {x...});
        answer y = *static_cast<answer const*>(now.shape.get());
        std::size_t k = 0;
        detail::visit_tensors(y, [&](at::Tensor& t) { t = std::move(results[k++]); });
        return y;
    }

    /// The plan for these inputs, which moves to the front.
    template <class... T>
    auto find(T const&... x) -> entry const&
    {
        using answer = std::remove_cvref_t<decltype(detail::call(model_, x...))>;
        auto const key = key_of({x...});
        for (auto it = plans_.begin(); it != plans_.end(); ++it) {
            if (it->key == key && it->type == &detail::type_tag<answer> && it->fixed == fixed_of(*it->step)) {
                plans_.splice(plans_.begin(), plans_, it);
                return plans_.front();
            }
        }
        std::shared_ptr<answer> shape;
        auto const pass = [&] {
            auto y = detail::call(model_, x...);
            std::vector<at::Tensor> flat;
            detail::visit_tensors(y, [&](at::Tensor& t) { flat.push_back(std::exchange(t, at::Tensor())); });
            shape = std::make_shared<answer>(std::move(y));
            return flat;
        };
        auto step = std::make_shared<detail::planned_step const>(pass, std::vector<at::Tensor>{x...}, how_, known_);
        auto fixed = fixed_of(*step);
        plans_.push_front({key, std::move(step), std::move(fixed), std::move(shape), &detail::type_tag<answer>});
        ++made_;
        while (plans_.size() > std::max<std::size_t>(1, how_.plans)) {
            plans_.pop_back();
        }
        return plans_.front();
    }

    template <std::size_t... N>
    void prepare_for(std::vector<at::Tensor> const& sample, std::index_sequence<N...> /*arities*/)
    {
        bool const taken = ((sample.size() == N && prepare_with(sample, std::make_index_sequence<N>())) || ...);
        if (!taken) {
            throw std::invalid_argument("strata::torch::rematerialize: the model does not take " +
                                        std::to_string(sample.size()) + " tensors; wrap it in a callable that does");
        }
    }
    template <std::size_t... K>
    auto prepare_with(std::vector<at::Tensor> const& sample, std::index_sequence<K...> /*positions*/) -> bool
    {
        if constexpr (detail::takes<M, detail::one_tensor<K>...>()) {
            find(sample[K]...);
            return true;
        } else {
            (void)sample;
            return false;
        }
    }

    auto key_of(std::vector<at::Tensor> const& inputs) -> detail::signature
    {
        detail::signature s{at::GradMode::is_enabled() ? 1 : 0,
                            detail::autocast_mode(),
                            how_.mode ? static_cast<std::int64_t>(how_.mode()) : 0};
        for (auto const& x : inputs) {
            detail::append(s, x, true);
        }
        detail::append_module(s, model_);
        return s;
    }
    static auto fixed_of(detail::planned_step const& step) -> detail::signature
    {
        detail::signature s;
        for (auto const& t : step.captured().fixed) {
            detail::append(s, t, false);
        }
        return s;
    }

    M model_;
    options how_;
    certified_plan const* known_ = nullptr; // while `prepare` has one
    std::list<entry> plans_;                // the one used last in front
    std::size_t made_ = 0;
};

/// Captures a step of `model` on `sample`, measures it and plans it within `how.budget`.
///
/// `model`: a module holder, a shared pointer to a module, a TorchScript module, or a callable that takes tensors. It must
/// do the same ops whenever shapes and flags are the same. Buffers and the random state are afterwards as before.
/// Throws: `refusal` for what cannot be repeated exactly, naming op and remedy; `not_planned` if no plan fits;
/// `std::invalid_argument` if the model does not take that many tensors; what the model throws.
/// Complexity: capture and measuring take about as long as a few steps, planning little more than that of a graph file.
template <class M>
[[nodiscard]] auto rematerialize(M model, std::vector<at::Tensor> const& sample, options how = {}) -> rematerialized<M>
{
    return rematerialized<M>(std::move(model), sample, std::move(how));
}

/// The same with `plan`, which was made before for this model and inputs like these: by another process, or in an earlier
/// run and kept in a file (`strata::write_plan`, `strata::read_plan_file`). Its budget holds; only other inputs are planned
/// by `how`.
/// Throws: `not_planned` also if the plan was made for another step (`errc::wrong_graph`), or if the step takes more memory
/// here than its budget allows (`errc::invalid_plan`).
template <class M>
[[nodiscard]] auto
rematerialize(M model, std::vector<at::Tensor> const& sample, certified_plan const& plan, options how = {})
    -> rematerialized<M>
{
    return rematerialized<M>(std::move(model), sample, plan, std::move(how));
}

} // namespace strata::torch
