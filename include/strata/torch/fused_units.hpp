// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Units that a plan always runs together become one: what was planned finely runs coarsely.
///
/// A unit has a graph, a run of autograd's engine and references to what it saved; for ops of a few microseconds that is a
/// tenth of their time. Where a plan keeps what stands between units, none of that is needed between them.
#pragma once

#include <strata/execute/program.hpp>
#include <strata/torch/step_graph.hpp>
#include <strata/torch/trace.hpp>
#include <strata/torch/unit_writer.hpp>
#include <strata/torch/units.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace strata::torch::detail {

/// Coarser units, what is known of them, and the steps in which they run.
struct fused_units {
    unit_list units;
    std::vector<unit_profile> measured; ///< times and what backward reads; no sizes
    std::vector<step_op> order;         ///< forward, host and backward, replays included
    std::vector<std::int32_t> part_of;  ///< per finer unit
};

/// Fuses units of one pass for one program.
///
/// Two units become one if each run of the second comes right behind one of the first and no other run of the first, and
/// in backward the other way round. Bits stay the same: ops of one unit run in the order in which they were captured, and
/// the parts of a gradient from inside a unit come last in the order of ranks, or the units stay apart.
/// Complexity: O(instructions + arguments of ops), up to sorting.
class unit_fuser {
public:
    /// `fine`: the units that `p` runs by way of the ops of `g`; `measured`: their profiles. `apart`: those that stay as they
    /// are.
    unit_fuser(trace const& t,
               unit_list const& fine,
               std::vector<unit_profile> const& measured,
               step_graph const& g,
               program const& p,
               std::vector<char> const& apart)
        : t_(t)
        , fine_(fine)
        , measured_(measured)
        , apart_(apart)
        , producer_(producers(t))
        , group_(fine.all.size(), none)
    {
        for (auto const& x : p.instructions()) {
            if (x.what == instruction::kind::run) {
                runs_.push_back(g.ops[at(x.id)]);
            }
        }
    }

    [[nodiscard]] auto made() && -> fused_units
    {
        group();
        split_early_readers();
        number();
        describe();
        for (auto const& x : runs_) {
            if (x.what == kind::host) {
                to_.order.push_back(x);
            } else if (step_op const y{x.what, group_[at(x.unit)]}; x.unit == begin_of(y)) {
                to_.order.push_back(y);
            }
        }
        join_uses();
        for (auto& u : to_.units.all) {
            unit_writer(t_, producer_).encode(u);
        }
        find_undisturbed();
        to_.part_of = std::move(group_);
        return std::move(to_);
    }

private:
    using kind = step_op::kind;

    /// Per unit: what always comes right behind its runs of one kind and never behind another's; `none` if nothing does.
    [[nodiscard]] auto followers(kind what) const -> std::vector<std::int32_t>
    {
        constexpr std::int32_t unknown = -2;
        std::vector<std::int32_t> next(fine_.all.size(), unknown);
        std::vector<std::int32_t> before(fine_.all.size(), unknown);
        auto const see = [](std::int32_t& known, std::int32_t now) {
            known = known == unknown || known == now ? now : none;
        };
        for (std::size_t k = 0; k < runs_.size(); ++k) {
            if (runs_[k].what == what) {
                see(next[at(runs_[k].unit)],
                    k + 1 < runs_.size() && runs_[k + 1].what == what ? runs_[k + 1].unit : none);
                see(before[at(runs_[k].unit)], k > 0 && runs_[k - 1].what == what ? runs_[k - 1].unit : none);
            }
        }
        for (std::size_t u = 0; u < next.size(); ++u) {
            if (next[u] < 0 || before[at(next[u])] != static_cast<std::int32_t>(u)) {
                next[u] = none;
            }
        }
        return next;
    }

    /// Groups are numbered by their first unit.
    void group()
    {
        auto const behind = followers(kind::forward);
        auto const behind_backward = followers(kind::backward);
        for (auto const& x : runs_) {
            if (x.what != kind::forward || group_[at(x.unit)] != none) {
                continue;
            }
            auto const first = x.unit;
            auto last_backward = none;
            for (auto u = first; u != none && group_[at(u)] == none; u = behind[at(u)]) {
                auto const& unit = fine_.all[at(u)];
                if (u != first &&
                    (apart_[at(u)] != 0 || apart_[at(first)] != 0 ||
                     (unit.backward && last_backward != none && behind_backward[at(u)] != last_backward))) {
                    break;
                }
                group_[at(u)] = first;
                last_backward = unit.backward ? u : last_backward;
            }
        }
    }

    /// The unit of `fine` that makes a value, as a group; `none` if none does.
    [[nodiscard]] auto makers() const -> std::vector<std::int32_t>
    {
        std::vector<std::int32_t> all(t_.values.size(), none);
        for (std::size_t u = 0; u < fine_.all.size(); ++u) {
            for (auto v : fine_.all[u].locals) {
                all[at(v)] = group_[u];
            }
        }
        return all;
    }

    /// Inside a unit autograd adds to what came from outside: groups in which some part from inside came earlier are undone.
    void split_early_readers()
    {
        auto const maker = makers();
        std::vector<std::int32_t> first_inside(t_.values.size(), std::numeric_limits<std::int32_t>::max());
        auto const each_use = [&](auto const& f) {
            for (std::size_t u = 0; u < fine_.all.size(); ++u) {
                for (auto const& x : fine_.all[u].uses) {
                    if (x.grad && maker[at(x.value)] != none) {
                        f(x, maker[at(x.value)] == group_[u]);
                    }
                }
            }
        };
        each_use([&](outside_use const& x, bool inside) {
            if (inside) {
                first_inside[at(x.value)] = std::min(first_inside[at(x.value)], x.rank);
            }
        });
        std::vector<char> undone(fine_.all.size(), 0);
        each_use([&](outside_use const& x, bool inside) {
            if (!inside && x.rank > first_inside[at(x.value)]) {
                undone[at(maker[at(x.value)])] = 1;
            }
        });
        for (std::size_t u = 0; u < group_.size(); ++u) {
            if (undone[at(group_[u])] != 0) {
                group_[u] = static_cast<std::int32_t>(u);
            }
        }
    }

    /// Groups become 0, 1, ... in the order of their first runs.
    void number()
    {
        std::vector<std::int32_t> number(group_.size(), none);
        for (auto const& x : runs_) {
            if (x.what == kind::forward && number[at(group_[at(x.unit)])] == none) {
                number[at(group_[at(x.unit)])] = static_cast<std::int32_t>(members_.size());
                members_.emplace_back();
            }
        }
        for (std::size_t u = 0; u < group_.size(); ++u) {
            group_[u] = number[at(group_[u])];
            members_[at(group_[u])].push_back(static_cast<std::int32_t>(u));
        }
    }

    /// The member of a group with which each of its runs begins.
    [[nodiscard]] auto begin_of(step_op const& y) const -> std::int32_t
    {
        auto const& m = members_[at(y.unit)];
        if (y.what == kind::forward) {
            return m.front();
        }
        return *std::find_if(m.rbegin(), m.rend(), [&](auto u) { return fine_.all[at(u)].backward; });
    }

    void describe()
    {
        unit_writer const writer(t_, producer_);
        for (auto const& m : members_) {
            std::vector<std::pair<std::int32_t, std::pair<unit const*, std::size_t>>> ops; // where each op was before
            unit_profile sum;
            for (auto u : m) {
                auto const& from = fine_.all[at(u)];
                for (std::size_t k = 0; k < from.ops.size(); ++k) {
                    ops.emplace_back(from.ops[k], std::pair(&from, k));
                }
                sum.forward_ns += measured_[at(u)].forward_ns;
                sum.backward_ns += measured_[at(u)].backward_ns;
                sum.saved.insert(sum.saved.end(), measured_[at(u)].saved.begin(), measured_[at(u)].saved.end());
            }
            std::sort(ops.begin(), ops.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
            std::vector<std::int32_t> ids;
            for (auto const& x : ops) {
                ids.push_back(x.first);
            }
            auto one = writer.describe(ids);
            one.name = fine_.all[at(m.front())].name + (m.size() > 1 ? "..." : "");
            for (auto u : m) {
                one.backward = one.backward || fine_.all[at(u)].backward;
            }
            // Whether a gradient is wanted, and as how-many-th part, is known from before.
            for (std::size_t k = 0; k < ops.size(); ++k) {
                auto const& [from, at_op] = ops[k].second;
                for (std::size_t a = 0; a < one.reads[k].size(); ++a) {
                    if (one.reads[k][a] < 0) {
                        one.uses[at(~one.reads[k][a])] = from->uses[at(~from->reads[at_op][a])];
                    }
                }
            }
            to_.units.all.push_back(std::move(one));
            to_.measured.push_back(std::move(sum));
        }
        writer.find_results(to_.units.all);
        for (std::size_t i = 0; i < members_.size(); ++i) { // what only ops of the unit itself read is not for the plan
            auto const& u = to_.units.all[i];
            auto& saved = to_.measured[i].saved;
            std::erase_if(saved, [&](auto g) {
                auto const in = [&](auto const& list) { return std::find(list.begin(), list.end(), g) != list.end(); };
                return !in(u.needs) && !in(u.makes);
            });
            std::sort(saved.begin(), saved.end());
            saved.erase(std::unique(saved.begin(), saved.end()), saved.end());
        }
        to_.units.contributions = fine_.contributions;
        to_.units.held_apart = fine_.held_apart;
    }

    /// Uses of one value share an edge where their parts follow each other, once all before them have come.
    void join_uses()
    {
        std::vector<std::size_t> backward_at(to_.units.all.size(), 0);
        for (std::size_t k = 0; k < to_.order.size(); ++k) {
            if (to_.order[k].what == kind::backward) {
                backward_at[at(to_.order[k].unit)] = k;
            }
        }
        std::vector<std::vector<std::pair<std::int32_t, std::size_t>>> parts(t_.values.size()); // rank, when
        for (std::size_t i = 0; i < to_.units.all.size(); ++i) {
            for (auto const& x : to_.units.all[i].uses) {
                if (x.grad) {
                    parts[at(x.value)].emplace_back(x.rank, backward_at[i]);
                }
            }
        }
        for (auto& list : parts) {
            std::sort(list.begin(), list.end());
        }
        auto const all_before = [&](outside_use const& x, std::size_t when) {
            auto const& list = parts[at(x.value)];
            return std::all_of(
                list.begin(), list.end(), [&](auto const& p) { return p.first >= x.rank || p.second < when; });
        };
        for (std::size_t i = 0; i < to_.units.all.size(); ++i) {
            join(to_.units.all[i], [&](outside_use const& x) { return all_before(x, backward_at[i]); });
        }
    }
    template <class F>
    void join(unit& u, F const& all_before) const
    {
        std::vector<std::size_t> by_value(u.uses.size());
        std::iota(by_value.begin(), by_value.end(), std::size_t(0));
        std::stable_sort(by_value.begin(), by_value.end(), [&](auto a, auto b) {
            auto const& x = u.uses[a];
            auto const& y = u.uses[b];
            return std::tuple(x.value, x.grad, x.rank) < std::tuple(y.value, y.grad, y.rank);
        });
        std::vector<std::int32_t> to(u.uses.size(), none);
        std::vector<outside_use> joined;
        for (std::size_t first = 0; first < by_value.size();) {
            auto x = u.uses[by_value[first]];
            auto end = first + 1;
            auto const same = [&](outside_use const& y) {
                return y.value == x.value && y.grad == x.grad &&
                       (!x.grad || y.rank == x.rank + static_cast<std::int32_t>(end - first));
            };
            while (end < by_value.size() && same(u.uses[by_value[end]])) {
                ++end;
            }
            if (x.grad && end - first > 1 && !all_before(x)) {
                end = first + 1;
            }
            x.parts = x.grad ? static_cast<std::int32_t>(end - first) : 1;
            for (; first < end; ++first) {
                to[by_value[first]] = static_cast<std::int32_t>(joined.size());
            }
            joined.push_back(x);
        }
        for (auto& op : u.reads) {
            for (auto& r : op) {
                r = r < 0 ? ~to[at(~r)] : r;
            }
        }
        u.uses = std::move(joined);
    }

    /// Where nothing that backward reads is made anew between the last run forward and backward, the graph may keep it: the
    /// plan has it in memory all the time.
    void find_undisturbed()
    {
        std::vector<std::size_t> last(to_.units.all.size(), 0);
        for (std::size_t k = 0; k < to_.order.size(); ++k) {
            if (to_.order[k].what == kind::forward) {
                last[at(to_.order[k].unit)] = k;
            }
        }
        std::vector<std::int32_t> maker(t_.groups.size(), none);
        for (std::size_t i = 0; i < to_.units.all.size(); ++i) {
            for (auto g : to_.units.all[i].makes) {
                maker[at(g)] = static_cast<std::int32_t>(i);
            }
        }
        for (std::size_t i = 0; i < to_.units.all.size(); ++i) {
            auto const& saved = to_.measured[i].saved;
            to_.units.all[i].undisturbed = std::all_of(saved.begin(), saved.end(), [&](auto g) {
                return maker[at(g)] == none || last[at(maker[at(g)])] <= last[i];
            });
        }
    }

    trace const& t_;
    unit_list const& fine_;
    std::vector<unit_profile> const& measured_;
    std::vector<char> const& apart_;
    std::vector<step_op> runs_;
    std::vector<std::int32_t> producer_;             // per value: op
    std::vector<std::int32_t> group_;                // per unit
    std::vector<std::vector<std::int32_t>> members_; // per group: units, ascending
    fused_units to_;
};

} // namespace strata::torch::detail
