// SPDX-License-Identifier: Apache-2.0
#include <strata/partition/bottom_up.hpp>
#include <strata/partition/hierarchy.hpp>
#include <strata/problem/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/relisted.hpp"
#include "tests/support/twins.hpp"

using namespace strata;

namespace partition_kinds_test {

/// Two parts: the ops before `at`, and the others.
struct in_two {
    op_id at = 0;
    [[nodiscard]] static auto name() -> std::string_view { return "in_two"; }
    [[nodiscard]] auto split(problem const& /*p*/, std::span<op_id const> ops) const -> std::vector<part>
    {
        auto const middle = std::lower_bound(ops.begin(), ops.end(), at);
        return {{{ops.begin(), middle}, {}}, {{middle, ops.end()}, {}}};
    }
};

auto training_spec(std::uint64_t seed, test::dice& d) -> problem_spec
{
    // Resident tensors that ops rewrite would tie the ops to their places.
    auto s = test::random_spec(seed,
                               {.ops = static_cast<int>(d.between(4, 40)),
                                .training = true,
                                .state = 0,
                                .zero_cost = d.chance(30) ? 100 : 5, // many ops look alike
                                .workspace = d.chance(50) ? 25 : 0,
                                .bytes = d.chance(50) ? 2 : 12});
    if (s.ops.back().phase == phase::other) { // an optimizer's step belongs to no forward op
        s.ops.pop_back();
        s.targets.clear();
        s.tensors.pop_back();
    }
    return s;
}

auto forward_ops(problem_spec const& s) -> op_id
{
    auto const is_forward = [](op_spec const& o) { return o.phase == phase::forward; };
    return static_cast<op_id>(std::count_if(s.ops.begin(), s.ops.end(), is_forward));
}

TEST_CASE("a block and the same block listed in another order are twins")
{
    std::size_t twins = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        test::dice d(seed * 15485863);
        auto const one = training_spec(seed, d);
        auto const other = test::relisted(one, d);
        auto const p = test::make(test::side_by_side(one, other));
        INFO("seed " << seed);
        auto const h = hierarchy::make(p, in_two{forward_ops(one)});
        REQUIRE(h);
        REQUIRE(h->size() == 3);
        REQUIRE((*h)[1].kind == (*h)[2].kind);
        twins += test::require_true_twins(*h, d);
    }
    CHECK(twins == 400);
}

TEST_CASE("blocks that differ in one thing that planning looks at are of different kinds")
{
    int changed = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        test::dice d(seed * 32452843);
        auto const one = training_spec(seed, d);
        auto other = test::relisted(one, d);
        auto const ops = static_cast<std::int64_t>(other.ops.size());
        auto& o = other.ops[static_cast<std::size_t>(d.below(ops))];
        auto& o2 = other.ops[static_cast<std::size_t>(d.below(ops))];
        auto const dynamic = [&](tensor_id t) { return !is_resident(other.tensors[static_cast<std::size_t>(t)].kind); };
        auto const t = std::find_if(o.outputs.begin(), o.outputs.end(), dynamic);
        if (t == o.outputs.end()) {
            continue;
        }
        switch (d.below(6)) {
        case 0: ++o.cost; break;
        case 1: std::swap(o.cost, o2.cost); break; // the sum stays
        case 2: o.workspace += other.alignment; break;
        case 3: o.effects |= effect::collective; break;
        case 4: other.tensors[static_cast<std::size_t>(*t)].bytes += other.alignment; break;
        default:
            if (std::count(other.targets.begin(), other.targets.end(), *t) > 0) {
                continue;
            }
            other.targets.push_back(*t);
        }
        auto const p = test::make(test::side_by_side(one, other));
        INFO("seed " << seed);
        auto const h = hierarchy::make(p, in_two{forward_ops(one)});
        REQUIRE(h);
        auto const facts = [&](block const& b) {
            std::vector<std::vector<std::int64_t>> all;
            for (auto half : {half::forward, half::backward}) {
                for (auto x : b.ops(half)) {
                    all.push_back({p.cost(x), p.workspace(x), p.replayable(x) ? 1 : 0});
                    for (auto y : p.outputs(x)) {
                        all.back().push_back(p.size(y) * 2 + (p.is_target(y) ? 1 : 0));
                    }
                    std::sort(all.back().begin() + 3, all.back().end());
                }
            }
            std::sort(all.begin(), all.end());
            return all;
        };
        if (facts((*h)[1].ops) != facts((*h)[2].ops)) {
            ++changed;
            REQUIRE((*h)[1].kind != (*h)[2].kind);
        }
    }
    CHECK(changed > 200);
}

TEST_CASE("blocks whose ops are alike one by one but connected otherwise are of different kinds")
{
    // Two circles of three against one circle of six, drawn with tensors read by two ops each. Every op looks the same
    // from near: refinement alone does not tell them apart.
    auto const circles = [](std::vector<int> const& sizes) {
        problem_spec s;
        for (auto n : sizes) {
            std::vector<tensor_id> made;
            for (int i = 0; i < n; ++i) {
                made.push_back(test::add_tensor(s, 1));
                test::add_op(s, 1, {}, {made.back()});
            }
            for (int i = 0; i < n; ++i) {
                auto const next = made[static_cast<std::size_t>((i + 1) % n)];
                test::add_op(s, 1, {made[static_cast<std::size_t>(i)], next}, {test::add_tensor(s, 1)});
            }
        }
        for (auto& o : s.ops) {
            o.phase = phase::forward;
        }
        return s;
    };
    test::dice d(7);
    auto const two = circles({3, 3});
    auto const six = circles({6});
    auto const kinds = [&](problem_spec const& a, problem_spec const& b) {
        auto const p = test::make(test::side_by_side(a, test::relisted(b, d)));
        return hierarchy::make(p, in_two{12}).value().kinds();
    };
    for (int i = 0; i < 20; ++i) {
        CHECK(kinds(two, six) == 3);
        CHECK(kinds(six, two) == 3);
        CHECK(kinds(two, two) == 2);
        CHECK(kinds(six, six) == 2);
    }
    // Both in one block: which circle is numbered first is up to the listing, and must not matter.
    auto const mixed = circles({6, 3, 3});
    for (int i = 0; i < 20; ++i) {
        auto const p = test::make(test::side_by_side(mixed, test::relisted(mixed, d)));
        auto const h = hierarchy::make(p, in_two{24}).value();
        CHECK(h.kinds() == 2);
        CHECK(test::require_true_twins(h, d) == 1);
    }
}

} // namespace partition_kinds_test
