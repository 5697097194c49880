// SPDX-License-Identifier: Apache-2.0
#include <strata/problem/problem.hpp>

#include <span>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_problem.hpp"

namespace problem_problem_test {

using namespace strata;
using namespace strata::test;
using Catch::Matchers::Contains;

auto list(std::span<std::int32_t const> s) -> std::vector<std::int32_t> { return {s.begin(), s.end()}; }

/// The message of the refusal; checks its code.
auto refusal(problem_spec s, errc code = errc::malformed_graph) -> std::string
{
    auto const r = problem::make(std::move(s));
    REQUIRE_FALSE(r.has_value());
    CHECK(r.error().code == code);
    CHECK_FALSE(r.error().limit);
    return r.error().message;
}

TEST_CASE("problem: a step without ops is refused") { CHECK_THAT(refusal({}), Contains("at least one op")); }

TEST_CASE("problem: an alignment below one is refused")
{
    auto s = chain_spec(1);
    s.alignment = 0;
    CHECK_THAT(refusal(s), Contains("alignment is 0"));
    s.alignment = -8;
    CHECK_THAT(refusal(s), Contains("alignment is -8"));
}

TEST_CASE("problem: negative numbers are refused and the place is named")
{
    auto s = chain_spec(3);
    s.tensors[1].bytes = -5;
    CHECK_THAT(refusal(s), Contains("tensor 1 (t1)") && Contains("-5 bytes"));
    s = chain_spec(3);
    s.ops[2].cost = -1;
    CHECK_THAT(refusal(s), Contains("op 2 (op2)") && Contains("cost -1"));
    s = chain_spec(3);
    s.ops[2].workspace = -1;
    CHECK_THAT(refusal(s), Contains("op 2 (op2)") && Contains("workspace -1"));
}

TEST_CASE("problem: ids out of range are refused and the op is named")
{
    for (tensor_id wrong : {-1, 3, 1000}) {
        auto s = chain_spec(3);
        s.ops[1].inputs = {wrong};
        CHECK_THAT(refusal(s), Contains("op 1 (op1)") && Contains("tensor " + std::to_string(wrong)));
        s = chain_spec(3);
        s.ops[1].outputs.push_back(wrong);
        CHECK_THAT(refusal(s), Contains("op 1 (op1)") && Contains("there are 3 tensors"));
        s = chain_spec(3);
        s.targets = {wrong};
        CHECK_THAT(refusal(s), Contains("target " + std::to_string(wrong)));
    }
    for (op_id wrong : {-2, 3}) {
        auto s = chain_spec(3);
        s.ops[2].backward_of = wrong;
        CHECK_THAT(refusal(s), Contains("op 2 (op2)") && Contains("backward of op " + std::to_string(wrong)));
    }
}

TEST_CASE("problem: only a gradient may have several producers")
{
    auto s = chain_spec(3);
    s.ops[2].outputs.push_back(0);
    CHECK_THAT(refusal(s), Contains("before op 2") && Contains("topological"));
    s = chain_spec(2);
    s.tensors.push_back({"twice", 1, tensor_kind::activation});
    s.ops[0].outputs.push_back(2);
    s.ops[1].outputs.push_back(2);
    CHECK_THAT(refusal(s), Contains("tensor 2 (twice)") && Contains("op 0") && Contains("op 1"));
    s.tensors[2].kind = tensor_kind::gradient;
    CHECK(problem::make(s));
}

TEST_CASE("problem: a tensor that nobody produces must be resident")
{
    auto s = chain_spec(2);
    s.tensors.push_back({"ghost", 1, tensor_kind::activation});
    CHECK_THAT(refusal(s), Contains("tensor 2 (ghost)") && Contains("no op"));
    s.targets = {2};
    CHECK_THAT(refusal(s), Contains("tensor 2 (ghost)"));
    s.ops[1].inputs.push_back(2);
    CHECK_THAT(refusal(s), Contains("op 1 (op1) reads tensor 2 (ghost)"));
    s.tensors[2].kind = tensor_kind::parameter;
    CHECK(problem::make(s));
}

TEST_CASE("problem: ops must stand in topological order, behind every producer of what they read")
{
    auto s = chain_spec(3);
    s.ops[0].inputs = {1};
    CHECK_THAT(refusal(s), Contains("op 0 (op0) reads tensor 1 (t1) before op 1 (op1)"));
    s = shared_gradient_spec();
    s.tensors.push_back({"early", 1, tensor_kind::activation});
    s.ops.insert(s.ops.begin() + 2, op_spec{"peek", "", phase::other, 1, 0, {1}, {3}, {}, none});
    CHECK_THAT(refusal(s), Contains("op 2 (peek) reads tensor 1 (t1) before op 4"));
}

TEST_CASE("problem: an op may read what it writes only if that is resident or a gradient with several producers")
{
    auto s = chain_spec(2);
    s.ops[1].inputs.push_back(1);
    CHECK_THAT(refusal(s), Contains("op 1 (op1) reads tensor 1 (t1), which it produces itself"));
    s.tensors[1].kind = tensor_kind::gradient; // with one producer
    CHECK_THAT(refusal(s), Contains("which it produces itself"));
    s.tensors[1].kind = tensor_kind::state;
    CHECK(problem::make(s));
    CHECK(problem::make(shared_gradient_spec()));
}

TEST_CASE("problem: sums of bytes and of costs that leave the 64-bit range are refused")
{
    auto s = chain_spec(2);
    s.tensors[0].bytes = max_bytes;
    CHECK_THAT(refusal(s, errc::overflow), Contains("tensor 1 (t1)"));
    s = chain_spec(2);
    s.ops[0].cost = max_cost;
    CHECK_THAT(refusal(s, errc::overflow), Contains("op 1 (op1)"));
    s = chain_spec(2);
    s.ops[1].workspace = max_bytes - 1;
    CHECK_THAT(refusal(s, errc::overflow), Contains("op 1 (op1)"));
    s.ops[1].workspace = max_bytes - 2;
    CHECK(problem::make(s));
}

TEST_CASE("problem: a size that cannot be rounded up is refused, even alone")
{
    auto s = chain_spec(1);
    s.alignment = 64;
    s.tensors[0].bytes = max_bytes - 1;
    CHECK_THAT(refusal(s, errc::overflow), Contains("tensor 0 (t0)"));
    s.tensors[0].bytes = 0;
    s.ops[0].workspace = max_bytes - 1;
    CHECK_THAT(refusal(s, errc::overflow), Contains("op 0 (op0)"));
    s.alignment = 1;
    CHECK(problem::make(s));
}

TEST_CASE("problem: the smallest and the oddest legal steps are accepted")
{
    problem_spec s;
    s.ops.emplace_back(); // no input, no output, no cost
    auto p = problem::make(s).value();
    CHECK(p.op_count() == 1);
    CHECK(p.tensor_count() == 0);
    CHECK(p.base_cost() == 0);
    CHECK(p.resident_bytes() == 0);

    s = chain_spec(2);
    s.tensors[0].bytes = 0;
    s.ops[0].cost = 0;
    s.ops[1].cost = 10'000'000'000'000;
    s.targets = {0, 0, 1};
    p = problem::make(s).value();
    CHECK(p.base_cost() == 10'000'000'000'000);
    CHECK(p.is_target(0));
    CHECK(p.size(0) == 0);
}

TEST_CASE("problem: sizes and workspaces are aligned, and resident bytes add up")
{
    auto s = chain_spec(2);
    s.alignment = 64;
    s.tensors[0].bytes = 65;
    s.ops[1].workspace = 1;
    s.tensors.push_back({"w", 100, tensor_kind::parameter});
    s.tensors.push_back({"i", 1, tensor_kind::input});
    auto const p = make(s);
    CHECK(p.size(0) == 128);
    CHECK(p.size(1) == 64);
    CHECK(p.workspace(0) == 0);
    CHECK(p.workspace(1) == 64);
    CHECK(p.resident_bytes() == 128 + 64);
    CHECK(p.tensor(0).bytes == 65);
    CHECK(p.alignment() == 64);
}

TEST_CASE("problem: lists of ids are ascending, without repetition, without resident tensors")
{
    problem_spec s;
    auto const w = add_tensor(s, 5, tensor_kind::parameter);
    auto const a = add_tensor(s, 1);
    auto const b = add_tensor(s, 1);
    auto const c = add_tensor(s, 1);
    add_op(s, 1, {w}, {b, a, a});
    add_op(s, 1, {b, a, w, b}, {c});
    s.targets = {c, w};
    auto const p = make(s);
    CHECK(list(p.inputs(0)).empty());
    CHECK(list(p.outputs(0)) == std::vector{a, b});
    CHECK(list(p.inputs(1)) == std::vector{a, b});
    CHECK(list(p.producers(a)) == std::vector{0});
    CHECK(list(p.consumers(a)) == std::vector{1});
    CHECK(p.producer(c) == 1);
    CHECK(list(p.producers(w)).empty());
    CHECK(list(p.consumers(w)).empty());
    CHECK(p.is_target(c));
    CHECK_FALSE(p.is_target(w)); // always there
    CHECK(p.remakeable(a));
    CHECK_FALSE(p.remakeable(w)); // nothing makes it
    CHECK(list(p.targets()) == std::vector{c, w});
}

TEST_CASE("problem: an op that reads the gradient it adds into counts as a producer only")
{
    auto const p = make(shared_gradient_spec());
    CHECK(p.accumulated(1));
    CHECK_FALSE(p.accumulated(0));
    CHECK_FALSE(p.remakeable(1));
    CHECK(list(p.producers(1)) == std::vector{1, 2, 3});
    CHECK(list(p.consumers(1)) == std::vector{4});
    CHECK(list(p.inputs(3)) == std::vector{0});
    CHECK(list(p.inputs(4)) == std::vector{1});
}

TEST_CASE("problem: what may replay follows from effects and from what is written")
{
    auto const of = [](strata::effects e) {
        auto s = chain_spec(1);
        s.ops[0].effects = e;
        auto const p = make(s);
        REQUIRE(p.remakeable(p.outputs(0).front()) == p.replayable(0));
        return p.replayable(0);
    };
    CHECK(of({}));
    CHECK(of(effect::random));
    CHECK(of(effect::stateful));
    CHECK_FALSE(of(effect::nondeterministic));
    CHECK_FALSE(of(effect::collective));
    CHECK_FALSE(of(effect::once));

    auto const p = make(shared_gradient_spec());
    CHECK(p.replayable(0));
    CHECK_FALSE(p.replayable(1)); // adds
    CHECK_FALSE(p.replayable(3));
    CHECK(p.replayable(4));
}

TEST_CASE("problem: writing a resident tensor forbids replay unless the op is stateful")
{
    auto s = chain_spec(2);
    auto const r = add_tensor(s, 1, tensor_kind::state);
    s.ops[0].outputs.push_back(r);
    CHECK_FALSE(make(s).replayable(0));
    CHECK(make(s).replayable(1));
    s.ops[0].effects = effect::stateful;
    CHECK(make(s).replayable(0));
}

TEST_CASE("problem: reading a resident tensor that a later op rewrites forbids replay")
{
    auto s = chain_spec(3);
    auto const r = add_tensor(s, 1, tensor_kind::parameter);
    for (auto& o : s.ops) {
        o.inputs.push_back(r);
    }
    s.ops[1].outputs.push_back(r);
    s.ops[1].effects = effect::stateful;
    auto const p = make(s);
    CHECK_FALSE(p.replayable(0));
    CHECK(p.replayable(1)); // rewrites it itself, not a later op
    CHECK(p.replayable(2));
}

TEST_CASE("problem: two problems are equal when their specs are")
{
    CHECK(make(chain_spec(3)) == make(chain_spec(3)));
    CHECK_FALSE(make(chain_spec(3)) == make(chain_spec(4)));
    auto s = chain_spec(3);
    s.ops[1].cost = 2;
    CHECK_FALSE(make(chain_spec(3)) == make(s));
}

TEST_CASE("problem: an unnamed op or tensor is named by its number in messages")
{
    auto s = chain_spec(2);
    s.ops[1].name.clear();
    s.tensors[1].name.clear();
    s.ops[1].inputs.push_back(1);
    CHECK_THAT(refusal(s), Contains("op 1 reads tensor 1, which"));
}

TEST_CASE("problem: random specs keep every rule, and breaking one at random is noticed")
{
    for (std::uint64_t seed = 0; seed < 600; ++seed) {
        dice d(seed);
        random_options o;
        o.ops = static_cast<int>(d.between(1, 60));
        o.training = d.chance(50);
        auto const good = random_spec(seed, o);
        INFO("seed " << seed);
        auto const made = problem::make(good);
        REQUIRE(made.has_value());
        CHECK(made->spec() == good);
        CHECK(random_spec(seed, o) == good);

        auto bad = good;
        auto const i = static_cast<std::size_t>(d.below(o.ops));
        switch (d.below(5)) {
        case 0: bad.ops[i].inputs.push_back(static_cast<tensor_id>(bad.tensors.size())); break;
        case 1: bad.ops[i].cost = -1; break;
        case 2: bad.tensors.push_back({"ghost", 1, tensor_kind::saved}); break;
        case 3: bad.targets.push_back(-1); break;
        default: // a new result of the last op, read too early
            bad.tensors.push_back({"late", 1, tensor_kind::activation});
            bad.ops.back().outputs.push_back(static_cast<tensor_id>(bad.tensors.size() - 1));
            bad.ops[i].inputs.push_back(static_cast<tensor_id>(bad.tensors.size() - 1));
        }
        CHECK_FALSE(problem::make(bad));
    }
}

} // namespace problem_problem_test
