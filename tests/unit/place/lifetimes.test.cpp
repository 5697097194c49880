// SPDX-License-Identifier: Apache-2.0
#include <strata/place/check.hpp>
#include <strata/place/lifetimes.hpp>

#include <vector>

#include "tests/support/catch.hpp"

namespace place_lifetimes_test {

using strata::free;
using strata::lifetime;
using strata::none;
using strata::op_spec;
using strata::run;
using strata::schedule;
using strata::tensor_kind;
using lifetimes = std::vector<lifetime>;

auto make_op(std::vector<strata::tensor_id> in, std::vector<strata::tensor_id> out, strata::bytes_t workspace = 0)
    -> op_spec
{
    op_spec o;
    o.inputs = std::move(in);
    o.outputs = std::move(out);
    o.workspace = workspace;
    return o;
}

// w (resident) -> a -> x (10) -> b -> y (20), scratch 7; c reads x and y, writes z (0 bytes), the target
auto small() -> strata::problem
{
    strata::problem_spec s;
    s.tensors = {{"w", 1000, tensor_kind::parameter},
                 {"x", 10, tensor_kind::activation},
                 {"y", 20, tensor_kind::activation},
                 {"z", 0, tensor_kind::activation}};
    s.ops = {make_op({0}, {1}), make_op({1}, {2}, 7), make_op({1, 2}, {3})};
    s.targets = {3};
    return strata::problem::make(s).value();
}

TEST_CASE("lifetimes: a tensor lives from its producer to its free, workspace during its run, targets to the end")
{
    auto const p = small();
    schedule const s{{run(0), run(1), run(2), free(1), free(2)}};
    //   step     0    1    2    3    4
    //   x        |--------------|
    //   y             |--------------|
    //   scratch       |----|
    //   z                  |--------------|
    lifetimes const expected{{0, 3, 10, 1}, {1, 4, 20, 2}, {1, 2, 7, none}, {2, 5, 0, 3}};
    CHECK(strata::lifetimes_of(p, s) == expected);
}

TEST_CASE("lifetimes: a tensor that is recomputed has one lifetime per production")
{
    auto const p = small();
    schedule const s{{run(0), run(1), free(1), run(0), run(2)}};
    lifetimes const expected{{0, 2, 10, 1}, {1, 5, 20, 2}, {1, 2, 7, none}, {3, 5, 10, 1}, {4, 5, 0, 3}};
    CHECK(strata::lifetimes_of(p, s) == expected);
}

TEST_CASE("lifetimes: a gradient with several producers has one lifetime, from the first of them")
{
    strata::problem_spec s;
    s.tensors = {{"x", 8, tensor_kind::activation}, {"g", 16, tensor_kind::gradient}};
    s.ops = {make_op({}, {0}), make_op({0}, {1}), make_op({0}, {1}), make_op({1}, {})};
    auto const p = strata::problem::make(s).value();
    auto const steps = strata::free_early(p, std::vector<strata::op_id>{0, 1, 2, 3});
    // run 0, run 1, run 2, free x, run 3, free g
    CHECK(strata::lifetimes_of(p, steps) == lifetimes{{0, 3, 8, 0}, {1, 5, 16, 1}});
}

TEST_CASE("lifetimes: sizes are those of the problem, rounded up to its alignment")
{
    strata::problem_spec s;
    s.tensors = {{"x", 10, tensor_kind::activation}};
    s.ops = {make_op({}, {0}, 1)};
    s.alignment = 64;
    auto const p = strata::problem::make(s).value();
    CHECK(strata::lifetimes_of(p, {{run(0), free(0)}}) == lifetimes{{0, 1, 64, 0}, {0, 1, 64, none}});
}

TEST_CASE("max_load: buffers that touch in time are not there at once")
{
    CHECK(strata::max_load(lifetimes{}) == 0);
    CHECK(strata::max_load(lifetimes{{0, 2, 5}, {2, 4, 6}}) == 6);
    CHECK(strata::max_load(lifetimes{{0, 3, 5}, {2, 4, 6}}) == 11);
    CHECK(strata::max_load(lifetimes{{0, 3, 5}, {2, 4, 6}}, 4) == 16);
    CHECK(strata::max_load(lifetimes{{3, 3, 5}}) == 0);
}

TEST_CASE("max_load: has no answer when the load leaves the 64-bit range")
{
    CHECK(strata::max_load(lifetimes{{0, 2, strata::max_bytes}, {1, 4, 1}}) == std::nullopt);
    CHECK(strata::max_load(lifetimes{{0, 2, strata::max_bytes}, {2, 4, 1}}) == strata::max_bytes);
}

} // namespace place_lifetimes_test
