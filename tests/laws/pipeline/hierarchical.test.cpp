// SPDX-License-Identifier: Apache-2.0
#include <strata/partition/hierarchy.hpp>
#include <strata/partition/whole.hpp>
#include <strata/pipeline/block_options.hpp>
#include <strata/pipeline/hierarchical.hpp>
#include <strata/pipeline/plan.hpp>
#include <strata/problem/problem.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/schedule.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/keep_all.hpp>
#include <strata/solve/limits.hpp>
#include <strata/solve/search.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/sanitized.hpp"

using namespace strata;
using namespace strata::test;

namespace pipeline_hierarchical_test {

/// Stretches of `n` ops, each cut in two again.
struct stretches {
    std::size_t n = 4;
    [[nodiscard]] static auto name() -> char const* { return "stretches"; }
    [[nodiscard]] auto split(problem const& p, std::span<op_id const> ops) const -> std::vector<part>
    {
        std::vector<part> r;
        for (std::size_t i = 0; i < ops.size(); i += n) {
            auto const some = ops.subspan(i, std::min(n, ops.size() - i));
            r.push_back({{some.begin(), some.end()}, {}});
            if (n > 2 && some.size() > 2) {
                r.back().parts = stretches{n / 2}.split(p, some);
            }
        }
        return r;
    }
};

auto at_share(problem const& p, int percent) -> bytes_t
{
    return p.resident_bytes() + (peak_of(p, keep_all_order(p)) - p.resident_bytes()) * percent / 100;
}

/// The options that `s` finds on so many threads, by kind of block.
auto options_on(unsigned threads, hierarchical<stretches> const& s, hierarchy const& h)
    -> std::vector<std::vector<option>>
{
    limits lim;
    lim.threads = threads;
    return s.options_of(h, search(h.subject(), max_bytes, {}, {}, lim, stop_watch(lim)));
}

TEST_CASE("isolate: every block of a random step is a step of its own, and its orders come back")
{
    int with_gap = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        auto const p = random_problem(seed, {.ops = 20, .training = true});
        auto const h = hierarchy::make(p, stretches{});
        if (!h) {
            continue; // parts of a random step may wait for each other
        }
        for (std::size_t i = 0; i < h->size(); ++i) {
            auto const& b = (*h)[i].ops;
            INFO("seed " << seed << ", block " << i);
            auto const own = isolate(p, b, 7);
            REQUIRE(own);
            auto all = b.forward;
            all.insert(all.end(), b.backward.begin(), b.backward.end());
            CHECK(own->in_step(keep_all_order(own->subject)) == all);
            CHECK(own->in_step(own->in_block(all)) == all);
            with_gap += own->gap != none && !b.forward.empty() ? 1 : 0;
            auto const o = describe(p, b, b.forward, b.backward);
            if (own->gap != none) {
                // What is kept comes to what the gap holds anyway.
                auto const live = live_bytes(own->subject, keep_all_order(own->subject));
                CHECK(live[static_cast<std::size_t>(own->gap)] >= own->subject.resident_bytes() + o.kept);
            }
        }
    }
    CHECK(with_gap > 500);
}

TEST_CASE("options of a block: valid orders, keep-all first, none beaten, fewer bytes for more cost")
{
    std::size_t several = 0;
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        auto const p = random_problem(seed, {.ops = 24, .training = true, .effects = 5});
        auto const h = hierarchy::make(p, stretches{6U});
        if (!h) {
            continue;
        }
        for (std::size_t i = 1; i < h->size(); ++i) {
            auto const& b = (*h)[i].ops;
            auto const all =
                options_by_solver(p, b, quick_solver{}, {.budgets = 6, .peaks = 2, .most_options = 8}, {}, {});
            REQUIRE_FALSE(all.empty());
            CHECK(all.size() <= 8);
            INFO("seed " << seed << ", block " << i);
            CHECK(std::any_of(all.begin(), all.end(), [&](option const& o) {
                return o.cost() == describe(p, b, b.forward, b.backward).cost();
            }));
            for (auto const& o : all) {
                CHECK(o == describe(p, b, o.forward.order, o.backward.order));
                for (auto const& other : all) {
                    CHECK((&o == &other || !no_worse(p, other, o)));
                }
                // Runs in the step, with everything else run once, and judged.
                run_order order;
                for (op_id x = 0; x < p.op_count(); ++x) {
                    if (!b.forward.empty() && x == b.forward.front()) {
                        order.insert(order.end(), o.forward.order.begin(), o.forward.order.end());
                    } else if (!b.backward.empty() && x == b.backward.front()) {
                        order.insert(order.end(), o.backward.order.begin(), o.backward.order.end());
                    } else if (!strata::detail::contains(b, x)) {
                        order.push_back(x);
                    }
                }
                auto const given = in_first_run_order(p, order);
                CHECK(is_run_order(p, given));
                CHECK(validate(p, free_early(p, given), max_bytes).ok());
            }
            several += all.size() > 2 ? 1U : 0U;
        }
    }
    CHECK(several > 20);
}

TEST_CASE("hierarchical: plans are judged, fit, and do not depend on threads")
{
    int planned = 0;
    for (std::uint64_t seed = 1; seed <= (sanitized ? 16U : 60U); ++seed) {
        auto const ops = static_cast<int>(20 + seed % 3 * 6);
        auto const p = random_problem(seed, {.ops = ops, .training = true, .effects = 5, .state = 0, .bytes = 60});
        hierarchical<stretches> const s{.partition = {seed % 4 == 0 ? 8U : 4U}};
        auto const h = hierarchy::make(p, s.partition);
        REQUIRE(h);
        CAPTURE(seed);
        // Plans are polished, which hides what became of the options.
        REQUIRE((options_on(1U, s, *h) == options_on(3U, s, *h)));
        if (seed % 2 != 0) {
            continue;
        }
        auto const budget = at_share(p, 50 + static_cast<int>(seed / 3 % 3) * 20);
        limits lim;
        lim.budget = budget::bytes(budget);
        auto const one = plan(p, lim, s);
        lim.threads = 3;
        auto const three = plan(p, lim, s);
        REQUIRE(one.has_value() == three.has_value());
        if (one) {
            ++planned;
            CHECK(one->schedule == three->schedule);
            CHECK(validate(p, one->schedule, budget).ok());
        }
    }
    CHECK(planned > (sanitized ? 5 : 20));
}

TEST_CASE("hierarchical: a step that is left whole goes to the solver of blocks")
{
    auto const p = make(training_chain_spec(30));
    limits lim;
    lim.budget = budget::bytes(at_share(p, 50));
    auto const left = plan(p, lim, hierarchical<whole>{});
    auto const flat = plan(p, lim, quick_solver{});
    REQUIRE(left);
    REQUIRE(flat);
    CHECK(left->schedule == flat->schedule);
}

TEST_CASE("hierarchical: saves what one option per block can on a chain")
{
    auto const p = make(training_chain_spec(60));
    limits lim;
    lim.budget = budget::bytes(at_share(p, 50));
    auto const made = plan(p, lim, hierarchical<stretches>{.partition = {8U}});
    REQUIRE(made);
    CHECK(made->certificate.cost <= p.base_cost() + 34); // the flat optimum is 30: half of the outputs again
}

} // namespace pipeline_hierarchical_test
