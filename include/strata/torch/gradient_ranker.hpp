// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Where gradients flow in backward, and in which order autograd adds up the parts of each.
#pragma once

#include <strata/torch/trace.hpp>
#include <strata/torch/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace strata::torch::detail {

/// Says which units have a part in backward, and numbers the parts of each gradient.
class gradient_ranker {
public:
    gradient_ranker(trace const& t, unit_list& units)
        : t_(t)
        , list_(units)
    {
    }

    void operator()()
    {
        find_backward();
        rank();
    }

private:
    /// Whether a gradient comes in through the result `v` of forward.
    [[nodiscard]] auto leads_back(std::int32_t v) const noexcept -> bool
    {
        return v != none && t_.values[at(v)].grad && t_.values[at(v)].from == origin::made;
    }

    /// Units through which the gradient of an output flows, from the last to the first.
    void find_backward()
    {
        std::vector<char> wanted(t_.values.size(), 0);
        for (auto v : t_.outputs) {
            if (leads_back(v)) {
                wanted[at(v)] = 1;
            }
        }
        for (auto u = list_.all.rbegin(); u != list_.all.rend(); ++u) {
            u->backward = std::any_of(
                u->results.begin(), u->results.end(), [&](auto k) { return wanted[at(u->locals[at(k)])] != 0; });
            for (auto& x : u->uses) {
                x.grad = x.grad && u->backward;
                if (x.grad) {
                    wanted[at(x.value)] = 1;
                }
            }
        }
    }

    /// Autograd adds up the parts of a gradient from the last op to the first, arguments in order; outputs come before all.
    void rank()
    {
        struct part {
            std::int32_t op, arrival;
            outside_use* use;
        };
        std::vector<std::vector<part>> parts(t_.values.size());
        std::int32_t arrival = 0; // of all parts that a unit gives
        list_.contributions.assign(t_.values.size(), 0);
        list_.held_apart.assign(t_.values.size(), 1);
        for (auto v : t_.outputs) {
            if (leads_back(v)) {
                ++list_.contributions[at(v)];
            }
        }
        for (auto u = list_.all.rbegin(); u != list_.all.rend(); ++u) {
            for (std::size_t k = 0; k < u->ops.size(); ++k) {
                for (auto r : u->reads[k]) {
                    if (r < 0 && u->uses[at(~r)].grad) {
                        parts[at(u->uses[at(~r)].value)].push_back({u->ops[k], arrival, &u->uses[at(~r)]});
                    }
                }
            }
            ++arrival;
        }
        for (std::size_t v = 0; v < parts.size(); ++v) {
            auto& all = parts[v];
            std::stable_sort(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.op > b.op; });
            for (auto& p : all) {
                p.use->rank = list_.contributions[v]++;
            }
            list_.held_apart[v] = most_apart(all);
        }
    }

    /// How many buffers the parts of one gradient need between units, when a part waits for those that come before it.
    /// Requires: `all` is in the order of ranks.
    template <class Part>
    static auto most_apart(std::vector<Part> const& all) -> std::int32_t
    {
        std::vector<std::size_t> arrivals(all.size());
        std::iota(arrivals.begin(), arrivals.end(), std::size_t(0));
        std::stable_sort(
            arrivals.begin(), arrivals.end(), [&](auto a, auto b) { return all[a].arrival < all[b].arrival; });
        std::vector<char> here(all.size(), 0);
        std::size_t added = 0; // parts that have been added up
        std::size_t most = 1;
        for (std::size_t k = 0; k < arrivals.size(); ++k) {
            here[arrivals[k]] = 1;
            if (k + 1 < arrivals.size() && all[arrivals[k]].arrival == all[arrivals[k + 1]].arrival) {
                continue;
            }
            while (added < all.size() && here[added] != 0) {
                ++added;
            }
            bool const sum = added > 0 || all[0].use->rank > 0;
            most = std::max(most, k + 1 - added + (sum ? 1U : 0U));
        }
        return static_cast<std::int32_t>(most);
    }

    trace const& t_;
    unit_list& list_;
};

} // namespace strata::torch::detail
