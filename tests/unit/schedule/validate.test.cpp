// SPDX-License-Identifier: Apache-2.0
#include <strata/schedule/validate.hpp>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace schedule_validate_test {

using namespace strata;
using namespace strata::test;
using Catch::Matchers::Contains;
using kind = violation_kind;

/// Checks that `steps` break one rule, once, and says where.
auto only_violation(problem const& p, std::vector<step> steps, bytes_t budget = max_bytes) -> violation
{
    auto const v = validate(p, {std::move(steps)}, budget);
    CHECK_FALSE(v.ok());
    REQUIRE(v.count == 1);
    REQUIRE(v.violations.size() == 1);
    return v.violations.front();
}

void check_is(violation const& v, kind k, std::size_t at, op_id o, tensor_id t)
{
    CHECK(std::string(to_string(v.kind)) == to_string(k));
    CHECK(v.step == at);
    CHECK(v.op == o);
    CHECK(v.tensor == t);
    CHECK_THAT(v.message, Contains("step " + std::to_string(at)));
}

void check_accepted(problem const& p, std::vector<step> steps, bytes_t budget = max_bytes)
{
    auto const v = validate(p, {std::move(steps)}, budget);
    INFO((v.violations.empty() ? std::string() : v.violations.front().message));
    CHECK(v.ok());
}

/// Two ops without inputs, each with an output of its own; what else they do is up to the test.
auto pair_spec(int n = 2) -> problem_spec
{
    problem_spec s;
    for (int i = 0; i < n; ++i) {
        add_op(s, 1, {}, {add_tensor(s, 1)});
    }
    return s;
}

TEST_CASE("validate: every kind of violation has a name of its own")
{
    std::set<std::string> names;
    for (int i = 0; i <= static_cast<int>(kind::target_missing); ++i) {
        names.insert(to_string(static_cast<kind>(i)));
    }
    CHECK(names.size() == 17);
    CHECK(names.count("unknown") == 0);
}

TEST_CASE("validate: keeping everything is accepted, with its peak and cost")
{
    auto const p = make(u_net_spec(2));
    auto const v = validate(p, free_early(p, index_order(p)), 10);
    CHECK(v.ok());
    CHECK(v.violations.empty());
    CHECK(v.peak == 10);
    CHECK(v.cost == 5);
    check_accepted(p, {run(0), run(1), run(2), run(3), run(4)}); // nothing has to be freed
}

TEST_CASE("validate: an op that does not exist")
{
    auto const p = make(chain_spec(1));
    check_is(only_violation(p, {run(0), run(1)}), kind::unknown_op, 1, 1, none);
    check_is(only_violation(p, {run(-1), run(0)}), kind::unknown_op, 0, -1, none);
}

TEST_CASE("validate: a tensor that does not exist")
{
    auto const p = make(chain_spec(1));
    check_is(only_violation(p, {run(0), free(1)}), kind::unknown_tensor, 1, none, 1);
    check_is(only_violation(p, {free(-7), run(0)}), kind::unknown_tensor, 0, none, -7);
}

TEST_CASE("validate: an input that is not live")
{
    auto const p = make(u_net_spec(1)); // t0 is read by op 1 and op 2
    auto const v = only_violation(p, {run(0), run(1), free(0), run(2)});
    check_is(v, kind::input_not_live, 3, 2, 0);
    CHECK_THAT(v.message, Contains("op 2 (op2) reads tensor 0 (t0)"));
}

TEST_CASE("validate: a gradient that is read before it is complete")
{
    auto const p = make(shared_gradient_spec());
    check_is(only_violation(p, {run(0), run(1), run(2), run(4), run(3)}), kind::input_incomplete, 3, 4, 1);
    check_accepted(p, {run(0), run(1), run(2), run(3), run(4)});
}

TEST_CASE("validate: an op needs neither life nor completeness of the gradient that it adds into")
{
    auto s = shared_gradient_spec();
    s.ops[1].inputs.push_back(1); // the first of the ops that add into it
    auto const p = make(s);
    check_accepted(p, {run(0), run(1), run(2), run(3), free(0), run(4), free(1)});
}

TEST_CASE("validate: an output that is live already")
{
    auto const p = make(chain_spec(2));
    check_is(only_violation(p, {run(0), run(0), run(1)}), kind::output_live, 1, 0, 0);
    check_accepted(p, {run(0), free(0), run(0), run(1)});
    auto s = chain_spec(2); // one live output out of two is one too many
    auto const other = add_tensor(s, 1);
    s.ops[0].outputs.push_back(other);
    check_is(only_violation(make(s), {run(0), free(0), run(0), run(1)}), kind::output_live, 2, 0, other);
}

TEST_CASE("validate: ops that add into one gradient in another order")
{
    auto const p = make(shared_gradient_spec());
    auto const v = only_violation(p, {run(0), run(2), run(1), run(3), run(4)});
    check_is(v, kind::accumulation_order, 2, 1, 1);
    CHECK_THAT(v.message, Contains("op 1 (op1)") && Contains("op 2 (op2)"));
}

TEST_CASE("validate: a free of what is not live")
{
    auto const p = make(chain_spec(2));
    check_is(only_violation(p, {free(0), run(0), run(1)}), kind::free_not_live, 0, none, 0);
    check_is(only_violation(p, {run(0), run(1), free(0), free(0)}), kind::free_not_live, 3, none, 0);
}

TEST_CASE("validate: a free of a resident tensor")
{
    auto const p = make(training_chain_spec(1));
    check_is(only_violation(p, {run(0), free(0), run(1)}), kind::free_resident, 1, none, 0);
}

TEST_CASE("validate: a gradient that is freed before it is complete")
{
    auto const p = make(shared_gradient_spec());
    check_is(only_violation(p, {run(0), run(1), free(1), run(2), run(3), run(4)}), kind::free_incomplete, 2, none, 1);
}

TEST_CASE("validate: a second run of an op that must not repeat, for every reason there is")
{
    auto const twice = [](problem_spec s) {
        check_is(only_violation(make(std::move(s)), {run(0), free(0), run(0)}), kind::forbidden_replay, 2, 0, none);
    };
    for (auto e : {effect::nondeterministic, effect::collective, effect::once}) {
        auto s = chain_spec(1);
        s.ops[0].effects = e;
        twice(s);
    }
    auto writes = chain_spec(1);
    writes.ops[0].outputs.push_back(add_tensor(writes, 1, tensor_kind::parameter_gradient));
    twice(writes);

    auto reads = chain_spec(1);
    auto const r = add_tensor(reads, 1, tensor_kind::state);
    reads.ops[0].inputs.push_back(r);
    add_op(reads, 1, {}, {r}, effect::stateful);
    check_is(only_violation(make(reads), {run(0), free(0), run(0), run(1)}), kind::forbidden_replay, 2, 0, none);

    auto const adds = make(shared_gradient_spec());
    check_is(
        only_violation(adds, {run(0), run(1), run(2), run(2), run(3), run(4)}), kind::forbidden_replay, 3, 2, none);
}

TEST_CASE("validate: pure, random and stateful ops may repeat")
{
    auto s = chain_spec(1);
    s.ops[0].outputs.push_back(add_tensor(s, 1, tensor_kind::state));
    for (auto e : {effects(effect::stateful), effect::random | effect::stateful}) {
        s.ops[0].effects = e;
        check_accepted(make(s), {run(0), free(0), run(0)});
    }
    s = chain_spec(1);
    s.ops[0].effects = effect::random;
    check_accepted(make(s), {run(0), free(0), run(0)});
    s = chain_spec(1); // reads what an earlier op wrote
    auto const r = add_tensor(s, 1, tensor_kind::state);
    s.ops.insert(s.ops.begin(), op_spec{"w", "", phase::other, 0, 0, {}, {r}, {}, none});
    s.ops[1].inputs.push_back(r);
    check_accepted(make(s), {run(0), run(1), free(0), run(1)});
}

TEST_CASE("validate: writers of a resident tensor in another order")
{
    auto s = pair_spec();
    auto const r = add_tensor(s, 1, tensor_kind::parameter_gradient);
    s.ops[0].outputs.push_back(r);
    s.ops[1].outputs.push_back(r);
    auto const p = make(s);
    check_is(only_violation(p, {run(1), run(0)}), kind::state_order, 1, 0, r);
    check_accepted(p, {run(0), run(1)});
}

TEST_CASE("validate: a resident tensor that is read in another version")
{
    auto s = pair_spec(3); // op 0 writes, op 1 reads, op 2 writes
    auto const r = add_tensor(s, 1, tensor_kind::state);
    s.ops[0].outputs.push_back(r);
    s.ops[1].inputs.push_back(r);
    s.ops[2].outputs.push_back(r);
    auto const p = make(s);
    check_is(only_violation(p, {run(1), run(0), run(2)}), kind::wrong_version, 0, 1, r);
    check_is(only_violation(p, {run(0), run(2), run(1)}), kind::wrong_version, 2, 1, r);
    check_accepted(p, {run(0), run(1), run(2)});
    s.ops[2].outputs.pop_back();
    check_accepted(make(s), {run(2), run(0), run(1)});
}

TEST_CASE("validate: a writer that also reads is out of order once, not twice")
{
    auto s = pair_spec();
    auto const r = add_tensor(s, 1, tensor_kind::state);
    for (auto& o : s.ops) {
        o.outputs.push_back(r);
    }
    s.ops[0].inputs.push_back(r);
    check_is(only_violation(make(s), {run(1), run(0)}), kind::state_order, 1, 0, r);
}

TEST_CASE("validate: random, stateful and collective ops in another order, each kind for itself")
{
    for (auto e : {effect::random, effect::stateful, effect::collective}) {
        auto s = pair_spec();
        s.ops[0].effects = e;
        s.ops[1].effects = e;
        auto const p = make(s);
        auto const v = only_violation(p, {run(1), run(0)});
        check_is(v, kind::effect_order, 1, 0, none);
        CHECK_THAT(v.message, Contains(to_string(e)));
        check_accepted(p, {run(0), run(1)});
    }
    auto s = pair_spec();
    s.ops[0].effects = effect::random;
    s.ops[1].effects = effect::stateful;
    check_accepted(make(s), {run(1), run(0)});
    s.ops[1].effects = effect::once; // bound by its inputs only
    s.ops[0].effects = effect::once;
    check_accepted(make(s), {run(1), run(0)});
}

TEST_CASE("validate: replays of random and stateful ops are free of the order of first runs")
{
    auto s = pair_spec();
    s.ops[0].effects = effect::random | effect::stateful;
    s.ops[1].effects = effect::random | effect::stateful;
    check_accepted(make(s), {run(0), run(1), free(0), run(0)});
}

TEST_CASE("validate: first runs may take any order that satisfies the dependencies")
{
    auto const p = make(diamond_spec());
    check_accepted(p, {run(0), run(2), run(1), free(0), run(3)});
}

TEST_CASE("validate: bytes above the budget, exactly at the run that needs them")
{
    auto const p = make(u_net_spec(2));
    auto const s = free_early(p, index_order(p));
    auto const v = only_violation(p, s.steps, 9);
    check_is(v, kind::over_budget, 6, 4, none);
    CHECK_THAT(v.message, Contains("10 bytes") && Contains("9 bytes"));
    check_accepted(p, s.steps, 10);
    CHECK(validate(p, s, 0).count == 5); // every run
    CHECK(validate(p, s, -1).count == 5);
}

TEST_CASE("validate: peak counts resident tensors, outputs, workspace, all rounded to the alignment")
{
    problem_spec s;
    s.alignment = 64;
    auto const w = add_tensor(s, 65, tensor_kind::parameter); // 128
    auto const a = add_tensor(s, 1);                          // 64
    auto const b = add_tensor(s, 64);                         // 64
    add_op(s, 1, {w}, {a});
    add_op(s, 1, {a}, {b}, {}, 129); // 192
    auto const p = make(s);
    check_accepted(p, {run(0), run(1)}, 128 + 64 + 64 + 192);
    check_is(only_violation(p, {run(0), run(1)}, 128 + 64 + 64 + 192 - 1), kind::over_budget, 1, 1, none);
}

TEST_CASE("validate: a cost that leaves the 64-bit range")
{
    auto s = chain_spec(1);
    s.ops[0].cost = max_cost / 2 + 1;
    auto const p = make(s);
    check_is(only_violation(p, {run(0), free(0), run(0)}), kind::overflow, 2, 0, none);
    CHECK(validate(p, {{run(0), free(0), run(0)}}).cost == max_cost);
}

TEST_CASE("validate: an op that never runs")
{
    auto const p = make(pair_spec());
    check_is(only_violation(p, {run(1)}), kind::op_never_run, 1, 0, none);
}

TEST_CASE("validate: a target that is not there at the end")
{
    auto const p = make(chain_spec(2));
    check_is(only_violation(p, {run(0), run(1), free(1)}), kind::target_missing, 3, none, 1);
    auto s = chain_spec(2);
    s.targets.push_back(add_tensor(s, 1, tensor_kind::parameter)); // always there
    check_accepted(make(s), {run(0), run(1)});
}

TEST_CASE("validate: a target that is not complete at the end")
{
    auto s = shared_gradient_spec();
    s.targets = {1};
    auto const v = validate(make(s), {{run(0), run(1), run(2)}});
    REQUIRE(v.count == 3); // two ops never run
    check_is(v.violations[2], kind::target_missing, 3, none, 1);
    CHECK_THAT(v.violations[2].message, Contains("not complete"));
}

TEST_CASE("validate: an empty schedule misses every op and every target")
{
    auto const p = make(chain_spec(3));
    auto const v = validate(p, {});
    CHECK(v.count == 4);
    CHECK(v.peak == p.resident_bytes());
    CHECK(v.cost == 0);
}

TEST_CASE("validate: the list is capped, the count is not")
{
    auto const p = make(chain_spec(1));
    schedule s{{run(0)}};
    for (int i = 0; i < 1000; ++i) {
        s.steps.push_back(free(99));
    }
    auto const v = validate(p, s);
    CHECK(v.count == 1000);
    CHECK(v.violations.size() == verdict::max_listed);
    CHECK(v.violations.front().step == 1);
}

TEST_CASE("validate: a tensor named twice counts once")
{
    auto s = chain_spec(2);
    s.ops[0].outputs.push_back(0);
    s.ops[1].inputs.push_back(0);
    auto const p = make(s);
    CHECK(validate(p, {{run(0), run(1)}}).peak == 2);
    CHECK(validate(p, {{run(0), free(0), run(1)}}).count == 1);
}

} // namespace schedule_validate_test
