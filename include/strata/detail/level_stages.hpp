// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief What runs of halves ask of the tensors between the parts of a level, which of them can be of any use between two
/// first runs, and which tensors can still be wanted: what an exact merger need not look at is left out, without loss.
#pragma once

#include <strata/merge/block_graph.hpp>
#include <strata/merge/option.hpp>
#include <strata/partition/block.hpp>
#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace strata::detail {

/// A run of an item in one of the ways there are. Border tensors are numbered as in `level_stages::border`.
struct level_way {
    struct record {
        bytes_t bytes = 0;                   ///< of the run and of the border tensors that it holds there for sure
        std::vector<std::size_t> after = {}; ///< border tensors it is done with: there if they are live after the run
    };
    int option = fast_forward;
    cost_t cost = 0;
    std::vector<std::size_t> touched = {}; ///< ascending: made, read or added to
    std::vector<std::size_t> reads = {};   ///< those that must be live before, ascending
    std::vector<std::size_t> makes = {};   ///< those that need not be, ascending
    std::vector<record> records = {};

    [[nodiscard]] static auto has(std::vector<std::size_t> const& list, std::size_t v) -> bool
    {
        return std::binary_search(list.begin(), list.end(), v);
    }
    [[nodiscard]] auto peak() const -> bytes_t
    {
        bytes_t most = 0;
        for (auto const& k : records) {
            most = std::max(most, k.bytes);
        }
        return most;
    }
};

/// A tensor between parts.
struct level_tensor {
    tensor_id id = none;
    bytes_t size = 0;
    bool target = false;
    std::size_t first = 0; ///< item that makes it, or adds to it first
    std::size_t last = 0;  ///< item that adds to it last
};

/// What the stages of one level may hold, given the bytes there are beside the resident ones. Stage t is what happens
/// between the first runs of items t-1 and t; the last one, stage `items`, comes after all first runs.
template <class = void>
class basic_level_stages {
public:
    static constexpr auto nowhere = std::numeric_limits<std::size_t>::max();

    /// Requires: `g` outlives the stages. Complexity: O(items² · ways · tensors).
    basic_level_stages(block_graph const& g, bytes_t room)
        : g_(&g)
        , room_(room)
    {
        find_border();
        find_ways();
        sure_until_.assign(border_.size(), nowhere);
        for (std::size_t x = 0; x < items(); ++x) {
            for (auto v : ways_[x].empty() ? std::vector<std::size_t>{} : ways_[x].front().reads) {
                sure_until_[v] = always_reads(x, v) ? x : sure_until_[v];
            }
        }
        for (std::size_t t = 0; t <= items(); ++t) {
            stages_.push_back(look_ahead(t));
        }
        carefree_ = carefree();
    }

    [[nodiscard]] auto items() const noexcept -> std::size_t { return g_->items().size(); }
    [[nodiscard]] auto border() const noexcept -> std::vector<level_tensor> const& { return border_; }
    /// The item that is half `h` of part `j`; `nowhere` when it has no ops.
    [[nodiscard]] auto item_of(std::size_t j, half h) const noexcept -> std::size_t
    {
        return h == half::forward ? forward_[j] : backward_[j];
    }
    /// The ways in which item `x` can run; those that do not fit by themselves are left out. A forward half whose part
    /// has a backward one has option -1, the fast-forward, if it may run again, and those it can serve with.
    [[nodiscard]] auto ways(std::size_t x) const noexcept -> std::vector<level_way> const& { return ways_[x]; }
    /// True when running `x` in stage `t`, after its first run, can be of use for what it makes.
    [[nodiscard]] auto may_forward(std::size_t t, std::size_t x) const noexcept -> bool
    {
        return t >= carefree_ && stages_[t].forward[x] != 0;
    }
    /// True when running `x` in stage `t`, after its first run, can be of use for what it keeps.
    [[nodiscard]] auto may_serve(std::size_t t, std::size_t x) const noexcept -> bool
    {
        return t >= carefree_ && stages_[t].serve[x] != 0;
    }

    enum class life : unsigned char { impossible, certain, open };
    /// Whether border tensor `v` is live when stage `t` begins, as far as that is known.
    [[nodiscard]] auto live_at(std::size_t t, std::size_t v) const -> life
    {
        auto const& b = border_[v];
        if (b.first >= t) {
            return life::impossible;
        }
        if (b.last >= t) {
            return life::certain; // begun and not complete
        }
        if (stages_[t].wanted[v] == 0) {
            return life::impossible;
        }
        if (t < carefree_) {
            return life::certain;
        }
        bool const needed = b.target || (sure_until_[v] != nowhere && sure_until_[v] >= t);
        return needed && !made_again(t, v) ? life::certain : life::open;
    }
    /// True when every run of `x` needs `v`.
    [[nodiscard]] auto always_reads(std::size_t x, std::size_t v) const -> bool
    {
        return std::all_of(
            ways_[x].begin(), ways_[x].end(), [&](level_way const& w) { return level_way::has(w.reads, v); });
    }

private:
    void find_border()
    {
        auto const& p = g_->subject();
        forward_.assign(g_->size(), nowhere);
        backward_.assign(g_->size(), nowhere);
        std::vector<std::size_t> item_of_op(static_cast<std::size_t>(p.op_count()));
        for (std::size_t x = 0; x < items(); ++x) {
            auto const [part, which] = g_->items()[x];
            (which == half::forward ? forward_ : backward_)[part] = x;
            for (auto o : g_->part(part).ops(which)) {
                item_of_op[static_cast<std::size_t>(o)] = x;
            }
        }
        std::vector<tensor_id> seen;
        auto const look = [&](half_run const& h) {
            for (auto const& t : h.touches) {
                seen.push_back(t.tensor);
            }
        };
        for (std::size_t j = 0; j < g_->size(); ++j) {
            look(g_->run({j, half::forward, fast_forward}));
            for (auto const& o : g_->options(j)) {
                look(o.forward);
                look(o.backward);
            }
        }
        std::sort(seen.begin(), seen.end());
        seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
        for (auto t : seen) {
            level_tensor b{t, p.size(t), p.is_target(t), items(), 0};
            for (auto o : p.producers(t)) {
                b.first = std::min(b.first, item_of_op[static_cast<std::size_t>(o)]);
                b.last = std::max(b.last, item_of_op[static_cast<std::size_t>(o)]);
            }
            border_.push_back(b);
        }
    }

    [[nodiscard]] auto number(tensor_id t) const -> std::size_t
    {
        auto const before = [](level_tensor const& b, tensor_id id) { return b.id < id; };
        return static_cast<std::size_t>(std::lower_bound(border_.begin(), border_.end(), t, before) - border_.begin());
    }

    [[nodiscard]] auto describe_way(std::size_t x, int option) const -> level_way
    {
        auto const [part, which] = g_->items()[x];
        auto const& run = g_->run({part, which, option});
        level_way w{.option = option, .cost = run.cost};
        struct stretches_of {
            bool before = false;
            std::size_t first = 0, last = 0;
        };
        std::vector<std::pair<std::size_t, stretches_of>> of;
        for (auto const& t : run.touches) { // by first run, so the first stretch of a tensor comes first
            auto const v = number(t.tensor);
            auto found = std::find_if(of.begin(), of.end(), [&](auto const& e) { return e.first == v; });
            if (found == of.end()) {
                bool const sum = g_->subject().accumulated(t.tensor);
                of.push_back({v, {sum ? border_[v].first < x : !t.made, t.first, t.last}});
            } else {
                found->second.last = t.last;
            }
        }
        std::sort(of.begin(), of.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
        for (auto const& [v, s] : of) {
            w.touched.push_back(v);
            (s.before ? w.reads : w.makes).push_back(v);
        }
        for (auto const& k : run.records) {
            level_way::record r{.bytes = k.bytes};
            for (auto const& [v, s] : of) {
                bool there = s.before && k.step < s.first;
                for (auto const& t : run.touches) {
                    there = there || (t.tensor == border_[v].id && t.first <= k.step && k.step <= t.last);
                }
                r.bytes += there ? border_[v].size : 0;
                if (k.step > s.last) {
                    r.after.push_back(v);
                }
            }
            w.records.push_back(std::move(r));
        }
        return w;
    }

    void find_ways()
    {
        ways_.resize(items());
        for (std::size_t j = 0; j < g_->size(); ++j) {
            auto const f = forward_[j];
            auto const b = backward_[j];
            if (f != nowhere && (b == nowhere || g_->replayable(j))) {
                add_way(f, describe_way(f, fast_forward));
            }
            for (int o = 0; o < static_cast<int>(g_->options(j).size()); ++o) {
                if (f != nowhere && b != nowhere) { // only both halves of an option, or none
                    auto forward = describe_way(f, o);
                    auto backward = describe_way(b, o);
                    if (std::max(forward.peak(), backward.peak()) <= room_) {
                        ways_[f].push_back(std::move(forward));
                        ways_[b].push_back(std::move(backward));
                    }
                } else {
                    add_way(f != nowhere ? f : b, describe_way(f != nowhere ? f : b, o));
                }
            }
        }
    }

    void add_way(std::size_t x, level_way w)
    {
        auto const& [part, which] = g_->items()[x];
        auto const same = [&](level_way const& a) {
            return g_->run({part, which, a.option}) == g_->run({part, which, w.option});
        };
        if (w.peak() <= room_ && std::none_of(ways_[x].begin(), ways_[x].end(), same)) {
            ways_[x].push_back(std::move(w));
        }
    }

    /// Tensors that may still be wanted once `limit` items have run, and the halves that may run again.
    struct outlook {
        std::vector<char> wanted, forward, serve;
    };
    [[nodiscard]] auto look_ahead(std::size_t limit) const -> outlook
    {
        outlook r{std::vector<char>(border_.size(), 0), std::vector<char>(items(), 0), std::vector<char>(items(), 0)};
        for (std::size_t v = 0; v < border_.size(); ++v) {
            r.wanted[v] = border_[v].target ? 1 : 0;
        }
        for (auto x = items(); x-- > 0;) {
            auto const [part, which] = g_->items()[x];
            if (x < limit) {
                if (which == half::backward || !g_->replayable(part)) {
                    continue;
                }
                auto const b = backward_[part];
                for (auto const& w : ways_[x]) {
                    if (b != nowhere && w.option != fast_forward) {
                        r.serve[x] = b >= limit ? 1 : r.serve[x];
                    } else {
                        auto const wanted = [&](std::size_t v) { return r.wanted[v] != 0; };
                        bool const any = std::any_of(w.makes.begin(), w.makes.end(), wanted);
                        r.forward[x] = any ? 1 : r.forward[x];
                    }
                }
                if (r.forward[x] == 0 && r.serve[x] == 0) {
                    continue;
                }
            }
            for (auto const& w : ways_[x]) {
                for (auto v : w.reads) {
                    r.wanted[v] = 1;
                }
            }
        }
        return r;
    }

    [[nodiscard]] auto made_again(std::size_t t, std::size_t v) const -> bool
    {
        auto const x = border_[v].first;
        auto const [part, which] = g_->items()[x];
        if (border_[v].last != x || which == half::backward) {
            return false;
        }
        if (stages_[t].forward[x] != 0 || stages_[t].serve[x] != 0) {
            return true;
        }
        auto const b = backward_[part];
        return b != nowhere && b >= t && std::any_of(ways_[b].begin(), ways_[b].end(), [&](level_way const& w) {
                   return level_way::has(w.makes, v);
               });
    }

    /// How many items can run, in any way, with everything kept that may ever be wanted. Until then nothing need be
    /// dropped: whatever a plan has live there is a part of what is live when nothing is dropped, at no cost.
    [[nodiscard]] auto carefree() const -> std::size_t
    {
        for (std::size_t x = 0; x < items(); ++x) {
            bytes_t kept = 0;
            for (std::size_t j = 0; j < g_->size(); ++j) {
                if (forward_[j] < x && backward_[j] != nowhere && backward_[j] > x) {
                    bytes_t most = 0;
                    for (auto const& w : ways_[forward_[j]]) {
                        most = w.option == fast_forward
                                   ? most
                                   : std::max(most, g_->options(j)[static_cast<std::size_t>(w.option)].kept);
                    }
                    kept += most;
                }
            }
            if (ways_[x].empty()) {
                return x;
            }
            for (auto const& w : ways_[x]) {
                auto others = kept;
                for (std::size_t v = 0; v < border_.size(); ++v) {
                    bool const there = border_[v].first < x && (border_[v].last >= x || stages_[x].wanted[v] != 0);
                    others += there && !level_way::has(w.touched, v) ? border_[v].size : 0;
                }
                for (auto const& k : w.records) {
                    auto sum = others + k.bytes;
                    for (auto v : k.after) {
                        sum += border_[v].size;
                    }
                    if (sum > room_) {
                        return x;
                    }
                }
            }
        }
        return items();
    }

    block_graph const* g_;
    bytes_t room_;
    std::vector<std::size_t> forward_, backward_; // item of each half
    std::vector<level_tensor> border_;
    std::vector<std::vector<level_way>> ways_; // by item
    std::vector<std::size_t> sure_until_;      // last item that reads a tensor in every way; nowhere: none
    std::vector<outlook> stages_;
    std::size_t carefree_ = 0;
};

using level_stages = basic_level_stages<>;

} // namespace strata::detail
