// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A step cut into a tree of blocks, and which of them are alike.
#pragma once

#include <strata/partition/block.hpp>
#include <strata/partition/canonical.hpp>
#include <strata/partition/concepts.hpp>
#include <strata/partition/item_order.hpp>
#include <strata/problem/problem.hpp>
#include <strata/result.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace strata {

/// A tree of blocks; the root is the whole step.
///
/// Backward ops belong to the block of the forward op that `backward_of` names; ops from the turn on that name none are
/// blocks of their own under the root. Blocks of one kind are isomorphic: the i-th ops of their canonical orders correspond.
template <class = void>
class basic_hierarchy {
public:
    struct node {
        strata::block ops = {};
        std::vector<std::size_t> parts = {}; ///< blocks that it is cut into, empty for a leaf; they come after it
        std::size_t kind = 0;
        std::vector<op_id> canonical = {}; ///< its ops
    };

    /// Cuts `p` as `by` says.
    /// Errors: `invalid_argument` for parts that are empty, overlap, leave an op out or wait for each other.
    /// Complexity: that of `by.split`, plus O(ops and reads · log) per depth.
    template <class P>
    [[nodiscard]] static auto make(problem const& p, P const& by) -> result<basic_hierarchy>
    {
        require_partitioner<P>();
        basic_hierarchy h(p);
        auto const& forward = h.nodes_.front().ops.forward;
        auto const parts = forward.empty() ? std::vector<part>() : by.split(p, forward);
        if (auto e = h.cut(0, parts, std::string(by.name()))) {
            return *std::move(e);
        }
        h.classify();
        return h;
    }

    [[nodiscard]] auto subject() const noexcept -> problem const& { return *p_; }
    [[nodiscard]] auto size() const noexcept -> std::size_t { return nodes_.size(); }
    [[nodiscard]] auto operator[](std::size_t i) const noexcept -> node const& { return nodes_[i]; }
    /// Number of kinds.
    [[nodiscard]] auto kinds() const noexcept -> std::size_t { return first_of_kind_.size(); }
    /// The first block of a kind.
    [[nodiscard]] auto representative(std::size_t kind) const noexcept -> std::size_t { return first_of_kind_[kind]; }

    /// `order`, of ops of block `from`, in the corresponding ops of block `to`. Requires: they are of one kind.
    /// Complexity: O(ops of the block + length · log).
    [[nodiscard]] auto translate(std::span<op_id const> order, std::size_t from, std::size_t to) const
        -> std::vector<op_id>
    {
        if (from == to) {
            return {order.begin(), order.end()};
        }
        std::vector<std::pair<op_id, op_id>> twin;
        for (std::size_t i = 0; i < nodes_[from].canonical.size(); ++i) {
            twin.emplace_back(nodes_[from].canonical[i], nodes_[to].canonical[i]);
        }
        std::sort(twin.begin(), twin.end());
        std::vector<op_id> r;
        for (auto o : order) {
            r.push_back(std::lower_bound(twin.begin(), twin.end(), std::pair(o, op_id{0}))->second);
        }
        return r;
    }

private:
    explicit basic_hierarchy(problem const& p)
        : p_(&p)
        , owned_(static_cast<std::size_t>(p.op_count()))
    {
        auto const turn = turn_of(p);
        node root;
        for (op_id o = 0; o < p.op_count(); ++o) {
            (o < turn ? root.ops.forward : root.ops.backward).push_back(o);
            if (o < turn) {
                continue;
            }
            auto const owner = p.op(o).backward_of;
            if (owner != none && owner < turn) {
                owned_[static_cast<std::size_t>(owner)].push_back(o);
            } else {
                loose_.push_back(o);
            }
        }
        nodes_.push_back(std::move(root));
    }

    auto cut(std::size_t i, std::vector<part> const& parts, std::string const& by) -> std::optional<error>
    {
        auto const bad = [&](std::string const& what) {
            return fail(errc::invalid_argument, "strata::hierarchy: partitioner '" + by + "' " + what);
        };
        if (parts.size() < 2) {
            return {};
        }
        std::vector<op_id> covered;
        for (auto const& x : parts) {
            if (x.ops.empty() || !std::is_sorted(x.ops.begin(), x.ops.end())) {
                return bad("gives a part whose ops are " + std::string(x.ops.empty() ? "none" : "not ascending"));
            }
            covered.insert(covered.end(), x.ops.begin(), x.ops.end());
        }
        std::sort(covered.begin(), covered.end());
        auto const& all = nodes_[i].ops.forward;
        if (covered != all) {
            auto const differ = std::mismatch(covered.begin(), covered.end(), all.begin(), all.end());
            auto const o = differ.second != all.end() ? *differ.second : *differ.first;
            return bad("must give each op of a block to one part; see op " + std::to_string(o));
        }
        std::vector<block> blocks;
        for (auto const& x : parts) {
            blocks.push_back({x.ops, {}});
            for (auto o : x.ops) {
                auto const& b = owned_[static_cast<std::size_t>(o)];
                blocks.back().backward.insert(blocks.back().backward.end(), b.begin(), b.end());
            }
            std::sort(blocks.back().backward.begin(), blocks.back().backward.end());
        }
        for (auto o : i == 0 ? loose_ : std::vector<op_id>()) {
            blocks.push_back({{}, {o}});
        }
        if (!item_order(*p_, blocks)) {
            return bad("gives parts that wait for each other, in the block that begins with op " +
                       std::to_string(all.front()));
        }
        for (auto& b : blocks) {
            nodes_[i].parts.push_back(nodes_.size());
            nodes_.push_back({std::move(b)});
        }
        for (std::size_t k = 0; k < parts.size(); ++k) {
            if (auto e = cut(nodes_[i].parts[k], parts[k].parts, by)) {
                return e;
            }
        }
        return {};
    }

    void classify()
    {
        std::vector<block> blocks;
        for (auto const& n : nodes_) {
            blocks.push_back(n.ops);
        }
        auto kinds = sort_into_kinds(*p_, std::span<block const>(blocks));
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            nodes_[i].kind = kinds.kind[i];
            nodes_[i].canonical = std::move(kinds.canonical[i]);
        }
        first_of_kind_ = std::move(kinds.first);
    }

    problem const* p_;
    std::vector<node> nodes_;
    std::vector<std::size_t> first_of_kind_;
    std::vector<std::vector<op_id>> owned_; // backward ops by forward op
    std::vector<op_id> loose_;
};

using hierarchy = basic_hierarchy<>;

} // namespace strata
