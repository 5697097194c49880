// SPDX-License-Identifier: Apache-2.0
#include <strata/partition/contraction.hpp>
#include <strata/partition/waiting.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/random_problem.hpp"

namespace partition_contraction_test {

using strata::detail::components_of;
using strata::detail::contraction;
using strata::detail::waiting;
using strata::detail::way;

TEST_CASE("contraction: merges whatever leaves no cycle, and keeps its order topological")
{
    int merged = 0;
    int refused = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        strata::test::dice d(seed);
        auto const n = static_cast<std::size_t>(d.between(2, 25));
        waiting::lists before(n);
        for (std::size_t v = 1; v < n; ++v) {
            std::set<std::size_t> from;
            for (auto k = d.below(4); k > 0; --k) {
                from.insert(static_cast<std::size_t>(d.below(static_cast<std::int64_t>(v))));
            }
            before[v].assign(from.begin(), from.end());
        }
        contraction c(before);
        std::vector<std::size_t> group(n); // what `c` should hold, by first node
        for (std::size_t v = 0; v < n; ++v) {
            group[v] = v;
        }
        for (int turn = 0; turn < 30; ++turn) {
            auto const all = c.order();
            std::set<std::size_t> chosen;
            for (auto k = d.between(1, 3); k > 0; --k) {
                chosen.insert(d.pick(all));
            }
            std::vector<std::size_t> const nodes(chosen.begin(), chosen.end());
            auto const fresh = 2 * n + 99; // no node has this number
            auto after = group;
            for (std::size_t v = 0; v < n; ++v) {
                if (chosen.count(c.now(v)) != 0) {
                    after[v] = fresh;
                }
            }
            waiting::lists quotient(fresh + 1);
            for (std::size_t v = 0; v < n; ++v) {
                for (auto u : before[v]) {
                    if (after[u] != after[v]) {
                        quotient[after[v]].push_back(after[u]);
                    }
                }
            }
            auto component = components_of(quotient);
            std::sort(component.begin(), component.end());
            bool const sound = std::adjacent_find(component.begin(), component.end()) == component.end();
            REQUIRE(c.can_merge(nodes) == sound);
            if (!sound) {
                ++refused;
                continue;
            }
            ++merged;
            auto const made = c.merge(nodes);
            for (std::size_t v = 0; v < n; ++v) {
                REQUIRE((c.now(v) == made) == (after[v] == fresh));
                group[v] = c.now(v);
            }
            for (std::size_t v = 0; v < n; ++v) {
                for (auto u : before[v]) {
                    REQUIRE((c.now(u) == c.now(v) || c.place(c.now(u)) < c.place(c.now(v))));
                    auto const& on = c.near(c.now(u), way::on);
                    REQUIRE((c.now(u) == c.now(v) || std::binary_search(on.begin(), on.end(), c.now(v))));
                    auto const& back = c.near(c.now(v), way::back);
                    REQUIRE((c.now(u) == c.now(v) || std::binary_search(back.begin(), back.end(), c.now(u))));
                }
            }
            if (made >= n + 90) {
                break;
            }
        }
    }
    CHECK(merged > 1000);
    CHECK(refused > 300);
}

} // namespace partition_contraction_test
