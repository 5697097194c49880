// SPDX-License-Identifier: Apache-2.0
#include <strata/partition/at_cut_points.hpp>
#include <strata/partition/bottom_up.hpp>
#include <strata/partition/hierarchy.hpp>
#include <strata/partition/isolate.hpp>
#include <strata/partition/item_order.hpp>
#include <strata/partition/repeated.hpp>
#include <strata/partition/whole.hpp>
#include <strata/problem/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/relisted.hpp"
#include "tests/support/twins.hpp"

using namespace strata;

namespace partition_partitioners_test {

/// Requires that `by` cuts `p` into blocks that make up the step at every level, and that each of them is a problem.
/// Returns: the number of blocks.
template <class P>
auto require_sound(problem const& p, P const& by, test::dice& d, std::size_t& twins) -> std::size_t
{
    auto const made = hierarchy::make(p, by);
    if (!made) {
        FAIL(made.error().message);
    }
    auto const& h = *made;
    std::vector<op_id> all(static_cast<std::size_t>(turn_of(p)));
    std::iota(all.begin(), all.end(), op_id{0});
    REQUIRE((all.empty() || by.split(p, all) == by.split(p, all)));
    for (std::size_t i = 0; i < h.size(); ++i) {
        auto const& n = h[i];
        std::vector<op_id> below;
        std::vector<block> blocks;
        for (auto c : n.parts) {
            REQUIRE(c > i);
            blocks.push_back(h[c].ops);
            below.insert(below.end(), h[c].ops.forward.begin(), h[c].ops.forward.end());
            below.insert(below.end(), h[c].ops.backward.begin(), h[c].ops.backward.end());
        }
        auto ops = n.ops.forward;
        ops.insert(ops.end(), n.ops.backward.begin(), n.ops.backward.end());
        std::sort(below.begin(), below.end());
        REQUIRE((n.parts.empty() || below == ops));
        REQUIRE(item_order(p, std::span<block const>(blocks)));
        auto canonical = n.canonical;
        std::sort(canonical.begin(), canonical.end());
        REQUIRE(canonical == ops);

        auto const alone = isolate(p, n.ops);
        REQUIRE(alone);
        REQUIRE(alone->in_step(test::index_order(alone->subject)) == ops);
        REQUIRE(alone->in_step(alone->in_block(ops)) == ops);
    }
    twins += test::require_true_twins(h, d);
    return h.size();
}

TEST_CASE("every partitioner cuts random steps into blocks that are problems, twins being twins")
{
    std::size_t cut = 0;
    std::size_t twins = 0;
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        test::dice d(seed * 104729);
        auto o = test::random_options{.ops = static_cast<int>(d.between(1, 70)), .training = d.chance(80)};
        o.reach = d.chance(50) ? 20 : 100;
        o.max_inputs = d.chance(50) ? 1 : 3;
        auto const p = test::random_problem(seed, o);
        INFO("seed " << seed);
        require_sound(p, whole{}, d, twins);
        cut += require_sound(p, at_cut_points<>{}, d, twins);
        cut += require_sound(p, at_cut_points<>{.longest_span = 3, .min_ops = 1}, d, twins);
        cut += require_sound(p, at_cut_points<bottom_up>{.sub = {.most_at_top = 2, .most_below = 3}}, d, twins);
        cut += require_sound(p, bottom_up{.most_at_top = 4, .most_below = 6}, d, twins);
        cut += require_sound(p, repeated<>{.most_parts = 2, .min_ops = 1}, d, twins);
        cut += require_sound(p, repeated<at_cut_points<>>{.sub = {.min_ops = 2}, .min_ops = 3}, d, twins);
        cut += require_sound(p, bottom_up{.most_at_top = 3, .most_below = 3, .chain_at_top = true}, d, twins);
    }
    CHECK(cut > 5000);
    CHECK(twins > 5);
}

} // namespace partition_partitioners_test
