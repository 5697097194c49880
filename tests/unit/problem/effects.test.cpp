// SPDX-License-Identifier: Apache-2.0
#include <strata/problem/effects.hpp>

#include <set>
#include <string>

#include "tests/support/catch.hpp"

namespace problem_effects_test {

using namespace strata;

TEST_CASE("effects: input, parameter, parameter gradient and state are resident, nothing else is")
{
    CHECK(is_resident(tensor_kind::input));
    CHECK(is_resident(tensor_kind::parameter));
    CHECK(is_resident(tensor_kind::parameter_gradient));
    CHECK(is_resident(tensor_kind::state));
    CHECK_FALSE(is_resident(tensor_kind::activation));
    CHECK_FALSE(is_resident(tensor_kind::saved));
    CHECK_FALSE(is_resident(tensor_kind::gradient));
}

TEST_CASE("effects: every kind, phase and effect has a name of its own")
{
    std::set<std::string> names;
    for (int i = 0; i <= static_cast<int>(tensor_kind::gradient); ++i) {
        names.insert(to_string(static_cast<tensor_kind>(i)));
    }
    CHECK(names.size() == 7);
    for (auto p : {phase::forward, phase::backward, phase::other}) {
        names.insert(to_string(p));
    }
    CHECK(names.size() == 10);
    for (auto e : {effect::random, effect::stateful, effect::nondeterministic, effect::collective, effect::once}) {
        names.insert(to_string(e));
    }
    CHECK(names.size() == 15);
    CHECK(names.count("unknown") == 0);
}

TEST_CASE("effects: a set holds what was put in and nothing else")
{
    effects none_at_all;
    CHECK(none_at_all.pure());
    auto const both = effect::random | effect::stateful;
    CHECK(both.has(effect::random));
    CHECK(both.has(effect::stateful));
    CHECK_FALSE(both.has(effect::once));
    CHECK_FALSE(both.pure());
    none_at_all |= effect::random;
    none_at_all |= effect::stateful;
    CHECK(none_at_all == both);
}

TEST_CASE("effects: random and stateful ops may replay, the other effects forbid it")
{
    CHECK_FALSE(effects().forbids_replay());
    CHECK_FALSE((effect::random | effect::stateful).forbids_replay());
    CHECK(effects(effect::nondeterministic).forbids_replay());
    CHECK(effects(effect::collective).forbids_replay());
    CHECK(effects(effect::once).forbids_replay());
    CHECK((effect::random | effect::once).forbids_replay());
}

} // namespace problem_effects_test
