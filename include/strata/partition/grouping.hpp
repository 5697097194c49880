// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Forward ops put into groups, groups into larger groups: HiRemate's H-Partition.
#pragma once

#include <strata/partition/block.hpp>
#include <strata/partition/concepts.hpp>
#include <strata/partition/contraction.hpp>
#include <strata/partition/waiting.hpp>
#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <queue>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace strata::detail {

/// How far groups grow, and which are good. An op counts 1, a group inside of another 2: it can run in several ways.
struct grouping_rules {
    std::size_t most_at_top = 30;
    std::size_t most_below = 20;
    bool chain_at_top = false;
    double weight_in = 1;
    double weight_out = 1;
    double power_of_size = 0.5;
};

/// The state of `bottom_up`. Atoms are ops, or ops that can only be planned together; what has been grouped in earlier
/// rounds stays as it is, what has been grouped in this one may be dissolved in a larger group.
template <class = void>
class basic_grouping {
public:
    basic_grouping(problem const& p,
                   grouping_rules const& rules,
                   std::vector<std::vector<op_id>> const& atoms,
                   std::size_t ops)
        : p_(&p)
        , rules_(rules)
        , atoms_(atoms.size())
        , halves_{contraction(between(p, atoms, ops, half::forward)),
                  contraction(between(p, atoms, ops, half::backward))}
    {
        auto const turn = turn_of(p);
        std::vector<std::size_t> atom(static_cast<std::size_t>(turn), atoms.size());
        for (std::size_t i = 0; i < atoms.size(); ++i) {
            nodes_.push_back({.first = atoms[i].front(), .ops = atoms[i].size(), .weight = atoms[i].size()});
            for (auto o : atoms[i]) {
                atom[static_cast<std::size_t>(o)] = i;
            }
            at_top_ += weight_at_top(i);
        }
        for (op_id o = 0; o < p.op_count(); ++o) {
            auto const owner = o < turn ? o : p.op(o).backward_of;
            if (owner != none && owner < turn && atom[static_cast<std::size_t>(owner)] < atoms.size()) {
                auto& to = nodes_[atom[static_cast<std::size_t>(owner)]].border;
                for (auto t : p.inputs(o)) {
                    to.push_back({t, 1, 0});
                }
                for (auto t : p.outputs(o)) {
                    to.push_back({t, 1, 1});
                }
            }
        }
        for (auto& n : nodes_) {
            n.border = joined(std::move(n.border));
        }
        nodes_.resize(halves_[0].order().size()); // what belongs to no forward op has a node without anything
    }

    /// Groups until the top is small enough or nothing is left to group.
    void run()
    {
        while (!top_ok()) {
            ++round_;
            if (!group_best() && !group_neighbours()) {
                return;
            }
        }
    }

    /// What stands at the top, or in the only part there; nothing if nothing has been grouped.
    [[nodiscard]] auto parts(std::vector<std::vector<op_id>> const& atoms) -> std::vector<part>
    {
        std::vector<part> r;
        if (nodes_.size() == halves_[0].order().size()) {
            return r;
        }
        for (auto v : top()) {
            r.push_back(part_of(atoms, v));
        }
        while (r.size() == 1) {
            r = std::exchange(r.front().parts, {});
        }
        std::sort(r.begin(), r.end(), by_first);
        return r;
    }

private:
    struct use {
        tensor_id tensor = none;
        std::size_t uses = 0; ///< reads and writes inside
        std::size_t made = 0; ///< writes inside
    };
    struct node {
        op_id first = 0;
        std::size_t ops = 0;
        std::size_t weight = 0; ///< of what is in it
        std::size_t round = 0;
        std::vector<std::size_t> inside = {};
        std::vector<use> border = {}; ///< tensors that others use too, ascending
    };
    struct candidate {
        double cost;
        op_id first;
        std::size_t ops;
        std::size_t index; // of members_
        [[nodiscard]] auto key() const { return std::tuple(cost, first, ops, index); }
        friend auto operator>(candidate const& a, candidate const& b) -> bool { return a.key() > b.key(); }
    };
    using members = std::vector<std::size_t>;

    static auto by_first(part const& a, part const& b) -> bool { return a.ops.front() < b.ops.front(); }

    static auto between(problem const& p, std::vector<std::vector<op_id>> const& atoms, std::size_t ops, half h)
        -> waiting::lists
    {
        std::vector<std::pair<op_id, std::size_t>> atom;
        for (std::size_t i = 0; i < atoms.size(); ++i) {
            for (auto o : atoms[i]) {
                atom.emplace_back(o, i);
            }
        }
        std::sort(atom.begin(), atom.end());
        std::vector<op_id> all;
        for (auto const& x : atom) {
            all.push_back(x.first);
        }
        auto const w = waiting_of(p, std::span<op_id const>(all));
        auto const node = [&](std::size_t v) { return v < ops ? atom[v].second : v - ops + atoms.size(); };
        waiting::lists r(w.nodes - ops + atoms.size());
        for (std::size_t v = 0; v < w.nodes; ++v) {
            for (auto u : w.of(h)[v]) {
                if (node(u) != node(v)) {
                    r[node(v)].push_back(node(u));
                }
            }
        }
        for (auto& x : r) {
            std::sort(x.begin(), x.end());
            x.erase(std::unique(x.begin(), x.end()), x.end());
        }
        return r;
    }

    [[nodiscard]] auto is_group(std::size_t v) const -> bool { return !nodes_[v].inside.empty(); }
    [[nodiscard]] auto weight_at_top(std::size_t v) const -> std::size_t { return is_group(v) ? 2 : nodes_[v].ops; }
    /// What `v` adds to a group: groups of this round are dissolved.
    [[nodiscard]] auto weight_inside(std::size_t v) const -> std::size_t
    {
        return is_group(v) && nodes_[v].round == round_ ? nodes_[v].weight : weight_at_top(v);
    }
    [[nodiscard]] auto weight_of(members const& g) const -> std::size_t
    {
        std::size_t sum = 0;
        for (auto v : g) {
            sum += weight_inside(v);
        }
        return sum;
    }
    /// Nodes with forward ops, in their order.
    [[nodiscard]] auto top() -> std::vector<std::size_t>
    {
        auto r = halves_[0].order();
        std::erase_if(r, [&](std::size_t v) { return nodes_[v].ops == 0; });
        return r;
    }

    /// Equal tensors as one, without those that nobody else uses.
    [[nodiscard]] auto joined(std::vector<use> all) const -> std::vector<use>
    {
        std::sort(all.begin(), all.end(), [](use const& a, use const& b) { return a.tensor < b.tensor; });
        std::vector<use> r;
        for (std::size_t i = 0; i < all.size();) {
            auto x = all[i++];
            for (; i < all.size() && all[i].tensor == x.tensor; ++i) {
                x.uses += all[i].uses;
                x.made += all[i].made;
            }
            auto const t = x.tensor;
            if (x.uses < p_->producers(t).size() + p_->consumers(t).size() || p_->is_target(t)) {
                r.push_back(x);
            }
        }
        return r;
    }
    [[nodiscard]] auto border_of(members const& g) const -> std::vector<use>
    {
        std::vector<use> all;
        for (auto v : g) {
            all.insert(all.end(), nodes_[v].border.begin(), nodes_[v].border.end());
        }
        return joined(std::move(all));
    }
    [[nodiscard]] auto rated(members const& g, std::size_t index) const -> candidate
    {
        candidate c{0, nodes_[g.front()].first, 0, index};
        for (auto v : g) {
            c.first = std::min(c.first, nodes_[v].first);
            c.ops += nodes_[v].ops;
        }
        for (auto const& x : border_of(g)) {
            c.cost += (x.made > 0 ? rules_.weight_out : rules_.weight_in) * static_cast<double>(p_->size(x.tensor));
        }
        c.cost *= std::pow(static_cast<double>(c.ops), rules_.power_of_size);
        return c;
    }

    [[nodiscard]] auto top_ok() -> bool { return at_top_ <= rules_.most_at_top || (rules_.chain_at_top && is_chain()); }
    [[nodiscard]] auto is_chain() -> bool
    {
        auto const bent = [&](std::size_t v) {
            return halves_[0].near(v, way::back).size() > 1 || halves_[0].near(v, way::on).size() > 1;
        };
        if (halves_[0].now(bend_) == bend_ && bent(bend_)) {
            return false;
        }
        for (auto v : halves_[0].order()) {
            if (bent(v)) {
                bend_ = v;
                return false;
            }
        }
        return true;
    }

    /// Nodes on all ways from `s` until they meet again in one node, if they are light enough; that node, if there is one.
    [[nodiscard]] auto flow(std::size_t s, way w, members& between) -> std::optional<std::size_t>
    {
        auto& graph = halves_[0];
        auto const later = [&](std::size_t a, std::size_t b) {
            return w == way::back ? graph.place(a) < graph.place(b) : graph.place(b) < graph.place(a);
        };
        members open = graph.near(s, w);
        seen_.resize(nodes_.size(), 0);
        ++looks_;
        for (auto v : open) {
            seen_[v] = looks_;
        }
        std::make_heap(open.begin(), open.end(), later);
        std::size_t weight = 0;
        bool ended = false;
        between.clear();
        while (!open.empty() && (ended || open.size() > 1)) {
            std::pop_heap(open.begin(), open.end(), later);
            auto const v = open.back();
            open.pop_back();
            between.push_back(v);
            weight += weight_inside(v);
            if (weight > rules_.most_below) {
                between.clear();
                return {};
            }
            auto const& near = graph.near(v, w);
            ended = ended || near.empty();
            for (auto u : near) {
                if (seen_[u] != looks_) {
                    seen_[u] = looks_;
                    open.push_back(u);
                    std::push_heap(open.begin(), open.end(), later);
                }
            }
        }
        return open.empty() ? std::nullopt : std::optional(open.front());
    }

    void offer(members g)
    {
        if (g.size() > 1 && weight_of(g) <= rules_.most_below) {
            std::sort(g.begin(), g.end());
            members_.push_back(std::move(g));
            queue_.push(rated(members_.back(), members_.size() - 1));
        }
    }
    void offer_flows(std::size_t s)
    {
        members between;
        for (auto w : {way::back, way::on}) {
            auto const e = flow(s, w, between);
            for (int with = 0; with < (e ? 4 : 2); ++with) {
                auto g = between;
                if ((with & 1) != 0) {
                    g.push_back(s);
                }
                if ((with & 2) != 0) {
                    g.push_back(*e);
                }
                offer(std::move(g));
            }
        }
    }
    /// Stretches in which each node follows the one before it alone, in equal pieces that are light enough.
    void offer_chains(std::vector<std::size_t> const& nodes)
    {
        auto& graph = halves_[0];
        auto const follows = [&](std::size_t v) {
            auto const& back = graph.near(v, way::back);
            return back.size() == 1 && graph.near(back.front(), way::on).size() == 1;
        };
        for (auto v : nodes) {
            if (follows(v)) {
                continue;
            }
            members chain{v};
            for (auto on = graph.near(v, way::on); on.size() == 1 && follows(on.front());
                 on = graph.near(on.front(), way::on)) {
                chain.push_back(on.front());
            }
            auto const all = weight_of(chain);
            auto const pieces = (all + rules_.most_below - 1) / rules_.most_below;
            members piece;
            std::size_t done = 0;
            std::size_t number = 1;
            for (auto u : chain) {
                done += weight_inside(u);
                if (done * pieces > number * all) {
                    offer(std::exchange(piece, {}));
                    number = done * pieces / all + 1;
                }
                piece.push_back(u);
            }
            offer(std::move(piece));
        }
    }

    /// One round: the best candidate first, the others with its nodes as one. Returns: whether anything was grouped.
    auto group_best() -> bool
    {
        members_.clear();
        queue_ = {};
        auto const nodes = top();
        offer_chains(nodes);
        for (auto v : nodes) {
            offer_flows(v);
        }
        bool any = false;
        while (!queue_.empty() && !top_ok()) {
            auto const best = queue_.top();
            queue_.pop();
            auto& g = members_[best.index];
            for (auto& v : g) {
                v = halves_[0].now(v);
            }
            std::sort(g.begin(), g.end());
            g.erase(std::unique(g.begin(), g.end()), g.end());
            if (g.size() < 2 || weight_of(g) > rules_.most_below) {
                continue;
            }
            if (auto const again = rated(g, best.index); again > best) {
                queue_.push(again);
                continue;
            }
            any = put_together(g) || any;
        }
        return any;
    }
    /// Groups whatever stands side by side, for graphs without chains and flows. Returns: whether anything was grouped.
    auto group_neighbours() -> bool
    {
        bool any = false;
        members g;
        for (auto v : top()) {
            auto more = g;
            more.push_back(v);
            if (weight_of(more) <= rules_.most_below && can_put_together(more)) {
                g = std::move(more);
                continue;
            }
            any = (g.size() > 1 && put_together(g)) || any;
            g = {v};
        }
        return (g.size() > 1 && put_together(g)) || any;
    }

    auto can_put_together(members const& g) -> bool { return halves_[0].can_merge(g) && halves_[1].can_merge(g); }
    auto put_together(members const& g) -> bool
    {
        if (!can_put_together(g)) {
            return false;
        }
        node made{.first = nodes_[g.front()].first, .weight = weight_of(g), .round = round_, .border = border_of(g)};
        for (auto v : g) {
            made.first = std::min(made.first, nodes_[v].first);
            made.ops += nodes_[v].ops;
            at_top_ -= weight_at_top(v);
            if (is_group(v) && nodes_[v].round == round_) {
                made.inside.insert(made.inside.end(), nodes_[v].inside.begin(), nodes_[v].inside.end());
            } else {
                made.inside.push_back(v);
            }
        }
        halves_[0].merge(g);
        halves_[1].merge(g);
        nodes_.push_back(std::move(made));
        at_top_ += weight_at_top(nodes_.size() - 1);
        return true;
    }

    /// A group of ops only is not cut.
    [[nodiscard]] auto part_of(std::vector<std::vector<op_id>> const& atoms, std::size_t v) const -> part
    {
        if (v < atoms_) {
            return {atoms[v], {}};
        }
        part r;
        bool nested = false;
        for (auto x : nodes_[v].inside) {
            r.parts.push_back(part_of(atoms, x));
            r.ops.insert(r.ops.end(), r.parts.back().ops.begin(), r.parts.back().ops.end());
            nested = nested || is_group(x);
        }
        std::sort(r.ops.begin(), r.ops.end());
        if (!nested) {
            r.parts.clear();
        }
        std::sort(r.parts.begin(), r.parts.end(), by_first);
        return r;
    }

    problem const* p_;
    grouping_rules rules_;
    std::size_t atoms_;
    std::array<contraction, 2> halves_;
    std::vector<node> nodes_;
    std::size_t at_top_ = 0;
    std::size_t round_ = 0;
    std::size_t bend_ = 0; // where the top was last seen not to be a chain
    std::vector<members> members_;
    std::priority_queue<candidate, std::vector<candidate>, std::greater<>> queue_;
    std::vector<std::size_t> seen_; // by node: the last look at it
    std::size_t looks_ = 0;
};

using grouping = basic_grouping<>;

} // namespace strata::detail
