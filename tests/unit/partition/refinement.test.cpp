// SPDX-License-Identifier: Apache-2.0
#include <strata/partition/refinement.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/random_problem.hpp"

namespace partition_refinement_test {

using strata::detail::refinement;
using strata::detail::two_graphs;
using strata::test::dice;

auto numbers(std::size_t n) -> std::vector<std::size_t>
{
    std::vector<std::size_t> r(n);
    std::iota(r.begin(), r.end(), std::size_t{0});
    return r;
}
void join(two_graphs& g, std::size_t sort, std::size_t a, std::size_t b)
{
    g[sort][a].push_back(b);
    g[sort][b].push_back(a);
}
auto empty(std::size_t n) -> two_graphs
{
    return {std::vector<std::vector<std::size_t>>(n), std::vector<std::vector<std::size_t>>(n)};
}

TEST_CASE("refinement: vertices of a path are told apart but for its two ends")
{
    auto g = empty(5);
    for (std::size_t v = 0; v < 4; ++v) {
        join(g, 0, v, v + 1);
    }
    refinement r(g, numbers(5), {0});
    CHECK_FALSE(r.discrete());
    auto tie = r.first_tie();
    std::sort(tie.begin(), tie.end());
    CHECK((tie == std::vector<std::size_t>{0, 4} || tie == std::vector<std::size_t>{1, 3}));
    r.single_out(tie.front());
    CHECK(r.discrete());
}

TEST_CASE("refinement: both sorts of edges count, and so do the first cells")
{
    auto g = empty(4);
    join(g, 0, 0, 1);
    join(g, 1, 2, 3);
    refinement r(g, numbers(4), {0});
    auto const tie = r.first_tie();
    CHECK(tie.size() == 2);
    CHECK(tie[0] / 2 == tie[1] / 2);
    CHECK(refinement(empty(2), {1, 0}, {0, 1}).discrete());
    CHECK(refinement(empty(2), {1, 0}, {0, 1}).order() == std::vector<std::size_t>{1, 0});
}

TEST_CASE("refinement: nothing depends on the numbers of the vertices")
{
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        dice d(seed);
        auto const n = static_cast<std::size_t>(d.between(1, 20));
        auto const below = [&](std::size_t k) {
            return static_cast<std::size_t>(d.below(static_cast<std::int64_t>(k)));
        };
        auto name = numbers(n);
        for (std::size_t i = 1; i < n; ++i) {
            std::swap(name[i], name[below(i + 1)]);
        }
        auto a = empty(n);
        auto b = empty(n);
        for (std::size_t k = 0; k < 2 * n; ++k) {
            auto const v = below(n);
            auto const u = below(n);
            auto const sort = below(2);
            if (u != v && std::count(a[sort][v].begin(), a[sort][v].end(), u) == 0) {
                join(a, sort, v, u);
                join(b, sort, name[v], name[u]);
            }
        }
        auto const first = below(n); // two cells, the first of so many vertices
        auto const begins = first == 0 ? std::vector<std::size_t>{0} : std::vector<std::size_t>{0, first};
        refinement r(a, numbers(n), begins);
        refinement s(b, name, begins);
        REQUIRE(r.trace() == s.trace());
        while (!r.discrete()) {
            auto const tie = r.first_tie();
            auto const twin = s.first_tie();
            REQUIRE(twin.size() == tie.size());
            for (auto v : tie) {
                REQUIRE(std::count(twin.begin(), twin.end(), name[v]) == 1);
            }
            r.single_out(tie.front());
            s.single_out(name[tie.front()]);
            REQUIRE(r.trace() == s.trace());
        }
        REQUIRE(s.discrete());
        for (std::size_t i = 0; i < n; ++i) {
            REQUIRE(s.order()[i] == name[r.order()[i]]);
        }
    }
}

TEST_CASE("refinement: afterwards vertices of a cell have equally many neighbours in every cell")
{
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        dice d(seed);
        auto const n = static_cast<std::size_t>(d.between(4, 24));
        auto g = empty(n);
        for (std::size_t v = 0; v < n; ++v) { // circles and chords leave much alike
            join(g, v % 2, v, (v + 1) % n);
            if (d.chance(15)) {
                join(g, 0, v, (v + 2) % n);
            }
        }
        refinement r(g, numbers(n), {0});
        // Colours by counting until nothing changes: the coarsest partition that is as fine.
        std::vector<std::size_t> colour(n, 0);
        for (std::size_t round = 0; round < n; ++round) {
            std::vector<std::pair<std::vector<std::size_t>, std::size_t>> all;
            for (std::size_t v = 0; v < n; ++v) {
                std::vector<std::size_t> key{colour[v]};
                for (auto const& edges : g) {
                    std::vector<std::size_t> near;
                    for (auto u : edges[v]) {
                        near.push_back(colour[u]);
                    }
                    std::sort(near.begin(), near.end());
                    key.push_back(near.size());
                    key.insert(key.end(), near.begin(), near.end());
                }
                all.emplace_back(std::move(key), v);
            }
            std::sort(all.begin(), all.end());
            std::size_t c = 0;
            for (std::size_t i = 0; i < n; ++i) {
                c += i > 0 && all[i].first != all[i - 1].first ? 1U : 0U;
                colour[all[i].second] = c;
            }
        }
        auto const colours = *std::max_element(colour.begin(), colour.end()) + 1;
        REQUIRE(r.discrete() == (colours == n));
        if (!r.discrete()) {
            auto const tie = r.first_tie();
            for (auto v : tie) {
                REQUIRE(colour[v] == colour[tie.front()]);
            }
            REQUIRE(static_cast<std::size_t>(std::count(colour.begin(), colour.end(), colour[tie.front()])) ==
                    tie.size());
        }
    }
}

} // namespace partition_refinement_test
