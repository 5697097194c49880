// SPDX-License-Identifier: Apache-2.0
#include <strata/merge/option.hpp>
#include <strata/problem/problem.hpp>

#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"

using namespace strata;
using namespace strata::test;

namespace merge_option_test {

using records = std::vector<half_run::record>;

/// Ops 1 and 2 of a training chain of four with their backward ops 6 and 5: x1 → x2 → x3, gradients back.
auto middle() -> block { return {{1, 2}, {5, 6}}; }

TEST_CASE("describe: keeping all keeps what lies inside, tensors of the border are told as stretches")
{
    auto const p = make(training_chain_spec(4)); // x0 resident, x1..x4 made by ops 0..3, gradients by ops 4..7
    auto const o = describe(p, middle(), {1, 2}, {5, 6});
    CHECK(o.cost() == 4);
    CHECK(o.kept == 1); // x2
    CHECK(o.kept_tensors == std::vector<tensor_id>{2});
    CHECK(o.required == std::vector<tensor_id>{1, 5}); // x1 by op 6; the gradient that op 4 makes
    CHECK(o.forward.touches == std::vector<touch>{{1, 0, 0, false}, {3, 1, 1, true}});
    CHECK(o.backward.touches == std::vector<touch>{{5, 0, 0, false}, {1, 1, 1, false}, {7, 1, 1, true}});
    CHECK(o.forward.records == records{{0, 1}, {1, 1}});
    CHECK(o.backward.records == records{{0, 2}, {1, 1}}); // x2 and the gradient between; that gradient
    CHECK(own_peak(p, o.forward) == 2);
    CHECK(own_peak(p, o.backward) == 3);
}

TEST_CASE("describe: recomputing keeps nothing inside and asks for the border again")
{
    auto const p = make(training_chain_spec(4));
    auto const o = describe(p, middle(), {1, 2}, {1, 5, 6});
    CHECK(o.cost() == 5);
    CHECK(o.kept == 0);
    CHECK(o.required == std::vector<tensor_id>{1, 5});
    CHECK(o.backward.touches == std::vector<touch>{{1, 0, 2, false}, {5, 1, 1, false}, {7, 2, 2, true}});
}

TEST_CASE("describe: a tensor that is dropped and made again has two stretches")
{
    auto const p = make(training_chain_spec(4));
    // x3, which others read, made in forward twice over.
    auto const o = describe(p, middle(), {1, 2, 2}, {5, 6});
    CHECK(o.forward.touches == std::vector<touch>{{1, 0, 0, false}, {3, 1, 1, true}, {3, 2, 2, true}});
}

TEST_CASE("describe: an inner gradient that several ops add into lives from the first")
{
    auto const p = make(shared_gradient_spec());
    auto const o = describe(p, {{0, 1, 2, 3, 4}, {}}, {0, 1, 2, 3, 4}, {});
    CHECK(own_peak(p, o.forward) == 5);
    CHECK(o.forward.touches == std::vector<touch>{{2, 4, 4, true}}); // the target
}

TEST_CASE("frontier of options: one that is no better in anything is not put in, and falls out")
{
    auto const p = make(training_chain_spec(4));
    auto const keep = describe(p, middle(), {1, 2}, {5, 6});
    auto const again = describe(p, middle(), {1, 2}, {1, 5, 6});
    auto const wasteful = describe(p, middle(), {1, 2}, {1, 1, 5, 6});
    std::vector<option> all;
    CHECK(add_to_frontier(p, all, wasteful));
    CHECK(add_to_frontier(p, all, keep));
    CHECK(all.size() == 2);
    CHECK(add_to_frontier(p, all, again));
    CHECK(all == std::vector<option>{keep, again});
    CHECK_FALSE(add_to_frontier(p, all, wasteful));
    CHECK_FALSE(add_to_frontier(p, all, keep));
}

} // namespace merge_option_test
