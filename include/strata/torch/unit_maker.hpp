// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief From ops to planning units: what changes or views one storage runs as one, in an order that keeps all as it was.
#pragma once

#include <strata/torch/gradient_ranker.hpp>
#include <strata/torch/trace.hpp>
#include <strata/torch/unit_writer.hpp>
#include <strata/torch/units.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

namespace strata::torch::detail {

/// Groups ops into units and orders them.
class unit_maker {
public:
    explicit unit_maker(trace const& t)
        : t_(t)
        , parent_(t.ops.size())
        , producer_(producers(t))
        , grad_uses_(t.values.size(), 0)
        , seen_outside_(t.values.size(), 0)
        , readers_(t.values.size(), 0)
    {
        std::iota(parent_.begin(), parent_.end(), 0);
    }

    [[nodiscard]] auto made() && -> unit_list
    {
        count_readers();
        merge();
        fold_views_of_residents();
        auto order = ordered();
        while (order.empty()) {
            order = ordered();
        }
        unit_writer const writer(t_, producer_);
        for (auto const root : order) {
            list_.all.push_back(writer.describe(members_[at(root)]));
        }
        writer.find_results(list_.all);
        for (auto& u : list_.all) {
            writer.encode(u);
        }
        gradient_ranker(t_, list_)();
        return std::move(list_);
    }

private:
    auto root(std::int32_t o) -> std::int32_t
    {
        while (parent_[at(o)] != o) {
            o = parent_[at(o)] = parent_[at(parent_[at(o)])];
        }
        return o;
    }
    void unite(std::int32_t a, std::int32_t b)
    {
        a = root(a);
        b = root(b);
        parent_[at(std::max(a, b))] = std::min(a, b);
    }
    [[nodiscard]] auto count() const noexcept -> std::int32_t { return static_cast<std::int32_t>(t_.ops.size()); }
    [[nodiscard]] auto op(std::int32_t o) const noexcept -> captured_op const& { return t_.ops[at(o)]; }
    [[nodiscard]] auto group_of(std::int32_t v) const noexcept -> std::int32_t { return t_.values[at(v)].group; }
    [[nodiscard]] auto is_made(std::int32_t g) const noexcept -> bool { return t_.groups[at(g)].made(); }
    [[nodiscard]] auto wants(std::int32_t o, std::int32_t v) const noexcept -> bool
    {
        return op(o).grad_mode && op(o).leads_back && t_.values[at(v)].grad;
    }

    void count_readers()
    {
        for (std::int32_t o = 0; o < count(); ++o) {
            for_each_argument(op(o), [&](auto v) {
                ++readers_[at(v)];
                grad_uses_[at(v)] += wants(o, v) ? 1 : 0;
            });
        }
    }

    /// An op that writes a storage joins all that touched it before; a view joins the op whose result it views.
    void merge()
    {
        std::vector<std::vector<std::int32_t>> touched(t_.groups.size());
        for (std::int32_t o = 0; o < count(); ++o) {
            auto const& x = op(o);
            for (auto g : x.writes) {
                if (is_made(g)) {
                    for (auto other : touched[at(g)]) {
                        unite(other, o);
                    }
                }
            }
            if (auto const base = viewed(o); base != none && may_fold(base)) {
                unite(producer_[at(base)], o);
            }
            auto const touch = [&](auto v) {
                if (is_made(group_of(v))) {
                    touched[at(group_of(v))].push_back(o);
                }
            };
            for_each_argument(x, touch);
            for_each_answer(x, touch);
            for_each_argument(x, [&](auto v) {
                if (producer_[at(v)] != none && wants(o, v) && root(producer_[at(v)]) != root(o)) {
                    seen_outside_[at(v)] = 1;
                }
            });
        }
    }

    /// The value made by another op that all answers of op `o` are views of; `none` if it is no view.
    [[nodiscard]] auto viewed(std::int32_t o) const -> std::int32_t
    {
        auto const& x = op(o);
        if (!x.writes.empty() || x.random) {
            return none;
        }
        std::int32_t base = none;
        bool view = true;
        for_each_answer(x, [&](auto y) {
            bool found = false;
            for_each_argument(x, [&](auto v) {
                if (producer_[at(v)] != none && is_made(group_of(v)) && group_of(v) == group_of(y)) {
                    base = v;
                    found = true;
                }
            });
            view = view && found;
        });
        return view ? base : none;
    }

    /// Whether the gradient of `base` is still added up in the same order when a view of it, the next op, is part of the
    /// unit that makes it: then the parts from outside come first.
    [[nodiscard]] auto may_fold(std::int32_t base) const -> bool
    {
        return grad_uses_[at(base)] <= 2 || seen_outside_[at(base)] == 0;
    }

    /// A view of a parameter that one op reads becomes part of the unit of that op.
    void fold_views_of_residents()
    {
        std::vector<char> returned(t_.values.size(), 0);
        for (auto v : t_.outputs) {
            if (v != none) {
                returned[at(v)] = 1;
            }
        }
        for (std::int32_t o = 0; o < count(); ++o) {
            for_each_argument(op(o), [&](auto v) {
                auto const p = producer_[at(v)];
                if (p != none && !is_made(group_of(v)) && readers_[at(v)] == 1 && returned[at(v)] == 0 &&
                    op(p).writes.empty() && op(p).answers.size() == 1 && op(p).answers[0].values.size() == 1) {
                    unite(p, o);
                }
            });
        }
    }

    /// Units, each under its first op, in an order in which all that they need is there; empty if some had to be joined.
    ///
    /// Random ops keep their order, and so do ops around one that writes a tensor which was there before.
    [[nodiscard]] auto ordered() -> std::vector<std::int32_t>
    {
        auto const n = at(count());
        members_.assign(n, {});
        std::vector<std::vector<std::int32_t>> after(n);
        std::vector<std::int32_t> waits(n, 0);
        auto const edge = [&](std::int32_t a, std::int32_t b) {
            if (a != none && root(a) != root(b)) {
                after[at(root(a))].push_back(root(b));
                ++waits[at(root(b))];
            }
        };
        std::int32_t last_random = none;
        std::vector<std::int32_t> last_writer(t_.groups.size(), none);
        std::vector<std::vector<std::int32_t>> read_since(t_.groups.size());
        for (std::int32_t o = 0; o < count(); ++o) {
            auto const& x = op(o);
            members_[at(root(o))].push_back(o);
            for_each_argument(x, [&](auto v) {
                edge(producer_[at(v)], o);
                if (auto const g = group_of(v); t_.groups[at(g)].changed) {
                    edge(last_writer[at(g)], o);
                    read_since[at(g)].push_back(o);
                }
            });
            for (auto const* list : {&x.writes, &x.statistics}) {
                for (auto g : *list) {
                    if (!is_made(g)) {
                        for (auto r : std::exchange(read_since[at(g)], {})) {
                            edge(r, o);
                        }
                        edge(std::exchange(last_writer[at(g)], o), o);
                    }
                }
            }
            if (x.random) {
                edge(std::exchange(last_random, o), o);
            }
        }
        std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> ready;
        std::size_t units = 0;
        for (std::int32_t o = 0; o < count(); ++o) {
            if (root(o) == o) {
                ++units;
                if (waits[at(o)] == 0) {
                    ready.push(o);
                }
            }
        }
        std::vector<std::int32_t> order;
        while (!ready.empty()) {
            order.push_back(ready.top());
            ready.pop();
            for (auto b : after[at(order.back())]) {
                if (--waits[at(b)] == 0) {
                    ready.push(b);
                }
            }
        }
        if (order.size() == units) {
            return order;
        }
        join_stuck(order);
        return {};
    }

    /// A unit waits for an op that waits for the unit: they become one, and all between them.
    void join_stuck(std::vector<std::int32_t> const& order)
    {
        std::vector<char> done(at(count()), 0);
        for (auto r : order) {
            done[at(r)] = 1;
        }
        for (std::int32_t o = 0; o < count(); ++o) {
            auto const& m = members_[at(o)];
            if (root(o) == o && done[at(o)] == 0 && at(m.empty() ? o : m.back() - o) + 1 > m.size()) {
                for (auto k = o + 1; k < m.back(); ++k) {
                    unite(o, k);
                }
                return;
            }
        }
    }

    trace const& t_;
    std::vector<std::int32_t> parent_;               // per op
    std::vector<std::int32_t> producer_;             // per value
    std::vector<std::int32_t> grad_uses_;            // per value: arguments that want its gradient
    std::vector<char> seen_outside_;                 // per value: one of them, so far, is in another unit
    std::vector<std::int32_t> readers_;              // per value: arguments
    std::vector<std::vector<std::int32_t>> members_; // per op that stands for a unit
    unit_list list_;
};

} // namespace strata::torch::detail
