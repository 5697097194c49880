// SPDX-License-Identifier: Apache-2.0
#include <strata/place/contention.hpp>
#include <strata/place/first_fit.hpp>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include "tests/support/catch.hpp"

namespace place_contention_test {

using strata::bytes_t;
using strata::lifetime;
using lifetimes = std::vector<lifetime>;

auto load_at(lifetimes const& v, std::size_t time) -> bytes_t
{
    bytes_t load = 0;
    for (auto const& x : v) {
        load += x.begin <= time && time < x.end ? x.size : 0;
    }
    return load;
}

TEST_CASE("contention_of: the largest load during each life, as a share of the largest of all")
{
    lifetimes const v{{0, 2, 4}, {2, 6, 6}, {3, 4, 4}, {5, 6, 0}, {3, 3, 9}};
    CHECK(strata::contention_of(v) == std::vector<double>{0.4, 1, 1, 0, 0});
    CHECK(strata::contention_of(lifetimes{}).empty());
    CHECK(strata::contention_of(lifetimes{{3, 3, 9}}) == std::vector<double>{0});
}

TEST_CASE("contention_of: agrees with counting instant by instant")
{
    std::mt19937 random(5);
    for (int round = 0; round < 100; ++round) {
        lifetimes v;
        auto const steps = 1 + random() % 40;
        for (std::size_t n = 1 + random() % 30; n > 0; --n) {
            auto const begin = random() % steps;
            v.push_back({begin, begin + 1 + random() % 12, 1 + static_cast<bytes_t>(random() % 9)});
        }
        bytes_t largest = 0;
        for (std::size_t t = 0; t < steps + 12; ++t) {
            largest = std::max(largest, load_at(v, t));
        }
        auto const r = strata::contention_of(v);
        for (std::size_t i = 0; i < v.size(); ++i) {
            bytes_t most = 0;
            for (auto t = v[i].begin; t < v[i].end; ++t) {
                most = std::max(most, load_at(v, t));
            }
            REQUIRE(r[i] == static_cast<double>(most) / static_cast<double>(largest));
        }
    }
}

TEST_CASE("order_of: buffers of crowded times come first")
{
    using strata::packing_order;
    // Load 3 during [0, 4), 10 during [4, 6): the largest buffer is not in the crowd's way, the longest is.
    lifetimes const v{{6, 8, 8}, {0, 6, 3}, {4, 5, 7}};
    CHECK(strata::order_of(v, packing_order::size) == std::vector<std::size_t>{0, 2, 1});
    CHECK(strata::order_of(v, packing_order::crowd) == std::vector<std::size_t>{1, 2, 0});
    CHECK(strata::order_of(v, packing_order::crowd_size) == std::vector<std::size_t>{2, 1, 0});
    CHECK(strata::order_of(v, packing_order::crowd_area) == std::vector<std::size_t>{1, 2, 0});
}

} // namespace place_contention_test
