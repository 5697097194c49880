// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Cheapest plan of a tiny level by enumeration: every way to run every half at every place, every choice of what
/// stays live after it. Goes forwards, where `promise_of` and the integer program go backwards, and shares no code with them.
#pragma once

#include <strata/detail/mix.hpp>
#include <strata/merge/block_graph.hpp>
#include <strata/merge/option.hpp>
#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace strata::test {

/// Plans with one pass per stage: forward halves run again in the order of the items, then an item runs first.
class brute_block_plans {
public:
    explicit brute_block_plans(block_graph const& g)
        : g_(&g)
    {
        auto const& p = g.subject();
        number_.assign(static_cast<std::size_t>(p.tensor_count()), -1);
        for (std::size_t j = 0; j < g.size(); ++j) {
            note(g.run({j, half::forward, fast_forward}));
            for (auto const& o : g.options(j)) {
                note(o.forward);
                note(o.backward);
            }
        }
    }

    /// Whether the level is small enough.
    [[nodiscard]] auto enumerable() const -> bool
    {
        bool few = tensors_.size() <= 10 && g_->size() <= 16;
        for (std::size_t j = 0; j < g_->size(); ++j) {
            few = few && g_->options(j).size() < 14;
        }
        return few;
    }

    /// Least cost under `budget`; nothing when no plan fits.
    [[nodiscard]] auto solve(bytes_t budget) const -> std::optional<cost_t>
    {
        states now;
        now.emplace(state{}, 0);
        auto const& items = g_->items();
        for (std::size_t t = 0; t <= items.size(); ++t) {
            for (std::size_t x = 0; x < std::min(t + 1, items.size()); ++x) {
                auto const [part, which] = items[x];
                bool const again = x < t;
                if (again && (which == half::backward || !g_->replayable(part))) {
                    continue;
                }
                states next = again ? now : states{}; // a run again may be left out
                for (auto const& [s, cost] : now) {
                    for (int o = fast_forward; o < static_cast<int>(g_->options(part).size()); ++o) {
                        run(s, cost, {part, which, o}, budget, next);
                    }
                }
                now = std::move(next);
            }
        }
        std::optional<cost_t> best;
        for (auto const& [s, cost] : now) {
            bool ends = true;
            for (auto t : g_->subject().targets()) {
                auto const v = number_[static_cast<std::size_t>(t)];
                ends = ends && (v < 0 || (s.live >> v & 1U) != 0);
            }
            best = ends ? std::min(best.value_or(cost), cost) : best;
        }
        return best;
    }

private:
    static constexpr int free = -1; // a forward half that holds nothing; else the option it serves with
    static constexpr int done = -2; // its backward half has run
    using mask = std::uint32_t;
    struct state {
        mask live = 0;
        std::uint64_t halves = 0; // what each forward half holds, in four bits
        friend auto operator==(state const&, state const&) -> bool = default;

        [[nodiscard]] auto held(std::size_t part) const -> int
        {
            auto const bits = static_cast<int>(halves >> 4 * part & 15U);
            return bits == 15 ? done : bits - 1;
        }
        void hold(std::size_t part, int what)
        {
            auto const bits = static_cast<std::uint64_t>(what == done ? 15 : what + 1);
            halves = (halves & ~(std::uint64_t{15} << 4 * part)) | bits << 4 * part;
        }
    };
    struct hash {
        auto operator()(state const& s) const -> std::size_t
        {
            return strata::detail::mix(s.halves ^ strata::detail::mix(s.live));
        }
    };
    using states = std::unordered_map<state, cost_t, hash>;

    void note(half_run const& h)
    {
        for (auto const& x : h.touches) {
            auto& n = number_[static_cast<std::size_t>(x.tensor)];
            if (n < 0) {
                n = static_cast<int>(tensors_.size());
                tensors_.push_back(x.tensor);
            }
        }
    }

    void run(state const& s, cost_t cost, block_run const& r, bytes_t budget, states& next) const
    {
        auto const& p = g_->subject();
        auto held = s.held(r.part);
        bool const serves = !g_->part(r.part).backward.empty();
        if (r.which == half::backward) {
            if (r.option == fast_forward || (!g_->part(r.part).forward.empty() && held != r.option)) {
                return;
            }
            held = done;
        } else if (serves) {
            if (held >= 0 || (held == done && r.option != fast_forward)) {
                return;
            }
            held = held == done ? done : r.option == fast_forward ? free : r.option;
        }
        auto after = s;
        after.hold(r.part, held);
        auto const& h = g_->run(r);
        mask touched = 0;
        mask read = 0; // live before
        for (auto const& x : h.touches) {
            auto const bit = bit_of(x.tensor);
            bool const begun = p.accumulated(x.tensor) && begins_before(x.tensor, r);
            read |= (touched & bit) == 0 && (p.accumulated(x.tensor) ? begun : !x.made) ? bit : 0;
            touched |= bit;
        }
        if ((s.live & read) != read || (s.live & touched & ~read) != 0) {
            return; // what is made anew has been dropped before
        }
        bytes_t others = p.resident_bytes();
        for (std::size_t j = 0; j < g_->size(); ++j) {
            if (j != r.part && s.held(j) >= 0) {
                others += g_->options(j)[static_cast<std::size_t>(s.held(j))].kept;
            }
        }
        for (std::size_t v = 0; v < tensors_.size(); ++v) {
            others += (s.live & ~touched & mask{1} << v) != 0 ? p.size(tensors_[v]) : 0;
        }
        auto const all = s.live | touched;
        for (mask stays = all;; stays = (stays - 1) & all) {
            if (most_bytes(h, read, stays) + others <= budget) {
                after.live = stays;
                auto const [at, fresh] = next.emplace(after, cost + h.cost);
                if (!fresh) {
                    at->second = std::min(at->second, cost + h.cost);
                }
            }
            if (stays == 0) {
                break;
            }
        }
    }

    /// Most bytes of the run and of the tensors it touches, those of `read` live before and those of `stays` after.
    [[nodiscard]] auto most_bytes(half_run const& h, mask read, mask stays) const -> bytes_t
    {
        bytes_t most = 0;
        for (auto const& k : h.records) {
            mask there = 0;
            mask begun = 0;
            mask ahead = 0;
            for (auto const& x : h.touches) {
                auto const bit = bit_of(x.tensor);
                there |= x.first <= k.step && k.step <= x.last ? bit : 0;
                begun |= x.first <= k.step ? bit : 0;
                ahead |= x.last >= k.step ? bit : 0;
            }
            auto bytes = k.bytes;
            for (auto const t : tensors_) {
                auto const bit = bit_of(t);
                bool const touched = ((begun | ahead) & bit) != 0;
                bool const before = touched && (begun & bit) == 0 && (read & bit) != 0;
                bool const after = touched && (ahead & bit) == 0 && (stays & bit) != 0;
                bytes += (there & bit) != 0 || before || after ? g_->subject().size(t) : 0;
            }
            most = std::max(most, bytes);
        }
        return most;
    }

    /// Whether an item before that of `r` adds into `t`.
    [[nodiscard]] auto begins_before(tensor_id t, block_run const& r) const -> bool
    {
        for (auto const& x : g_->items()) {
            if (x == item{r.part, r.which}) {
                return false;
            }
            auto const& ops = g_->part(x.part).ops(x.which);
            for (auto o : g_->subject().producers(t)) {
                if (std::find(ops.begin(), ops.end(), o) != ops.end()) {
                    return true;
                }
            }
        }
        return false;
    }

    [[nodiscard]] auto bit_of(tensor_id t) const -> mask { return mask{1} << number_[static_cast<std::size_t>(t)]; }

    block_graph const* g_;
    std::vector<int> number_;
    std::vector<tensor_id> tensors_;
};

} // namespace strata::test
