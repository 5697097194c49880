// SPDX-License-Identifier: Apache-2.0
#include <strata/place/check.hpp>
#include <strata/place/first_fit.hpp>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/support/catch.hpp"

namespace place_first_fit_test {

using strata::bytes_t;
using strata::first_fit;
using strata::lifetime;
using lifetimes = std::vector<lifetime>;
using offsets = std::vector<bytes_t>;
using fit = strata::detail::occupancy::fit;

TEST_CASE("first_fit: nothing needs nothing")
{
    auto const r = first_fit({});
    CHECK(r == strata::placement{});
}

TEST_CASE("first_fit: one buffer lies at 0")
{
    auto const r = first_fit({{3, 9, 100, 7}});
    CHECK(r == strata::placement{{{3, 9, 100, 7}}, {0}, 100, 1});
}

TEST_CASE("first_fit: the largest buffer goes first, each as low as it can")
{
    //     bytes
    //     60 |   cc
    //     50 |bbbbb
    //     40 |bbbbb
    //     30 |aaa        dddd fills the space after a
    //      0 |aaadddd
    auto const r = first_fit({{0, 3, 40, 0}, {0, 5, 20, 1}, {3, 5, 10, 2}, {3, 7, 40, 3}});
    CHECK(r.offsets == offsets{0, 40, 60, 0});
    CHECK(r.arena == 70);
}

TEST_CASE("first_fit: of equal sizes the longer life goes first, then the lower index")
{
    CHECK(first_fit({{0, 2, 8}, {0, 5, 8}}).offsets == offsets{8, 0});
    CHECK(first_fit({{0, 2, 8}, {0, 2, 8}, {1, 3, 8}}).offsets == offsets{0, 8, 16});
}

TEST_CASE("first_fit: buffers that touch in time share their bytes")
{
    CHECK(first_fit({{0, 2, 8}, {2, 4, 8}, {4, 6, 8}}).arena == 8);
}

TEST_CASE("first_fit: buffers of zero bytes and empty lifetimes lie at 0 and disturb nobody")
{
    auto const r = first_fit({{0, 4, 0}, {0, 4, 16}, {2, 2, 99}, {1, 3, 0}});
    CHECK(r.offsets == offsets{0, 0, 0, 0});
    CHECK_FALSE(strata::check(r).has_value());
}

TEST_CASE("first_fit: offsets are multiples of the alignment, the last buffer ends where it ends")
{
    auto const r = first_fit({{0, 4, 65}, {0, 4, 64}, {0, 4, 3}}, 64);
    CHECK(r.offsets == offsets{0, 128, 192});
    CHECK(r.arena == 195);
    CHECK(r.alignment == 64);
    CHECK_FALSE(strata::check(r).has_value());
}

TEST_CASE("order_of: by area, duration and begin")
{
    using strata::order_of;
    using strata::packing_order;
    using order = std::vector<std::size_t>;
    lifetimes const v{{4, 5, 30}, {0, 4, 10}, {2, 8, 5}};
    CHECK(order_of(v, packing_order::size) == order{0, 1, 2});
    CHECK(order_of(v, packing_order::area) == order{1, 2, 0}); // 30, 40, 30: the longer of equals first
    CHECK(order_of(v, packing_order::duration) == order{2, 1, 0});
    CHECK(order_of(v, packing_order::begin) == order{1, 2, 0});
}

TEST_CASE("occupancy: the tightest gap may be higher than the lowest")
{
    //     60 |ccccc
    //     50 |         gap of 10
    //     40 |bbbbb
    //     10 |         gap of 30
    //      0 |aaaaa
    lifetimes const v{{0, 5, 10}, {0, 5, 10}, {0, 5, 10}, {1, 2, 10}};
    strata::detail::occupancy taken(v);
    taken.add(0, 0, 10);
    taken.add(1, 40, 10);
    taken.add(2, 60, 10);
    CHECK(taken.find(3, 10, fit::lowest) == 10);
    CHECK(taken.find(3, 10, fit::tightest) == 50);
    CHECK(taken.find(3, 30, fit::tightest) == 10);
    CHECK(taken.find(3, 31, fit::lowest) == 70);
    CHECK(taken.find(3, 31, fit::tightest) == 70);
    taken.clear();
    CHECK(taken.find(3, 31, fit::lowest) == 0);
}

/// Random buffers, the way a slow and obvious first fit places them.
auto slow_first_fit(lifetimes const& v, std::vector<std::size_t> const& order, fit how) -> offsets
{
    offsets r(v.size(), 0);
    std::vector<std::size_t> done;
    for (auto i : order) {
        std::vector<std::pair<bytes_t, bytes_t>> taken;
        for (auto j : done) {
            if (v[i].begin < v[j].end && v[j].begin < v[i].end) {
                taken.emplace_back(r[j], r[j] + v[j].size);
            }
        }
        std::sort(taken.begin(), taken.end());
        bytes_t from = 0;
        bytes_t best = -1;
        bytes_t best_gap = strata::max_bytes;
        for (auto const& [begin, end] : taken) {
            auto const gap = begin - from;
            if (gap >= v[i].size && (best < 0 || (how == fit::tightest && gap < best_gap))) {
                best = from;
                best_gap = gap;
            }
            from = std::max(from, end);
        }
        r[i] = best < 0 ? from : best;
        done.push_back(i);
    }
    return r;
}

TEST_CASE("packer: agrees with a slow first fit and a slow best fit")
{
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        lifetimes v;
        auto const n = 1 + random() % 60;
        for (std::size_t i = 0; i < n; ++i) {
            std::size_t const begin = random() % 40;
            v.push_back({begin, begin + 1 + random() % (i % 3 == 0 ? 30 : 4), 1 + static_cast<bytes_t>(random() % 20)});
        }
        std::vector<std::size_t> order(n);
        for (std::size_t i = 0; i < n; ++i) {
            order[i] = i;
        }
        std::shuffle(order.begin(), order.end(), random);
        strata::detail::packer p(v, 1);
        for (auto how : {fit::lowest, fit::tightest}) {
            auto const arena = p.pack(order, how);
            REQUIRE(p.offsets() == slow_first_fit(v, order, how));
            CHECK(p.pack(order, how, arena) == arena);
            CHECK(p.pack(order, how, arena - 1) == strata::max_bytes);
        }
    }
}

TEST_CASE("first_fit: twenty thousand nested buffers are placed without overlap and close to the load")
{
    std::mt19937 random(3);
    lifetimes v;
    std::size_t const layers = 5000;
    for (std::size_t i = 0; i < layers; ++i) {
        auto const mirror = 4 * layers - 2 * i;
        auto const size = (1 + static_cast<bytes_t>(random() % 8)) * 1024;
        v.push_back({2 * i, mirror, size});                     // kept for backward
        v.push_back({2 * i, 2 * i + 2 + random() % 6, size});   // forward only
        v.push_back({mirror, mirror + 2 + random() % 6, size}); // gradient
        v.push_back({mirror, mirror + 1, 4 * size});            // workspace
    }
    auto const r = first_fit(v, 512);
    CHECK_FALSE(strata::check(r).has_value());
    CHECK(static_cast<double>(r.arena) <= 1.005 * static_cast<double>(strata::max_load(v, 512).value()));
}

} // namespace place_first_fit_test
