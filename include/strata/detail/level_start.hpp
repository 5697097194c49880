// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief A plan of a level that fits, found quickly: each part is kept with one of its options, or dropped and made again
/// where it, or a stretch of parts around it, is first needed in backward; what parts hand on is held or made again, too.
#pragma once

#include <strata/merge/block_graph.hpp>
#include <strata/merge/promise.hpp>
#include <strata/partition/block.hpp>
#include <strata/solve/limits.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace strata::detail {

/// Looks for the cheapest such plan under a budget.
template <class = void>
class basic_level_start {
public:
    /// Requires: `g` outlives the search.
    basic_level_start(block_graph const& g, bytes_t budget)
        : g_(&g)
        , budget_(budget)
        , forward_(g.size(), nowhere)
        , backward_(g.size(), nowhere)
    {
        auto const& p = g.subject();
        maker_.assign(static_cast<std::size_t>(p.tensor_count()), nowhere);
        for (std::size_t x = 0; x < g.items().size(); ++x) {
            auto const [part, which] = g.items()[x];
            (which == half::forward ? forward_ : backward_)[part] = x;
            for (auto o : which == half::forward && g.replayable(part) ? g.part(part).forward : std::vector<op_id>{}) {
                for (auto t : p.outputs(o)) {
                    maker_[static_cast<std::size_t>(t)] = part;
                }
            }
        }
    }

    /// Begins with options priced by what they keep, and with stretches of every other length, and changes the choice of
    /// one part at a time while that helps. Returns: nothing when none fits.
    /// Complexity: O(`looks` · `promise_of`).
    [[nodiscard]] auto find(stop_watch const& stop, int looks = 20'000) -> std::optional<block_plan>
    {
        looks_ = looks;
        std::vector<std::vector<choice>> starts;
        for (double price = 0; price >= 0; price = next_price(price)) {
            starts.push_back(priced(price));
        }
        for (std::size_t length = 1; length <= g_->size(); length += (length + 1) / 2) {
            starts.push_back(in_stretches(length));
        }
        starts.push_back(from_scratch());
        std::vector<std::pair<worth, std::size_t>> order;
        for (std::size_t i = 0; i < starts.size() && (i == 0 || !stop.expired()); ++i) {
            order.emplace_back(look(starts[i]), i);
        }
        std::sort(order.begin(), order.end());
        std::optional<std::pair<worth, std::vector<choice>>> best;
        for (auto const& [w, i] : order) {
            auto now = w;
            auto& x = starts[i];
            for (bool changed = true; changed && looks_ > 0 && !stop.expired();) {
                changed = improve(x, now, stop);
            }
            if (!best || now < best->first) {
                best.emplace(now, x);
            }
        }
        if (!best || best->first.excess > 0) {
            return {};
        }
        return write(best->second);
    }

private:
    static constexpr auto nowhere = std::numeric_limits<std::size_t>::max();

    struct choice {
        int option = 0;
        std::size_t stage = nowhere; // serves before the first run of this item; nowhere: at its first run
        bool again = false;          // what it makes is not held for backward halves, but made again for each
        friend auto operator==(choice const&, choice const&) -> bool = default;
    };
    struct worth {
        bytes_t excess = 0;
        cost_t cost = 0;
        friend auto operator<=>(worth const&, worth const&) = default;
    };

    [[nodiscard]] auto may_drop(std::size_t j) const -> bool
    {
        return forward_[j] != nowhere && backward_[j] != nowhere && g_->replayable(j);
    }

    [[nodiscard]] auto write(std::vector<choice> const& x) const -> block_plan
    {
        auto const& items = g_->items();
        block_plan r;
        for (std::size_t t = 0; t < items.size(); ++t) {
            auto const [part, which] = items[t];
            bool const dropped = which == half::forward && x[part].stage != nowhere;
            block_run const last{part, which, dropped ? fast_forward : x[part].option};
            auto const begin = r.size();
            r.push_back(last); // the stage backwards
            std::vector<char> wanted(g_->size(), 0);
            want(last, wanted);
            for (auto i = which == half::backward ? t : 0; i-- > 0;) {
                auto const j = items[i].part;
                if (items[i].which == half::backward) {
                    continue;
                }
                bool const held =
                    backward_[j] != nowhere && backward_[j] >= t && (x[j].stage == nowhere || x[j].stage < t);
                if (x[j].stage == t || (wanted[j] != 0 && x[j].again && !held)) {
                    r.push_back({j, half::forward, x[j].stage == t ? x[j].option : fast_forward});
                    want(r.back(), wanted);
                }
            }
            std::reverse(r.begin() + static_cast<std::ptrdiff_t>(begin), r.end());
        }
        return r;
    }

    /// Marks the parts whose forward halves make what `r` reads.
    void want(block_run const& r, std::vector<char>& wanted) const
    {
        for (auto const& x : g_->run(r).touches) {
            if (auto const j = maker_[static_cast<std::size_t>(x.tensor)]; j != nowhere && j != r.part) {
                wanted[j] = 1;
            }
        }
    }

    [[nodiscard]] auto look(std::vector<choice> const& x) -> worth
    {
        --looks_;
        auto const p = promise_of(*g_, write(x));
        return {std::max<bytes_t>(0, p.peak - budget_), p.cost};
    }

    auto improve(std::vector<choice>& x, worth& now, stop_watch const& stop) -> bool
    {
        bool changed = false;
        for (std::size_t j = 0; j < g_->size(); ++j) {
            std::vector<std::size_t> stages{nowhere};
            if (may_drop(j)) {
                stages.push_back(backward_[j]);
                for (std::size_t k = 0; k < g_->size(); ++k) { // together with those next to it
                    bool const near =
                        forward_[k] != nowhere && forward_[k] + 1 >= forward_[j] && forward_[k] <= forward_[j] + 1;
                    if (near && x[k].stage != nowhere && x[k].stage <= backward_[j]) {
                        stages.push_back(x[k].stage);
                    }
                }
            }
            for (auto s : stages) {
                for (int k = 0; k < 2 * static_cast<int>(g_->options(j).size()); ++k) {
                    auto const old = std::exchange(x[j], {k / 2, s, k % 2 != 0 && g_->replayable(j)});
                    if (old == x[j] || looks_ <= 0 || stop.expired()) {
                        x[j] = old;
                        continue;
                    }
                    if (auto const w = look(x); w < now) {
                        now = w;
                        changed = true;
                    } else {
                        x[j] = old;
                    }
                }
            }
        }
        return changed;
    }

    /// Each part with the option that is cheapest when a byte kept costs `price`.
    [[nodiscard]] auto priced(double price) const -> std::vector<choice>
    {
        std::vector<choice> r(g_->size());
        for (std::size_t j = 0; j < g_->size(); ++j) {
            auto const of = [&](int o) {
                auto const& x = g_->options(j)[static_cast<std::size_t>(o)];
                return static_cast<double>(x.cost()) + price * static_cast<double>(x.kept);
            };
            for (int o = 1; o < static_cast<int>(g_->options(j).size()); ++o) {
                r[j].option = of(o) < of(r[j].option) ? o : r[j].option;
            }
            auto const twice = g_->run({j, half::forward, fast_forward}).cost;
            auto const& all = g_->options(j);
            auto const cheapest = std::min_element(
                all.begin(), all.end(), [](option const& a, option const& b) { return a.cost() < b.cost(); });
            if (may_drop(j) && static_cast<double>(twice + cheapest->cost()) < of(r[j].option)) {
                r[j] = {static_cast<int>(cheapest - all.begin()), backward_[j]};
            }
        }
        return r;
    }

    /// The least price above `price` at which some part is chosen differently; negative when there is none.
    [[nodiscard]] auto next_price(double price) const -> double
    {
        double next = -1;
        auto const meet = [&](double more_cost, double fewer_bytes) {
            auto const at = fewer_bytes > 0 ? more_cost / fewer_bytes : -1;
            if (at > price * 1.25 && (next < 0 || at < next)) {
                next = at;
            }
        };
        for (std::size_t j = 0; j < g_->size(); ++j) {
            auto const twice = static_cast<double>(g_->run({j, half::forward, fast_forward}).cost);
            for (auto const& a : g_->options(j)) {
                for (auto const& b : g_->options(j)) {
                    meet(static_cast<double>(b.cost() - a.cost()), static_cast<double>(a.kept - b.kept));
                    meet(twice + static_cast<double>(b.cost() - a.cost()), static_cast<double>(a.kept));
                }
            }
        }
        return next < 0 ? next : next * 1.0001;
    }

    /// Parts in stretches of `length` forward halves, each made again when the first of its backward halves is due.
    [[nodiscard]] auto in_stretches(std::size_t length) const -> std::vector<choice>
    {
        auto r = priced(0);
        std::vector<std::size_t> members;
        auto const end = [&] {
            auto stage = nowhere;
            for (auto j : members) {
                stage = std::min(stage, backward_[j]);
            }
            for (auto j : members) {
                r[j].stage = stage;
                r[j].again = j != members.back();
            }
            members.clear();
        };
        for (auto const& [part, which] : g_->items()) {
            if (which == half::forward && may_drop(part)) {
                members.push_back(part);
                if (members.size() == length) {
                    end();
                }
            }
        }
        end();
        return r;
    }

    /// Nothing is held between backward halves.
    [[nodiscard]] auto from_scratch() const -> std::vector<choice>
    {
        auto r = in_stretches(1);
        for (std::size_t j = 0; j < g_->size(); ++j) {
            r[j].again = g_->replayable(j);
        }
        return r;
    }

    block_graph const* g_;
    bytes_t budget_;
    std::vector<std::size_t> forward_, backward_; // item of each half
    std::vector<std::size_t> maker_;              // by tensor: the part whose forward half may make it again
    int looks_ = 0;
};

using level_start = basic_level_start<>;

} // namespace strata::detail
