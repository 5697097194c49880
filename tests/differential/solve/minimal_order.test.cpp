// SPDX-License-Identifier: Apache-2.0
// Orders with the lowest peak against every order there is; what may come first against the judge.
#include <strata/bound/least_peak.hpp>
#include <strata/problem/precedence.hpp>
#include <strata/problem/reordering.hpp>
#include <strata/schedule/profile.hpp>
#include <strata/schedule/validate.hpp>
#include <strata/solve/minimal_order.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"
#include "tests/support/sanitized.hpp"

namespace solve_minimal_order_test {

using namespace strata;
using namespace strata::test;

/// Every order of first runs of a small problem, by trying.
class all_orders {
public:
    explicit all_orders(problem const& p)
        : p_(p)
        , before_(first_run_predecessors(p))
        , used_(static_cast<std::size_t>(p.op_count()), 0)
    {
        extend();
    }

    bytes_t lowest = max_bytes; ///< what the judge says of the best
    bytes_t highest = 0;        ///< and of the worst
    std::int64_t count = 0;
    bool all_valid = true;

private:
    void extend()
    {
        if (order_.size() == used_.size()) {
            auto const verdict = validate(p_, free_early(p_, order_));
            all_valid = all_valid && verdict.ok();
            lowest = std::min(lowest, verdict.peak);
            highest = std::max(highest, verdict.peak);
            ++count;
            return;
        }
        for (std::size_t o = 0; o < used_.size(); ++o) {
            auto const before = before_[o];
            bool const ready = std::all_of(
                before.begin(), before.end(), [&](op_id b) { return used_[static_cast<std::size_t>(b)] != 0; });
            if (used_[o] == 0 && ready) {
                used_[o] = 1;
                order_.push_back(static_cast<op_id>(o));
                extend();
                order_.pop_back();
                used_[o] = 0;
            }
        }
    }

    problem const& p_;
    strata::detail::id_lists before_;
    std::vector<char> used_;
    run_order order_;
};

TEST_CASE("minimal_order: the peak is the lowest of all orders, and proven to be")
{
    int lower_than_given = 0, lower_than_worst = 0, limit_is_tight = 0;
    std::int64_t orders = 0;
    for (std::uint64_t seed = 1; seed <= (sanitized ? 200 : 1000); ++seed) {
        auto const p = varied_problem(seed, 9);
        CAPTURE(seed);
        all_orders const truth(p);
        REQUIRE(truth.all_valid);
        auto const found = minimal_order(p);
        REQUIRE(validate(p, free_early(p, found.order), found.peak).ok());
        REQUIRE(found.peak == truth.lowest);
        REQUIRE(found.minimal());
        REQUIRE(least_peak(p) <= truth.lowest);
        lower_than_given += found.peak < peak_of(p, index_order(p)) ? 1 : 0;
        lower_than_worst += found.peak < truth.highest ? 1 : 0;
        limit_is_tight += least_peak(p) == truth.lowest ? 1 : 0;
        orders += truth.count;
    }
    INFO(lower_than_given << " " << lower_than_worst << " " << limit_is_tight << " " << orders);
    CHECK(lower_than_given > (sanitized ? 10 : 50));
    CHECK(lower_than_worst > (sanitized ? 30 : 150));
    CHECK(limit_is_tight > (sanitized ? 150 : 750));
}

TEST_CASE("minimal_order: wide graphs with many targets and much workspace too")
{
    for (std::uint64_t seed = 1; seed <= (sanitized ? 40 : 200); ++seed) {
        dice d(seed);
        random_options o;
        o.ops = static_cast<int>(d.between(6, 8));
        o.max_inputs = 1;
        o.targets = 40;
        o.workspace = 70;
        o.effects = d.chance(50) ? 0 : 40;
        o.state = d.chance(50) ? 0 : 40;
        auto const p = random_problem(seed, o);
        CAPTURE(seed);
        all_orders const truth(p);
        auto const found = minimal_order(p);
        REQUIRE(found.peak == truth.lowest);
        REQUIRE(found.minimal());
    }
}

TEST_CASE("minimal_order: with too little effort the answer lies between what is proven and the order given")
{
    int minimal = 0, proven = 0;
    for (std::uint64_t seed = 1; seed <= (sanitized ? 40 : 150); ++seed) {
        auto const p = varied_problem(seed, 40);
        CAPTURE(seed);
        auto const best = minimal_order(p);
        for (std::int64_t const effort : {0, 100, 1000, 10'000}) {
            auto const found = minimal_order(p, effort);
            REQUIRE(validate(p, free_early(p, found.order), found.peak).ok());
            REQUIRE(found.peak <= peak_of(p, index_order(p)));
            REQUIRE(found.lower_limit <= best.peak);
            REQUIRE(found.peak >= best.lower_limit);
            minimal += found.peak == best.peak ? 1 : 0;
            proven += found.minimal() ? 1 : 0;
        }
        REQUIRE(minimal_order(p) == best);
    }
    CHECK(proven <= minimal);
    CHECK(proven > (sanitized ? 50 : 200));
}

TEST_CASE("first_run_predecessors: they allow exactly the orders that the judge accepts")
{
    std::int64_t allowed = 0, refused = 0;
    for (std::uint64_t seed = 1; seed <= (sanitized ? 60 : 400); ++seed) {
        dice d(seed);
        random_options o;
        o.ops = static_cast<int>(d.between(2, 6));
        o.training = d.chance(30);
        o.max_inputs = 1;
        o.effects = 50;
        o.state = 60;
        o.shared_gradients = 50;
        auto const p = random_problem(seed, o);
        CAPTURE(seed);
        auto order = index_order(p);
        do {
            bool const valid = validate(p, free_early(p, order)).ok();
            REQUIRE(is_first_run_order(p, order) == valid);
            ++(valid ? allowed : refused);
        } while (std::next_permutation(order.begin(), order.end()));
    }
    CHECK(allowed > (sanitized ? 100 : 1000));
    CHECK(refused > 1000);
}

} // namespace solve_minimal_order_test
