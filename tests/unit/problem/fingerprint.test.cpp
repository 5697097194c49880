// SPDX-License-Identifier: Apache-2.0
#include <strata/problem/fingerprint.hpp>

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "tests/support/catch.hpp"

namespace problem_fingerprint_test {

auto spec() -> strata::problem_spec
{
    strata::problem_spec s;
    s.name = "n";
    s.tensors = {{"w", 64, strata::tensor_kind::parameter},
                 {"v", 64, strata::tensor_kind::parameter},
                 {"x", 32, strata::tensor_kind::activation},
                 {"y", 32, strata::tensor_kind::activation}};
    s.ops = {{"a", "t", strata::phase::forward, 3, 1, {0}, {2}, {}, strata::none},
             {"b", "t", strata::phase::backward, 5, 0, {0, 2}, {3}, {}, 0}};
    s.targets = {3};
    return s;
}

auto print(strata::problem_spec s) -> std::uint64_t
{
    return strata::fingerprint(strata::problem::make(std::move(s)).value());
}

auto changed(std::function<void(strata::problem_spec&)> const& change) -> std::uint64_t
{
    auto s = spec();
    change(s);
    return print(s);
}

TEST_CASE("fingerprint: the number is the same on every platform and in every release")
{
    // FNV-1a over: 1, 4, (64 1) (64 1) (32 0) (32 0), 2, (3 1 0, 1: 0, 1: 2), (5 0 0, 2: 0 2, 1: 3), 1: 3.
    // A plan file of an older release names this number: it must not change.
    CHECK(print(spec()) == 0x4fdf5d4e7e8292c7U);
}

TEST_CASE("fingerprint: labels do not count, nor the order in which an op lists its tensors")
{
    CHECK(print(spec()) == changed([](auto& s) {
              s.name = "other";
              s.ops[0].name = "z";
              s.ops[0].type = "z";
              s.ops[1].phase = strata::phase::other;
              s.ops[1].backward_of = strata::none;
              s.tensors[2].name = "z";
              s.tensors[2].kind = strata::tensor_kind::saved;
              s.tensors[0].kind = strata::tensor_kind::state;
              s.ops[1].inputs = {2, 0, 2};
              s.targets = {3, 3};
          }));
}

TEST_CASE("fingerprint: everything else counts")
{
    std::vector<std::uint64_t> const all{
        print(spec()),
        changed([](auto& s) { s.alignment = 2; }),
        changed([](auto& s) { s.tensors[2].bytes = 33; }),
        changed([](auto& s) { s.tensors[0].bytes = 65; }),
        changed([](auto& s) {
            s.tensors.push_back({"", 0, strata::tensor_kind::input});
        }),
        changed([](auto& s) { s.ops[0].cost = 4; }),
        changed([](auto& s) { s.ops[0].workspace = 2; }),
        changed([](auto& s) { s.ops[0].effects = strata::effect::random; }),
        changed([](auto& s) { s.ops[0].effects = strata::effect::stateful; }),
        changed([](auto& s) { s.ops[0].effects = strata::effect::nondeterministic; }),
        changed([](auto& s) { s.ops[0].effects = strata::effect::collective; }),
        changed([](auto& s) { s.ops[0].effects = strata::effect::once; }),
        changed([](auto& s) { s.ops[0].effects = strata::effect::once | strata::effect::random; }),
        changed([](auto& s) { s.ops[1].effects = strata::effect::random; }),
        changed([](auto& s) { s.ops[0].inputs = {1}; }),
        changed([](auto& s) { s.ops[1].inputs = {2}; }),
        changed([](auto& s) {
            s.ops[1].outputs = {1, 3};
        }),
        changed([](auto& s) { s.targets = {}; }),
        changed([](auto& s) {
            s.targets = {2, 3};
        }),
        changed([](auto& s) {
            s.ops.push_back({"", "", strata::phase::other, 0, 0, {}, {}, {}, strata::none});
        }),
    };
    CHECK(std::set<std::uint64_t>(all.begin(), all.end()).size() == all.size());
}

} // namespace problem_fingerprint_test
