// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A second derivation of what a schedule means, slow and plain, to hold `replay` and `validate` against.
///
/// Where those walk the steps once and carry state along, this takes one tensor after the other and walks all steps
/// for it, then one op after the other, then pairs of ops. It reads the spec alone. O(steps × tensors).
#pragma once

#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace strata::test {

/// What the slow simulator says.
struct slow_report {
    std::vector<std::string> step_faults; ///< what some step does wrong
    std::vector<std::string> end_faults;  ///< what is missing when the schedule ends
    std::vector<bytes_t> live;            ///< per step: bytes during a run, bytes left after a free
    bytes_t peak = 0;
    cost_t cost = 0;
    [[nodiscard]] auto ok() const -> bool { return step_faults.empty() && end_faults.empty(); }
};

namespace detail {

class slow_simulator {
public:
    slow_simulator(problem_spec const& spec, std::vector<step> const& steps)
        : spec_(spec)
        , steps_(steps)
    {
        for (auto const& o : spec.ops) {
            reads_.emplace_back(o.inputs.begin(), o.inputs.end());
            writes_.emplace_back(o.outputs.begin(), o.outputs.end());
        }
        for (std::size_t k = 0; k < steps.size(); ++k) {
            if (steps[k].action == action::run && has_op(steps[k].id)) {
                when_[steps[k].id].insert(k);
            }
        }
    }

    auto judge(bytes_t budget) -> slow_report
    {
        report_.live.assign(steps_.size(), 0);
        for (auto const& t : spec_.tensors) {
            report_.peak += t.kind <= tensor_kind::state ? up(t.bytes) : 0; // that much even if nothing runs
        }
        for (tensor_id t = 0; t < static_cast<tensor_id>(spec_.tensors.size()); ++t) {
            if (spec_.tensors[u(t)].kind <= tensor_kind::state) {
                follow_resident(t);
            } else {
                follow(t);
            }
        }
        for (std::size_t k = 0; k < steps_.size(); ++k) {
            auto const x = steps_[k];
            if (x.action == action::free) {
                if (x.id < 0 || u(x.id) >= spec_.tensors.size()) {
                    wrong("free of no tensor", k);
                }
            } else if (!has_op(x.id)) {
                wrong("run of no op", k);
            } else {
                report_.live[k] += up(spec_.ops[u(x.id)].workspace);
                report_.cost += spec_.ops[u(x.id)].cost;
                report_.peak = std::max(report_.peak, report_.live[k]);
                if (report_.live[k] > budget) {
                    wrong("over budget", k);
                }
            }
        }
        for (op_id o = 0; o < static_cast<op_id>(spec_.ops.size()); ++o) {
            if (when_[o].empty()) {
                report_.end_faults.push_back("op " + std::to_string(o) + " never runs");
            } else if (when_[o].size() > 1 && only_once(o)) {
                wrong("op " + std::to_string(o) + " repeats", *std::next(when_[o].begin()));
            }
        }
        for (auto e : {effect::random, effect::stateful, effect::collective}) {
            std::vector<op_id> group;
            for (op_id o = 0; o < static_cast<op_id>(spec_.ops.size()); ++o) {
                if (spec_.ops[u(o)].effects.has(e)) {
                    group.push_back(o);
                }
            }
            in_order(group, to_string(e));
        }
        return std::move(report_);
    }

private:
    static auto u(std::int32_t i) -> std::size_t { return static_cast<std::size_t>(i); }
    auto has_op(op_id o) const -> bool { return o >= 0 && u(o) < spec_.ops.size(); }
    auto up(bytes_t n) const -> bytes_t
    {
        while (n % spec_.alignment != 0) {
            ++n;
        }
        return n;
    }
    void wrong(std::string what, std::size_t k)
    {
        report_.step_faults.push_back(std::move(what) + " at step " + std::to_string(k));
    }

    auto makers(tensor_id t) const -> std::vector<op_id>
    {
        std::vector<op_id> r;
        for (op_id o = 0; o < static_cast<op_id>(spec_.ops.size()); ++o) {
            if (writes_[u(o)].count(t) != 0) {
                r.push_back(o);
            }
        }
        return r;
    }

    /// Step of the first run of `o`; nothing if it does not run.
    auto first(op_id o) -> std::optional<std::size_t>
    {
        return when_[o].empty() ? std::nullopt : std::optional(*when_[o].begin());
    }

    /// True if `o` has run before step `k`.
    auto ran_before(op_id o, std::size_t k) -> bool { return first(o) && *first(o) < k; }

    /// Every pair of `group` that runs at all must first run in index order.
    void in_order(std::vector<op_id> const& group, std::string const& what)
    {
        for (auto a : group) {
            for (auto b : group) {
                if (a < b && first(a) && first(b) && *first(a) > *first(b)) {
                    wrong(what + ": op " + std::to_string(b) + " before op " + std::to_string(a), *first(b));
                }
            }
        }
    }

    auto only_once(op_id o) const -> bool
    {
        auto const& e = spec_.ops[u(o)].effects;
        if (e.has(effect::nondeterministic) || e.has(effect::collective) || e.has(effect::once)) {
            return true;
        }
        for (auto t : writes_[u(o)]) {
            bool const resident = spec_.tensors[u(t)].kind <= tensor_kind::state;
            if (resident ? !e.has(effect::stateful) : makers(t).size() > 1) {
                return true;
            }
        }
        for (auto t : reads_[u(o)]) {
            for (auto w : makers(t)) {
                if (spec_.tensors[u(t)].kind <= tensor_kind::state && w > o) {
                    return true;
                }
            }
        }
        return false;
    }

    void follow_resident(tensor_id t)
    {
        for (auto& b : report_.live) {
            b += up(spec_.tensors[u(t)].bytes);
        }
        for (std::size_t k = 0; k < steps_.size(); ++k) {
            if (steps_[k].action == action::free && steps_[k].id == t) {
                wrong("free of resident tensor " + std::to_string(t), k);
            }
        }
        auto const writers = makers(t);
        in_order(writers, "writers of tensor " + std::to_string(t));
        for (op_id o = 0; o < static_cast<op_id>(spec_.ops.size()); ++o) {
            if (reads_[u(o)].count(t) == 0 || !first(o)) {
                continue;
            }
            for (auto w : writers) {
                if (w != o && ran_before(w, *first(o)) != (w < o)) {
                    wrong("op " + std::to_string(o) + " reads another version of tensor " + std::to_string(t),
                          *first(o));
                }
            }
        }
    }

    void follow(tensor_id t)
    {
        auto const parts = makers(t);
        auto const complete = [&](std::size_t k) {
            return std::all_of(parts.begin(), parts.end(), [&](op_id o) { return ran_before(o, k); });
        };
        auto const id = std::to_string(t);
        bool there = false;
        for (std::size_t k = 0; k < steps_.size(); ++k) {
            auto const x = steps_[k];
            if (x.action == action::free && x.id == t) {
                if (!there) {
                    wrong("free of absent tensor " + id, k);
                } else if (!complete(k)) {
                    wrong("free of incomplete tensor " + id, k);
                }
                there = false;
            } else if (x.action == action::run && has_op(x.id)) {
                if (writes_[u(x.id)].count(t) != 0) {
                    if (there && parts.size() == 1) {
                        wrong("tensor " + id + " produced while it is there", k);
                    }
                    there = true;
                } else if (reads_[u(x.id)].count(t) != 0) {
                    if (!there) {
                        wrong("absent tensor " + id + " read", k);
                    } else if (!complete(k)) {
                        wrong("incomplete tensor " + id + " read", k);
                    }
                }
            }
            if (there) {
                report_.live[k] += up(spec_.tensors[u(t)].bytes);
            }
        }
        if (parts.size() > 1) {
            in_order(parts, "ops that add into tensor " + id);
        }
        if (std::count(spec_.targets.begin(), spec_.targets.end(), t) != 0 && (!there || !complete(steps_.size()))) {
            report_.end_faults.push_back("target " + id + " is missing");
        }
    }

    problem_spec const& spec_;
    std::vector<step> const& steps_;
    std::vector<std::set<tensor_id>> reads_, writes_;
    std::map<op_id, std::set<std::size_t>> when_;
    slow_report report_;
};

} // namespace detail

/// Judges and measures `s`.
inline auto slow_simulate(problem const& p, schedule const& s, bytes_t budget = max_bytes) -> slow_report
{
    return detail::slow_simulator(p.spec(), s.steps).judge(budget);
}

} // namespace strata::test
