// SPDX-License-Identifier: Apache-2.0
#include <strata/solve/live_tensors.hpp>

#include <cstdint>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace solve_live_tensors_test {

using namespace strata;
using namespace strata::test;

/// The same state with nothing remembered.
auto afresh(problem const& p, live_tensors const& state) -> live_tensors
{
    live_tensors r(p);
    while (r.now() < state.now()) {
        r.advance();
    }
    for (tensor_id t = 0; t < p.tensor_count(); ++t) {
        if (state.live(t)) {
            r.add(t);
        }
    }
    return r;
}

TEST_CASE("what making a tensor again costs counts what is gone of what it needs, each op once")
{
    problem_spec s; // 0 makes a; 1 and 2 make b and c of it; 3 makes d of both
    auto const a = add_tensor(s, 1);
    auto const b = add_tensor(s, 1);
    auto const c = add_tensor(s, 1);
    auto const d = add_tensor(s, 1);
    add_op(s, 100, {}, {a});
    add_op(s, 10, {a}, {b});
    add_op(s, 20, {a}, {c});
    add_op(s, 5, {b, c}, {d});
    s.targets = {d};
    auto const p = make(s);
    live_tensors live(p);
    for (auto t : {a, b, c, d}) {
        live.add(t);
        live.advance();
    }
    CHECK(static_cast<cost_t>(live.remake_cost(d)) == 5);
    live.drop(b);
    CHECK(static_cast<cost_t>(live.remake_cost(d)) == 15);
    live.drop(a);
    live.drop(c);
    CHECK(static_cast<cost_t>(live.remake_cost(d)) == 135);
    CHECK(live.bytes() == 1);
    CHECK(live.next_use(d) == p.op_count());
    CHECK(live.missing(3) == std::vector<tensor_id>{b, c, a});
}

TEST_CASE("what is remembered is what is found anew, whatever comes and goes")
{
    for (std::uint32_t seed = 1; seed <= 100; ++seed) {
        auto const p = varied_problem(seed, 40);
        live_tensors live(p);
        std::uint32_t x = seed;
        for (op_id o = 0; o < p.op_count(); ++o) {
            for (auto t : live.missing(o)) {
                live.add(t);
            }
            for (auto t : p.outputs(o)) {
                if (!live.live(t)) {
                    live.add(t);
                }
            }
            live.advance();
            std::vector<tensor_id> const there(live.all().begin(), live.all().end());
            for (auto t : there) {
                x = x * 1664525U + 1013904223U;
                if (live.again(t) && (x >> 24U) % 3 == 0) {
                    live.drop(t);
                }
            }
            auto anew = afresh(p, live);
            CHECK(live.bytes() == anew.bytes());
            for (auto t : live.all()) {
                CAPTURE(seed, o, t);
                CHECK(live.remake_cost(t) == anew.remake_cost(t));
                CHECK(live.next_use(t) == anew.next_use(t));
            }
        }
    }
}

} // namespace solve_live_tensors_test
