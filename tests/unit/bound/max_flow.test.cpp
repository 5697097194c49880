// SPDX-License-Identifier: Apache-2.0
#include <strata/bound/max_flow.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/random_problem.hpp"

namespace bound_max_flow_test {

using namespace strata;
using strata::test::dice;

struct arc {
    int from;
    int to;
    std::int64_t capacity;
};

/// Edmonds and Karp on a matrix of residual capacities; shares nothing with the library.
auto slow_flow(int nodes, std::vector<arc> const& arcs, int source, int sink) -> std::int64_t
{
    auto const n = static_cast<std::size_t>(nodes);
    std::vector<std::vector<std::int64_t>> left(n, std::vector<std::int64_t>(n, 0));
    for (auto const& a : arcs) {
        left[static_cast<std::size_t>(a.from)][static_cast<std::size_t>(a.to)] += a.capacity;
    }
    auto const s = static_cast<std::size_t>(source);
    auto const t = static_cast<std::size_t>(sink);
    std::int64_t total = 0;
    for (;;) {
        std::vector<std::size_t> from(n, n);
        std::vector<std::size_t> queue{s};
        from[s] = s;
        for (std::size_t i = 0; i < queue.size(); ++i) {
            for (std::size_t v = 0; v < n; ++v) {
                if (from[v] == n && left[queue[i]][v] > 0) {
                    from[v] = queue[i];
                    queue.push_back(v);
                }
            }
        }
        if (from[t] == n) {
            return total;
        }
        auto amount = max_flow::infinite;
        for (auto v = t; v != s; v = from[v]) {
            amount = std::min(amount, left[from[v]][v]);
        }
        for (auto v = t; v != s; v = from[v]) {
            left[from[v]][v] -= amount;
            left[v][from[v]] += amount;
        }
        total += amount;
    }
}

auto random_arcs(dice& d, int nodes) -> std::vector<arc>
{
    std::vector<arc> arcs;
    for (auto n = d.between(0, 3 * nodes); n > 0; --n) {
        arcs.push_back({static_cast<int>(d.below(nodes)), static_cast<int>(d.below(nodes)), 0});
        if (d.chance(20)) {
            arcs.push_back(arcs.back()); // parallel
        }
    }
    return arcs;
}

TEST_CASE("max_flow: equals augmenting paths on random networks, again and again with other capacities")
{
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        dice d(seed);
        int const nodes = static_cast<int>(d.between(2, 9));
        auto arcs = random_arcs(d, nodes);
        max_flow flow(nodes);
        for (auto const& a : arcs) {
            flow.add(a.from, a.to);
        }
        flow.freeze();
        for (int again = 0; again < 4; ++again) {
            for (std::size_t i = 0; i < arcs.size(); ++i) {
                arcs[i].capacity = d.chance(20) ? 0 : d.chance(10) ? d.below(std::int64_t{1} << 50) : d.between(1, 9);
                flow.set_capacity(static_cast<max_flow::arc>(i), arcs[i].capacity);
            }
            CAPTURE(seed, again);
            auto const value = flow.solve(0, 1);
            REQUIRE(value == slow_flow(nodes, arcs, 0, 1));
            // The reported side is a cut of that value.
            REQUIRE(flow.source_side(0));
            REQUIRE_FALSE(flow.source_side(1));
            std::int64_t crossing = 0;
            for (auto const& a : arcs) {
                if (flow.source_side(a.from) && !flow.source_side(a.to)) {
                    crossing += a.capacity;
                }
            }
            REQUIRE(crossing == value);
        }
    }
}

TEST_CASE("max_flow: reports the minimum cut nearest to the source")
{
    // Two cuts of value 1 in a row: 0 -1-> 2 -1-> 1.
    max_flow flow(3);
    flow.set_capacity(((void)flow.add(0, 2), (void)flow.add(2, 1), flow.freeze(), 0), 1);
    flow.set_capacity(1, 1);
    CHECK(flow.solve(0, 1) == 1);
    CHECK_FALSE(flow.source_side(2));
}

TEST_CASE("max_flow: many infinite paths are infinite, and no sum overflows")
{
    constexpr int paths = 40; // their sum would leave 64 bits
    max_flow flow(2 + paths);
    for (int i = 0; i < paths; ++i) {
        flow.add(0, 2 + i);
        flow.add(2 + i, 1);
    }
    flow.freeze();
    for (int i = 0; i < 2 * paths; ++i) {
        flow.set_capacity(i, max_flow::infinite);
    }
    CHECK(flow.solve(0, 1) >= max_flow::infinite);
    // The same network then answers a finite question.
    for (int i = 0; i < paths; ++i) {
        flow.set_capacity(2 * i, max_flow::infinite);
        flow.set_capacity(2 * i + 1, i);
    }
    CHECK(flow.solve(0, 1) == paths * (paths - 1) / 2);
}

TEST_CASE("max_flow: a network without arcs carries nothing")
{
    max_flow flow(2);
    flow.freeze();
    CHECK(flow.solve(0, 1) == 0);
    CHECK(flow.source_side(0));
    CHECK_FALSE(flow.source_side(1));
}

TEST_CASE("max_flow: a path of a hundred thousand nodes takes no deep recursion")
{
    constexpr int length = 100'000;
    max_flow flow(length);
    for (int v = 0; v + 1 < length; ++v) {
        flow.add(v, v + 1);
    }
    flow.freeze();
    for (int v = 0; v + 1 < length; ++v) {
        flow.set_capacity(v, v == length / 2 ? 3 : 7);
    }
    CHECK(flow.solve(0, length - 1) == 3);
    CHECK(flow.source_side(length / 2));
    CHECK_FALSE(flow.source_side(length / 2 + 1));
}

} // namespace bound_max_flow_test
