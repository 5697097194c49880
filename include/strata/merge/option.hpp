// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A way to run a block: the order of each half and all that the rest of the step has to know of it.
#pragma once

#include <strata/partition/block.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace strata {

/// A stretch of the runs of a half over which a tensor of the block's border must be live.
///
/// A tensor may have several stretches: between two of them it is dropped and made again.
struct touch {
    tensor_id tensor = none;
    std::size_t first = 0; ///< run, counted within the half
    std::size_t last = 0;  ///< run, inclusive
    bool made = false;     ///< begins with being produced, so it need not be live before; adding into a gradient counts
    friend auto operator==(touch const&, touch const&) -> bool = default;
};

/// One half of an option. Bytes of border tensors are left out of it: only the rest of the step knows when they are live.
///
/// At run i the block's share of the live bytes is that of the last record with `step` <= i, or less, and the border
/// tensors whose stretch contains i come to it, those live before up to their first stretch, and those live after from
/// their last one on. Between records the set of these does not change, so peaks are exact.
struct half_run {
    struct record {
        std::size_t step = 0; ///< first run it stands for
        bytes_t bytes = 0;    ///< most bytes of inner tensors and workspace from there to the next record
        friend auto operator==(record const&, record const&) -> bool = default;
    };
    run_order order = {};
    cost_t cost = 0;
    std::vector<touch> touches = {}; ///< by `first`
    std::vector<record> records = {};
    friend auto operator==(half_run const&, half_run const&) -> bool = default;
};

/// A way to run a block.
struct option {
    half_run forward = {};
    half_run backward = {};
    bytes_t kept = 0;                         ///< bytes of inner tensors live from the forward to the backward half
    std::vector<tensor_id> kept_tensors = {}; ///< those, ascending
    std::vector<tensor_id> required = {}; ///< border tensors that must be live when the backward half begins, ascending

    [[nodiscard]] auto run(half h) const noexcept -> half_run const& { return h == half::forward ? forward : backward; }
    [[nodiscard]] auto cost() const noexcept -> cost_t { return forward.cost + backward.cost; }
    friend auto operator==(option const&, option const&) -> bool = default;
};

/// Most bytes the half needs by itself: records with the border tensors it touches meanwhile.
/// Complexity: O(records · touches).
template <class = void>
[[nodiscard]] auto own_peak(problem const& p, half_run const& h) -> bytes_t
{
    bytes_t most = 0;
    for (std::size_t i = 0; i < h.records.size(); ++i) {
        auto now = h.records[i].bytes;
        for (auto const& x : h.touches) {
            now += x.first <= h.records[i].step && h.records[i].step <= x.last ? p.size(x.tensor) : 0;
        }
        most = std::max(most, now);
    }
    return most;
}

/// Describes running `forward` and later `backward`, orders of ops of `b`, with everything freed as early as possible.
///
/// Requires: within the two orders, one after the other, inner tensors are produced before they are read.
/// Complexity: O(reads and writes of the runs · log ops of the block).
template <class = void>
[[nodiscard]] auto describe(problem const& p, block const& b, run_order forward, run_order backward) -> option
{
    auto const at = [](auto i) { return static_cast<std::size_t>(i); };
    option r;
    std::vector<tensor_id> tensors;
    for (auto const* order : {&forward, &backward}) {
        for (auto o : *order) {
            tensors.insert(tensors.end(), p.inputs(o).begin(), p.inputs(o).end());
            tensors.insert(tensors.end(), p.outputs(o).begin(), p.outputs(o).end());
        }
    }
    std::sort(tensors.begin(), tensors.end());
    tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
    auto const local = [&](tensor_id t) {
        return at(std::lower_bound(tensors.begin(), tensors.end(), t) - tensors.begin());
    };
    std::vector<char> border(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        auto const outside = [&](op_id o) { return !detail::contains(b, o); };
        auto const makers = p.producers(tensors[i]);
        auto const readers = p.consumers(tensors[i]);
        border[i] = p.is_target(tensors[i]) || std::any_of(makers.begin(), makers.end(), outside) ||
                    std::any_of(readers.begin(), readers.end(), outside);
    }
    // Stretches of every tensor over both halves; those of border tensors end where the half ends.
    struct stretch {
        std::size_t tensor, first, last;
        bool made;
    };
    auto const n = forward.size() + backward.size();
    std::vector<stretch> inner;
    std::vector<stretch> outer;
    constexpr auto closed = static_cast<std::size_t>(-1);
    std::vector<std::size_t> open(tensors.size(), closed); // index of the stretch under way
    auto const use = [&](std::size_t k, tensor_id t, bool makes) {
        auto const i = local(t);
        auto& list = border[i] != 0 ? outer : inner;
        if (open[i] == closed || (makes && !p.accumulated(t))) {
            open[i] = list.size();
            list.push_back({i, k, k, makes});
        }
        list[open[i]].last = k;
    };
    for (std::size_t k = 0; k < n; ++k) {
        if (k == forward.size()) {
            for (std::size_t i = 0; i < tensors.size(); ++i) {
                open[i] = border[i] != 0 ? closed : open[i];
            }
        }
        auto const o = k < forward.size() ? forward[k] : backward[k - forward.size()];
        for (auto t : p.inputs(o)) {
            use(k, t, false);
        }
        for (auto t : p.outputs(o)) {
            use(k, t, true);
        }
    }
    std::vector<bytes_t> change(n + 1, 0);
    for (auto const& x : inner) {
        auto const size = p.size(tensors[x.tensor]);
        change[x.first] += size;
        change[x.last + 1] -= size;
        if (x.first < forward.size() && x.last >= forward.size()) {
            r.kept += size;
            r.kept_tensors.push_back(tensors[x.tensor]);
        }
    }
    std::sort(r.kept_tensors.begin(), r.kept_tensors.end());
    std::vector<char> met(tensors.size(), 0);
    for (auto const& x : outer) {
        auto const back = x.first >= forward.size();
        auto const from = back ? forward.size() : 0;
        (back ? r.backward : r.forward).touches.push_back({tensors[x.tensor], x.first - from, x.last - from, x.made});
        if (back && met[x.tensor] == 0) {
            met[x.tensor] = 1;
            if (!x.made) {
                r.required.push_back(tensors[x.tensor]);
            }
        }
    }
    std::sort(r.required.begin(), r.required.end());
    r.forward.order = std::move(forward);
    r.backward.order = std::move(backward);
    bytes_t now = 0;
    std::size_t k = 0;
    for (auto* h : {&r.forward, &r.backward}) {
        std::vector<char> begins(h->order.size() + 1, 0);
        begins[0] = 1;
        for (auto const& x : h->touches) {
            begins[x.first] = 1;
            begins[x.last + 1] = 1;
        }
        for (std::size_t i = 0; i < h->order.size(); ++i, ++k) {
            now += change[k];
            auto const bytes = now + p.workspace(h->order[i]);
            h->cost += p.cost(h->order[i]);
            if (begins[i] != 0) {
                h->records.push_back({i, bytes});
            }
            h->records.back().bytes = std::max(h->records.back().bytes, bytes);
        }
    }
    return r;
}

/// Bytes that `o` has held from its forward to its backward half: those kept, and what it requires of the forward halves of
/// others. `turn`: see `turn_of`.
template <class = void>
[[nodiscard]] auto held_bytes(problem const& p, option const& o, op_id turn) -> bytes_t
{
    auto bytes = o.kept;
    for (auto t : o.required) {
        bytes += p.producers(t).front() < turn ? p.size(t) : 0;
    }
    return bytes;
}

/// True when `a` is at least as good as `b` in everything that matters outside the block: cost, bytes kept, need of each
/// half and tensors required.
template <class = void>
[[nodiscard]] auto no_worse(problem const& p, option const& a, option const& b) -> bool
{
    return a.cost() <= b.cost() && a.kept <= b.kept && own_peak(p, a.forward) <= own_peak(p, b.forward) &&
           own_peak(p, a.backward) <= own_peak(p, b.backward) &&
           std::includes(b.required.begin(), b.required.end(), a.required.begin(), a.required.end());
}

/// Puts `x` among `all` unless one of them is no worse; then takes out those that it is no worse than.
/// Returns: whether it was put in. Complexity: O(options · touches).
template <class = void>
auto add_to_frontier(problem const& p, std::vector<option>& all, option x) -> bool
{
    if (std::any_of(all.begin(), all.end(), [&](option const& o) { return no_worse(p, o, x); })) {
        return false;
    }
    std::erase_if(all, [&](option const& o) { return no_worse(p, x, o); });
    all.push_back(std::move(x));
    return true;
}

} // namespace strata
