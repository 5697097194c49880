// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The exact optimum of a small problem, by searching every schedule that could matter.
///
/// A state is (which ops have run, which tensors are live). Dijkstra's search takes the cheapest state and runs one op:
/// the next first run, or a replay of any op. Three facts keep it small, none of which loses an optimum:
///  - freeing costs nothing, so a tensor is freed only when the next run needs the room, and then only as few as
///    possible: every inclusion-wise largest set of survivors that fits is tried;
///  - more live tensors are never worse: a state is dropped if one at most as costly, with the same ops run, holds more;
///  - what no remaining run can use is freed at once, and what a remaining run needs and no replay can bring back stays.
/// Whatever `validate` forbids is not searched. It reads the spec alone.
///
/// With a number of passes only part of it is searched: between two first runs, the replays are at most so many runs of
/// ascending ops. One pass is the stage of Checkmate's integer program.
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <queue>
#include <stdexcept>
#include <unordered_map>
#include <vector>

namespace strata::test {

/// Which orders of first runs are searched.
enum class first_runs : std::uint8_t {
    in_index_order, ///< 0, 1, 2, …: what lower bounds and certificates speak of
    in_any_order,   ///< whatever `validate` accepts
};

/// A cheapest schedule under a budget.
struct optimum {
    cost_t cost = 0;
    bytes_t peak = 0;
    strata::schedule schedule;
};

/// The exact solver of one problem. Requires: at most 32 ops and 64 tensors that are not resident.
class brute_force {
public:
    explicit brute_force(problem const& p, first_runs order = first_runs::in_index_order, int passes = 0)
        : any_order_(order == first_runs::in_any_order)
        , passes_(passes)
    {
        read(p.spec());
    }

    /// A cheapest schedule whose peak is at most `budget`; nothing if no schedule is.
    [[nodiscard]] auto solve(bytes_t budget) -> std::optional<optimum>
    {
        auto const goal = search(budget, true);
        return goal ? std::optional(trace(*goal)) : std::nullopt;
    }

    /// True if some schedule has a peak of at most `budget`.
    [[nodiscard]] auto feasible(bytes_t budget) -> bool { return search(budget, false).has_value(); }

    /// The smallest budget under which some schedule exists.
    [[nodiscard]] auto minimum_budget() -> bytes_t
    {
        bytes_t low = resident_;
        bytes_t grain = 0;
        for (auto const& o : ops_) {
            low = std::max(low, resident_ + o.workspace + size_of(o.in | o.out | o.add));
            grain = std::gcd(grain, o.workspace);
        }
        for (auto b : bytes_) {
            grain = std::gcd(grain, b);
        }
        // Every peak is `resident_` plus a multiple of `grain`.
        auto goal = search(max_bytes, false);
        bytes_t high = trace(*goal).peak;
        while (low < high) {
            auto const middle = low + (high - low) / grain / 2 * grain;
            goal = search(middle, false);
            if (goal) {
                high = trace(*goal).peak;
            } else {
                low = middle + grain;
            }
        }
        return high;
    }

    /// States settled by the last search, for those who tune it.
    [[nodiscard]] auto states() const -> std::size_t { return settled_count_; }

private:
    using set = std::uint64_t; ///< of tensors
    using ops = std::uint32_t; ///< set of ops

    struct op_facts {
        set in = 0;     ///< read, without what it adds into
        set out = 0;    ///< produced anew
        set add = 0;    ///< added into
        ops before = 0; ///< ops whose first run precedes the first run of this one
        bytes_t workspace = 0;
        cost_t cost = 0;
        bool once = false;
    };
    /// What follows from which ops have run.
    struct stage {
        set keep = 0;     ///< must not be freed: incomplete, or needed and beyond replay
        set useful = 0;   ///< may still be needed
        ops replayed = 0; ///< ops whose replay could help
    };
    struct node {
        ops done = 0;
        set live = 0;
        set kept = 0; ///< of the live tensors of the parent, those not freed before the run
        cost_t extra = 0;
        std::size_t parent = 0;
        int op = -1;
        int last = -1; ///< with passes: the replay before, since the last first run
        int pass = 0;  ///< and its pass
        [[nodiscard]] auto key() const -> std::uint64_t
        {
            return done | static_cast<std::uint64_t>(last + 1) << 32U | static_cast<std::uint64_t>(pass) << 40U;
        }
    };

    static auto bit(std::size_t i) -> set { return set{1} << i; }
    static auto op_bit(std::size_t i) -> ops { return ops{1} << i; }
    [[nodiscard]] auto all() const -> ops
    {
        return ops_.size() == 32 ? ~ops{0} : static_cast<ops>(op_bit(ops_.size()) - 1);
    }

    void read(problem_spec const& s)
    {
        auto const up = [&](bytes_t n) { return (n + s.alignment - 1) / s.alignment * s.alignment; };
        std::vector<std::size_t> index(s.tensors.size(), 64); // 64: resident
        for (std::size_t t = 0; t < s.tensors.size(); ++t) {
            if (s.tensors[t].kind <= tensor_kind::state) {
                resident_ += up(s.tensors[t].bytes);
            } else {
                index[t] = bytes_.size();
                bytes_.push_back(up(s.tensors[t].bytes));
                id_.push_back(static_cast<tensor_id>(t));
            }
        }
        if (s.ops.size() > 32 || bytes_.size() > 64) {
            throw std::invalid_argument("brute_force: more than 32 ops or 64 tensors");
        }
        makers_.assign(bytes_.size(), 0);
        for (std::size_t o = 0; o < s.ops.size(); ++o) {
            for (auto t : s.ops[o].outputs) {
                if (auto const i = index[static_cast<std::size_t>(t)]; i != 64) {
                    makers_[i] |= op_bit(o);
                }
            }
        }
        for (std::size_t o = 0; o < s.ops.size(); ++o) {
            op_facts x;
            x.workspace = up(s.ops[o].workspace);
            x.cost = s.ops[o].cost;
            for (auto t : s.ops[o].outputs) {
                if (auto const i = index[static_cast<std::size_t>(t)]; i != 64) {
                    (std::popcount(makers_[i]) > 1 ? x.add : x.out) |= bit(i);
                }
            }
            for (auto t : s.ops[o].inputs) {
                if (auto const i = index[static_cast<std::size_t>(t)]; i != 64) {
                    x.in |= bit(i);
                }
            }
            x.in &= ~x.add;
            total_ += x.cost;
            ops_.push_back(x);
        }
        for (auto t : s.targets) {
            if (auto const i = index[static_cast<std::size_t>(t)]; i != 64) {
                targets_ |= bit(i);
            }
        }
        relate(s);
    }

    /// Which op must come before which, and which must not repeat.
    void relate(problem_spec const& s)
    {
        auto const touches = [&](std::vector<tensor_id> const& list, tensor_id t) {
            return std::find(list.begin(), list.end(), t) != list.end();
        };
        for (std::size_t b = 0; b < ops_.size(); ++b) {
            auto const& later = s.ops[b];
            ops_[b].once = later.effects.has(effect::nondeterministic) || later.effects.has(effect::collective) ||
                           later.effects.has(effect::once) || ops_[b].add != 0;
            for (std::size_t a = 0; a < b; ++a) {
                auto const& earlier = s.ops[a];
                bool ordered = ((ops_[a].out | ops_[a].add) & ops_[b].in) != 0 || (ops_[a].add & ops_[b].add) != 0;
                for (auto e : {effect::random, effect::stateful, effect::collective}) {
                    ordered = ordered || (earlier.effects.has(e) && later.effects.has(e));
                }
                for (std::size_t t = 0; t < s.tensors.size(); ++t) {
                    auto const id = static_cast<tensor_id>(t);
                    if (s.tensors[t].kind <= tensor_kind::state) {
                        bool const writes = touches(later.outputs, id);
                        bool const reads = touches(later.inputs, id);
                        ordered = ordered || (touches(earlier.outputs, id) && (writes || reads)) ||
                                  (touches(earlier.inputs, id) && writes);
                        ops_[a].once = ops_[a].once || (touches(earlier.inputs, id) && writes);
                    }
                }
                if (ordered) {
                    ops_[b].before |= op_bit(a);
                }
            }
            for (auto t : later.outputs) {
                if (s.tensors[static_cast<std::size_t>(t)].kind <= tensor_kind::state) {
                    ops_[b].once = ops_[b].once || !later.effects.has(effect::stateful);
                }
            }
        }
    }

    [[nodiscard]] auto size_of(set s) const -> bytes_t
    {
        bytes_t sum = 0;
        for (; s != 0; s &= s - 1) {
            sum += bytes_[static_cast<std::size_t>(std::countr_zero(s))];
        }
        return sum;
    }

    auto stage_of(ops done) -> stage const&
    {
        auto const [it, fresh] = stages_.try_emplace(done);
        if (fresh) {
            it->second = make_stage(done);
        }
        return it->second;
    }

    [[nodiscard]] auto make_stage(ops done) const -> stage
    {
        stage r;
        r.useful = targets_;
        set needed = targets_; // by what has not run yet
        // Readers have larger indices than makers, so one pass from the back sees every use.
        for (auto o = ops_.size(); o-- > 0;) {
            auto const& x = ops_[o];
            if ((done & op_bit(o)) == 0) {
                r.useful |= x.in;
                needed |= x.in;
            } else if (!x.once && (x.out & r.useful) != 0) {
                r.replayed |= op_bit(o);
                r.useful |= x.in;
            }
        }
        for (std::size_t i = 0; i < bytes_.size(); ++i) {
            auto const made = makers_[i] & done;
            if (made == 0) {
                continue;
            }
            if (made != makers_[i]) {
                r.keep |= bit(i);
                continue;
            }
            bool const lost_for_good =
                std::popcount(made) > 1 || ops_[static_cast<std::size_t>(std::countr_zero(made))].once;
            if (lost_for_good && (needed & bit(i)) != 0) {
                r.keep |= bit(i);
            }
        }
        r.useful |= r.keep;
        return r;
    }

    /// The cheapest (or, without costs, the first) way to the end under `budget`.
    auto search(bytes_t budget, bool with_costs) -> std::optional<std::size_t>
    {
        nodes_.clear();
        settled_.clear();
        settled_count_ = 0;
        best_.clear();
        open_ = {};
        push({}, with_costs);
        while (!open_.empty()) {
            auto const i = open_.top().node;
            open_.pop();
            auto const n = nodes_[i];
            auto& settled = settled_[n.key()];
            if (beaten(settled, n.live)) {
                continue;
            }
            settled.push_back(n.live);
            ++settled_count_;
            if (n.done == all() && (targets_ & ~n.live) == 0) {
                return i;
            }
            auto const st = stage_of(n.done);
            for (std::size_t o = 0; o < ops_.size(); ++o) {
                bool const first = (n.done & op_bit(o)) == 0;
                bool const allowed = first ? (ops_[o].before & ~n.done) == 0 &&
                                                 (any_order_ || o == static_cast<std::size_t>(std::popcount(n.done)))
                                           : (st.replayed & op_bit(o)) != 0 && (ops_[o].out & st.useful & ~n.live) != 0;
                if (allowed && (ops_[o].in & ~n.live) == 0) {
                    expand(i, o, first, st, budget, with_costs);
                }
            }
        }
        return std::nullopt;
    }

    static auto beaten(std::vector<set> const& settled, set live) -> bool
    {
        return std::any_of(settled.begin(), settled.end(), [&](set s) { return (live & ~s) == 0; });
    }

    void expand(std::size_t from, std::size_t o, bool first, stage const& st, bytes_t budget, bool with_costs)
    {
        auto const& x = ops_[o];
        auto const n = nodes_[from];
        set const made = x.out | x.add;
        set const stays = (n.live & x.add) | ((x.in | st.keep) & n.live & ~x.out);
        // Written so that no sum leaves the 64-bit range.
        bytes_t room = budget - resident_ - x.workspace;
        if (budget < resident_ || room < 0 || (room -= size_of(stays | made)) < 0) {
            return;
        }
        set const optional = n.live & ~stays & ~made;
        auto const arrive = [&](set kept) {
            node m;
            m.done = n.done | op_bit(o);
            m.live = (kept | made) & stage_of(m.done).useful;
            m.kept = kept;
            m.extra = n.extra + (first ? 0 : x.cost);
            m.parent = from;
            m.op = static_cast<int>(o);
            if (passes_ > 0 && !first) {
                m.last = m.op;
                m.pass = n.pass + (m.op > n.last ? 0 : 1);
                if (m.pass >= passes_) {
                    return;
                }
            }
            push(m, with_costs);
        };
        if (size_of(optional) <= room) {
            arrive(stays | optional);
            return;
        }
        largest_subsets(optional, 0, 0, room, [&](set kept) { arrive(stays | kept); });
    }

    /// Calls `f` for every subset of `left` | `chosen` that contains `chosen`, fits `room` and to which nothing of the
    /// rest (`refused` included) can be added.
    template <class F>
    void largest_subsets(set left, set chosen, set refused, bytes_t room, F const& f)
    {
        if (left == 0) {
            for (set r = refused; r != 0; r &= r - 1) {
                if (bytes_[static_cast<std::size_t>(std::countr_zero(r))] <= room) {
                    return;
                }
            }
            f(chosen);
            return;
        }
        auto const i = static_cast<std::size_t>(std::countr_zero(left));
        set const rest = left & (left - 1);
        if (bytes_[i] <= room) {
            largest_subsets(rest, chosen | bit(i), refused, room - bytes_[i], f);
        }
        if (bytes_[i] > 0) {
            largest_subsets(rest, chosen, refused | bit(i), room, f);
        }
    }

    void push(node const& n, bool with_costs)
    {
        auto const found = settled_.find(n.key());
        if (found != settled_.end() && beaten(found->second, n.live)) {
            return;
        }
        auto const [it, fresh] = best_[n.key()].try_emplace(n.live, n.extra);
        if (!fresh) {
            if (!with_costs || it->second <= n.extra) {
                return;
            }
            it->second = n.extra;
        }
        nodes_.push_back(n);
        open_.push({with_costs ? n.extra : 0, std::popcount(n.done), nodes_.size() - 1});
    }

    [[nodiscard]] auto trace(std::size_t goal) const -> optimum
    {
        optimum r;
        r.cost = total_ + nodes_[goal].extra;
        r.peak = resident_;
        std::vector<std::size_t> path;
        for (auto i = goal; nodes_[i].op >= 0; i = nodes_[i].parent) {
            path.push_back(i);
        }
        auto const free_all = [&](set s) {
            for (; s != 0; s &= s - 1) {
                r.schedule.steps.push_back(free(id_[static_cast<std::size_t>(std::countr_zero(s))]));
            }
        };
        for (auto k = path.size(); k-- > 0;) {
            auto const& n = nodes_[path[k]];
            auto const& x = ops_[static_cast<std::size_t>(n.op)];
            auto const during = n.kept | x.out | x.add;
            free_all(nodes_[n.parent].live & ~n.kept);
            r.schedule.steps.push_back(run(n.op));
            free_all(during & ~n.live);
            r.peak = std::max(r.peak, resident_ + size_of(during) + x.workspace);
        }
        return r;
    }

    struct entry {
        cost_t extra;
        int done;
        std::size_t node;
        friend auto operator<(entry const& a, entry const& b) -> bool
        {
            if (a.extra != b.extra) {
                return a.extra > b.extra;
            }
            return a.done != b.done ? a.done < b.done : a.node > b.node;
        }
    };

    bool any_order_;
    int passes_;
    std::vector<op_facts> ops_;
    std::vector<bytes_t> bytes_;
    std::vector<tensor_id> id_;
    std::vector<ops> makers_;
    set targets_ = 0;
    bytes_t resident_ = 0;
    cost_t total_ = 0;

    std::unordered_map<ops, stage> stages_;
    std::vector<node> nodes_;
    std::unordered_map<std::uint64_t, std::vector<set>> settled_; ///< by `node::key`
    std::unordered_map<std::uint64_t, std::unordered_map<set, cost_t>> best_;
    std::priority_queue<entry> open_;
    std::size_t settled_count_ = 0;
};

} // namespace strata::test
