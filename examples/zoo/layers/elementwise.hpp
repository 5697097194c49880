// SPDX-License-Identifier: Apache-2.0
/// @file
/// @brief Layers that touch every number once: activations, dropout, sums and products.
#pragma once

#include <optional>
#include <vector>

#include "examples/zoo/network.hpp"

namespace strata::zoo {

namespace detail {

/// y = f(x); backward reads what `needs` names and the gradient of y.
inline auto activation(network& n, op forward, char const* backward, gradient_ref needs, value const& x) -> value
{
    return n.add(
        forward,
        {x},
        {x},
        {.ops = {{op{backward, op_kind::elementwise, 2 * forward.flops}, {needs, of_output(0)}, {of_input(0)}}}});
}

} // namespace detail

/// Backward reads the input.
inline auto gelu(network& n, value const& x) -> value
{
    return detail::activation(n, {"gelu", op_kind::elementwise, per_number(8, x)}, "gelu.backward", input(0), x);
}

/// Backward reads the input.
inline auto silu(network& n, value const& x) -> value
{
    return detail::activation(n, {"silu", op_kind::elementwise, per_number(5, x)}, "silu.backward", input(0), x);
}

/// Backward reads the output.
inline auto sigmoid(network& n, value const& x) -> value
{
    op const f{"sigmoid", op_kind::elementwise, per_number(4, x)};
    return detail::activation(n, f, "sigmoid.backward", output(0), x);
}

/// Backward reads the output.
inline auto tanh(network& n, value const& x) -> value
{
    op const f{"tanh", op_kind::elementwise, per_number(6, x)};
    return detail::activation(n, f, "tanh.backward", output(0), x);
}

/// Backward reads the output, so the input may be overwritten.
inline auto relu(network& n, value const& x, bool in_place = false) -> value
{
    op const f{in_place ? "relu_" : "relu", op_kind::elementwise, per_number(1, x)};
    if (!in_place) {
        return detail::activation(n, f, "relu.backward", output(0), x);
    }
    return n.add(
        f,
        {x},
        {made::view(x.dims, x)},
        {.ops = {{op{"relu.backward", op_kind::elementwise, f.flops}, {output(0), of_output(0)}, {of_input(0)}}}},
        {.mutates = {x.id}});
}

/// Backward reads a mask of one byte per number, which forward saves. A rate of 0 adds no op.
inline auto dropout(network& n, value const& x, double rate) -> value
{
    if (rate == 0) {
        return x;
    }
    return n.add({"dropout", op_kind::elementwise, per_number(2, x)},
                 {x},
                 {x},
                 {.saved = {{.name = "mask", .bytes = count(x)}},
                  .ops = {{op{"dropout.backward", op_kind::elementwise, per_number(2, x)},
                           {saved(0), of_output(0)},
                           {of_input(0)}}}},
                 {.effects = effect::random});
}

/// a + b, of one shape; into the buffer of `a` if in place. Backward reads nothing: both gradients are that of the sum.
inline auto add(network& n, value const& a, value const& b, bool in_place = false) -> value
{
    if (a.dims != b.dims) {
        throw model_error("cannot add " + to_string(b.dims) + " to " + to_string(a.dims));
    }
    return n.add({in_place ? "add_" : "add", op_kind::elementwise, per_number(1, a)},
                 {a, b},
                 {in_place ? made::view(a.dims, a) : made(a)},
                 {.passes = {pass_to(0), pass_to(1)}},
                 {.mutates = in_place ? std::vector{a.id} : std::vector<tensor_id>{}});
}

/// x + b with b repeated along the axes it lacks. Backward reads nothing; the gradient of b is a sum.
inline auto add_broadcast(network& n, value const& x, value const& b) -> value
{
    return n.add(
        {"add", op_kind::elementwise, per_number(1, x)},
        {x, b},
        {x},
        {.ops = {{op{"add.sum_gradient", op_kind::reduction, per_number(1, x)}, {of_output(0)}, {of_input(1)}}},
         .passes = {pass_to(0)}});
}

/// a * b, of one shape or with b repeated along the axes it lacks. Backward of each factor reads the other.
inline auto multiply(network& n, value const& a, value const& b) -> value
{
    auto const second = a.dims == b.dims ? op_kind::elementwise : op_kind::reduction;
    return n.add(
        {"multiply", op_kind::elementwise, per_number(1, a)},
        {a, b},
        {a},
        {.ops = {{op{"multiply.first_gradient", op_kind::elementwise, per_number(1, a)},
                  {input(1), of_output(0)},
                  {of_input(0)}},
                 {op{"multiply.second_gradient", second, per_number(1, a)}, {input(0), of_output(0)}, {of_input(1)}}}});
}

} // namespace strata::zoo
