// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Measures every unit of a pass, forward and backward, with no more in memory than inference needs.
#pragma once

#include <strata/torch/compat.hpp>
#include <strata/torch/memory_watch.hpp>
#include <strata/torch/run_unit.hpp>
#include <strata/torch/step_graph.hpp>
#include <strata/torch/step_state.hpp>
#include <strata/torch/trace.hpp>
#include <strata/torch/undo.hpp>
#include <strata/torch/units.hpp>
#include <strata/units.hpp>

#include <ATen/Parallel.h>
#include <ATen/ops/full_like.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace strata::torch::detail {

/// Runs the pass unit by unit: forward, backward at once with gradients of ones, then forward for those that follow.
///
/// All of the pass again and again, not one unit: what has just run finds all it reads in the cache, which in a step it does
/// not, and replays would be planned at less than they take. Times are the median of all passes and of all units that do the
/// same: what differs among those is noise, and a planner that believes in it looks for its plan where the noise is low.
class profiler {
public:
    profiler(trace const& t, unit_list const& units)
        : t_(t)
        , units_(units)
        , last_reader_(t.groups.size(), none)
        , profiles_(units.all.size())
    {
        auto const& all = units.all;
        for (std::size_t i = 0; i < all.size(); ++i) {
            for (auto const* list : {&all[i].makes, &all[i].needs}) {
                for (auto g : *list) {
                    last_reader_[at(g)] = static_cast<std::int32_t>(i);
                }
            }
            times_.push_back(&kinds_[kind_of(all[i])]);
        }
    }

    /// Measures `repeats` times, fewer where that takes long. What the pass changes is known to `before`, which puts it back.
    [[nodiscard]] auto
    measured(std::vector<at::Tensor> const& inputs, int repeats, undo_log& before) && -> std::vector<unit_profile>
    {
        clock::duration spent{};
        for (int r = 0; r == 0 || (r < repeats && spent < patience); ++r) {
            {
                step_state s(t_, units_, inputs);
                spent += pass(s);
            }
            before.restore();
        }
        for (auto& [kind, x] : kinds_) {
            std::sort(x.forward.begin(), x.forward.end());
            std::sort(x.backward.begin(), x.backward.end());
        }
        auto const median = [](std::vector<cost_t> const& x) { return x.empty() ? 0 : x[(x.size() - 1) / 2]; };
        for (std::size_t i = 0; i < profiles_.size(); ++i) {
            profiles_[i].forward_ns = median(times_[i]->forward);
            profiles_[i].backward_ns = median(times_[i]->backward);
        }
        return std::move(profiles_);
    }

private:
    /// Processor time of this thread where libtorch's ops run on it alone, so that what else the machine does is not counted.
    struct clock {
        using duration = std::chrono::nanoseconds;
        static auto now() -> duration
        {
#ifdef CLOCK_THREAD_CPUTIME_ID
            std::timespec t{};
            if (at::get_num_threads() == 1 && clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0) {
                return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
            }
#endif
            return std::chrono::steady_clock::now().time_since_epoch();
        }
    };
    static constexpr auto patience = std::chrono::seconds(1);

    /// Nanoseconds, one entry per unit of a kind and pass.
    struct times {
        std::vector<cost_t> forward, backward;
    };

    auto pass(step_state& s) -> clock::duration
    {
        clock::duration spent{};
        for (std::size_t i = 0; i < profiles_.size(); ++i) {
            auto const k = static_cast<std::int32_t>(i);
            spent += measure(s, k);
            for (std::size_t g = 0; g < last_reader_.size(); ++g) {
                if (last_reader_[g] == k) {
                    s.storages[g] = {};
                }
            }
        }
        return spent;
    }

    /// Ops, and type, shape, strides and gradient flag of all that goes in and comes out.
    [[nodiscard]] auto kind_of(unit const& u) const -> std::vector<std::int64_t>
    {
        std::vector<std::int64_t> key{u.backward ? 1 : 0};
        auto const add = [&](std::int32_t v) {
            auto const& x = t_.values[at(v)];
            key.push_back(static_cast<std::int64_t>(c10::typeMetaToScalarType(x.dtype)));
            key.push_back(x.grad ? 1 : 0);
            for (auto const* list : {&x.sizes, &x.strides}) {
                key.push_back(static_cast<std::int64_t>(list->size()));
                key.insert(key.end(), list->begin(), list->end());
            }
        };
        for (auto o : u.ops) {
            key.push_back(
                static_cast<std::int64_t>(std::hash<c10::OperatorName>()(t_.ops[at(o)].handle.operator_name())));
        }
        for (auto const& x : u.uses) {
            key.push_back(x.grad ? 1 : 0);
            add(x.value);
        }
        for (auto v : u.locals) {
            add(v);
        }
        return key;
    }

    auto measure(step_state& s, std::int32_t i) -> clock::duration
    {
        auto const& u = units_.all[at(i)];
        auto& m = profiles_[at(i)];
        auto const begin = clock::now();
        auto base = watch_.live();
        watch_.reset_peak();
        run_forward(s, i, {.graph = true});
        auto const middle = clock::now();
        m.forward_peak = std::max(m.forward_peak, watch_.peak() - base);
        times_[at(i)]->forward.push_back((middle - begin).count());
        auto const& graph = s.graphs[at(i)];
        if (!graph) {
            return middle - begin;
        }
        m.saved = graph->read_groups();
        m.held = std::max(m.held, graph->held_bytes(u));
        std::vector<std::pair<std::int32_t, weak_storage>> given; // held weakly, so that what is not handed on goes
        for (auto v : graph->root_values()) {
            at::NoGradGuard const guard;
            s.gradients[at(v)].clear();
            s.gradients[at(v)].add(0, at::full_like(s.tensor(v), 1));
            given.emplace_back(v, s.gradients[at(v)].sum().storage().getWeakStorageImpl());
        }
        base = watch_.live();
        watch_.reset_peak();
        auto const start = clock::now();
        run_backward(s, i);
        auto const end = clock::now();
        m.backward_peak = std::max(m.backward_peak, watch_.peak() - base);
        times_[at(i)]->backward.push_back((end - start).count());
        m.handed_on = handed_on(s, u, given);
        for (auto const& x : u.uses) {
            s.gradients[at(x.value)].clear();
        }
        return end - begin;
    }

    using weak_storage = c10::weak_intrusive_ptr<c10::StorageImpl>;

    /// Gradients that `u` has just made, which are in the storages of those that were `given` for its results.
    [[nodiscard]] auto
    handed_on(step_state& s, unit const& u, std::vector<std::pair<std::int32_t, weak_storage>> const& given) const
        -> std::vector<std::pair<std::int32_t, std::int32_t>>
    {
        std::vector<std::pair<std::int32_t, std::int32_t>> all;
        for (auto const& x : u.uses) {
            auto const& part = s.gradients[at(x.value)].sum();
            if (!x.grad || units_.contributions[at(x.value)] != 1 || t_.values[at(x.value)].from != origin::made ||
                !part.defined() || !part.has_storage()) {
                continue;
            }
            for (auto const& [v, storage] : given) {
                if (storage._unsafe_get_target() == part.storage().unsafeGetStorageImpl()) {
                    all.emplace_back(x.value, v);
                }
            }
        }
        return all;
    }

    trace const& t_;
    unit_list const& units_;
    std::vector<std::int32_t> last_reader_; // per group
    std::vector<unit_profile> profiles_;
    std::map<std::vector<std::int64_t>, times> kinds_;
    std::vector<times*> times_; // of its kind, per unit
    memory_watch watch_;
};

} // namespace strata::torch::detail
