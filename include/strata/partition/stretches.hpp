// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Where a network repeats itself.
#pragma once

#include <strata/detail/mix.hpp>
#include <strata/partition/block.hpp>
#include <strata/partition/waiting.hpp>
#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace strata::detail {

/// Finds stretches of forward ops that look alike and follow each other.
///
/// Ops that look alike, with their neighbours or without, are tried as the marks at which stretches begin. A mark is as deep
/// as the longest way to it has marks; an op belongs to the stretch before the first mark it leads to. So stretches follow
/// each other along every path, wherever an op is listed, and what prepares something for later stands where it is used.
/// Alike are stretches whose ops are, each with all that leads to it from inside. Hashes decide: what comes out is a
/// proposal, whether blocks are of one kind is not decided here.
template <class = void>
class basic_stretches {
public:
    using set = std::vector<std::size_t>; ///< indices of ops, ascending
    using run = std::vector<set>;         ///< stretches that look alike, in order

    basic_stretches(problem const& p, std::span<op_id const> ops, std::size_t min_ops)
        : p_(&p)
        , ops_(ops.begin(), ops.end())
        , min_ops_(min_ops)
        , before_(waiting_of(p, ops).before[0])
        , after_(ops.size())
        , look_(ops.size(), 0)
        , place_(ops.size(), outside)
    {
        before_.resize(ops.size());
        for (std::size_t v = 0; v < ops.size(); ++v) {
            for (auto u : before_[v]) {
                after_[u].push_back(v);
            }
            auto const o = ops_[v];
            look_[v] = hash({p.cost(o), p.workspace(o), p.replayable(o) ? 1 : 0});
            for (auto t : p.inputs(o)) {
                look_[v] += hash({p.size(t), 1});
            }
            for (auto t : p.outputs(o)) {
                look_[v] += hash({p.size(t), 2});
            }
        }
    }

    /// All of the ops in runs; what does not repeat is a run of one.
    /// Complexity: O((ops + reads) · log) for each run found.
    [[nodiscard]] auto find() -> std::vector<run>
    {
        std::vector<run> found;
        set all(ops_.size());
        std::iota(all.begin(), all.end(), std::size_t{0});
        std::vector<set> open{std::move(all)};
        while (!open.empty()) {
            auto const region = std::move(open.back());
            open.pop_back();
            auto const best = best_cut(region);
            if (best.copies < 2) {
                found.push_back({region});
                continue;
            }
            set early;
            set late;
            run copies(best.copies);
            for (std::size_t i = 0; i < region.size(); ++i) {
                auto const l = best.level[i];
                auto const end = best.first + best.copies * best.width;
                (l < best.first ? early : l >= end ? late : copies[(l - best.first) / best.width]).push_back(region[i]);
            }
            for (auto* rest : {&early, &late}) {
                if (!rest->empty()) {
                    open.push_back(std::move(*rest));
                }
            }
            found.push_back(std::move(copies));
        }
        return found;
    }

private:
    static constexpr auto outside = static_cast<std::size_t>(-1);
    static constexpr std::size_t most_marks = 16;  // kinds of marks tried, for each radius
    static constexpr std::size_t most_radii = 3;   // neighbourhoods by which ops are told apart: 0, 1, 2
    static constexpr std::size_t most_periods = 8; // stretches between marks that make up one that repeats

    struct cut {
        set level = {}; ///< by op of the region: number of its stretch between marks
        std::size_t first = 0;
        std::size_t width = 0; ///< stretches between marks in one that repeats
        std::size_t copies = 0;
        std::size_t covered = 0; ///< ops
        bytes_t crossing = 0;    ///< between copies, on average
    };

    static auto hash(std::initializer_list<std::int64_t> all) -> std::uint64_t
    {
        std::uint64_t r = 0;
        for (auto x : all) {
            r = mix(r ^ mix(static_cast<std::uint64_t>(x)));
        }
        return r;
    }

    /// The widest repetition among those that cross few bytes.
    [[nodiscard]] auto best_cut(set const& region) -> cut
    {
        for (std::size_t i = 0; i < region.size(); ++i) {
            place_[region[i]] = i;
        }
        std::vector<std::uint64_t> colour;
        for (auto v : region) {
            colour.push_back(look_[v]);
        }
        std::vector<cut> cuts;
        for (std::size_t radius = 0; radius < most_radii; ++radius) {
            for (auto const& marks : classes_of(colour)) {
                if (auto c = cut_at(region, marks); c.copies > 1) {
                    cuts.push_back(std::move(c));
                }
            }
            colour = with_neighbours(region, colour);
        }
        std::size_t most = 0;
        for (auto const& c : cuts) {
            most = std::max(most, c.covered);
        }
        auto const worse = [&](cut const& a, cut const& b) {
            bool const wide = 4 * a.covered >= 3 * most;
            bool const also = 4 * b.covered >= 3 * most;
            if (wide != also) {
                return also;
            }
            return a.crossing != b.crossing ? a.crossing > b.crossing : a.covered < b.covered;
        };
        auto const best = std::max_element(cuts.begin(), cuts.end(), worse);
        for (auto v : region) {
            place_[v] = outside;
        }
        return best == cuts.end() ? cut{} : std::move(*best);
    }

    /// Places of the ops of each of the most frequent colours.
    [[nodiscard]] static auto classes_of(std::vector<std::uint64_t> const& colour) -> std::vector<set>
    {
        std::vector<std::pair<std::uint64_t, std::size_t>> sorted;
        for (std::size_t i = 0; i < colour.size(); ++i) {
            sorted.emplace_back(colour[i], i);
        }
        std::sort(sorted.begin(), sorted.end());
        std::vector<set> r; // by colour, which is the same however ops are listed
        for (std::size_t i = 0; i < sorted.size(); ++i) {
            if (i == 0 || sorted[i].first != sorted[i - 1].first) {
                r.emplace_back();
            }
            r.back().push_back(sorted[i].second);
        }
        std::erase_if(r, [](set const& x) { return x.size() < 2; });
        std::stable_sort(r.begin(), r.end(), [](set const& a, set const& b) { return a.size() > b.size(); });
        r.resize(std::min(r.size(), most_marks));
        return r;
    }

    [[nodiscard]] auto with_neighbours(set const& region, std::vector<std::uint64_t> const& colour) const
        -> std::vector<std::uint64_t>
    {
        std::vector<std::uint64_t> r;
        for (std::size_t i = 0; i < region.size(); ++i) {
            std::uint64_t sum = mix(colour[i]);
            for (auto u : before_[region[i]]) {
                sum += place_[u] == outside ? 1 : mix(colour[place_[u]] + 1);
            }
            for (auto u : after_[region[i]]) {
                sum += place_[u] == outside ? 2 : mix(colour[place_[u]] + 2);
            }
            r.push_back(mix(sum));
        }
        return r;
    }

    /// The longest repetition when stretches begin at `marks`.
    [[nodiscard]] auto cut_at(set const& region, set const& marks) const -> cut
    {
        auto c = cut{.level = levels_of(region, marks)};
        auto const looks = looks_of(region, c.level);
        split_tail(looks, c.level);
        std::vector<std::uint64_t> all; // by level: what its ops look like together
        set ops;
        for (std::size_t i = 0; i < region.size(); ++i) {
            auto const l = c.level[i];
            if (l >= all.size()) {
                all.resize(l + 1, 0);
                ops.resize(l + 1, 0);
            }
            all[l] += mix(looks[i]);
            ++ops[l];
        }
        for (std::size_t width = 1; width <= std::min(most_periods, all.size() / 2); ++width) {
            for (std::size_t i = 0; i + width < all.size();) {
                auto j = i;
                while (j + width < all.size() && all[j] == all[j + width]) {
                    ++j;
                }
                consider(c, ops, i, width, (j - i) / width + 1);
                i = std::max(j, i + 1);
            }
        }
        c.crossing = crossing_of(region, c);
        return c;
    }

    /// `copies` stretches of `width` levels from level `first` on: as many together as make `min_ops_` ops.
    void consider(cut& c, set const& ops, std::size_t first, std::size_t width, std::size_t copies) const
    {
        std::size_t in_one = 0;
        for (auto l = first; l < first + width; ++l) {
            in_one += ops[l];
        }
        if (in_one == 0) {
            return;
        }
        auto const together = std::max<std::size_t>((min_ops_ + in_one - 1) / in_one, 1);
        auto const covered = copies / together * together * in_one;
        if (copies / together > 1 && covered > c.covered) {
            c.first = first;
            c.width = width * together;
            c.copies = copies / together;
            c.covered = covered;
        }
    }

    /// One less than the depth of the least deep mark that an op leads to; what leads to none stays with what it reads.
    [[nodiscard]] auto levels_of(set const& region, set const& marks) const -> set
    {
        std::vector<char> is_mark(region.size(), 0);
        for (auto i : marks) {
            is_mark[i] = 1;
        }
        set depth(region.size(), 0);
        for (std::size_t i = 0; i < region.size(); ++i) {
            for (auto u : before_[region[i]]) {
                depth[i] = place_[u] == outside ? depth[i] : std::max(depth[i], depth[place_[u]]);
            }
            depth[i] += is_mark[i] != 0 ? std::size_t{1} : 0;
        }
        set next(region.size(), outside); // least depth of a mark behind
        for (auto i = region.size(); i-- > 0;) {
            for (auto u : after_[region[i]]) {
                if (auto const k = place_[u]; k != outside) {
                    next[i] = std::min({next[i], next[k], is_mark[k] != 0 ? depth[k] : outside});
                }
            }
        }
        set level(region.size(), 0);
        for (std::size_t i = 0; i < region.size(); ++i) {
            if (next[i] != outside) {
                level[i] = next[i] - 1;
                continue;
            }
            level[i] = is_mark[i] != 0 ? depth[i] : 0;
            for (auto u : before_[region[i]]) {
                level[i] = place_[u] == outside ? level[i] : std::max(level[i], level[place_[u]]);
            }
        }
        return level;
    }

    /// What an op and all that leads to it within its stretch look like.
    [[nodiscard]] auto looks_of(set const& region, set const& level) const -> std::vector<std::uint64_t>
    {
        std::vector<std::uint64_t> r;
        for (std::size_t i = 0; i < region.size(); ++i) {
            auto sum = look_[region[i]];
            for (auto u : before_[region[i]]) {
                auto const k = place_[u];
                sum += k == outside || level[k] != level[i] ? 1 : mix(r[k]);
            }
            r.push_back(mix(sum));
        }
        return r;
    }

    /// Behind the last mark stands the last stretch with all that follows it. Takes the two apart if a stretch before
    /// shows how.
    static void split_tail(std::vector<std::uint64_t> const& looks, set& level)
    {
        auto const last = *std::max_element(level.begin(), level.end());
        for (std::size_t back = 1; back <= std::min(most_periods, last); ++back) {
            std::vector<std::uint64_t> model;
            for (std::size_t i = 0; i < level.size(); ++i) {
                if (level[i] + back == last) {
                    model.push_back(looks[i]);
                }
            }
            std::sort(model.begin(), model.end());
            std::vector<std::uint64_t> alike;
            set others;
            for (std::size_t i = 0; i < level.size(); ++i) {
                if (level[i] == last) {
                    if (std::binary_search(model.begin(), model.end(), looks[i])) {
                        alike.push_back(looks[i]);
                    } else {
                        others.push_back(i);
                    }
                }
            }
            std::sort(alike.begin(), alike.end());
            if (!model.empty() && alike == model) {
                for (auto i : others) {
                    level[i] = last + 1;
                }
                return;
            }
        }
    }

    /// Average bytes of what is made before and read behind the beginning of a copy.
    [[nodiscard]] auto crossing_of(set const& region, cut const& c) const -> bytes_t
    {
        if (c.copies < 2) {
            return 0;
        }
        bytes_t sum = 0;
        auto const copy = [&](std::size_t i) {
            return c.level[i] < c.first ? 0 : std::min((c.level[i] - c.first) / c.width, c.copies);
        };
        for (std::size_t i = 0; i < region.size(); ++i) {
            for (auto t : p_->outputs(ops_[region[i]])) {
                auto end = copy(i);
                for (auto reader : p_->consumers(t)) {
                    auto const v = std::lower_bound(ops_.begin(), ops_.end(), reader);
                    auto const k =
                        v == ops_.end() || *v != reader ? outside : place_[static_cast<std::size_t>(v - ops_.begin())];
                    end = k == outside ? end : std::max(end, copy(k));
                }
                sum += p_->size(t) * static_cast<bytes_t>(end - copy(i));
            }
        }
        return sum / static_cast<bytes_t>(c.copies);
    }

    problem const* p_;
    std::vector<op_id> ops_;
    std::size_t min_ops_;
    waiting::lists before_, after_;
    std::vector<std::uint64_t> look_; // by op: what it looks like from outside
    set place_;                       // by op: its place in the region looked at
};

using stretches = basic_stretches<>;

} // namespace strata::detail
