// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Describes a group of ops as a planning unit: what it reads, makes and changes, and what others read of it.
#pragma once

#include <strata/torch/op_rules.hpp>
#include <strata/torch/trace.hpp>
#include <strata/torch/units.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace strata::torch::detail {

/// Per value: the op that makes it first, `none` for one that was there before.
[[nodiscard]] inline auto producers(trace const& t) -> std::vector<std::int32_t>
{
    std::vector<std::int32_t> all(t.values.size(), none);
    for (std::size_t o = 0; o < t.ops.size(); ++o) {
        for_each_answer(t.ops[o], [&](auto v) {
            if (t.values[at(v)].from == origin::made && all[at(v)] == none) {
                all[at(v)] = static_cast<std::int32_t>(o);
            }
        });
    }
    return all;
}

/// Writes units of one trace.
class unit_writer {
public:
    /// `producer`: as `producers` says.
    unit_writer(trace const& t, std::vector<std::int32_t> const& producer)
        : t_(t)
        , producer_(producer)
    {
    }

    /// The unit of `ops`, ascending; its results are still unknown.
    [[nodiscard]] auto describe(std::vector<std::int32_t> const& ops) const -> unit
    {
        unit u;
        u.ops = ops;
        std::unordered_map<std::int32_t, std::int32_t> local; // of a value
        auto const local_of = [&](std::int32_t v) {
            auto const it = local.find(v);
            return it == local.end() ? none : it->second;
        };
        for (auto o : ops) {
            auto const& x = t_.ops[at(o)];
            u.name += (u.name.empty() ? "" : "+") + x.name().substr(x.name().rfind(':') + 1);
            u.random = u.random || x.random;
            u.chooses = u.chooses || chooses(x.handle.operator_name());
            u.stateful = u.stateful || !x.statistics.empty();
            std::vector<std::int32_t> reads;
            for_each_argument(x, [&](auto v) {
                if (auto const k = local_of(v); k != none) {
                    reads.push_back(k);
                    return;
                }
                auto const g = group_of(v);
                auto const in = [&](auto const& list) { return std::find(list.begin(), list.end(), g) != list.end(); };
                reads.push_back(~static_cast<std::int32_t>(u.uses.size()));
                u.uses.push_back({v, x.grad_mode && x.leads_back && t_.values[at(v)].grad});
                if (!in(x.statistics)) {
                    (is_made(g) ? u.needs : u.touches).push_back(g);
                }
            });
            for (auto g : x.writes) {
                if (!is_made(g)) {
                    u.changes.push_back(g);
                    u.once = true;
                }
            }
            u.changes.insert(u.changes.end(), x.statistics.begin(), x.statistics.end());
            for_each_answer(x, [&](auto v) {
                if (t_.values[at(v)].from == origin::made && producer_[at(v)] == o) {
                    local.emplace(v, static_cast<std::int32_t>(u.locals.size()));
                    u.locals.push_back(v);
                }
            });
            u.reads.push_back(std::move(reads));
        }
        for (auto* list : {&u.needs, &u.touches, &u.changes}) {
            std::sort(list->begin(), list->end());
            list->erase(std::unique(list->begin(), list->end()), list->end());
        }
        return u;
    }

    /// Finds the results of all units of the trace, in the order in which they run.
    void find_results(std::vector<unit>& all) const
    {
        std::vector<char> read(t_.values.size(), 0);
        for (auto const& u : all) {
            for (auto const& x : u.uses) {
                read[at(x.value)] = 1;
            }
        }
        for (auto v : t_.outputs) {
            if (v != none) {
                read[at(v)] = 1;
            }
        }
        std::vector<char> there(t_.groups.size(), 0);
        for (auto& u : all) {
            for (std::size_t k = 0; k < u.locals.size(); ++k) {
                auto const v = u.locals[k];
                if (read[at(v)] != 0) {
                    u.results.push_back(static_cast<std::int32_t>(k));
                    if (auto const g = group_of(v); is_made(g) && std::exchange(there[at(g)], 1) == 0) {
                        u.makes.push_back(g);
                    }
                }
            }
        }
    }

    /// Writes the code of a unit of which all else is known.
    void encode(unit& u) const { u.code = unit_code::of(t_, u.ops, u.reads, u.locals, u.results, u.uses.size()); }

private:
    [[nodiscard]] auto group_of(std::int32_t v) const noexcept -> std::int32_t { return t_.values[at(v)].group; }
    [[nodiscard]] auto is_made(std::int32_t g) const noexcept -> bool { return t_.groups[at(g)].made(); }

    trace const& t_;
    std::vector<std::int32_t> const& producer_;
};

} // namespace strata::torch::detail
