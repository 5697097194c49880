// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief The partitioner that makes the layers of a repetitive network its parts.
#pragma once

#include <strata/partition/at_cut_points.hpp>
#include <strata/partition/concepts.hpp>
#include <strata/partition/stretches.hpp>
#include <strata/partition/waiting.hpp>
#include <strata/partition/whole.hpp>
#include <strata/problem/problem.hpp>
#include <strata/units.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

/// Stretches that look alike and follow each other are parts, however their ops are listed; what lies before, between and
/// behind such runs is a part as well. Where a run has more than `most_parts`, equally many of them together are a part that
/// is cut into them. Each stretch is cut further by `sub`; where nothing repeats `sub` alone decides.
/// Complexity: O((ops + reads) · log) for each run, plus that of `sub`.
template <class Sub = whole>
struct repeated {
    Sub sub = {};
    std::size_t most_parts = 50; ///< of one run at one level
    std::size_t min_ops = 8;     ///< of a stretch; shorter ones are taken together

    [[nodiscard]] static constexpr auto name() noexcept -> std::string_view { return "repeated"; }
    [[nodiscard]] auto split(problem const& p, std::span<op_id const> ops) const -> std::vector<part>
    {
        require_partitioner<Sub>();
        std::vector<std::vector<part>> runs;
        std::vector<std::size_t> group(ops.size(), 0);
        std::size_t sets = 0;
        for (auto const& run : detail::stretches(p, ops, min_ops).find()) {
            runs.emplace_back();
            for (auto const& stretch : run) {
                runs.back().emplace_back();
                for (auto i : stretch) {
                    group[i] = sets;
                    runs.back().back().ops.push_back(ops[i]);
                }
                ++sets;
            }
        }
        auto apart = detail::untangled(p, ops, std::move(group));
        if (apart.size() < 2) {
            return sub.split(p, ops);
        }
        if (apart.size() < sets) { // some wait for each other
            runs.assign(1, {});
            for (auto& x : apart) {
                runs[0].push_back({std::move(x), {}});
            }
        }
        std::vector<part> r;
        for (auto& run : runs) {
            for (auto& x : run) {
                x = detail::part_cut_by(p, std::move(x.ops), sub);
            }
            run = nested(p, std::move(run));
            r.insert(r.end(), std::make_move_iterator(run.begin()), std::make_move_iterator(run.end()));
        }
        return r;
    }

private:
    /// `all`, in order, as at most `most_parts` parts, unless these would wait for each other.
    [[nodiscard]] auto nested(problem const& p, std::vector<part> all) const -> std::vector<part>
    {
        auto const most = std::max<std::size_t>(most_parts, 2);
        if (all.size() <= most) {
            return all;
        }
        auto const together = (all.size() + most - 1) / most;
        std::vector<std::pair<op_id, std::size_t>> group;
        for (std::size_t i = 0; i < all.size(); ++i) {
            for (auto o : all[i].ops) {
                group.emplace_back(o, i / together);
            }
        }
        std::sort(group.begin(), group.end());
        std::vector<op_id> ops;
        std::vector<std::size_t> number;
        for (auto const& [o, i] : group) {
            ops.push_back(o);
            number.push_back(i);
        }
        if (detail::untangled(p, std::span<op_id const>(ops), std::move(number)).size() !=
            (all.size() - 1) / together + 1) {
            return all;
        }
        std::vector<part> r;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (i % together == 0) {
                r.emplace_back();
            }
            r.back().ops.insert(r.back().ops.end(), all[i].ops.begin(), all[i].ops.end());
            r.back().parts.push_back(std::move(all[i]));
        }
        for (auto& x : r) {
            std::sort(x.ops.begin(), x.ops.end());
            x.parts = x.parts.size() < 2 ? std::vector<part>(std::move(x.parts.front().parts))
                                         : nested(p, std::move(x.parts));
        }
        return r;
    }
};

} // namespace strata
