// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Colour refinement: tells the vertices of a graph apart by what they are and by whom they touch.
#pragma once

#include <strata/detail/mix.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

namespace strata::detail {

/// Edges of two sorts between vertices, each seen from both of its ends.
using two_graphs = std::array<std::vector<std::vector<std::size_t>>, 2>;

/// An ordered partition of vertices into cells, made finer until vertices of a cell have equally many neighbours, by each
/// sort of edge, in every cell. A cell is named by its place: the number of vertices in the cells before it.
///
/// Nothing depends on the numbers of vertices: isomorphic graphs with corresponding first cells, in which corresponding
/// vertices are `single_out`, have equal traces, and their cells correspond place by place.
/// Source: Hopcroft's partition refinement, as in McKay's nauty. Complexity: O(edges · log vertices) for all `refine`.
template <class = void>
class basic_refinement {
public:
    /// `first`: vertices in order of their cells; `begins`: places where those begin. Requires: `g` outlives this.
    basic_refinement(two_graphs const& g, std::vector<std::size_t> first, std::vector<std::size_t> const& begins)
        : g_(&g)
        , at_(std::move(first))
        , place_(at_.size())
        , cell_(at_.size())
        , size_(at_.size(), 0)
        , queued_(at_.size(), 0)
        , count_(at_.size(), 0)
    {
        for (std::size_t i = 0; i < begins.size(); ++i) {
            auto const end = i + 1 < begins.size() ? begins[i + 1] : at_.size();
            make_cell(begins[i], end);
            wake(begins[i]);
        }
        refine();
    }

    [[nodiscard]] auto discrete() const noexcept -> bool { return cells_ == at_.size(); }
    [[nodiscard]] auto trace() const noexcept -> std::uint64_t { return trace_; }
    /// Vertices by place.
    [[nodiscard]] auto order() const noexcept -> std::vector<std::size_t> const& { return at_; }

    /// The vertices of the first cell that has several. Requires: not `discrete`.
    [[nodiscard]] auto first_tie() -> std::vector<std::size_t>
    {
        while (size_[tie_] == 1) {
            ++tie_;
        }
        auto const begin = at_.begin() + static_cast<std::ptrdiff_t>(tie_);
        return {begin, begin + static_cast<std::ptrdiff_t>(size_[tie_])};
    }

    /// Puts `v` before the others of its cell and refines.
    void single_out(std::size_t v)
    {
        auto const from = cell_[v];
        auto const end = from + size_[from];
        swap_to(v, from);
        make_cell(from, from + 1);
        make_cell(from + 1, end);
        --cells_; // there was one
        note(from);
        wake(from);
        refine();
    }

private:
    void note(std::uint64_t x) { trace_ = mix(trace_ ^ mix(x)); }
    void make_cell(std::size_t begin, std::size_t end)
    {
        ++cells_;
        size_[begin] = end - begin;
        for (auto i = begin; i < end; ++i) {
            cell_[at_[i]] = begin;
            place_[at_[i]] = i;
        }
    }
    void wake(std::size_t cell)
    {
        if (queued_[cell] == 0) {
            queued_[cell] = 1;
            queue_.push_back(cell);
        }
    }
    void swap_to(std::size_t v, std::size_t place)
    {
        auto const other = at_[place];
        at_[place_[v]] = other;
        place_[other] = place_[v];
        at_[place] = v;
        place_[v] = place;
    }

    void refine()
    {
        while (!queue_.empty() && !discrete()) {
            auto const splitter = queue_.front();
            queue_.pop_front();
            queued_[splitter] = 0;
            auto const begin = at_.begin() + static_cast<std::ptrdiff_t>(splitter);
            members_.assign(begin, begin + static_cast<std::ptrdiff_t>(size_[splitter]));
            for (auto const& edges : *g_) {
                split_by(edges);
            }
        }
        for (auto cell : queue_) {
            queued_[cell] = 0;
        }
        queue_.clear();
    }

    /// Splits every cell by how many of `members_` its vertices touch.
    void split_by(std::vector<std::vector<std::size_t>> const& edges)
    {
        touched_.clear();
        for (auto v : members_) {
            for (auto u : edges[v]) {
                if (count_[u]++ == 0) {
                    touched_.push_back(u);
                }
            }
        }
        std::sort(touched_.begin(), touched_.end(), [&](std::size_t a, std::size_t b) {
            return std::tuple(cell_[a], count_[a], a) < std::tuple(cell_[b], count_[b], b);
        });
        for (std::size_t i = 0; i < touched_.size();) {
            auto const cell = cell_[touched_[i]];
            auto j = i;
            while (j < touched_.size() && cell_[touched_[j]] == cell) {
                ++j;
            }
            split(cell, i, j);
            i = j;
        }
        for (auto u : touched_) {
            count_[u] = 0;
        }
    }

    /// Splits `cell`, of which `touched_` from `i` to `j` are touched; those stand by count.
    void split(std::size_t cell, std::size_t i, std::size_t j)
    {
        auto const end = cell + size_[cell];
        for (auto k = j; k-- > i;) { // the touched go to the end of the cell, in order
            swap_to(touched_[k], end - (j - k));
        }
        auto begin = cell;
        auto largest = cell;
        bool const was_queued = queued_[cell] != 0;
        begins_.clear();
        --cells_;
        for (auto k = i; k <= j; ++k) {
            auto const here = end - (j - k);
            bool const ends = k == j || (k == i ? here != cell : count_[touched_[k]] != count_[touched_[k - 1]]);
            if (k < j) {
                note(here);
                note(count_[touched_[k]]);
            }
            if (ends && here > begin) {
                make_cell(begin, here);
                begins_.push_back(begin);
                largest = here - begin > size_[largest] ? begin : largest;
                begin = here;
            }
        }
        for (auto b : begins_) {
            if (begins_.size() > 1 && (was_queued || b != largest)) {
                wake(b);
            }
        }
    }

    two_graphs const* g_;
    std::vector<std::size_t> at_;    // vertex by place
    std::vector<std::size_t> place_; // by vertex
    std::vector<std::size_t> cell_;  // by vertex
    std::vector<std::size_t> size_;  // by cell
    std::vector<char> queued_;       // by cell
    std::vector<std::size_t> count_; // by vertex, 0 between uses
    std::deque<std::size_t> queue_;
    std::vector<std::size_t> members_, touched_, begins_;
    std::size_t cells_ = 0;
    std::size_t tie_ = 0; // no cell before it has several
    std::uint64_t trace_ = 0;
};

using refinement = basic_refinement<>;

} // namespace strata::detail
