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
/// Times are the least of `repeats` runs, fewer for units that take long, and of all units that do the same. What it changes is known to `before`.
class profiler {
public:
    profiler(step_state& s, int repeats)
        : s_(s)
        , repeats_(repeats)
        , last_reader_(s.of().groups.size(), none)
    {
        auto const& all = s.units().all;
        for (std::size_t i = 0; i < all.size(); ++i) {
            for (auto const* list : {&all[i].makes, &all[i].needs}) {
                for (auto g : *list) {
                    last_reader_[at(g)] = static_cast<std::int32_t>(i);
                }
            }
        }
    }

    [[nodiscard]] auto measured() && -> std::vector<unit_profile>
    {
        auto const& all = s_.units().all;
        std::vector<unit_profile> profiles(all.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
            auto const k = static_cast<std::int32_t>(i);
            auto const& u = all[i];
            auto& m = profiles[i];
            auto const before = random_state();
            clock::duration spent{};
            for (int r = 0; r < (u.once ? 1 : std::max(1, repeats_)) && (r == 0 || spent < patience); ++r) {
                if (r > 0) {
                    drop(u);
                    set_random_state(before);
                }
                spent += measure(k, r == 0, m);
            }
            for (std::size_t g = 0; g < last_reader_.size(); ++g) {
                if (last_reader_[g] == k) {
                    s_.storages[g] = {};
                }
            }
        }
        even_out(profiles);
        return profiles;
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
    static constexpr auto patience = std::chrono::milliseconds(30); // per unit

    /// Units that do the same on tensors of the same shapes take the same time: the least of theirs. What differs is noise,
    /// and a planner that believes in it looks for its plan where the noise is low.
    void even_out(std::vector<unit_profile>& profiles) const
    {
        std::map<std::vector<std::int64_t>, unit_profile*> first; // of its kind
        auto const& all = s_.units().all;
        for (std::size_t i = 0; i < all.size(); ++i) {
            auto const [it, fresh] = first.try_emplace(kind_of(all[i]), &profiles[i]);
            if (!fresh) {
                auto& least = *it->second;
                least.forward_ns = std::min(least.forward_ns, profiles[i].forward_ns);
                least.backward_ns = std::min(least.backward_ns, profiles[i].backward_ns);
            }
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
            auto const& least = *first.at(kind_of(all[i]));
            profiles[i].forward_ns = least.forward_ns;
            profiles[i].backward_ns = least.backward_ns;
        }
    }
    /// Ops, and type, shape, strides and gradient flag of all that goes in and comes out.
    [[nodiscard]] auto kind_of(unit const& u) const -> std::vector<std::int64_t>
    {
        auto const& t = s_.of();
        std::vector<std::int64_t> key{u.backward ? 1 : 0};
        auto const add = [&](std::int32_t v) {
            auto const& x = t.values[at(v)];
            key.push_back(static_cast<std::int64_t>(c10::typeMetaToScalarType(x.dtype)));
            key.push_back(x.grad ? 1 : 0);
            for (auto const* list : {&x.sizes, &x.strides}) {
                key.push_back(static_cast<std::int64_t>(list->size()));
                key.insert(key.end(), list->begin(), list->end());
            }
        };
        for (auto o : u.ops) {
            key.push_back(
                static_cast<std::int64_t>(std::hash<c10::OperatorName>()(t.ops[at(o)].handle.operator_name())));
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

    void drop(unit const& u)
    {
        for (auto g : u.makes) {
            s_.storages[at(g)] = {};
        }
    }

    auto measure(std::int32_t i, bool first, unit_profile& m) -> clock::duration
    {
        auto const& u = s_.units().all[at(i)];
        auto const begin = clock::now();
        auto base = watch_.live();
        watch_.reset_peak();
        run_forward(s_, i, {.graph = true, .quiet = !first});
        auto const middle = clock::now();
        m.forward_peak = std::max(m.forward_peak, watch_.peak() - base);
        keep_least(m.forward_ns, middle - begin, first);
        auto const& graph = s_.graphs[at(i)];
        if (!graph) {
            return middle - begin;
        }
        m.saved = graph->read_groups();
        m.held = std::max(m.held, graph->held_bytes(u));
        std::vector<std::pair<std::int32_t, weak_storage>> given; // held weakly, so that what is not handed on goes
        for (auto v : graph->root_values()) {
            at::NoGradGuard const guard;
            s_.gradients[at(v)].clear();
            s_.gradients[at(v)].add(0, at::full_like(s_.tensor(v), 1));
            given.emplace_back(v, s_.gradients[at(v)].sum().storage().getWeakStorageImpl());
        }
        base = watch_.live();
        watch_.reset_peak();
        auto const start = clock::now();
        run_backward(s_, i);
        auto const end = clock::now();
        m.backward_peak = std::max(m.backward_peak, watch_.peak() - base);
        keep_least(m.backward_ns, end - start, first);
        m.handed_on = handed_on(u, given);
        for (auto const& x : u.uses) {
            s_.gradients[at(x.value)].clear();
        }
        return end - begin;
    }

    using weak_storage = c10::weak_intrusive_ptr<c10::StorageImpl>;

    /// Gradients that `u` has just made, which are in the storages of those that were `given` for its results.
    [[nodiscard]] auto handed_on(unit const& u, std::vector<std::pair<std::int32_t, weak_storage>> const& given) const
        -> std::vector<std::pair<std::int32_t, std::int32_t>>
    {
        std::vector<std::pair<std::int32_t, std::int32_t>> all;
        for (auto const& x : u.uses) {
            auto const& part = s_.gradients[at(x.value)].sum();
            if (!x.grad || s_.units().contributions[at(x.value)] != 1 ||
                s_.of().values[at(x.value)].from != origin::made || !part.defined() || !part.has_storage()) {
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

    static void keep_least(cost_t& ns, clock::duration d, bool first)
    {
        auto const now = std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
        ns = first ? now : std::min(ns, now);
    }

    step_state& s_;
    int repeats_;
    std::vector<std::int32_t> last_reader_; // per group
    memory_watch watch_;
};

} // namespace strata::torch::detail
