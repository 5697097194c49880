// SPDX-License-Identifier: Apache-2.0
#include <strata/error.hpp>
#include <strata/partition/hierarchy.hpp>
#include <strata/problem/problem.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/layered.hpp"
#include "tests/support/problems.hpp"

namespace partition_hierarchy_test {

using namespace strata;
using namespace strata::test;

/// Says what it is told to.
struct given {
    std::vector<part> parts;
    [[nodiscard]] static auto name() -> std::string { return "given"; }
    [[nodiscard]] auto split(problem const& /*p*/, std::span<op_id const> /*ops*/) const -> std::vector<part>
    {
        return parts;
    }
};

auto message(problem const& p, std::vector<part> parts) -> std::string
{
    auto const h = hierarchy::make(p, given{std::move(parts)});
    REQUIRE_FALSE(h);
    CHECK(h.error().code == errc::invalid_argument);
    return h.error().message;
}
auto says(std::string const& what) { return Catch::Matchers::Contains(what); }

TEST_CASE("hierarchy: backward ops belong to the block of their forward op, at every level")
{
    auto const p = make(training_chain_spec(6)); // backward of op i is op 11 - i
    auto const h = hierarchy::make(p, given{{{{0, 1}, {}}, {{2, 3, 4, 5}, {{{2}, {}}, {{3, 4, 5}, {}}}}}});
    REQUIRE(h);
    REQUIRE(h->size() == 5);
    CHECK((*h)[0].parts == std::vector<std::size_t>{1, 2});
    CHECK((*h)[1].ops == block{{0, 1}, {10, 11}});
    CHECK((*h)[1].parts.empty());
    CHECK((*h)[2].ops == block{{2, 3, 4, 5}, {6, 7, 8, 9}});
    CHECK((*h)[2].parts == std::vector<std::size_t>{3, 4});
    CHECK((*h)[3].ops == block{{2}, {9}});
    CHECK((*h)[4].ops == block{{3, 4, 5}, {6, 7, 8}});
}

TEST_CASE("hierarchy: what belongs to no forward op is a block of its own under the root")
{
    auto s = training_chain_spec(4);
    s.ops[5].backward_of = none;
    auto const p = make(s);
    auto const h = hierarchy::make(p, given{{{{0, 1}, {}}, {{2, 3}, {{{2}, {}}, {{3}, {}}}}}});
    REQUIRE(h);
    REQUIRE(h->size() == 6);
    CHECK((*h)[0].parts == std::vector<std::size_t>{1, 2, 3});
    CHECK((*h)[3].ops == block{{}, {5}});
}

TEST_CASE("hierarchy: one part, or none, is no cut")
{
    auto const p = make(training_chain_spec(3));
    CHECK(hierarchy::make(p, given{}).value().size() == 1);
    CHECK(hierarchy::make(p, given{{{{0, 1, 2}, {}}}}).value().size() == 1);
}

TEST_CASE("hierarchy: a step that begins with its way back has nothing to cut")
{
    auto s = chain_spec(2);
    s.ops[0].phase = phase::backward;
    auto const p = make(s);
    CHECK(hierarchy::make(p, given{{{{0}, {}}, {{1}, {}}}}).value().size() == 1);
}

TEST_CASE("hierarchy: bad parts are refused with the name of the partitioner and the reason")
{
    auto const p = make(training_chain_spec(4));
    CHECK_THAT(message(p, {{{0, 1}, {}}, {{}, {}}, {{2, 3}, {}}}), says("'given'") && says("ops are none"));
    CHECK_THAT(message(p, {{{1, 0}, {}}, {{2, 3}, {}}}), says("not ascending"));
    CHECK_THAT(message(p, {{{0, 1, 2}, {}}, {{2, 3}, {}}}), says("one part; see op 3")); // op 2 stands in 3's place
    CHECK_THAT(message(p, {{{0, 0, 1}, {}}, {{2, 3}, {}}}), says("one part; see op 1"));
    CHECK_THAT(message(p, {{{0}, {}}, {{2, 3}, {}}}), says("one part; see op 1"));
    CHECK_THAT(message(p, {{{0, 1}, {}}, {{2}, {}}}), says("one part; see op 3"));
    CHECK_THAT(message(p, {{{0, 1}, {}}, {{2, 3, 4}, {}}}), says("one part; see op 4"));
    CHECK_THAT(message(p, {{{0, 2}, {}}, {{1, 3}, {}}}), says("wait for each other") && says("begins with op 0"));
    // the same below
    CHECK_THAT(message(p, {{{0}, {}}, {{1, 2, 3}, {{{1, 3}, {}}, {{2}, {}}}}}), says("begins with op 1"));
    CHECK_THAT(message(p, {{{0}, {}}, {{1, 2, 3}, {{{1}, {}}, {{2}, {}}}}}), says("one part; see op 3"));
}

TEST_CASE("hierarchy: parts that wait for each other on the way back only are refused")
{
    auto s = training_chain_spec(4);
    std::swap(s.ops[5].backward_of, s.ops[6].backward_of);
    CHECK_THAT(message(make(s), {{{0, 1}, {}}, {{2, 3}, {}}}), says("wait for each other"));
}

TEST_CASE("hierarchy: blocks of one kind are found across levels and translated")
{
    auto const p = make(layered_spec(4));
    auto const layer = [](op_id i) {
        std::vector<op_id> r;
        for (op_id o = 0; o < layer_ops; ++o) {
            r.push_back(1 + i * layer_ops + o);
        }
        return r;
    };
    auto two = layer(0);
    auto const second = layer(1);
    two.insert(two.end(), second.begin(), second.end());
    auto three = layer(2);
    auto const fourth = layer(3);
    three.insert(three.end(), fourth.begin(), fourth.end());
    auto const end = static_cast<op_id>(1 + 4 * layer_ops);
    auto const h = hierarchy::make(p,
                                   given{{{{0}, {}},
                                          {two, {{layer(0), {}}, {layer(1), {}}}},
                                          {three, {{layer(2), {}}, {layer(3), {}}}},
                                          {{end, end + 1}, {}}}});
    REQUIRE(h);
    REQUIRE(h->size() == 9);
    CHECK(h->kinds() == 5); // the step, the first op, two layers, the end, a layer
    CHECK((*h)[2].kind == (*h)[3].kind);
    for (std::size_t i : {6U, 7U, 8U}) {
        CHECK((*h)[i].kind == (*h)[5].kind);
    }
    CHECK(h->representative((*h)[8].kind) == 5);
    auto const order = (*h)[5].ops.forward;
    auto const there = h->translate(order, 5, 8);
    CHECK(there.front() == (*h)[8].ops.forward.front());
    CHECK(h->translate(there, 8, 5) == order);
    CHECK(h->translate(order, 5, 5) == order);
}

} // namespace partition_hierarchy_test
