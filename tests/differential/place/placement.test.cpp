// SPDX-License-Identifier: Apache-2.0
#include <strata/place/check.hpp>
#include <strata/place/place.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"

namespace {

using strata::bytes_t;
using strata::lifetime;
using lifetimes = std::vector<lifetime>;

/// The smallest arena, by enumeration: some order of first fit gives an optimal placement.
auto brute_force(lifetimes const& v) -> bytes_t
{
    std::vector<std::size_t> order(v.size());
    std::iota(order.begin(), order.end(), 0U);
    auto best = strata::max_bytes;
    do {
        std::vector<bytes_t> at(v.size(), 0);
        bytes_t arena = 0;
        for (std::size_t k = 0; k < order.size(); ++k) {
            auto const& x = v[order[k]];
            auto& mine = at[order[k]];
            for (bool moved = true; moved;) { // up until nothing is in the way
                moved = false;
                for (std::size_t j = 0; j < k; ++j) {
                    auto const& y = v[order[j]];
                    auto const other = at[order[j]];
                    if (x.begin < y.end && y.begin < x.end && mine < other + y.size && other < mine + x.size) {
                        mine = other + y.size;
                        moved = true;
                    }
                }
            }
            arena = std::max(arena, mine + x.size);
        }
        best = std::min(best, arena);
    } while (std::next_permutation(order.begin(), order.end()));
    return best;
}

auto random_lifetimes(std::mt19937& random, std::size_t n, std::size_t steps, std::size_t largest) -> lifetimes
{
    lifetimes v;
    for (std::size_t i = 0; i < n; ++i) {
        std::size_t const begin = random() % steps;
        v.push_back({begin,
                     begin + 1 + random() % (steps - begin),
                     static_cast<bytes_t>(random() % (largest + 1)),
                     static_cast<strata::tensor_id>(i)});
    }
    return v;
}

TEST_CASE("place: equals the optimum by enumeration on up to seven buffers")
{
    std::mt19937 random(11);
    for (int round = 0; round < 400; ++round) {
        auto const n = 1 + random() % (round % 8 == 0 ? 7U : 6U);
        auto const v = random_lifetimes(random, n, 3 + random() % 8, 1 + random() % 9);
        auto const r = strata::place(v).value();
        INFO("round " << round);
        REQUIRE_FALSE(strata::check(r).has_value());
        auto const optimum = brute_force(v);
        REQUIRE(r.arena == optimum);
        strata::detail::capacity_search s(v, 1, 1);
        using answer = strata::detail::capacity_search::answer;
        REQUIRE(s.run(optimum, 1'000'000, {}) == answer::found);
        if (optimum > 0) {
            REQUIRE(s.run(optimum - 1, 1'000'000, {}) == answer::impossible);
        }
    }
}

TEST_CASE("capacity_search: a load that cannot be reached is no artefact of the search")
{
    // First fit 9, load 7; enumeration agrees with the search that 8 is best.
    lifetimes const v{
        {6, 8, 3}, {2, 5, 2}, {6, 7, 1}, {0, 3, 3}, {1, 2, 4}, {3, 6, 2}, {4, 7, 3}, {2, 4, 2}, {7, 10, 1}};
    CHECK(brute_force(v) == 8);
    CHECK(strata::place(v).value().arena == 8);
}

TEST_CASE("place: any alignment gives a valid placement between load and first fit")
{
    std::mt19937 random(12);
    for (int round = 0; round < 150; ++round) {
        auto const v = random_lifetimes(random, 1 + random() % 80, 2 + random() % 50, 300);
        auto const alignment = bytes_t{1} << random() % 8;
        auto const r = strata::place(v, {.alignment = alignment, .effort = 5000, .seed = random()}).value();
        INFO("round " << round);
        auto const e = strata::check(r);
        REQUIRE((e ? e->message : "") == "");
        CHECK(r.alignment == alignment);
        CHECK(r.arena <= strata::first_fit(v, alignment).arena);
        CHECK(r.arena >= strata::max_load(v).value());
        CHECK(r.lifetimes == v);
    }
}

auto data_folder() -> std::string
{
    if (auto const* set = std::getenv("STRATA_DATA")) {
        return set;
    }
#ifdef STRATA_SOURCE_DIR
    return std::string(STRATA_SOURCE_DIR) + "/../shared/data";
#else
    return "../shared/data";
#endif
}

TEST_CASE("place: published hard instances of MiniMalloc are placed within their capacity")
{
    for (std::string const name : {"A", "B", "C", "D", "F"}) { // E takes longer; the bench has it
        std::ifstream in(data_folder() + "/placement/" + name + ".1048576.csv");
        if (!in) {
            WARN("skipped: no placement/" + name + ".1048576.csv in " + data_folder() + "; set STRATA_DATA");
            continue;
        }
        lifetimes v;
        std::string line;
        std::getline(in, line); // id,lower,upper,size
        while (std::getline(in, line)) {
            std::replace(line.begin(), line.end(), ',', ' ');
            std::istringstream numbers(line);
            strata::tensor_id id = 0;
            lifetime x;
            if (numbers >> id >> x.begin >> x.end >> x.size) {
                v.push_back(x);
            }
        }
        INFO(name);
        auto const r = strata::place(v, {.target = 1'048'576}).value();
        CHECK_FALSE(strata::check(r).has_value());
        CHECK(r.arena <= 1'048'576);
    }
}

} // namespace
